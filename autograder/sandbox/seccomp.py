"""The list of system calls that student code may make, compiled to BPF by libseccomp in the trusted process."""

import tempfile

import pyseccomp

# The calls that Python, torch and matplotlib need to compute, and to read and write files in their own folder. All
# others are refused, above all: new processes (fork, exec), sockets, ptrace, mounts, namespaces, keyrings, io_uring,
# memfd, signals to others, and every call that is newer than this list. To keep two sandboxes that run at the same time
# from communicating, these are refused too: locks, which both could set on the same readable file; calls that tell how
# much memory is free (sysinfo) or what is in the page cache (mincore); setting times, which both could see on /dev/null
# (utimensat); and passing descriptors on (sendmsg), since these are counted per user.
ALLOWED_CALLS = """
    access alarm arch_prctl brk chdir clock_getres clock_gettime clock_nanosleep close close_range copy_file_range
    dup dup2 dup3 epoll_create1 epoll_ctl epoll_pwait epoll_wait eventfd2 exit exit_group
    faccessat faccessat2 fallocate fchdir fcntl fdatasync fstat fstatfs fsync ftruncate
    get_mempolicy get_robust_list getcpu getcwd getdents64 getegid geteuid getgid getgroups getitimer getpgrp
    getpid getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsid gettid gettimeofday getuid
    ioctl link linkat lseek lstat membarrier mkdir mkdirat mlock mmap mprotect mremap msync munlock
    munmap nanosleep newfstatat open openat pause pipe pipe2 poll ppoll pread64 preadv prlimit64 pselect6 pwrite64
    pwritev read readlink readlinkat readv recvfrom rename renameat renameat2 restart_syscall rmdir
    rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait
    sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler
    sched_yield select sendfile sendto set_robust_list setitimer sigaltstack stat statfs statx
    symlink symlinkat tgkill time times truncate umask uname unlink unlinkat wait4 waitid
    write writev
""".split()

# clone3 and openat2 are answered "no such call", so that the C library falls back to a call that can be filtered by its
# arguments. They are given by number, the same everywhere, because an old libseccomp does not know their names.
ABSENT_CALLS = [435, 437]

CLONE_THREAD = 0x00010000
# Without a mount of its own, also refused: truncate, which takes a path and which Landlock covers only from Linux 6.2
# on, and fallocate, which fills a disk faster than anybody can look: it is answered "not supported", and the C library
# writes zeros instead.
WITHOUT_MOUNTS = ("truncate", "fallocate")
# F_DUPFD F_GETFD F_SETFD F_GETFL F_SETFL F_DUPFD_CLOEXEC F_GETPIPE_SZ. Above all, no locks or leases; no F_SETOWN and
# F_SETSIG, which make a descriptor send any signal to any process of the same user; no F_SETPIPE_SZ, which takes kernel
# memory.
FCNTLS = (0, 1, 2, 3, 4, 1030, 1032)
# A futex in a file that two sandboxes can see lets one wake the other, so only private futexes are allowed: these are
# enough for the threads of one process. Shared ones are answered "try again", as if the value had just changed.
FUTEX_PRIVATE, EAGAIN = 128, 11
# MADV_NORMAL to MADV_DONTNEED, FREE, DONTFORK, DOFORK, HUGEPAGE to KEEPONFORK: none that evicts a file's pages from
# memory (PAGEOUT, COLD) or reveals that another process has an equal page (MERGEABLE)
ADVICE = (0, 1, 2, 3, 4, 8, 10, 11, 14, 15, 16, 17, 18, 19)
# CUDA does not start unless it may open one socket and listen there. One of this kind reaches nothing: it sends only
# when connected, and none may connect or accept. CUDA also asks for setsockopt, sysinfo, mbind, sched_setaffinity,
# prctl and locks, and does without.
AF_UNIX, SEQUENCED_PACKETS = 1, 0x80005  # closed on exec
# Numbers of ioctl have the kind of device in their second byte. All are for drivers but those of terminals (0x54) and
# of sockets (0x89), with which a descriptor gets an owner, who is then sent signals
DRIVERS = (0xC000, 0), (0xF000, 0x4000), (0xF000, 0x6000)
# Shared memory without a file keeps pages that are no longer mapped, and no limit counts them. CUDA needs some. A stack
# that grows by itself does not count as a process's own memory.
SHARED, ANONYMOUS, GROWS = 0x1, 0x20, 0x100
IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS TIOCGWINSZ FIONREAD FIONBIO FIONCLEX FIOCLEX


def compile_filter(gpu: bool = False, mounts: bool = True) -> bytes:
    """The seccomp filter as BPF bytes, compiled once and loaded by each child.

    `gpu` lets CUDA's calls through; `mounts` says whether the child sees a small file system of its own.
    """
    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(1))  # EPERM
    # a call by another interface of the processor's ends the process: if one thread alone ended, the others would go on
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.KILL_PROCESS)
    for name in ALLOWED_CALLS:
        if name not in ("prlimit64", "tgkill", "ioctl", "fcntl", "mmap") and (mounts or name not in WITHOUT_MOUNTS):
            _add(rules, pyseccomp.ALLOW, name)
    if not mounts:
        _add(rules, pyseccomp.ERRNO(95), "fallocate")  # EOPNOTSUPP
    for name in ABSENT_CALLS:
        _add(rules, pyseccomp.ERRNO(38), name)  # ENOSYS
    # threads, but no processes
    _add(rules, pyseccomp.ALLOW, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_THREAD, CLONE_THREAD))
    # a process may read its own limits; lowering them would be harmless, but no honest code does it
    _add(rules, pyseccomp.ALLOW, "prlimit64", pyseccomp.Arg(2, pyseccomp.EQ, 0))
    # signals to itself (abort, raise): `only_own_signals` restricts them to the process id, once it is known
    _add(rules, pyseccomp.ALLOW, "tgkill")
    private = pyseccomp.Arg(1, pyseccomp.MASKED_EQ, FUTEX_PRIVATE, FUTEX_PRIVATE)
    shared = pyseccomp.Arg(1, pyseccomp.MASKED_EQ, FUTEX_PRIVATE, 0)
    _add(rules, pyseccomp.ALLOW, "futex", private)
    _add(rules, pyseccomp.ERRNO(EAGAIN), "futex", shared)
    for advice in ADVICE:
        _add(rules, pyseccomp.ALLOW, "madvise", pyseccomp.Arg(2, pyseccomp.EQ, advice))
    # Python asks whether descriptors are terminals, and sets them to block or not
    for command in FCNTLS:
        _add(rules, pyseccomp.ALLOW, "fcntl", pyseccomp.Arg(1, pyseccomp.EQ, command))
    for request in IOCTLS:
        _add(rules, pyseccomp.ALLOW, "ioctl", pyseccomp.Arg(1, pyseccomp.EQ, request))
    for flags in (GROWS,) if gpu else (GROWS | SHARED, GROWS | ANONYMOUS):
        _add(rules, pyseccomp.ALLOW, "mmap", pyseccomp.Arg(3, pyseccomp.MASKED_EQ, flags, 0))
    if gpu:
        for mask, kind in DRIVERS:  # programs talk to a driver by ioctl
            _add(rules, pyseccomp.ALLOW, "ioctl", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, mask, kind))
        of_kind = pyseccomp.Arg(0, pyseccomp.EQ, AF_UNIX), pyseccomp.Arg(1, pyseccomp.EQ, SEQUENCED_PACKETS)
        _add(rules, pyseccomp.ALLOW, "socket", *of_kind)
        _add(rules, pyseccomp.ALLOW, "bind")
        _add(rules, pyseccomp.ALLOW, "listen")
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _add(rules: pyseccomp.SyscallFilter, action: int, name: str | int, *args: pyseccomp.Arg) -> None:
    try:
        rules.add_rule(action, name, *args)
    except (OSError, ValueError):
        pass  # a call that this architecture does not have (open, stat, … on aarch64)


def number_of(name: str) -> int:
    """The number of a system call on this machine."""
    return pyseccomp.resolve_syscall(pyseccomp.system_arch(), name)
