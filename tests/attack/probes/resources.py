"""Resources: what one sandbox can take from all. The sandbox has 128 MiB and 64 processes, see tests/attack/run."""

import ctypes
import mmap
import os
import resource
import signal
import socket
import struct
import time

from probe import held, in_child, probe, syscall, through, verdict

KIND = "resources"
MIB = 1 << 20
MEMORY, PROCESSES = 128 * MIB, 64


def taken(limit, take):
    """Calls `take` until it fails or `limit` was reached. Returns how often it succeeded; keeps what it took."""
    kept = []
    for count in range(limit):
        try:
            kept.append(take())
        except (OSError, MemoryError):
            return count
    return limit


@probe(KIND, "processes of one tenant fill the table of all")
def starts_more_processes_than_allowed():
    children = []
    try:
        while len(children) < PROCESSES + 16:
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    except OSError:
        pass
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return verdict(len(children) > PROCESSES, len(children))


@probe(KIND, "threads are processes to the kernel")
def starts_more_threads_than_allowed():
    import threading

    gate = threading.Event()
    threads = []
    try:
        while len(threads) < PROCESSES + 16:
            threads.append(threading.Thread(target=gate.wait, daemon=True))
            threads[-1].start()
    except RuntimeError:
        threads.pop()
    gate.set()
    return verdict(len(threads) > PROCESSES, len(threads))


def fill(size):
    memory = mmap.mmap(-1, size)
    for at in range(0, size, 4096):
        memory[at] = 1
    return 0


@probe(KIND, "memory of one tenant is taken from all")
def takes_more_memory_than_allowed():
    status = in_child(lambda: fill(2 * MEMORY))
    return verdict(status == 0, status)


def fill_file(path, size):
    with open(path, "wb", buffering=0) as file:
        for _ in range(size // MIB):
            file.write(bytes(MIB))
    return 0


@probe(KIND, "files in memory are memory")
def fills_tmp_beyond_its_memory():
    status = in_child(lambda: fill_file("/tmp/filler", 2 * MEMORY))
    if os.path.exists("/tmp/filler"):
        os.unlink("/tmp/filler")
    return verdict(status == 0, status)


@probe(KIND, "files in memory are memory")
def fills_shared_memory_beyond_its_memory():
    status = in_child(lambda: fill_file("/dev/shm/filler", 2 * MEMORY))
    if os.path.exists("/dev/shm/filler"):
        os.unlink("/dev/shm/filler")
    return verdict(status == 0, status)


@probe(KIND, "a file without a name is memory")
def fills_a_nameless_file_beyond_its_memory():
    def take():
        file = os.memfd_create("filler")
        for _ in range(2 * MEMORY // MIB):
            os.write(file, bytes(MIB))
        return 0

    status = in_child(take)
    return verdict(status == 0, status)


@probe(KIND, "pipes are memory of the kernel")
def fills_pipes_beyond_its_memory():
    def take():
        import fcntl

        for _ in range(2 * MEMORY // MIB):
            reader, writer = os.pipe()
            os.set_blocking(writer, False)
            # F_SETPIPE_SZ: one MiB is the most without a capability.
            if fcntl.fcntl(writer, 1031, MIB) < MIB or os.write(writer, bytes(MIB)) < MIB:
                return 1
            fcntl.fcntl(reader, 1032)
        return 0

    status = in_child(take)
    return verdict(status == 0, status)


@probe(KIND, "locked memory is never given back")
def locks_more_memory_than_allowed():
    def take():
        libc = ctypes.CDLL(None, use_errno=True)
        memory = mmap.mmap(-1, 2 * MEMORY)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        return 0 if libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(2 * MEMORY)) == 0 else 1

    status = in_child(take)
    return verdict(status == 0, status)


@probe(KIND, "huge pages are the host's, and no limit counts them")
def takes_huge_pages():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(None, ctypes.c_size_t(2 * MIB), 3, 0x40022, -1, ctypes.c_long(0))
    return verdict(address not in (None, 0xFFFFFFFFFFFFFFFF))


@probe(KIND, "events of asynchronous files are the host's")
def takes_all_events_of_asynchronous_files():
    context = ctypes.c_ulong()
    return verdict(syscall("io_setup", 1024, ctypes.byref(context)) == 0)


@probe(KIND, "terminals of the host run out")
def takes_all_terminals():
    count = taken(512, lambda: os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
    return verdict(count >= 512, count)


@probe(KIND, "message queues are memory of the kernel")
def takes_all_message_queues():
    def take():
        attributes = struct.pack("qqqqqqqq", 0, 10, 8192, 0, 0, 0, 0, 0)
        name = f"corral-{time.monotonic_ns()}"
        syscall("mq_open", name, os.O_RDWR | os.O_CREAT, 0o600, attributes)

    count = taken(4096, take)
    for name in list(os.listdir("/dev/mqueue")) if os.path.isdir("/dev/mqueue") else []:
        os.unlink("/dev/mqueue/" + name)
    return verdict(count >= 4096, count)


@probe(KIND, "queued signals are memory of the kernel")
def queues_signals_without_a_limit():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})
    libc = ctypes.CDLL(None, use_errno=True)
    sent = 0
    while sent < 200_000 and libc.sigqueue(os.getpid(), int(signal.SIGRTMIN), ctypes.c_void_p(0)) == 0:
        sent += 1
    return verdict(sent >= 200_000, sent)


@probe(KIND, "watches of files pin memory of the kernel")
def takes_watches_without_a_limit():
    libc = ctypes.CDLL(None, use_errno=True)
    instances = taken(4096, lambda: checked(libc.inotify_init1(0)))
    return verdict(instances >= 4096, instances)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


@probe(KIND, "open files of the host run out")
def opens_files_without_a_limit():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return verdict(hard == resource.RLIM_INFINITY or hard > 1 << 20, hard)


@probe(KIND, "descriptors in flight count to nobody")
def sends_descriptors_without_a_limit():
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    left.setblocking(False)
    null = os.open("/dev/null", os.O_RDONLY)
    sent = 0

    def send():
        nonlocal left, right
        try:
            socket.send_fds(left, [b"x"], [null] * 250)
        except BlockingIOError:
            left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            left.setblocking(False)
            KEPT.append((left, right))
            socket.send_fds(left, [b"x"], [null] * 250)

    KEPT.append((left, right))
    while sent < 200_000:
        try:
            send()
        except OSError as error:
            return held(f"{sent}, then {error.errno}")
        sent += 250
    return through(sent)


KEPT = []


@probe(KIND, "CPU time beyond its share is that of others")
def finds_more_than_its_share_of_the_cpu():
    begin, used = time.monotonic(), time.process_time()
    while time.monotonic() - begin < 0.4:
        pass
    share = (time.process_time() - used) / (time.monotonic() - begin)
    # The sandbox has one CPU; one thread cannot use more.
    return verdict(share > 1.5, f"{share:.2f}")


@probe(KIND, "socket buffers are memory of the kernel")
def fills_socket_buffers_beyond_its_memory():
    def take():
        for _ in range(2 * MEMORY // (128 * 1024)):
            pair = socket.socketpair()
            KEPT.append(pair)
            pair[0].setblocking(False)
            try:
                while True:
                    pair[0].send(bytes(65536))
            except BlockingIOError:
                pass
        return 0

    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    status = in_child(take)
    return verdict(status == 0 and 2 * MEMORY // (128 * 1024) * 200_000 > 2 * MEMORY, status)
