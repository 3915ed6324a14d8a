#!/usr/bin/env python3
"""Clients outside reach a dev server in a sandbox through corral port-forward and corral run --publish."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "terminal")]
# pylint: disable=wrong-import-position
from corral_mcp import BIN, Server, run_tests


class World:
    """A corrald, and a sandbox in which the dev server runs."""

    def __init__(self):
        self.server = Server()
        self.children = []
        self.peers = self.server.workspace
        shutil.copytree(pathlib.Path(os.environ["PORT_PEERS"]) / "node_modules", self.peers / "node_modules")
        for name in ("server.mjs", "client.mjs"):
            shutil.copy(HERE / name, self.peers)
        # Modules in these files, as package.json says.
        shutil.copy(HERE / "package.json", self.peers)
        self.name = self.server.corral("create", "--workspace", self.peers).decode().strip()
        self.serve("exec", "-C", self.peers, self.name)
        self.port = self.port_of(self.begin("port-forward", self.name, "8080:0"))

    def begin(self, *words):
        child = subprocess.Popen([BIN / "corral", "--server", self.server.address, *words], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.children.append(child)
        return child

    def serve(self, *words):
        """Runs the dev server, and returns when it listens."""
        child = self.begin(*words, "--", "node", "server.mjs")
        line = child.stdout.readline()
        assert line == b"ready\n", (line, child.stderr.read())
        return child

    @staticmethod
    def port_of(child):
        line = child.stderr.readline().decode()
        return re.fullmatch(r"corral: port 8080 of the sandbox is at 127\.0\.0\.1:(\d+)\n", line)[1]

    def check(self, name, port=None):
        """Runs a check of client.mjs."""
        ended = subprocess.run(["node", "client.mjs", port or self.port, name], cwd=self.peers, capture_output=True, timeout=100, check=False)
        assert ended.returncode == 0, ended.stderr.decode()

    def end(self):
        for child in self.children:
            child.terminate()
            child.wait()
        self.server.end()


def tests(world):
    def websocket_echoes_a_thousand_messages():
        world.check("echo")

    def websocket_gets_a_thousand_messages_that_the_server_begins():
        world.check("push")

    def websocket_passes_pings_and_pongs_both_ways():
        world.check("ping")

    def websocket_passes_the_close_codes_of_both_sides():
        world.check("close")

    def websocket_server_sees_a_client_that_breaks_off():
        world.check("terminate")

    def node_fetches_a_hundred_times_on_a_connection_that_it_keeps():
        world.check("fetch")

    def node_sends_and_gets_large_bodies():
        world.check("body")

    def run_publishes_the_server_while_it_runs():
        child = world.serve("run", "--workspace", world.peers, "--publish", "8080:0")
        world.check("echo", world.port_of(child))

    return list(locals().values())[1:]


def main():
    world = World()
    try:
        return run_tests("ports", tests(world))
    finally:
        world.end()


if __name__ == "__main__":
    sys.exit(main())
