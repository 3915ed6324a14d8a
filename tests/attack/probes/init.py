"""Attacks on init and on what a command is."""

import ctypes
import fcntl
import os
import resource
import signal
import struct
import time

from probe import bait, call, held, probe, read, syscall, through, verdict, write

KIND = "kernel"


@probe(KIND, "the namespaces of init may be more than its own")
def enters_the_namespaces_of_init():
    for name in ("mnt", "net", "pid", "user", "ipc", "uts", "cgroup"):
        try:
            return call("setns", os.open("/proc/1/ns/" + name, os.O_RDONLY), 0)
        except OSError:
            pass
    return held()


@probe(KIND, "the user namespace above is the host's")
def finds_the_user_namespace_above():
    file = os.open("/proc/self/ns/user", os.O_RDONLY)
    return through(fcntl.ioctl(file, 0xB702))


@probe(KIND, "another map of users makes it root")
def writes_a_map_of_users():
    write("/proc/self/uid_map", b"0 0 1\n")
    return through()


@probe(KIND, "root of the sandbox owns what the sandbox is made of")
def becomes_root():
    for change in (lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0), lambda: os.setreuid(-1, 0),
                   lambda: os.setgid(0), lambda: os.setgroups([0])):
        try:
            change()
            return through()
        except OSError:
            pass
    return held()


@probe(KIND, "a setuid program of the host acts for root of the sandbox")
def gains_from_a_setuid_program():
    for path in ("/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount", "/usr/bin/newgrp"):
        if os.path.exists(path):
            child = os.fork()
            if child == 0:
                null = os.open("/dev/null", os.O_RDWR)
                for number in range(3):
                    os.dup2(null, number)
                os.execv(path, [path, "--help"])
            status = read(f"/proc/{child}/status") if os.path.exists(f"/proc/{child}/status") else b""
            os.waitpid(child, 0)
            users = [line for line in status.split(b"\n") if line.startswith(b"Uid:")]
            if users and b"\t0" in users[0]:
                return through(path)
    return verdict(b"NoNewPrivs:\t1" not in read("/proc/self/status"))


@probe(KIND, "capabilities act on everything that the namespaces own")
def has_capabilities():
    lines = [line for line in read("/proc/self/status").decode().split("\n") if line.startswith("Cap")]
    return verdict([line for line in lines if int(line.split()[1], 16) != 0], lines)


@probe(KIND, "a tracer of init rules the sandbox")
def traces_init():
    for request in (16, 0x4206):
        try:
            return call("ptrace", request, 1, 0, 0)
        except OSError:
            pass
    return held()


@probe(KIND, "memory of init holds what rules the sandbox")
def reads_the_memory_of_init():
    buffer = ctypes.create_string_buffer(64)
    local = struct.pack("QQ", ctypes.addressof(buffer), 64)
    for address in (0x400000, 0x10000, 0x7FFFF7DD0000):
        try:
            syscall("process_vm_readv", 1, local, 1, struct.pack("QQ", address, 64), 1, 0)
            return through(hex(address))
        except OSError:
            pass
    return verdict(read("/proc/1/mem", 1))


@probe(KIND, "a descriptor of init leads to the supervisor")
def takes_a_descriptor_of_init():
    process = syscall("pidfd_open", 1, 0)
    for number in range(16):
        try:
            return call("pidfd_getfd", process, number, 0)
        except OSError:
            pass
    return held()


@probe(KIND, "the sandbox of others ends with init")
def kills_init():
    for kill in (lambda: os.kill(1, signal.SIGKILL), lambda: os.kill(1, signal.SIGSEGV),
                 lambda: syscall("pidfd_send_signal", syscall("pidfd_open", 1, 0), signal.SIGKILL, None, 0)):
        try:
            kill()
        except OSError:
            pass
    time.sleep(0.05)
    os.kill(os.getpid(), 0)
    return held("init ignores it or it was refused")


@probe(KIND, "init's limits bind all who come after it")
def changes_the_limits_of_init():
    return call("prlimit64", 1, resource.RLIMIT_NOFILE, struct.pack("QQ", 3, 3), None)


@probe(KIND, "a process of the host is stopped or killed")
def signals_a_process_of_the_host():
    os.kill(int(bait("PID")), 0)
    return held("a process of the sandbox has that number") if os.path.exists("/proc/" + bait("PID")) else through()


@probe(KIND, "a child that the supervisor did not start confuses it")
def gives_its_parent_a_child():
    flags = 0x8000 | signal.SIGCHLD
    child = syscall("clone", flags, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    return verdict(os.path.exists(f"/proc/{os.getppid()}/task"), child)


@probe(KIND, "advice about the memory of others slows them down")
def advises_about_the_memory_of_init():
    process = syscall("pidfd_open", 1, 0)
    return call("process_madvise", process, struct.pack("QQ", 0x400000, 4096), 1, 20, 0)


@probe(KIND, "addresses of kernel objects are compared")
def compares_objects_of_init():
    return call("kcmp", os.getpid(), 1, 1, 0, 0)
