#!/usr/bin/env python3
"""Raw frames to corral-mcp: whatever a client sends, it gets the right answer, and the next call works."""
import json
import sys
import time

from corral_mcp import Mcp, Server, ToolError, run_tests


def code_of(line):
    """The error code that a line of the client gets."""
    MCP.send(line)
    return MCP.receive()["error"]["code"]


def text_of(tool, arguments):
    message = MCP.ask("tools/call", {"name": tool, "arguments": arguments})
    assert message["result"]["isError"] is True, message
    return message["result"]["content"][0]["text"]


def works():
    assert MCP.call("run", command="echo w''orks")["output"] == "works\n"


def garbage_is_answered_with_a_parse_error():
    for line in (b"garbage", b"{", b'{"jsonrpc":', b"[1,", b"\x00\xff\xfe", b'{"a":"\xff"}', b"nul", b'"'):
        assert code_of(line) == -32700, line
    assert code_of(b'{"a":' * 100000 + b"1" + b"}" * 100000) in (-32600, -32700)
    works()


def what_is_no_request_is_refused():
    for line in (b"[]", b"[1]", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b"5", b'"text"', b"null", b"{}", b'{"jsonrpc":"2.0","id":null,"method":"ping"}'):
        assert code_of(line) == -32600, line
    works()


def unknown_methods_and_tools_are_refused():
    assert MCP.ask("nonsense", {})["error"]["code"] == -32601
    for params in ({}, {"name": 5}, {"name": "nonsense", "arguments": {}}, [], {"name": None}):
        assert MCP.ask("tools/call", params)["error"]["code"] == -32602, params
    works()


def wrong_arguments_are_named():
    for tool, arguments, named in (
            ("type", {}, '"text"'), ("type", {"text": 5}, '"text"'), ("type", {"text": None}, '"text"'), ("type", [], '"text"'),
            ("sendKey", {"key": ["Enter"]}, '"key"'), ("sendKey", {"key": "constructor"}, "Unknown key"),
            ("sendKey", {"key": "x", "modifiers": "shift"}, '"modifiers"'), ("sendKey", {"key": "x", "modifiers": ["hyper"]}, '"modifiers"'),
            ("getContent", {"visibleOnly": "yes"}, '"visibleOnly"'), ("takeScreenshot", {"format": "gif"}, '"format"'),
            ("getContent", {"sessionId": 7}, '"sessionId"'), ("getContent", {"sessionId": "zzzzz"}, "Session 'zzzzz' not found"),
            ("resize", {"cols": 0, "rows": 10}, '"cols"'), ("resize", {"cols": 1e300, "rows": 10}, '"cols"'), ("resize", {"cols": 80}, '"rows"'),
            ("resize", {"cols": 80.5, "rows": 10}, '"cols"'), ("run", {}, '"command"'), ("run", {"command": "true", "timeoutMs": -1}, '"timeoutMs"'),
            ("run", {"command": "true", "maxBytes": 1e18}, '"maxBytes"'), ("wait", {"regex": "("}, '"regex"'), ("wait", {"offset": -1}, '"offset"'),
            ("wait", {"timeoutMs": 1e308}, '"timeoutMs"'), ("readOutput", {"offset": "x"}, '"offset"'), ("readOutput", {"maxBytes": 0}, '"maxBytes"'),
            ("signal", {"signal": "NONSENSE"}, '"signal": \'NONSENSE\''), ("createSession", {"cols": -5}, '"cols"'), ("stopRecording", {"recordingId": "x"}, "Recording not found: x"),
            ("startRecording", {"format": "v3"}, '"format"'), ("startRecording", {"idleTimeLimit": "2"}, '"idleTimeLimit"')):
        text = text_of(tool, arguments)
        assert text.startswith("Error: ") and named in text, (tool, arguments, text)
    works()


def no_directory_hangs_a_recording():
    for directory in ("/proc/x/y", "/dev/null/x", "/proc/self/fd/x", "\u0000", "x" * 5000, "/sys/x"):
        assert text_of("startRecording", {"outputDir": directory}).startswith("Error: "), directory
    works()


def huge_texts_are_typed_or_refused():
    MCP.call("type", text="\u0000" * 10 + "\ud83d")
    MCP.keys("Ctrl+C")
    MCP.quiet()
    # Ctrl+D ends the input only once the shell has left its line editor.
    ran = MCP.call("run", command="echo re''ady; cat > /dev/null", timeoutMs=0)
    MCP.call("wait", offset=ran["offset"], text="ready\r\n", timeoutMs=60000)
    assert MCP.call("type", text="x" * 100 + "\n")["typed"] == 101
    MCP.keys("Ctrl+D")
    assert text_of("type", {"text": "x" * (17 << 20)}).startswith("Error: ")
    MCP.quiet()
    works()


def notifications_get_no_answer():
    for method in ("notifications/initialized", "notifications/nonsense", "notifications/cancelled", "tools/call"):
        MCP.send({"jsonrpc": "2.0", "method": method, "params": {"requestId": 123456}})
        MCP.send({"jsonrpc": "2.0", "method": method})
    MCP.send({"jsonrpc": "2.0", "id": 987654, "result": {}})
    works()
    assert not MCP.others, MCP.others


def calls_of_one_id_are_all_answered():
    for _ in range(3):
        MCP.send({"jsonrpc": "2.0", "id": "same", "method": "ping"})
    assert [MCP.receive()["id"] for _ in range(3)] == ["same"] * 3
    works()


def a_cancelled_call_ends_without_an_answer():
    number = MCP.begin("tools/call", {"name": "wait", "arguments": {"text": "never", "timeoutMs": 3600000}})
    MCP.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    works()
    assert number not in MCP.answers


def a_long_call_sends_signs_of_life():
    begin = time.monotonic()
    number = MCP.begin("tools/call", {"name": "run", "arguments": {"command": "sleep 17; echo do''ne", "timeoutMs": 3600000}, "_meta": {"progressToken": "p"}})
    answer = MCP.answer(number)
    assert answer["result"]["structuredContent"]["output"] == "done\n", answer
    progress = [m for m in MCP.others if m["method"] == "notifications/progress"]
    assert progress and progress[0]["params"]["progressToken"] == "p", MCP.others
    MCP.others.clear()
    return f"{len(progress)} in {time.monotonic() - begin:.0f} s"


def what_ran_on_is_picked_up_by_the_next_call():
    ran = MCP.call("run", command="sleep 1; echo la''ter", timeoutMs=10)
    assert ran["running"] and ran["exitCode"] is None, ran
    waited = MCP.call("wait", offset=ran["offset"], text="later\n", timeoutMs=60000)
    assert waited["reason"] == "text", waited
    page = MCP.call("readOutput", offset=ran["offset"])
    assert "later\n" in page["output"], page


def every_result_has_the_form_of_its_schema():
    tools = {tool["name"]: tool for tool in MCP.ask("tools/list", {})["result"]["tools"]}
    types = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict, "array": list, "null": type(None)}
    session = MCP.call("createSession")["sessionId"]
    recording = MCP.call("startRecording", outputDir=str(SERVER.directory / "recordings"))["recordingId"]
    calls = {"type": {"text": ""}, "sendKey": {"key": "Enter"}, "resize": {"cols": 90, "rows": 20}, "run": {"command": "true"}, "wait": {"silenceMs": 1},
             "signal": {"signal": "WINCH"}, "stopRecording": {"recordingId": recording}, "destroySession": {"sessionId": session}}
    checked = 0
    for name, tool in tools.items():
        if name in ("createSession", "startRecording"):
            continue
        result = MCP.call(name, **calls.get(name, {}))
        schema = tool["outputSchema"]
        for member in schema["required"]:
            assert member in result, (name, member)
        for member, value in result.items():
            wanted = schema["properties"][member]["type"]
            wanted = wanted if isinstance(wanted, list) else [wanted]
            assert any(isinstance(value, types[each]) for each in wanted), (name, member, value)
            checked += 1
        assert set(tool["annotations"]) >= {"readOnlyHint", "openWorldHint"}, name
    return f"{checked} members of {len(tools) - 2} tools"


if __name__ == "__main__":
    SERVER = Server()
    MCP = Mcp(SERVER)
    try:
        status = run_tests("frames", [
            garbage_is_answered_with_a_parse_error, what_is_no_request_is_refused, unknown_methods_and_tools_are_refused, wrong_arguments_are_named,
            no_directory_hangs_a_recording, huge_texts_are_typed_or_refused, notifications_get_no_answer, calls_of_one_id_are_all_answered,
            a_cancelled_call_ends_without_an_answer, a_long_call_sends_signs_of_life, what_ran_on_is_picked_up_by_the_next_call,
            every_result_has_the_form_of_its_schema])
        MCP.end()
        sys.exit(status)
    finally:
        SERVER.end()
