"""Runs each bomb beside a victim: see run."""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "probes")]

import bombs  # noqa: E402
import boxes  # noqa: E402

COMMANDS, CREATIONS = 15, 3
WORST = 25


def timed(function):
    begin = time.monotonic()
    function()
    return 1000 * (time.monotonic() - begin)


class Gate:
    """A corrald, a sandbox of the victim, and one for each bomb."""

    def __init__(self, programs):
        self.scratch = tempfile.mkdtemp(prefix="corral-gate.", dir="/var/tmp")
        os.chmod(self.scratch, 0o755)
        # No workspace may lie at or below what belongs to corrald.
        os.mkdir(self.scratch + "/server")
        self.box = boxes.Corral(programs, self.scratch + "/server", "default")
        self.victim = self.workspace("victim")
        self.box.create(self.victim)

    def workspace(self, name):
        path = f"{self.scratch}/{name}"
        os.mkdir(path)
        shutil.copy(os.path.join(HERE, "bombs.py"), path)
        return path

    def command(self):
        result = self.box.run(self.victim, ["sh", "-c", "echo fine"], {})
        if result.stdout != b"fine\n":
            raise RuntimeError(f"a command of the victim: {result.stderr.decode(errors='replace').strip()}")

    def creation(self):
        workspace = self.workspace("new")
        try:
            self.box.create(workspace)
            self.box.end(workspace)
        finally:
            shutil.rmtree(workspace)

    def figures(self):
        """Medians in ms: a command, a new sandbox."""
        return (statistics.median(timed(self.command) for _ in range(COMMANDS)),
                statistics.median(timed(self.creation) for _ in range(CREATIONS)))

    def beside(self, name):
        workspace = self.workspace(name)
        try:
            self.box.create(workspace)
            self.box.start(workspace, ["python3", "-B", "bombs.py", name], {})
            self.await_begin(workspace)
            figures = self.figures()
            if os.path.exists(workspace + "/ended"):
                raise RuntimeError("the bomb ended by itself")
            return figures
        finally:
            self.box.end(workspace)
            shutil.rmtree(workspace)

    @staticmethod
    def await_begin(workspace):
        deadline = time.monotonic() + boxes.TIMEOUT
        while not os.path.exists(workspace + "/begun"):
            if time.monotonic() > deadline:
                raise RuntimeError("the bomb did not begin")
            time.sleep(0.02)

    def close(self):
        self.box.stop()
        shutil.rmtree(self.scratch, ignore_errors=True)


def judge(gate, name, quiet):
    try:
        loud = gate.beside(name)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return f"FAIL gate: {name}: {error}"
    words = [f"{what} {there:.0f} ms instead of {alone:.0f} ms ({there / alone:.1f} x)"
             for what, there, alone in zip(("a command takes", "a new sandbox"), loud, quiet)]
    starved = any(there > WORST * alone for there, alone in zip(loud, quiet))
    return f"{'FAIL' if starved else 'PASS'} gate: {name}: {', '.join(words)}"


def main():
    parser = argparse.ArgumentParser(prog="tests/attack/gate/run")
    parser.add_argument("--bin", required=True, help="the directory of corral and corrald")
    parser.add_argument("wanted", nargs="*", help="names of bombs; all if none is given")
    arguments = parser.parse_args()
    gate, failed = Gate(arguments.bin), False
    try:
        quiet = gate.figures()
        for name in arguments.wanted or bombs.BOMBS:
            line = judge(gate, name, quiet)
            failed = failed or line.startswith("FAIL")
            print(line, flush=True)
    finally:
        gate.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
