"""The list of system calls that student code may make, compiled to BPF by libseccomp in the trusted process."""

import tempfile

import pyseccomp

# What Python, torch and matplotlib need to compute, and to read and write files in their own folder. Everything else
# is refused, above all: new processes (fork, exec), sockets, ptrace, mounts, namespaces, keyrings, io_uring, memfd,
# signals to others, and every call that is newer than this list.
ALLOWED_CALLS = """
    access alarm arch_prctl brk chdir clock_getres clock_gettime clock_nanosleep close close_range copy_file_range
    dup dup2 dup3 epoll_create1 epoll_ctl epoll_pwait epoll_wait eventfd2 exit exit_group
    faccessat faccessat2 fadvise64 fallocate fchdir fcntl fdatasync flock fstat fstatfs fsync ftruncate
    futex get_mempolicy get_robust_list getcpu getcwd getdents64 getegid geteuid getgid getgroups getitimer getpgrp
    getpid getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsid gettid gettimeofday getuid
    ioctl link linkat lseek lstat madvise membarrier mincore mkdir mkdirat mlock mmap mprotect mremap msync munlock
    munmap nanosleep newfstatat open openat pause pipe pipe2 poll ppoll pread64 preadv prlimit64 pselect6 pwrite64
    pwritev read readahead readlink readlinkat readv recvfrom recvmsg rename renameat renameat2 restart_syscall rmdir
    rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait
    sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler
    sched_yield select sendfile sendmsg sendto set_robust_list set_tid_address setitimer sigaltstack stat statfs statx
    symlink symlinkat sysinfo tgkill time times truncate umask uname unlink unlinkat utimensat wait4 waitid
    write writev
""".split()

# Answered "no such call", so that the C library falls back to a call that can be filtered by its arguments: clone3 and
# openat2, by number (the same everywhere), since an old libseccomp does not know their names.
ABSENT_CALLS = [435, 437]

CLONE_THREAD = 0x00010000
# F_DUPFD F_GETFD F_SETFD F_GETFL F_SETFL, locks, F_DUPFD_CLOEXEC F_GETPIPE_SZ; above all not F_SETOWN and F_SETSIG,
# with which a descriptor sends any signal to any process of the same user, nor F_SETPIPE_SZ, which takes kernel memory
FCNTLS = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032)
IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS TIOCGWINSZ FIONREAD FIONBIO FIONCLEX FIOCLEX


def compile_filter(gpu=False):
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


def _add(rules, action, name, *args):
    try:
        rules.add_rule(action, name, *args)
    except (OSError, ValueError):
        pass  # a call that this architecture does not have (open, stat, … on aarch64)


def number_of(name):
    """The number of a system call on this machine."""
    return pyseccomp.resolve_syscall(pyseccomp.system_arch(), name)
