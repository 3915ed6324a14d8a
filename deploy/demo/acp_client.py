#!/usr/bin/env python3
"""A scripted ACP client: asks the agent to run shell lines, shows their output live, and prints a summary.

    acp_client.py --cwd DIR --corral PROGRAM --line LINE... -- corral-acp [OPTIONS] -- AGENT ARGS...

It plays the part of an editor: it starts corral-acp, which starts the agent, and offers no terminals of
its own. CORRAL_SERVER names the server.
"""
import argparse
import json
import subprocess
import sys
import time

BOLD, PLAIN = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")


class Connection:
    """One ACP conversation over the standard input and output of a child process."""

    def __init__(self, command):
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._next_id = 0

    def call(self, method, params, on_notification=lambda message: None):
        """Sends a request, passes every notification to the callback, and returns the result."""
        self._next_id += 1
        self._process.stdin.write(json.dumps(
            {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._next_id and "method" not in message:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']['message']}")
                return message["result"]
            on_notification(message)
        sys.exit(f"{method}: the agent went away")

    def close(self):
        self._process.stdin.close()
        return self._process.wait(timeout=30)


class Transcript:
    """Prints what the agent does while it does it, and records how each command ended."""

    def __init__(self):
        self.commands = []

    def on_notification(self, message):
        if message.get("method") != "session/update":
            return
        update = message["params"]["update"]
        if update["sessionUpdate"] == "tool_call":
            print(f"\n{BOLD}$ {update['title']}{PLAIN}", flush=True)
            self.commands.append({"line": update["title"], "begun": time.monotonic()})
        elif update["sessionUpdate"] == "agent_message_chunk":
            sys.stdout.write(update["content"]["text"])
            sys.stdout.flush()
        elif update["sessionUpdate"] == "tool_call_update" and update.get("status") in ("completed", "failed"):
            # corral-acp adds updates of its own, which show the terminal.
            command = self.commands[-1]
            command["seconds"] = time.monotonic() - command["begun"]
            command["exit"] = update["rawOutput"]


def peak_memory(corral):
    """Returns the peak memory of every execution, by its command line, from the server."""
    listed = json.loads(subprocess.run([corral, "ps", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    return {execution["command"]["argv"][-1]:
            int(execution["usage"]["memory_peak_bytes"])
            for execution in listed["executions"] if "usage" in execution}


def summarize(commands, memory):
    print(f"\n{BOLD}command                    ended      time   peak memory{PLAIN}")
    for command in commands:
        end = command["exit"]
        ended = f"exit {end['exitCode']}" if end.get("signal") is None else end["signal"]
        peak = memory.get(command["line"])
        size = "unknown" if peak is None else f"{peak / 2**20:.1f} MiB"
        print(f"{command['line']:24} {ended:>7} {command['seconds']:7.1f} s {size:>13}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cwd", required=True)
    parser.add_argument("--corral", required=True)
    parser.add_argument("--line", action="append", required=True)
    parser.add_argument("bridge", nargs="+")
    options = parser.parse_args()

    connection = Connection(options.bridge)
    connection.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    session = connection.call("session/new", {"cwd": options.cwd, "mcpServers": []})
    transcript = Transcript()
    connection.call("session/prompt", {
        "sessionId": session["sessionId"],
        "prompt": [{"type": "text", "text": "\n".join(options.line)}]}, transcript.on_notification)
    summarize(transcript.commands, peak_memory(options.corral))
    connection.close()
    succeeded = [c for c in transcript.commands if c["exit"].get("exitCode") == 0]
    sys.exit(0 if len(succeeded) == len(options.line) else 1)


if __name__ == "__main__":
    main()
