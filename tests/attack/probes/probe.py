"""What the probes share: their registry, raw system calls, and the verdict.

A probe is a function that tries one thing from inside a sandbox and returns its verdict:

  through(...)  the attack had its effect
  held(...)     it had none
  absent(...)   it cannot be tried here, for example because the kernel lacks the feature

An OSError means held: the kernel refused. Every other exception is a fault of the probe. The verdict depends on the
effect: a call that succeeds without the effect is held.
"""

import ctypes
import errno
import os

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

# Of x86-64, from asm/unistd_64.h.
NUMBERS = {
    "ptrace": 101, "syslog": 103, "vhangup": 153, "modify_ldt": 154, "pivot_root": 155, "adjtimex": 159, "acct": 163,
    "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167, "reboot": 169, "sethostname": 170, "iopl": 172,
    "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179, "io_setup": 206, "clock_settime": 227,
    "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "ioprio_set": 251, "migrate_pages": 256,
    "unshare": 272, "move_pages": 279, "perf_event_open": 298, "fanotify_init": 300, "name_to_handle_at": 303,
    "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
    "finit_module": 313, "renameat2": 316, "seccomp": 317, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
    "pidfd_send_signal": 424, "io_uring_setup": 425, "open_tree": 428, "fsopen": 430, "pidfd_open": 434, "clone3": 435,
    "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443, "statmount": 457,
    "listmount": 458, "lsm_set_self_attr": 460, "clone": 56, "prctl": 157, "personality": 135, "set_mempolicy": 238,
    "shmget": 29, "shmat": 30, "msgget": 68, "semget": 64, "mq_open": 240, "timer_create": 222, "prlimit64": 302,
    "sched_setattr": 314, "tgkill": 234, "memfd_create": 319,
}

# name -> (class, reason, function)
PROBES = {}


def probe(kind, reason):
    """Registers a probe under its function's name. The reason says what the attack would do to others."""

    def register(function):
        name = function.__name__.replace("_", "-")
        assert name not in PROBES, name
        PROBES[name] = (kind, reason, function)
        return function

    return register


def through(detail=""):
    return ("through", str(detail))


def held(detail=""):
    return ("held", str(detail))


def absent(detail=""):
    return ("absent", str(detail))


def verdict(effect, detail=""):
    return through(detail) if effect else held(detail)


def run(name):
    """Runs a probe and returns (verdict, detail)."""
    try:
        return PROBES[name][2]()
    except OSError as error:
        return held(errno.errorcode.get(error.errno, str(error.errno)))


def syscall(name, *arguments):
    """A raw system call. Raises OSError; strings become C strings."""
    converted = []
    for argument in arguments:
        if isinstance(argument, str):
            argument = argument.encode()
        if isinstance(argument, bytes):
            converted.append(ctypes.c_char_p(argument))
        elif isinstance(argument, int):
            converted.append(ctypes.c_long(argument))
        elif argument is None:
            converted.append(ctypes.c_void_p(None))
        else:
            converted.append(argument)
    result = _libc.syscall(ctypes.c_long(NUMBERS[name]), *converted)
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def call(name, *arguments):
    """The verdict of a system call whose success is its effect."""
    return through(syscall(name, *arguments))


def read(path, size=65536):
    with open(path, "rb", buffering=0) as file:
        return file.read(size)


def write(path, content):
    with open(path, "wb", buffering=0) as file:
        file.write(content)


def bait(name):
    """What the host has put out for the probes: see tests/attack/run."""
    return os.environ["BAIT_" + name]


def in_child(function):
    """Runs a function in a child. Returns its wait status; the child exits with what the function returns."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = function() or 0
        except OSError:
            code = 98
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]
