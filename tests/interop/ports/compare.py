#!/usr/bin/env python3
"""Compares corral port-forward with socat: the same server, in a sandbox behind corral and outside behind socat.

    CORRAL_BIN=bazel-bin tests/interop/ports/compare.py [PAIRS]

Pairs are measured in turn. Prints medians and, in brackets, the lowest and highest value.
"""
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "terminal")]
# pylint: disable=wrong-import-position
from corral_mcp import BIN, Server, await_that, need

BYTES = 256 << 20
TURNS = 2000
# The first byte of a connection says what is done with it: d: send BYTES; u: take BYTES, then answer; e: echo.
SERVER = f"""
import socket, sys, threading
def serve(c):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    kind = c.recv(1)
    if kind == b'd':
        c.sendall(bytes({BYTES}))
    elif kind == b'u':
        left = {BYTES}
        while left:
            left -= len(c.recv(1 << 18))
        c.sendall(b'.')
    else:
        while data := c.recv(1 << 16):
            c.sendall(data)
    c.close()
s = socket.create_server(('127.0.0.1', int(sys.argv[1])))
print(s.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=[s.accept()[0]], daemon=True).start()
"""


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def take(connection, size):
    while size:
        size -= len(connection.recv(min(size, 1 << 18)))


def download(port):
    with connect(port) as connection:
        begin = time.monotonic()
        connection.sendall(b"d")
        take(connection, BYTES)
        return BYTES / (time.monotonic() - begin) / 1e6


def upload(port):
    with connect(port) as connection:
        begin = time.monotonic()
        connection.sendall(b"u")
        connection.sendall(bytes(BYTES))
        take(connection, 1)
        return BYTES / (time.monotonic() - begin) / 1e6


def round_trip(port):
    with connect(port) as connection:
        connection.sendall(b"e")
        times = []
        for _ in range(TURNS):
            begin = time.monotonic()
            connection.sendall(b"x")
            take(connection, 1)
            times.append((time.monotonic() - begin) * 1e6)
        return statistics.median(times)


def connection_time(port):
    """From the begin of a connection to the first byte of the server."""
    times = []
    for _ in range(100):
        begin = time.monotonic()
        with connect(port) as connection:
            connection.sendall(b"ex")
            take(connection, 1)
        times.append((time.monotonic() - begin) * 1e6)
    return statistics.median(times)


def main():
    need("socat")
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    server = Server()
    children = []

    def begin(*words, **pipes):
        children.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, **pipes))
        return children[-1]

    try:
        outside = int(begin(sys.executable, "-c", SERVER, "0", stdout=subprocess.PIPE).stdout.readline())
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            socat = unused.getsockname()[1]
        begin("socat", "-b65536", f"TCP-LISTEN:{socat},bind=127.0.0.1,fork,reuseaddr,nodelay", f"TCP:127.0.0.1:{outside},nodelay")
        run = begin(BIN / "corral", "--server", server.address, "run", "--no-workspace", "--publish", "8080:0", "--", "python3", "-c", SERVER,
                    "8080", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        corral = int(re.search(rb"127\.0\.0\.1:(\d+)", run.stderr.readline())[1])
        assert run.stdout.readline() == b"8080\n"
        await_that(lambda: subprocess.run(["bash", "-c", f": </dev/tcp/127.0.0.1/{socat}"], check=False).returncode == 0, "socat")
        for measure, unit in ((download, "MB/s"), (upload, "MB/s"), (round_trip, "us"), (connection_time, "us")):
            values = {"socat": [], "corral": []}
            for _ in range(pairs):
                values["socat"].append(measure(socat))
                values["corral"].append(measure(corral))
            for name, found in values.items():
                print(f"{measure.__name__:16}{name:8}{statistics.median(found):8.0f} {unit}  [{min(found):.0f}, {max(found):.0f}]", flush=True)
    finally:
        for child in children:
            child.terminate()
            child.wait()
        server.end()


if __name__ == "__main__":
    main()
