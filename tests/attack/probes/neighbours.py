"""A second sandbox on the same machine: the victim."""

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct

from probe import bait, held, probe, read, syscall, through, verdict

KIND = "neighbours"


@probe(KIND, "a tenant's files")
def reads_a_file_of_the_victims_workspace():
    return verdict(bait("SECRET").encode() in read(bait("VICTIM") + "/secret"))


@probe(KIND, "a tenant's temporary files")
def reads_the_victims_temporary_files():
    for place in ("/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~")):
        if os.path.exists(place + "/victim"):
            return through(place)
    return held()


@probe(KIND, "commands show what a tenant does")
def sees_the_victims_processes():
    for process in os.listdir("/proc"):
        if process.isdigit():
            try:
                if bait("VICTIM_MARK").encode() in read(f"/proc/{process}/cmdline"):
                    return through(process)
            except OSError:
                pass
    return held()


@probe(KIND, "the victim's command ends")
def kills_the_victims_process():
    process = int(bait("VICTIM_PID"))
    if os.path.exists(f"/proc/{process}"):
        return held("a process of its own has that number")
    os.kill(process, signal.SIGKILL)
    return through()


@probe(KIND, "a limit of another process binds it")
def changes_the_victims_limits():
    resource.prlimit(int(bait("VICTIM_PID")), resource.RLIMIT_NOFILE, (3, 3))
    return through()


@probe(KIND, "a process of the same user id may be slowed down")
def lowers_the_priority_of_all_with_its_user_id():
    # Own processes count; those of the victim are judged by the host.
    os.setpriority(os.PRIO_USER, os.getuid(), 19)
    return held("judged by the host")


@probe(KIND, "a tenant's CPUs")
def moves_the_victims_process_to_another_cpu():
    os.sched_setaffinity(int(bait("VICTIM_PID")), {0})
    return through()


@probe(KIND, "a tenant's memory")
def reads_the_victims_memory():
    buffer = ctypes.create_string_buffer(8)
    local = struct.pack("QQ", ctypes.addressof(buffer), 8)
    syscall("process_vm_readv", int(bait("VICTIM_PID")), local, 1, struct.pack("QQ", 0x400000, 8), 1, 0)
    return through()


@probe(KIND, "a tracer rules what it traces")
def traces_the_victims_process():
    syscall("ptrace", 16, int(bait("VICTIM_PID")), 0, 0)
    return through()


@probe(KIND, "abstract names have no owner")
def connects_to_the_victims_abstract_socket():
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        channel.connect("\0" + bait("VICTIM_ABSTRACT"))
        return through()


@probe(KIND, "a service that a tenant tests")
def connects_to_the_victims_service():
    with socket.create_connection(("127.0.0.1", int(bait("VICTIM_PORT"))), 3):
        return through()


@probe(KIND, "keys of shared memory are the same for all")
def attaches_the_victims_shared_memory():
    return verdict(syscall("shmget", int(bait("VICTIM_KEY")), 4096, 0o600) >= 0)


@probe(KIND, "keys of message queues are the same for all")
def opens_the_victims_message_queue():
    return verdict(syscall("msgget", int(bait("VICTIM_KEY")), 0o600) >= 0)


@probe(KIND, "keys of semaphores are the same for all")
def opens_the_victims_semaphores():
    return verdict(syscall("semget", int(bait("VICTIM_KEY")), 1, 0o600) >= 0)


@probe(KIND, "names of POSIX queues are the same for all")
def opens_the_victims_posix_queue():
    return verdict(syscall("mq_open", "victim", os.O_RDWR, 0, None) >= 0)


@probe(KIND, "numbers of terminals are the same for all")
def writes_to_the_victims_terminal():
    for name in os.listdir("/dev/pts"):
        if name.isdigit():
            with open("/dev/pts/" + name, "wb", buffering=0) as terminal:
                terminal.write(b"x")
                return through(name)
    return held()


@probe(KIND, "a lock on a file that both see stops the other one")
def finds_a_lock_of_the_victim():
    # flock needs no right to write. README.md states it for /usr.
    file = os.open("/usr/bin/env", os.O_RDONLY)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return held("got the lock; see README.md")


@probe(KIND, "a user id that two tenants share joins all their limits and files")
def shares_the_victims_user_id():
    with open("/proc/self/uid_map", encoding="ascii") as table:
        first = table.read().split()[1]
    return verdict(first == bait("VICTIM_ID") and first != "0", first)


@probe(KIND, "the victim's namespaces")
def shares_a_namespace_with_the_host():
    for name, number in (pair.split("=") for pair in bait("NAMESPACES").split()):
        if os.stat("/proc/self/ns/" + name).st_ino == int(number):
            return through(name)
    return held()
