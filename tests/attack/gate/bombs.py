"""Bombs: programs without end that each take one thing without measure. Started in a sandbox as `bombs.py NAME`."""

import ctypes
import mmap
import os
import signal
import socket
import sys
import threading

MIB = 1 << 20
BOMBS = {}


def bomb(function):
    BOMBS[function.__name__.replace("_", "-")] = function
    return function


def spin():
    while True:
        pass


def in_children(count, function):
    """Runs the function in children, as many as the limit of processes allows."""
    for _ in range(count):
        try:
            if os.fork() == 0:
                function()
        except OSError:
            break
    function()


@bomb
def processes_that_spin():
    in_children(1000, spin)


@bomb
def threads_that_spin():
    try:
        for _ in range(1000):
            threading.Thread(target=spin, daemon=True).start()
    except RuntimeError:
        pass
    spin()


@bomb
def processes_that_begin_and_end():
    while True:
        try:
            if os.fork() == 0:
                os._exit(0)
            os.wait()
        except OSError:
            pass


@bomb
def programs_that_begin_and_end():
    while True:
        os.spawnv(os.P_WAIT, "/bin/true", ["true"])


@bomb
def memory_until_the_end():
    while True:
        if os.fork() == 0:
            memory = mmap.mmap(-1, 1 << 32)
            for at in range(0, 1 << 32, 4096):
                memory[at] = 1
        os.wait()


@bomb
def mappings_that_come_and_go():
    while True:
        memory = mmap.mmap(-1, 16 * MIB)
        for at in range(0, 16 * MIB, 4096):
            memory[at] = 1
        memory.close()


@bomb
def a_file_that_is_written_again_and_again():
    file = os.open("flood", os.O_RDWR | os.O_CREAT, 0o600)
    block = bytes(MIB)
    while True:
        for at in range(256):
            os.pwrite(file, block, at * MIB)


@bomb
def files_that_are_written_to_the_disk():
    number = 0
    while True:
        file = os.open(f"synced-{number % 100}", os.O_RDWR | os.O_CREAT, 0o600)
        os.write(file, b"x" * 4096)
        os.fsync(file)
        os.close(file)
        number += 1


@bomb
def caches_that_are_written_to_the_disk():
    while True:
        os.sync()


@bomb
def names_that_come_and_go():
    while True:
        for number in range(1000):
            os.close(os.open(f"name-{number}", os.O_RDWR | os.O_CREAT, 0o600))
        for number in range(1000):
            os.unlink(f"name-{number}")


@bomb
def output_without_end():
    block = b"x" * MIB
    while True:
        os.write(1, block)


@bomb
def connections_without_end():
    listener = socket.create_server(("127.0.0.1", 0))
    while True:
        client = socket.create_connection(listener.getsockname())
        listener.accept()[0].close()
        client.close()


@bomb
def switches_without_end():
    left, right = socket.socketpair()

    def answer():
        while True:
            right.sendall(right.recv(1))

    if os.fork() == 0:
        answer()
    while True:
        left.sendall(b"x")
        left.recv(1)


@bomb
def signals_without_end():
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        spin()
    while True:
        os.kill(child, signal.SIGUSR1)


@bomb
def timers_without_end():
    libc = ctypes.CDLL(None, use_errno=True)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    timer, interval = ctypes.c_void_p(), (ctypes.c_long * 4)(0, 1000, 0, 1000)
    for _ in range(1000):
        if libc.timer_create(1, None, ctypes.byref(timer)) == 0:
            libc.timer_settime(timer, 0, interval, None)
    spin()


if __name__ == "__main__":
    os.close(os.open("begun", os.O_CREAT | os.O_WRONLY))
    try:
        BOMBS[sys.argv[1]]()
    finally:
        os.close(os.open("ended", os.O_CREAT | os.O_WRONLY))
