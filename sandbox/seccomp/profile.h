// The system call profiles, as data. They deny by default: a call that is not
// named here is refused. First the default one, then what the others change.
//
// Based on the allow list of container engines (moby/profiles,
// seccomp/default.json), without calls that a build or agent sandbox does not
// need and that have been a way out of one.

#ifndef SANDBOX_SECCOMP_PROFILE_H_
#define SANDBOX_SECCOMP_PROFILE_H_

namespace sandbox::seccomp {

// Left out of the engines' list, beside kAbsent:
//   modify_ldt, vm86    16-bit code, a source of kernel bugs
//   name_to_handle_at   with open_by_handle_at a way around mounts
//   keyctl, add_key     keyrings are not namespaced

// Allowed with any arguments, except those that arguments.h refuses; with a
// reason where one may wonder. clone3 has its flags in memory, where no filter
// sees them: LimitNamespaces() in
// ../kernel refuses new namespaces.
inline constexpr const char* kAllowed[] = {
    "accept",
    "accept4",
    "access",
    "alarm",
    "arch_prctl",  // the C library: thread-local storage
    "bind",
    "brk",
    "capget",  // programs ask what they may do
    "capset",  // programs drop what they do not have
    "chdir",
    "chmod",
    "chown",          // to its own id only: tar, install
    "clock_adjtime",  // without a capability it only reads
    "clock_getres",
    "clock_gettime",
    "clock_nanosleep",
    "clone3",
    "close",
    "close_range",
    "connect",
    "copy_file_range",
    "creat",
    "dup",
    "dup2",
    "dup3",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_ctl_old",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "epoll_wait_old",
    "eventfd",
    "eventfd2",
    "execve",
    "execveat",  // executes a descriptor: fexecve
    "exit",
    "exit_group",
    "faccessat",
    "faccessat2",
    "fadvise64",
    "fallocate",
    "fanotify_mark",  // of no use without fanotify_init
    "fchdir",
    "fchmod",
    "fchmodat",
    "fchown",
    "fchownat",
    "fcntl",
    "fdatasync",
    "fgetxattr",
    "flistxattr",
    "flock",  // git, cargo and package managers lock files
    "fork",
    "fremovexattr",
    "fsetxattr",
    "fstat",
    "fstatfs",
    "fsync",
    "ftruncate",
    "futex",
    "futex_waitv",
    "futimesat",
    "get_mempolicy",  // OpenJDK and hwloc ask for it
    "get_robust_list",
    "get_thread_area",
    "getcpu",
    "getcwd",
    "getdents",
    "getdents64",
    "getegid",
    "geteuid",
    "getgid",
    "getgroups",
    "getitimer",
    "getpeername",
    "getpgid",
    "getpgrp",
    "getpid",
    "getppid",
    "getpriority",
    "getrandom",
    "getresgid",
    "getresuid",
    "getrlimit",
    "getrusage",
    "getsid",
    "getsockname",
    "getsockopt",
    "gettid",
    "gettimeofday",
    "getuid",
    "getxattr",
    "inotify_add_watch",  // editors and build tools watch files
    "inotify_init",
    "inotify_init1",
    "inotify_rm_watch",
    "ioctl",  // terminals; arguments.h has what is refused
    "ioprio_get",
    "ioprio_set",
    "kill",                     // reaches processes of the sandbox only
    "landlock_add_rule",        // programs confine themselves further
    "landlock_create_ruleset",  // programs confine themselves further
    "landlock_restrict_self",   // programs confine themselves further
    "lchown",
    "lgetxattr",
    "link",
    "linkat",
    "listen",
    "listxattr",
    "llistxattr",
    "lremovexattr",
    "lseek",
    "lsetxattr",
    "lstat",
    "madvise",
    "membarrier",    // liburcu, .NET
    "memfd_create",  // Chromium, JIT compilers
    "memfd_secret",  // libraries keep keys in it
    "mincore",       // shows pages of files that it may write only
    "mkdir",
    "mkdirat",
    "mknod",  // FIFOs; devices need a capability
    "mknodat",
    "mlock",  // gpg; at most RLIMIT_MEMLOCK
    "mlock2",
    "mlockall",
    "mmap",
    "mprotect",
    "mq_getsetattr",
    "mq_notify",
    "mq_open",  // queues of the sandbox's own
    "mq_timedreceive",
    "mq_timedsend",
    "mq_unlink",
    "mremap",
    "msgctl",
    "msgget",
    "msgrcv",
    "msgsnd",
    "msync",
    "munlock",
    "munlockall",
    "munmap",
    "nanosleep",
    "newfstatat",
    "open",
    "openat",
    "pause",
    "pidfd_open",  // Go, systemd's libraries, python
    "pidfd_send_signal",
    "pipe",
    "pipe2",
    "pkey_alloc",  // V8 protects its code with keys
    "pkey_free",
    "pkey_mprotect",
    "poll",
    "ppoll",
    "prctl",  // names, signals; arguments.h refuses some
    "pread64",
    "preadv",
    "preadv2",            // databases
    "prlimit64",          // the C library: getrlimit
    "process_mrelease",   // frees what a killed process had
    "process_vm_readv",   // gdb and strace read many bytes at once
    "process_vm_writev",  // gdb writes many bytes at once
    "pselect6",
    "ptrace",  // gdb, strace, LeakSanitizer
    "pwrite64",
    "pwritev",
    "pwritev2",
    "read",
    "readahead",
    "readlink",
    "readlinkat",
    "readv",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "remap_file_pages",  // old databases
    "removexattr",
    "rename",
    "renameat",
    "renameat2",
    "restart_syscall",
    "rmdir",
    "rseq",  // the C library: sched_getcpu
    "rt_sigaction",
    "rt_sigpending",
    "rt_sigprocmask",
    "rt_sigqueueinfo",
    "rt_sigreturn",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "rt_tgsigqueueinfo",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "sched_getaffinity",
    "sched_getattr",
    "sched_getparam",
    "sched_getscheduler",
    "sched_rr_get_interval",
    "sched_setaffinity",
    "sched_setattr",
    "sched_setparam",
    "sched_setscheduler",  // batch and idle; others need a capability
    "sched_yield",
    "seccomp",  // strict mode; arguments.h refuses filters
    "select",
    "semctl",
    "semget",
    "semop",
    "semtimedop",
    "sendfile",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "set_robust_list",
    "set_thread_area",
    "set_tid_address",
    "setfsgid",
    "setfsuid",
    "setgid",
    "setgroups",
    "setitimer",
    "setpgid",
    "setpriority",
    "setregid",
    "setresgid",
    "setresuid",
    "setreuid",
    "setrlimit",
    "setsid",
    "setsockopt",
    "setuid",  // to its own id only
    "setxattr",
    "shmat",
    "shmctl",
    "shmdt",
    "shmget",  // X11, databases, fakeroot
    "shutdown",
    "sigaltstack",
    "signalfd",
    "signalfd4",
    "socket",  // arguments.h has the families and types
    "splice",  // cp and cat between files and pipes
    "stat",
    "statfs",
    "statx",
    "symlink",
    "symlinkat",
    "sync_file_range",
    "sysinfo",
    "tee",
    "tgkill",
    "time",
    "timer_create",
    "timer_delete",
    "timer_getoverrun",
    "timer_gettime",
    "timer_settime",
    "timerfd_create",
    "timerfd_gettime",
    "timerfd_settime",
    "times",
    "tkill",
    "truncate",
    "umask",
    "uname",
    "unlink",
    "unlinkat",
    "utime",
    "utimensat",
    "utimes",
    "vfork",
    "vmsplice",  // fast pipes: pv
    "wait4",
    "waitid",
    "write",
    "writev",
};

// Calls that are newer than the libseccomp that compiles the profile, by their
// x86-64 numbers.
inline constexpr int kAllowedNumbers[] = {
    451,  // cachestat
    453,  // map_shadow_stack
    454,  // futex_wake
    455,  // futex_wait
    456,  // futex_requeue
    462,  // mseal
};

// Refused with ENOSYS, not EPERM, as by a kernel without them: programs then
// use the older calls.
inline constexpr const char* kAbsent[] = {
    // The check for setuid bits does not know it.
    "fchmodat2",
    // One sandbox could take all events of the host (fs.aio-max-nr).
    "io_cancel",
    "io_destroy",
    "io_getevents",
    "io_pgetevents",
    "io_setup",
    "io_submit",
    // Makes system calls that no filter sees; libuv and tokio have a fallback.
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    // Its mode is in memory: no check for setuid bits.
    "openat2",
};

// A call in which another profile differs, and why.
struct Change {
  const char* call;
  const char* reason;
};

// clang-format off
inline constexpr Change kStrictRefuses[] = {
    {"ptrace", "a snippet has nothing to debug; tracing is a large surface"},
    {"process_vm_readv", "reads other commands"},
    {"process_vm_writev", "writes to other commands"},
    {"process_mrelease", "acts on other commands"},
    {"pidfd_open", "acts on other commands"},
    {"pidfd_send_signal", "acts on other commands"},
    {"socket", "needs no network, not even loopback; socketpair remains"},
    {"inotify_add_watch", "shows what other tenants open in /usr"},
    {"inotify_init", "shows what other tenants open in /usr"},
    {"inotify_init1", "shows what other tenants open in /usr"},
    {"fanotify_mark", "shows what other tenants open in /usr"},
    {"flock", "a lock on a file of /usr is seen by other tenants"},
    {"memfd_secret", "memory that no tool of the host can look at"},
    {"mlock", "memory that is never given back"},
    {"mlock2", "memory that is never given back"},
    {"mlockall", "memory that is never given back"},
    {"shmget", "old code, a source of kernel bugs"},
    {"shmat", "old code, a source of kernel bugs"},
    {"msgget", "old code, a source of kernel bugs"},
    {"semget", "old code, a source of kernel bugs"},
    {"mq_open", "memory of the kernel that outlives a command"},
    {"mknod", "a FIFO in a workspace holds up tools of the host"},
    {"mknodat", "a FIFO in a workspace holds up tools of the host"},
};

inline constexpr Change kDebugAllows[] = {
    {"kcmp", "strace and CRIU compare descriptors"},
    {"process_madvise", "tools that look at the memory of others"},
};

inline constexpr Change kNestedAllows[] = {
    {"unshare", "makes namespaces"},
    {"setns", "enters namespaces that it made"},
    {"mount", "builds the root of a sandbox"},
    {"umount2", "builds the root of a sandbox"},
    {"pivot_root", "builds the root of a sandbox"},
    {"chroot", "builds the root of a sandbox"},
    {"open_tree", "builds the root of a sandbox"},
    {"move_mount", "builds the root of a sandbox"},
    {"fsopen", "builds the root of a sandbox"},
    {"fsconfig", "builds the root of a sandbox"},
    {"fsmount", "builds the root of a sandbox"},
    {"fspick", "builds the root of a sandbox"},
    {"mount_setattr", "builds the root of a sandbox"},
    {"sethostname", "names a sandbox"},
    {"setdomainname", "names a sandbox"},
};

// ADDR_NO_RANDOMIZE of <sys/personality.h>: setarch -R, gdb.
inline constexpr unsigned long kNotRandom = 0x0040000;
// clang-format on

}  // namespace sandbox::seccomp

#endif  // SANDBOX_SECCOMP_PROFILE_H_
