#!/usr/bin/env python3
"""asciinema plays the recordings of corral-mcp and of `corral record`; the shells outlive corral-mcp and corrald."""
import json
import pathlib
import re
import subprocess
import sys

from corral_mcp import Mcp, Server, await_that, need, run_tests


def played(path):
    """What asciinema writes for a recording. It needs a terminal."""
    for command in ("cat", "play -s 1000"):
        shown = subprocess.run(["script", "-qec", f"asciinema {command} {path}", "/dev/null"], capture_output=True, check=True,
                               stdin=subprocess.DEVNULL).stdout
        assert b"error" not in shown.lower(), shown
    return shown


def events_of(path):
    lines = pathlib.Path(path).read_text().splitlines()
    return json.loads(lines[0]), [json.loads(line) for line in lines[1:]]


def asciinema_plays_what_was_recorded():
    need("asciinema", "script")
    server = Server()
    try:
        mcp = Mcp(server, "--cols", "80", "--rows", "24")
        mcp.call("run", command="true")
        recording = mcp.call("startRecording", outputDir=str(server.directory / "casts"))
        mcp.call("run", command="echo rec''orded 漢字; printf '\\033[31mred\\033[0m\\n'")
        mcp.call("resize", cols=60, rows=12)
        stopped = mcp.call("stopRecording", recordingId=recording["recordingId"])
        assert stopped["saved"], stopped
        shown = played(stopped["path"]).decode()
        assert "recorded 漢字" in shown and "\x1b[31mred" in shown, shown
        _, events = events_of(stopped["path"])
        assert [each[2] for each in events if each[1] == "r"] == ["60x12"], events
        shell = server.corral("ps", "-q").decode().split()[-1]
        exported = server.directory / "exported.cast"
        exported.write_bytes(server.corral("record", shell))
        assert "recorded 漢字" in played(exported).decode()
        mcp.end()
    finally:
        server.end()


def a_recording_that_starts_with_the_screen_shows_the_same_screen():
    need("vim")
    server = Server()
    try:
        mcp = Mcp(server, "--cols", "80", "--rows", "24")
        (server.workspace / "a.txt").write_text("one\ntwo 漢字\n")
        mcp.type("vim -u NONE -N +'syntax on' +'set number' a.txt\r")
        mcp.see(lambda lines: "two" in lines[1], "vim")
        mcp.quiet()
        recording = mcp.call("startRecording", startWithScreen=True, outputDir=str(server.directory / "casts"))
        mcp.type("oadded")
        mcp.keys("Escape")
        mcp.quiet()
        expected = mcp.screen()
        ansi = mcp.call("takeScreenshot", format="ansi")["content"]
        stopped = mcp.call("stopRecording", recordingId=recording["recordingId"])
        header, events = events_of(stopped["path"])
        assert (header["width"], header["height"]) == (80, 24) and events[0][0] == 0, (header, events[0])
        (server.workspace / "output").write_text("".join(each[2] for each in events if each[1] == "o"))
        replay = server.workspace / "replay"
        replay.write_text("#!/bin/sh\nstty raw -echo\ncat \"$(dirname \"$0\")/output\"\nexec sleep 1000\n")
        replay.chmod(0o755)
        session = mcp.call("createSession", shell=str(replay), cols=80, rows=24)["sessionId"]
        mcp.see(lambda lines: any("added" in line for line in lines), "the replay", sessionId=session)
        mcp.quiet(sessionId=session)
        assert mcp.screen(sessionId=session) == expected, (mcp.screen(sessionId=session), expected)
        assert mcp.call("takeScreenshot", format="ansi", sessionId=session)["content"] == ansi
        mcp.end()
    finally:
        server.end()


def recordings_are_finished_whatever_ends():
    server = Server()
    casts = server.directory / "casts"
    try:
        # The shell exits; corrald is killed; corral-mcp ends.
        for end, reason in (("exit", "session_exit"), ("server", "server_shutdown"), ("mcp", "server_shutdown")):
            mcp = Mcp(server)
            mcp.call("run", command="true")
            path = pathlib.Path(mcp.call("startRecording", outputDir=str(casts))["path"])
            meta = path.with_suffix(".meta.json")
            mcp.call("run", command="echo rec''orded")
            if end == "exit":
                mcp.type("exit 3\r")
                mcp.call("wait", text="never", timeoutMs=60000)
                await_that(meta.exists, "the end of the recording")
                assert json.loads(meta.read_text())["exitCode"] == 3
            elif end == "server":
                server.kill()
                server.start()
                mcp.call("run", command="echo ag''ain")
            mcp.end()
            assert json.loads(meta.read_text())["stopReason"] == reason, (end, meta.read_text())
            assert "recorded" in path.read_text(), end
            assert end != "server" or "again" in path.read_text()
    finally:
        server.end()


def shells_outlive_corral_mcp_and_corrald():
    server = Server()
    try:
        mcp = Mcp(server, "--name", "kept", "--cols", "70", "--rows", "20")
        mcp.call("run", command="x=17; echo bef''ore; (while sleep 0.2; do echo tick; done >> ticks) &")
        mcp.call("run", command="echo mi''ddle")
        mcp.call("clear")
        server.kill()
        server.start()
        lines = mcp.screen()[0]
        assert len(lines) == 20 and not any("before" in line for line in lines), lines
        mcp.end()
        server.kill()
        server.start()
        mcp = Mcp(server, "--name", "kept", "--cols", "70", "--rows", "20")
        assert mcp.call("run", command="echo x=$x")["output"] == "x=17\n"
        assert not any("before" in line for line in mcp.call("getContent")["content"].split("\n"))
        assert mcp.call("run", command="read tick < <(tail -f -n +1 ticks); echo $tick", timeoutMs=60000)["output"] == "tick\n"
        mcp.end()
        server.corral("rm", "-f", "kept")
    finally:
        server.end()


def http_clients_share_a_sandbox_with_a_name():
    import urllib.request
    from corral_mcp import BIN
    server = Server()

    def serve():
        process = subprocess.Popen([BIN / "corral-mcp", "--server", server.address, "--workspace", server.workspace, "--shell", "/bin/bash",
                                    "--http", "0", "--name", "shared"], stderr=subprocess.PIPE, text=True)
        return process, re.search(r"http://\S+", process.stderr.readline()).group()

    def post(url, message, session=None):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if session:
            headers["Mcp-Session-Id"] = session
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(message).encode(), headers)) as response:
            text = response.read().decode()
            data = re.findall(r"^data: (.*)$", text, re.MULTILINE)
            return json.loads(data[-1] if data else text), response.headers.get("Mcp-Session-Id")

    def run(url, session, command):
        answer = post(url, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "run", "arguments": {"command": command}}}, session)[0]
        return answer["result"]["structuredContent"]["output"]

    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}
    try:
        process, url = serve()
        first, second = post(url, begin)[1], post(url, begin)[1]
        assert first != second
        run(url, first, "y=18")
        assert run(url, second, "echo y=$y") == "y=18\n"
        process.terminate()
        assert process.wait() == 0
        process, url = serve()
        assert run(url, post(url, begin)[1], "echo y=$y") == "y=18\n"
        process.terminate()
        assert process.wait() == 0
        server.corral("rm", "-f", "shared")
    finally:
        server.end()


if __name__ == "__main__":
    sys.exit(run_tests("recordings", [
        asciinema_plays_what_was_recorded, a_recording_that_starts_with_the_screen_shows_the_same_screen, recordings_are_finished_whatever_ends,
        shells_outlive_corral_mcp_and_corrald, http_clients_share_a_sandbox_with_a_name]))
