"""Processes and the kernel."""

import ctypes
import fcntl
import os
import resource
import signal
import struct
import time

from probe import call, held, in_child, probe, syscall, through, verdict, write

KIND = "kernel"
NAMESPACES = {"mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000,
              "pid": 0x20000000, "net": 0x40000000, "time": 0x80}


def makes_namespace(make):
    """Through if `make` makes any namespace, alone or below a user namespace."""
    for name, flag in NAMESPACES.items():
        for flags in {flag, flag | NAMESPACES["user"]}:
            try:
                make(flags)
                return through(name)
            except OSError:
                pass
    return held()


@probe(KIND, "a user namespace opens the privileged surface of the kernel")
def leaves_its_namespaces():
    return makes_namespace(lambda flags: syscall("unshare", flags))


@probe(KIND, "a child in a new user namespace has all capabilities there")
def starts_a_child_in_new_namespaces():
    def make(flags):
        child = syscall("clone", flags | signal.SIGCHLD, 0, 0, 0, 0)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    return makes_namespace(make)


@probe(KIND, "the flags of clone3 are in memory, where no filter sees them")
def starts_a_child_in_new_namespaces_by_clone3():
    def make(flags):
        child = syscall("clone3", struct.pack("QQQQQQQQ", flags, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    return makes_namespace(make)


@probe(KIND, "code of its own runs in the kernel")
def loads_a_module():
    for name, arguments in (("init_module", (b"\x7fELF", 4, "")), ("finit_module", (0, "", 0)),
                            ("delete_module", ("dummy", 0))):
        try:
            return call(name, *arguments)
        except OSError as error:
            if error.errno not in (1, 38):
                return through(f"{name} was looked at: {error}")
    return held()


@probe(KIND, "another kernel is started")
def loads_another_kernel():
    for name, arguments in (("kexec_load", (0, 0, None, 0)), ("kexec_file_load", (0, 0, 0, None, 0)),
                            ("reboot", (0xFEE1DEAD, 672274793, 0, None))):
        try:
            return call(name, *arguments)
        except OSError:
            pass
    return held()


@probe(KIND, "programs in the kernel have been a way out many times")
def loads_a_bpf_program():
    attributes = struct.pack("IIIIII", 2, 4, 4, 1, 0, 0) + bytes(96)
    return call("bpf", 0, attributes, len(attributes))


@probe(KIND, "filters that are freed by thousands stop the kernel")
def loads_a_system_call_filter():
    instructions = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
    program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(instructions))
    try:
        return call("seccomp", 1, 0, program)
    except OSError:
        return call("prctl", 22, 2, program, 0, 0)


@probe(KIND, "counters of the CPU show what others do")
def counts_events_of_the_cpu():
    attributes = struct.pack("IIQ", 1, 112, 0) + bytes(96)
    for target in ((0, -1), (-1, 0)):
        try:
            return call("perf_event_open", attributes, target[0], target[1], -1, 0)
        except OSError:
            pass
    return held()


@probe(KIND, "faults that it handles itself make races in the kernel easy")
def handles_its_own_page_faults():
    for flags in (0, 1):
        try:
            return call("userfaultfd", flags)
        except OSError:
            pass
    return held()


@probe(KIND, "a ring makes system calls that no filter sees")
def makes_a_ring_of_system_calls():
    return call("io_uring_setup", 4, ctypes.create_string_buffer(120))


@probe(KIND, "keys are shared by all who have the same user id")
def stores_a_key():
    try:
        return call("add_key", "user", "corral-probe", b"x", 1, -3)
    except OSError:
        return call("keyctl", 0, -3, 1)


@probe(KIND, "16-bit segments have been a way into the kernel")
def changes_its_segments():
    return call("modify_ldt", 1, struct.pack("IIII", 0, 0, 0xFFFFF, 0x51), 16)


@probe(KIND, "ports of devices are written to directly")
def gets_ports_of_devices():
    try:
        return call("iopl", 3)
    except OSError:
        return call("ioperm", 0x80, 1, 1)


@probe(KIND, "the time of the host changes for everybody")
def sets_the_time():
    seconds = struct.pack("qq", int(time.time()), 0)
    for name, arguments in (("clock_settime", (0, seconds)), ("settimeofday", (seconds, None))):
        try:
            return call(name, *arguments)
        except OSError:
            pass
    adjustment = struct.pack("Iiqqqqiiqqqqqqq", 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) + bytes(128)
    return call("adjtimex", ctypes.create_string_buffer(adjustment))


@probe(KIND, "the host gets another name")
def sets_the_name_of_the_host():
    return call("sethostname", "corral-probe", 12)


@probe(KIND, "messages of the kernel are read or thrown away")
def reads_the_log_of_the_kernel():
    for action in (2, 3, 10):
        try:
            return call("syslog", action, ctypes.create_string_buffer(64), 64)
        except OSError:
            pass
    return held()


@probe(KIND, "code without random addresses is easier to attack")
def turns_random_addresses_off():
    syscall("personality", 0x40000)
    return verdict(syscall("personality", 0xFFFFFFFF) & 0x40000)


@probe(KIND, "readable pages become executable")
def makes_readable_pages_executable():
    syscall("personality", 0x400000)
    return verdict(syscall("personality", 0xFFFFFFFF) & 0x400000)


@probe(KIND, "a process with real-time priority starves all others")
def gets_real_time_priority():
    for policy in (os.SCHED_FIFO, os.SCHED_RR):
        try:
            os.sched_setscheduler(0, policy, os.sched_param(1))
            return through()
        except OSError:
            pass
    return held()


@probe(KIND, "a deadline reserves the CPU before all others")
def gets_a_deadline():
    return call("sched_setattr", 0, struct.pack("IIQiIQQQ", 48, 6, 0, 0, 0, 10**7, 10**8, 10**8), 0)


@probe(KIND, "a lower nice value takes CPU time from others")
def raises_its_priority():
    before = os.nice(0)
    return verdict(os.nice(-5) < before)


@probe(KIND, "real-time requests to the disk go before all others")
def raises_its_priority_at_the_disk():
    return call("ioprio_set", 1, 0, 1 << 13)


@probe(KIND, "limits bound what one process can take")
def raises_its_limits():
    for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_CORE, resource.RLIMIT_MSGQUEUE,
                 resource.RLIMIT_RTPRIO, resource.RLIMIT_SIGPENDING):
        hard = resource.getrlimit(kind)[1]
        if hard == resource.RLIM_INFINITY:
            continue
        try:
            resource.setrlimit(kind, (hard, hard + 1))
        except (OSError, ValueError):
            continue
        if resource.getrlimit(kind)[1] > hard:
            return through(kind)
    return held()


@probe(KIND, "the addresses of a process change what tools of the host show of it")
def moves_its_own_addresses():
    return call("prctl", 35, 1, 0x10000, 0, 0)


@probe(KIND, "merged pages show what others have in memory")
def merges_its_pages_with_others():
    call("prctl", 67, 1, 0, 0, 0)
    return through()


@probe(KIND, "pages are moved to where others need theirs")
def moves_pages_of_others():
    nodes = struct.pack("Q", 1)
    try:
        return call("migrate_pages", 1, 64, nodes, nodes)
    except OSError:
        return call("move_pages", 1, 1, struct.pack("Q", 0x400000), None, ctypes.create_string_buffer(4), 0)


@probe(KIND, "the label of its security module is its confinement")
def changes_its_security_label():
    for path in ("/proc/self/attr/current", "/proc/self/attr/exec"):
        try:
            write(path, b"changeprofile unconfined")
            return through(path)
        except OSError:
            pass
    return held()


@probe(KIND, "a core is written to where the host's handler puts it")
def dumps_core():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    status = in_child(lambda: os.kill(os.getpid(), signal.SIGABRT))
    return verdict(os.WCOREDUMP(status), status)


@probe(KIND, "events of the host's kernel are traced")
def traces_the_kernel():
    for place in ("/sys/kernel/tracing/trace", "/sys/kernel/debug", "/proc/self/timerslack_ns_of_init"):
        if os.path.exists(place):
            return through(place)
    return held()


@probe(KIND, "system calls of another architecture are not in the filter's list")
def calls_the_kernel_by_the_32_bit_gate():
    import mmap

    # mov eax, 20 (getpid); int 0x80; ret
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))

    def compare():
        return 1 if ctypes.CFUNCTYPE(ctypes.c_int)(address)() == os.getpid() else 0

    return verdict(os.waitstatus_to_exitcode(in_child(compare)) == 1)


@probe(KIND, "the other numbers of x32 are not in the filter's list")
def calls_the_kernel_by_x32_numbers():
    from probe import NUMBERS

    NUMBERS["x32 getpid"] = 0x40000000 | 39
    return verdict(syscall("x32 getpid") == os.getpid())


@probe(KIND, "a terminal's input is typed by somebody else")
def types_into_a_terminal():
    controller, terminal = os.openpty()
    fcntl.ioctl(terminal, 0x5412, b"x")
    return through(controller)


@probe(KIND, "line disciplines are drivers that the kernel loads on request")
def changes_the_line_discipline():
    _, terminal = os.openpty()
    fcntl.ioctl(terminal, 0x5423, struct.pack("i", 3))
    return through()
