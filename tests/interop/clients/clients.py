#!/usr/bin/env python3
"""npm, pip and git in a sandbox reach servers by names that an allow list has, without proxy settings, and no others."""
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent), str(pathlib.Path(__file__).resolve().parent.parent / "terminal")]
# pylint: disable=wrong-import-position
import content
from authority import Authority
from corral_mcp import BIN, Server, Skip, need, run_tests
from names import NameServer
from servers import GIT_BACKEND, Site

# The system's own one, which sandboxes have.
PYTHON = "/usr/bin/python3"
ALLOWED = ["npm.test", "pip.test", "files.test", "git.test", "half.test"]
# Served and certified like the others, but in no allow list.
SECRET = "secret.test"


class World:
    """The servers outside, the name server, and a corrald whose sandboxes ask it."""

    def __init__(self):
        # Addresses of this run alone, so that the usual ports are free.
        first = f"127.{random.randint(64, 127)}.{random.randint(0, 255)}"
        self.address, dead = f"{first}.1", f"{first}.2"
        self.addresses = {"half.test": [dead, self.address], "six.test": ["::1"]}
        self.names = NameServer(lambda name: self.addresses.get(name, [self.address]))
        self.names.start()
        self.server = Server(f'egress {{ private_networks: "127.0.0.0/8" private_networks: "::1" name_servers: "127.0.0.1:{self.names.port}" }}\n')
        self.directory = self.server.directory / "outside"
        self.directory.mkdir()
        self.commit = content.git_repository(self.directory)
        self.authority = Authority(self.directory)
        self.site = Site(self.directory)
        self.context = self.authority.context([*ALLOWED, SECRET, "six.test"])
        self.site.listen((self.address, 80))
        self.site.listen((self.address, 443), self.context)

    def sandbox(self, *hosts):
        return Sandbox(self, hosts)

    def end(self):
        self.server.end()


class Sandbox:
    """A sandbox with a workspace of its own that may reach these hosts. With `with`, it is deleted at the end."""

    def __init__(self, world, hosts):
        self.world = world
        self.count = 0
        self.workspace = world.directory / f"workspace-{time.monotonic_ns()}"
        self.workspace.mkdir()
        shutil.copy(world.authority.file, self.workspace / "authority.pem")
        self.name = world.server.corral("create", "--workspace", self.workspace, *(f"--allow-host={host}" for host in hosts)).decode().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.world.server.corral("rm", "-f", self.name)

    def run(self, *words):
        """Runs a command that trusts the authority. Returns its status and all that it wrote."""
        authority = self.workspace / "authority.pem"
        variables = [f"--env={name}={authority}" for name in ("npm_config_cafile", "PIP_CERT", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE")]
        command = [BIN / "corral", "--server", self.world.server.address, "exec", "-C", self.workspace, "--timeout=100s", *variables,
                   self.name, "--", *words]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return ended.returncode, ended.stdout.decode(errors="replace")

    def place(self):
        """A directory that does not exist yet."""
        self.count += 1
        return self.workspace / f"place{self.count}"

    def log(self):
        return self.world.server.corral("logs", "--network", self.name).decode()


class Npm:
    host = "npm.test"
    error = "getaddrinfo ENOTFOUND"

    @staticmethod
    def check():
        need("node", "npm")
        if any(not str(pathlib.Path(shutil.which(name)).resolve()).startswith("/usr/") for name in ("node", "npm")):
            raise Skip("npm is not below /usr")

    def fetch(self, box, base, place):
        place.mkdir()
        (place / "package.json").write_text("{}")
        return box.run("npm", "install", "--prefix", place, "--cache", f"{place}-cache", "--fetch-retries=0", "--no-audit", "--no-fund",
                       "--no-update-notifier", f"--registry={base}/npm/", "answer")

    def verify(self, box, place):
        modules = place / "node_modules"
        assert (modules / "answer" / "noise").read_bytes() == content.NOISE
        for name in content.PARTS:
            assert (modules / name / "index.js").read_text() == f"module.exports = '{name}';\n"


class Pip:
    host = "pip.test"
    error = "Name or service not known"

    @staticmethod
    def check():
        if subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True, check=False).returncode != 0:
            raise Skip("pip is not installed (python3-pip)")

    def fetch(self, box, base, place):
        trust = [f"--trusted-host={host}" for host in ALLOWED] if base.startswith("http:") else []
        return box.run(PYTHON, "-m", "pip", "download", "--no-cache-dir", "--retries=1", "--disable-pip-version-check", "--no-deps",
                       "--dest", place, f"--index-url={base}/pip/simple/", *trust, "corral-answer")

    def verify(self, box, place):
        assert (place / content.WHEEL).read_bytes() == box.world.site.wheel


class Git:
    host = "git.test"
    error = "Could not resolve host"

    @staticmethod
    def check():
        need("git")
        if not pathlib.Path(GIT_BACKEND).exists():
            raise Skip(f"{GIT_BACKEND} is not installed")

    def fetch(self, box, base, place):
        return box.run("git", "clone", f"{base}/git/answer.git", place)

    def verify(self, box, place):
        assert (place / "noise").read_bytes() == content.NOISE
        assert box.run("git", "-C", place, "rev-parse", "HEAD") == (0, box.world.commit + "\n")


def fetch(tool, box, base):
    """Gets what the tool gets from this server, and checks it."""
    place = box.place()
    status, output = tool.fetch(box, base, place)
    assert status == 0, f"{base}: status {status}: {output[-400:]}; log: {box.log()[-300:]}"
    tool.verify(box, place)


def cannot_fetch(tool, box, base):
    """The tool fails with its own error about the name of SECRET. Returns the seconds that it took."""
    begin = time.monotonic()
    status, output = tool.fetch(box, base, box.place())
    seconds = time.monotonic() - begin
    assert status not in (0, 125) and "timeout" not in output, f"{base}: status {status}: {output[-400:]}"
    assert re.search(tool.error, output) and SECRET in output, output[-400:]
    return seconds


def test(tool, name):
    """Names a method that tests one tool."""
    def wrap(method):
        def run():
            tool.check()
            return method(tool)
        run.__name__ = name
        return run
    return wrap


def tests_of(world, tool):
    title = type(tool).__name__.lower()

    @test(tool, f"{title} gets the right bytes over TLS and plain HTTP, from an allowed name without proxy settings")
    def gets(tool):
        with world.sandbox(tool.host) as box:
            before = len(world.site.requests)
            assert "proxy" not in box.run("env")[1].lower()
            for scheme in ("https", "http"):
                fetch(tool, box, f"{scheme}://{tool.host}")
            assert "refused" not in box.log(), box.log()
            seen = {(kind, host) for kind, host, _ in world.site.requests[before:]}
            assert seen == {("https", tool.host), ("http", tool.host)}, seen

    @test(tool, f"{title} follows links and redirects to another allowed name of the same address")
    def follows(tool):
        with world.sandbox(tool.host, "files.test") as box:
            before = len(world.site.requests)
            for scheme in ("https", "http"):
                fetch(tool, box, f"{scheme}://{tool.host}/to/files.test")
                seen = {(kind, host) for kind, host, _ in world.site.requests[before:]}
                assert {(scheme, tool.host), (scheme, "files.test")} <= seen, seen

    @test(tool, f"{title} fails at once where a name is not allowed, and the log names it")
    def refused(tool):
        with world.sandbox(tool.host) as box:
            seconds = [cannot_fetch(tool, box, f"https://{SECRET}")]
            assert f"refused  look-up of {SECRET}: name not allowed" in box.log(), box.log()
        with world.sandbox(tool.host) as box:
            seconds.append(cannot_fetch(tool, box, f"https://{tool.host}/to/{SECRET}"))
            assert f"refused  look-up of {SECRET}: name not allowed" in box.log(), box.log()
        assert SECRET not in world.names.asked and SECRET not in world.site.hosts()
        return f"{seconds[0]:.1f} s, and {seconds[1]:.1f} s behind a redirect"

    @test(tool, f"{title} reaches a name whose only address is one of IPv6")
    def ipv6(tool):
        try:
            port = world.site.listen(("::1", 0), world.context)
        except OSError as error:
            raise Skip(f"the host has no IPv6 loopback: {error}") from None
        with world.sandbox(f"six.test:{port}") as box:
            fetch(tool, box, f"https://six.test:{port}")
            assert f"six.test:{port} (::1): closed" in box.log(), box.log()

    return [gets, follows, refused, ipv6]


def others(world):
    def git_pushes_over_tls_and_plain_http():
        Git.check()
        with world.sandbox("git.test") as box:
            place = box.place()
            for scheme in ("https", "http"):
                url = f"{scheme}://git.test/git/answer.git"
                # The body is larger than git holds in memory, so that it is sent in chunks.
                script = (f"rm -rf {place} && git clone -q {url} {place} && cd {place} && head -c 3000000 /dev/urandom > {scheme} && git add . && "
                          f"git -c user.name=test -c user.email=test@test commit -qm more && git push -q origin HEAD:refs/heads/{scheme}")
                status, output = box.run("sh", "-c", script)
                assert status == 0, f"{output[-400:]}; log: {box.log()[-300:]}"
                pushed = content.git("-C", world.directory / "answer.git", "rev-parse", f"refs/heads/{scheme}")
                assert box.run("git", "-C", place, "rev-parse", "HEAD") == (0, pushed + "\n")

    def git_reaches_a_name_of_a_wildcard_whose_first_address_is_dead():
        Git.check()
        with world.sandbox("*.test") as box:
            fetch(Git(), box, "https://half.test")

    def a_name_that_is_not_allowed_is_refused_on_the_address_of_one_that_is():
        need("curl")
        with world.sandbox("npm.test") as box:
            before = len(world.site.requests)
            for scheme, port, reason in (("https", 443, "server name differs"), ("http", 80, "host differs")):
                status, _ = box.run("curl", "-sS", "--connect-to", f"{SECRET}:{port}:npm.test:{port}", f"{scheme}://{SECRET}/npm/answer")
                assert status in (35, 52, 56), status
                assert f"refused  npm.test:{port}: {reason}, the client named {SECRET}" in box.log(), box.log()
            assert len(world.site.requests) == before, world.site.requests[before:]

    return [git_pushes_over_tls_and_plain_http, git_reaches_a_name_of_a_wildcard_whose_first_address_is_dead,
            a_name_that_is_not_allowed_is_refused_on_the_address_of_one_that_is]


def main():
    world = World()
    try:
        return run_tests("clients", [test for tool in (Npm(), Pip(), Git()) for test in tests_of(world, tool)] + others(world))
    finally:
        world.end()


if __name__ == "__main__":
    sys.exit(main())
