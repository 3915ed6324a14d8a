#!/usr/bin/env python3
"""A scripted ACP agent: runs each line of a prompt as a command in the client's terminal.

Speaks the Agent Client Protocol, version 1, over standard input and output
(https://agentclientprotocol.com). Runs each line of a prompt's text in a terminal of its own and
reports the output as it arrives. The first command that fails ends the turn.
"""
import itertools
import json
import queue
import sys
import threading

POLL_SECONDS = 0.05
OUTPUT_LIMIT = 16 << 20


class Peer:
    """The client: sends it requests and receives its responses. For any thread."""

    def __init__(self):
        self._ids = itertools.count(1)
        self._answers = {}
        self._writing = threading.Lock()

    def send(self, message):
        with self._writing:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()

    def begin(self, method, params):
        """Sends a request and returns the queue on which its response arrives."""
        request_id = next(self._ids)
        answer = self._answers[request_id] = queue.SimpleQueue()
        self.send({"id": request_id, "method": method, "params": params})
        return answer

    def call(self, method, params):
        return result_of(self.begin(method, params).get())

    def on_response(self, message):
        self._answers.pop(message["id"]).put(message)


def result_of(response):
    if "error" in response:
        raise RuntimeError(response["error"]["message"])
    return response["result"]


class Session:
    def __init__(self, peer, session_id, cwd):
        self._peer = peer
        self._id = session_id
        self._cwd = cwd
        self._terminals = []

    def prompt(self, text):
        self.release_terminals()
        for number, line in enumerate(text.splitlines()):
            if not self._run(f"call-{number}", line):
                return

    def release_terminals(self):
        """Releases the terminals of the last turn, which stay readable until the next one."""
        for terminal in self._terminals:
            self._peer.call("terminal/release", terminal)
        self._terminals = []

    def _update(self, kind, fields):
        self._peer.send({"method": "session/update",
                         "params": {"sessionId": self._id, "update": {"sessionUpdate": kind, **fields}}})

    def _say(self, text):
        self._update("agent_message_chunk", {"content": {"type": "text", "text": text}})

    def _run(self, call_id, line):
        self._update("tool_call", {"toolCallId": call_id, "title": line, "kind": "execute",
                                   "status": "in_progress"})
        created = self._peer.call("terminal/create", {
            "sessionId": self._id, "command": "sh", "args": ["-c", line], "cwd": self._cwd,
            "outputByteLimit": OUTPUT_LIMIT})
        terminal = {"sessionId": self._id, "terminalId": created["terminalId"]}
        self._terminals.append(terminal)
        status = self._follow(terminal)
        succeeded = status.get("exitCode") == 0
        self._update("tool_call_update", {"toolCallId": call_id, "rawOutput": status,
                                          "status": "completed" if succeeded else "failed"})
        return succeeded

    def _follow(self, terminal):
        """Reports the terminal's output until its command has ended, and returns its exit status."""
        ending = self._peer.begin("terminal/wait_for_exit", terminal)
        reported = 0
        status = None
        while status is None:
            try:
                status = result_of(ending.get(timeout=POLL_SECONDS))
            except queue.Empty:
                pass
            output = self._peer.call("terminal/output", terminal)["output"]
            if len(output) > reported:
                self._say(output[reported:])
                reported = len(output)
        return status


class Agent:
    def __init__(self):
        self._peer = Peer()
        self._sessions = {}

    def serve(self):
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message:
                self._peer.on_response(message)
            elif "id" in message:
                threading.Thread(target=self._answer, args=[message], daemon=True).start()

    def _answer(self, request):
        try:
            outcome = {"result": self._handle(request["method"], request.get("params", {}))}
        except (KeyError, RuntimeError) as error:
            outcome = {"error": {"code": -32603, "message": str(error)}}
        self._peer.send({"id": request["id"], **outcome})

    def _handle(self, method, params):
        if method == "initialize":
            if not params.get("clientCapabilities", {}).get("terminal"):
                raise RuntimeError("this agent needs a client with terminals")
            return {"protocolVersion": 1, "agentCapabilities": {}}
        if method == "session/new":
            session_id = f"session-{len(self._sessions) + 1}"
            self._sessions[session_id] = Session(self._peer, session_id, params["cwd"])
            return {"sessionId": session_id}
        if method == "session/prompt":
            text = "\n".join(part["text"] for part in params["prompt"] if part["type"] == "text")
            self._sessions[params["sessionId"]].prompt(text)
            return {"stopReason": "end_turn"}
        raise RuntimeError(f"unknown method {method}")


if __name__ == "__main__":
    Agent().serve()
