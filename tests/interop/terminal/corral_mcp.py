"""A corrald and corral-mcp for tests, as a client outside sees them."""
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time

BIN = pathlib.Path(os.environ.get("CORRAL_BIN", "bazel-bin")).resolve()
# No test waits longer; a slow machine needs less.
PATIENCE = 120


def await_that(condition, what):
    """Returns what `condition` returns, as soon as that is true."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    raise AssertionError(f"never came: {what}")


class Server:
    """corrald in a directory of its own. `workspace` is the one of its sandboxes, `config` the text of its configuration."""

    def __init__(self, config=""):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="corral-terminal-", dir="/var/tmp"))
        self.workspace = self.directory / "workspace"
        self.workspace.mkdir()
        (self.directory / "server").mkdir()
        self.config = self.directory / "corrald.textproto"
        self.config.write_text(config)
        self.address = f"unix:{self.directory}/server/corrald.sock"
        self.start()

    def start(self):
        self.log = open(self.directory / "corrald.log", "ab")
        self.process = subprocess.Popen(
            [BIN / "corrald", "--config", self.config, "--listen", self.address, "--state-dir", self.directory / "state"], stderr=self.log)
        await_that(lambda: self.answers(), "corrald")

    def answers(self):
        return subprocess.run([BIN / "corral", "--server", self.address, "ps"], capture_output=True).returncode == 0

    def kill(self):
        self.process.kill()
        self.process.wait()

    def corral(self, *words):
        return subprocess.run([BIN / "corral", "--server", self.address, *words], check=True, capture_output=True).stdout

    def emulators(self):
        """The emulator processes of corrald, by pid."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)
                if fields[0].endswith("(corral-emulator") and int(fields[1].split()[1]) == self.process.pid:
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class ToolError(Exception):
    pass


class Mcp:
    """corral-mcp on pipes. One thread of the caller uses it."""

    def __init__(self, server, *options, capabilities=None):
        self.process = subprocess.Popen(
            [BIN / "corral-mcp", "--server", server.address, "--workspace", server.workspace, "--shell", "/bin/bash", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ, HOME=str(server.directory)))
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.ids = 0
        self.answers = {}
        # Messages of the server that answer nothing.
        self.others = []
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities or {},
                                "clientInfo": {"name": "test", "version": "0"}})

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, message):
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def receive(self):
        line = self.lines.get(timeout=PATIENCE)
        assert line is not None, "corral-mcp has ended"
        return json.loads(line)

    def begin(self, method, params):
        self.ids += 1
        self.send({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params})
        return self.ids

    def answer(self, number):
        while number not in self.answers:
            message = self.receive()
            if "method" in message or message.get("id") is None:
                self.others.append(message)
            else:
                self.answers[message["id"]] = message
        return self.answers.pop(number)

    def ask(self, method, params):
        return self.answer(self.begin(method, params))

    def call(self, tool, **arguments):
        """Returns the structured result."""
        message = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in message, message
        if message["result"].get("isError"):
            raise ToolError(message["result"]["content"][0]["text"])
        return message["result"]["structuredContent"]

    def type(self, text, **arguments):
        self.call("type", text=text, **arguments)

    def keys(self, *keys, **arguments):
        for key in keys:
            self.call("sendKey", key=key, **arguments)

    def screen(self, **arguments):
        """The visible lines without spaces at their ends, and the cursor."""
        shot = self.call("takeScreenshot", **arguments)
        lines = [line.rstrip() for line in shot["content"].split("\n")]
        return lines, (shot["cursor"]["x"], shot["cursor"]["y"])

    def see(self, condition, what, **arguments):
        """Waits until `condition(lines)` holds of the screen, and returns the lines."""
        last = []

        def look():
            last[:] = [self.screen(**arguments)[0]]
            return condition(last[0]) and last[0]
        try:
            return await_that(look, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen is {last[0]}") from None

    def quiet(self, millis=300, **arguments):
        self.call("wait", silenceMs=millis, timeoutMs=PATIENCE * 1000, **arguments)

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0


def run_tests(name, tests):
    """Runs functions, and prints a line for each. Returns the exit status. A test skips itself with Skip."""
    failed = 0
    for test in tests:
        title = f"{name}: {test.__name__.replace('_', ' ')}"
        try:
            note = test()
            print(f"PASS {title}{': ' + note if note else ''}", flush=True)
        except Skip as why:
            print(f"SKIP {title}: {why}", flush=True)
        except Exception as error:  # pylint: disable=broad-except
            failed = 1
            place = error.__traceback__
            while place.tb_next is not None:
                place = place.tb_next
            text = " ".join(f"{type(error).__name__}: {error}".split())
            print(f"FAIL {title}: {text[:600]} (line {place.tb_lineno})", flush=True)
    return failed


class Skip(Exception):
    pass


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            raise Skip(f"{program} is not installed")
