"""Directories that are workspaces, and the sandboxes in which programs run there."""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "terminal")]
# pylint: disable=wrong-import-position
from corral_mcp import BIN, Server, Skip

# What sandboxes have of the host's programs.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
# After this time a test would hang for ever.
TIMEOUT = "20m"


def need(*programs):
    for program in programs:
        found = shutil.which(program, path=PATH)
        if found is None:
            raise Skip(f"{program} is not installed below /usr")
        if not os.path.realpath(found).startswith(("/usr/", "/etc/alternatives/")):
            raise Skip(f"{program} leads to {os.path.realpath(found)}, which sandboxes do not have")


class World:
    """A corrald that grants the profiles of the tests."""

    def __init__(self):
        self.server = Server('ceilings { profiles: "DEFAULT" profiles: "NESTED" }\n')
        self.count = 0

    def place(self):
        self.count += 1
        return Place(self.server, self.server.directory / f"place-{self.count}")

    def end(self):
        self.server.end()


class Place:
    """A new directory of its own for a test."""

    def __init__(self, server, directory):
        self.server = server
        self.directory = directory
        self.directory.mkdir()

    def write(self, **files):
        """Writes files; "main_c" names main.c."""
        for name, text in files.items():
            self.file(name.replace("_", "."), text)

    def file(self, name, text):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def attempt(self, script, profile="default"):
        """Runs a shell script in a sandbox of its own. Returns its exit status and all that it wrote."""
        ended = subprocess.run(
            [BIN / "corral", "--server", self.server.address, "run", "--profile", profile, "--timeout", TIMEOUT, "--",
             "bash", "-c", f"exec 2>&1\n{script}"],
            cwd=self.directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return ended.returncode, ended.stdout.decode(errors="replace")

    def run(self, script, **settings):
        """Runs a script that ends at its first failure, and must not fail. Returns all that it wrote."""
        status, output = self.attempt(f"set -euo pipefail\n{script}", **settings)
        assert status == 0, f"status {status}: {output[-500:]}"
        return output
