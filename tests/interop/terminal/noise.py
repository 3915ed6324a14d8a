#!/usr/bin/env python3
"""Random bytes, random sizes and kills of the emulator: the client of corral-mcp notices nothing, and no memory grows.

    noise.py [BYTES [SEED]]      default: 300000 bytes; 10000000 takes some minutes
"""
import os
import pathlib
import random
import signal
import sys

from corral_mcp import Mcp, Server, run_tests

# Beginnings, middles and ends of what terminals understand.
PIECES = [b"\x1b", b"\x1b[", b"\x1b]", b"\x1bP", b"\x1b_", b"\x1b#8", b"\x1bc", b"\x1b7", b"\x1b8", b"\x1bD", b"\x1bM", b"\x1b(0", b"\x0e", b"\x0f",
          b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?6h", b"\x1b[?69h", b"\x1b[2;5r", b"\x1b[3;9s", b"\x1b[999;999H", b"\x1b[6n", b"\x1b[c",
          b"\x1b[99L", b"\x1b[99M", b"\x1b[99@", b"\x1b[99P", b"\x1b[99X", b"\x1b[99S", b"\x1b[99T", b"\x1b[99b", b"\x1b[2J", b"\x1b[3J", b"\x1b[J",
          b"\x1b[38;2;1;2;3m", b"\x1b[4:3m", b"\x1b[1;2;3;5;7;8;9m", b"\x1b[!p", b"\x1b[3g", b"\x1b[5W", b"\x1b[1;1;1;9;9;9*y", b"\x1b]11;?\x07",
          b"\x1bP$qm\x1b\\", "漢字".encode(), "é".encode(), b"e\xcc\x81", "😀".encode(), b"\r\n" * 9, b"\t", b"\b", b"x" * 90, b"4294967295", b";;;;"]


def noise(random_source, size):
    out = bytearray()
    while len(out) < size:
        kind = random_source.random()
        if kind < 0.4:
            out += random_source.randbytes(random_source.randint(1, 200))
        elif kind < 0.9:
            out += random_source.choice(PIECES)
        else:
            piece = bytearray(random_source.choice(PIECES))
            piece[random_source.randrange(len(piece))] = random_source.randrange(256)
            out += piece
    return bytes(out[:size])


def resident(pid):
    """The memory of a process in KiB; 0: it has ended."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def kill(pid):
    """Returns 0 if the process has just ended by itself."""
    try:
        os.kill(pid, signal.SIGKILL)
        return 1
    except ProcessLookupError:
        return 0


def noise_kills_and_resizes_are_not_noticed():
    source = random.Random(SEED)
    server = Server()
    fifo = server.workspace / "fifo"
    os.mkfifo(fifo, 0o666)
    os.chmod(fifo, 0o666)
    feeder = server.workspace / "feeder"
    # Answers to questions are read and dropped.
    feeder.write_text("#!/bin/sh\nstty raw -echo\ncat >/dev/null &\ncd \"$(dirname \"$0\")\"\nexec cat <>fifo\n")
    feeder.chmod(0o755)
    mcp = Mcp(server, "--shell", str(feeder))
    kills = calls = 0
    first = peak = None
    try:
        mcp.call("getContent")
        pipe = os.open(fifo, os.O_WRONLY)
        left = BYTES
        while left > 0:
            data = noise(source, min(left, source.randint(1, 60000)))
            left -= len(data)
            for begin in range(0, len(data), 4096):
                os.write(pipe, data[begin:begin + 4096])
            if source.random() < 0.3:
                mcp.call("resize", cols=source.randint(1, 300), rows=source.randint(1, 100))
            if source.random() < 0.3:
                for pid in server.emulators():
                    kills += kill(pid)
            tool = source.choice(["getContent", "takeScreenshot", "takeScreenshot", "clear"])
            arguments = {"format": source.choice(["text", "ansi", "png", "svg"])} if tool == "takeScreenshot" else {}
            mcp.call(tool, **arguments)
            calls += 1
            used = resident(server.process.pid), resident(mcp.process.pid), max([resident(p) for p in server.emulators()] or [0])
            # What grows only at first, such as buffers, does not count.
            if first is None and left < BYTES * 2 // 3:
                first = used
            peak = used if peak is None else tuple(map(max, peak, used))
        # A terminal that was reset works.
        os.write(pipe, b"\x18\x1b\\\x1bc\x1b[!pstill here")
        mcp.see(lambda lines: lines[0].startswith("still here"[:len(lines[0]) or 1]), "the text after the noise")
        os.close(pipe)
    finally:
        mcp.process.kill()
        server.end()
    for name, before, after in zip(("corrald", "corral-mcp", "emulator"), first, peak):
        assert after < before + 64 * 1024, f"{name} grew from {before} to {after} KiB"
    names = ("corrald", "corral-mcp", "emulator")
    figures = ", ".join(f"{name} {b / 1024:.0f} to {a / 1024:.0f} MiB" for name, b, a in zip(names, first, peak))
    return f"seed {SEED}, {BYTES} bytes, {calls} calls, {kills} kills; resident {figures}"


if __name__ == "__main__":
    BYTES = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    sys.exit(run_tests("terminal", [noise_kills_and_resizes_are_not_noticed]))
