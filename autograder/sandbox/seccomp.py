"""The list of system calls that student code may make, compiled to BPF by libseccomp in the trusted process."""

import tempfile

import pyseccomp

# What Python, torch and matplotlib need to compute, and to read and write files in their own folder. Everything else
# is refused, above all: new processes (fork, exec), sockets, ptrace, mounts, namespaces, keyrings, io_uring, memfd,
# signals to others, and every call that is newer than this list. So that two sandboxes that run at once cannot talk,
# there are no locks, which lie on files that both read, and nothing that tells how much memory the machine has left
# (sysinfo) or what is in its page cache (mincore), that sets times, which both see on /dev/null (utimensat), or that
# passes descriptors on (sendmsg), which are counted per user.
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

# Answered "no such call", so that the C library falls back to a call that can be filtered by its arguments: clone3 and
# openat2, by number (the same everywhere), since an old libseccomp does not know their names.
ABSENT_CALLS = [435, 437]

CLONE_THREAD = 0x00010000
# F_DUPFD F_GETFD F_SETFD F_GETFL F_SETFL F_DUPFD_CLOEXEC F_GETPIPE_SZ; above all no locks and leases, not F_SETOWN and
# F_SETSIG, with which a descriptor sends any signal to any process of the same user, nor F_SETPIPE_SZ, which takes
# kernel memory
FCNTLS = (0, 1, 2, 3, 4, 1030, 1032)
# A futex in a file that is shown to two sandboxes lets one wake the other. What threads of one process wait for is
# private; who asks for another is told to try again, as when its value has just changed.
FUTEX_PRIVATE, EAGAIN = 128, 11
# MADV_NORMAL to MADV_DONTNEED, FREE, DONTFORK, DOFORK, HUGEPAGE to KEEPONFORK: none that takes a file's pages out of
# memory (PAGEOUT, COLD), or finds out that somebody has the same (MERGEABLE)
ADVICE = (0, 1, 2, 3, 4, 8, 10, 11, 14, 15, 16, 17, 18, 19)
IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS TIOCGWINSZ FIONREAD FIONBIO FIONCLEX FIOCLEX


def compile_filter(gpu: bool = False) -> bytes:
    """The seccomp filter as bytes of BPF, made once and loaded by every child; `gpu` lets CUDA's calls through."""
    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(1))  # EPERM
    for name in ALLOWED_CALLS:
        if name not in ("prlimit64", "tgkill", "ioctl", "fcntl"):
            _add(rules, pyseccomp.ALLOW, name)
    for name in ABSENT_CALLS:
        _add(rules, pyseccomp.ERRNO(38), name)  # ENOSYS
    # threads, but no processes
    _add(rules, pyseccomp.ALLOW, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_THREAD, CLONE_THREAD))
    # its own limits can be read; lowering them would be harmless, but nothing honest does it
    _add(rules, pyseccomp.ALLOW, "prlimit64", pyseccomp.Arg(2, pyseccomp.EQ, 0))
    # signals to itself (abort, raise): `only_own_signals` adds the process id, which is known after the fork
    _add(rules, pyseccomp.ALLOW, "tgkill")
    private = pyseccomp.Arg(1, pyseccomp.MASKED_EQ, FUTEX_PRIVATE, FUTEX_PRIVATE)
    shared = pyseccomp.Arg(1, pyseccomp.MASKED_EQ, FUTEX_PRIVATE, 0)
    _add(rules, pyseccomp.ALLOW, "futex", private)
    _add(rules, pyseccomp.ERRNO(EAGAIN), "futex", shared)
    for advice in ADVICE:
        _add(rules, pyseccomp.ALLOW, "madvise", pyseccomp.Arg(2, pyseccomp.EQ, advice))
    # descriptors are asked whether they are terminals, and set to block or not
    for command in FCNTLS:
        _add(rules, pyseccomp.ALLOW, "fcntl", pyseccomp.Arg(1, pyseccomp.EQ, command))
    for request in IOCTLS:
        _add(rules, pyseccomp.ALLOW, "ioctl", pyseccomp.Arg(1, pyseccomp.EQ, request))
    if gpu:  # its driver is talked to by ioctl
        _add(rules, pyseccomp.ALLOW, "ioctl")
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
