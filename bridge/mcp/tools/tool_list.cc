#include "bridge/mcp/tools/tool_list.h"

namespace bridge {
namespace {

// Each with "inputSchema", "outputSchema" and "annotations". The output schemas
// describe structuredContent.
constexpr char kTools[] = R"json([
{"name": "type",
 "title": "Type text",
 "description": "Types text into the terminal, exactly as given: no Enter is added. To run a command, type it, then sendKey('Enter'), then getContent. Control characters and escape sequences pass unchanged. The terminal's shell runs in a sandbox; it starts with the first call and keeps its state between calls.",
 "inputSchema": {"type": "object", "properties": {
   "text": {"type": "string", "description": "The text to type"},
   "sessionId": {"type": "string", "description": "The session to type into; default: the default session"}},
  "required": ["text"]},
 "outputSchema": {"type": "object", "properties": {"typed": {"type": "integer", "description": "Length of the text in UTF-16 units"}}, "required": ["typed"]},
 "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}},

{"name": "sendKey",
 "title": "Send a key",
 "description": "Sends one key: Enter, Tab, Escape, Backspace, Delete, ArrowUp, ArrowDown, ArrowLeft, ArrowRight, Home, End, PageUp, PageDown, Insert, F1 to F12, Ctrl+A to Ctrl+Z, Ctrl+Space, Ctrl+[, Ctrl+\\, Ctrl+], Ctrl+^, Ctrl+_. Ctrl+C interrupts a program, Ctrl+D ends its input. For other combinations, name what is held down in 'modifiers': Shift+Tab is key 'Tab' with ['shift'], Alt+F is key 'f' with ['alt']. With an empty 'modifiers', arrows, Home and End are sent as the program has asked for them (application cursor keys), which less and mc need.",
 "inputSchema": {"type": "object", "properties": {
   "key": {"type": "string", "description": "The name of the key, for example 'Enter' or 'Ctrl+C'; with modifiers also one character or 'Space'"},
   "modifiers": {"type": "array", "items": {"type": "string", "enum": ["shift", "alt", "ctrl"]}, "description": "Keys that are held down meanwhile"},
   "sessionId": {"type": "string", "description": "The session to send it to; default: the default session"}},
  "required": ["key"]},
 "outputSchema": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
 "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}},

{"name": "getContent",
 "title": "Read the terminal",
 "description": "Returns the terminal's content as plain text: up to 1000 lines of scrollback and the visible lines, without blank lines at the end; or only the visible lines. While a full-screen program runs, only its screen.",
 "inputSchema": {"type": "object", "properties": {
   "visibleOnly": {"type": "boolean", "default": false, "description": "Only the visible lines, all of them"},
   "sessionId": {"type": "string", "description": "The session to read; default: the default session"}},
  "required": []},
 "outputSchema": {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]},
 "annotations": {"readOnlyHint": true, "openWorldHint": false}},

{"name": "takeScreenshot",
 "title": "Take a screenshot",
 "description": "Returns the visible lines, the position of the cursor and the size of the terminal. Format 'text' is plain; 'ansi' keeps colours and attributes as escape sequences; 'png' is a picture; 'svg' is a picture as text, to save and show to people.",
 "inputSchema": {"type": "object", "properties": {
   "format": {"type": "string", "enum": ["text", "ansi", "png", "svg"], "description": "Default: text"},
   "sessionId": {"type": "string", "description": "The session to show; default: the default session"}},
  "required": []},
 "outputSchema": {"type": "object", "properties": {
   "content": {"type": "string"},
   "cursor": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "required": ["x", "y"]},
   "dimensions": {"type": "object", "properties": {"cols": {"type": "integer"}, "rows": {"type": "integer"}}, "required": ["cols", "rows"]}},
  "required": ["cursor", "dimensions"]},
 "annotations": {"readOnlyHint": true, "openWorldHint": false}},

{"name": "clear",
 "title": "Clear the terminal",
 "description": "Clears the screen and the scrollback. The line of the cursor becomes the first line. The program in the terminal does not notice.",
 "inputSchema": {"type": "object", "properties": {
   "sessionId": {"type": "string", "description": "The session to clear; default: the default session"}},
  "required": []},
 "outputSchema": {"type": "object", "properties": {"cleared": {"type": "boolean"}}, "required": ["cleared"]},
 "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false}},

{"name": "startRecording",
 "title": "Start a recording",
 "description": "Records the output of all sessions in an asciicast v2 file, for asciinema. One recording at a time. Returns its id, and the path where the file will be when the recording has ended.",
 "inputSchema": {"type": "object", "properties": {
   "format": {"type": "string", "enum": ["v2"], "description": "Default: v2"},
   "mode": {"type": "string", "enum": ["always", "on-failure"], "description": "on-failure: keep the file only if the shell ends with another exit status than 0. Default: always"},
   "outputDir": {"type": "string", "description": "The directory for the file. Default: $TERMINAL_MCP_RECORD_DIR, or ~/.local/state/terminal-mcp/recordings"},
   "idleTimeLimit": {"type": "number", "description": "Longest pause between two events in the recording, in seconds; 0: no limit. Default: 2"},
   "maxDuration": {"type": "number", "description": "The recording stops after this many seconds; 0: never. Default: 3600"},
   "inactivityTimeout": {"type": "number", "description": "The recording stops after this many seconds without output; 0: never. Default: 600"},
   "startWithScreen": {"type": "boolean", "default": false, "description": "Begin with what the terminal shows now, instead of an empty screen"},
   "sessionId": {"type": "string", "description": "The session whose screen it begins with; default: the default session"}},
  "required": []},
 "outputSchema": {"type": "object", "properties": {
   "recordingId": {"type": "string"}, "path": {"type": "string"}, "format": {"type": "string"}, "mode": {"type": "string"},
   "maxDuration": {"type": "number"}, "inactivityTimeout": {"type": "number"}, "message": {"type": "string"}},
  "required": ["recordingId", "path", "format", "mode", "maxDuration", "inactivityTimeout"]},
 "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false}},

{"name": "stopRecording",
 "title": "Stop a recording",
 "description": "Ends a recording and saves its file.",
 "inputSchema": {"type": "object", "properties": {
   "recordingId": {"type": "string", "description": "The id that startRecording returned"}},
  "required": ["recordingId"]},
 "outputSchema": {"type": "object", "properties": {
   "recordingId": {"type": "string"}, "path": {"type": "string"}, "durationMs": {"type": "integer"}, "bytesWritten": {"type": "integer"},
   "saved": {"type": "boolean"}, "mode": {"type": "string"}, "stopReason": {"type": "string"}},
  "required": ["recordingId", "path", "durationMs", "bytesWritten", "saved", "mode", "stopReason"]},
 "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false}},

{"name": "createSession",
 "title": "Create a session",
 "description": "Starts another terminal with a shell of its own in the same sandbox, for work side by side. Pass its sessionId to the other tools. A session that is not used for ten minutes is destroyed.",
 "inputSchema": {"type": "object", "properties": {
   "shell": {"type": "string", "description": "The program to run. Default: that of the default session"},
   "cols": {"type": "integer", "minimum": 1, "maximum": 4096, "description": "Width in characters. Default: 120"},
   "rows": {"type": "integer", "minimum": 1, "maximum": 2048, "description": "Height in lines. Default: 40"}},
  "required": []},
 "outputSchema": {"type": "object", "properties": {
   "sessionId": {"type": "string"}, "shell": {"type": "string"}, "cols": {"type": "integer"}, "rows": {"type": "integer"},
   "createdAt": {"type": "string"}, "lastActivityAt": {"type": "string"}, "isDefault": {"type": "boolean"}},
  "required": ["sessionId", "shell", "cols", "rows", "createdAt", "lastActivityAt", "isDefault"]},
 "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false}},

{"name": "listSessions",
 "title": "List the sessions",
 "description": "Lists the sessions that run, the default one included, and the limits.",
 "inputSchema": {"type": "object", "properties": {}, "required": []},
 "outputSchema": {"type": "object", "properties": {
   "sessions": {"type": "array", "items": {"type": "object"}}, "maxSessions": {"type": "integer"}, "sessionIdleTimeout": {"type": "integer", "description": "Seconds"}},
  "required": ["sessions", "maxSessions", "sessionIdleTimeout"]},
 "annotations": {"readOnlyHint": true, "openWorldHint": false}},

{"name": "destroySession",
 "title": "Destroy a session",
 "description": "Ends a session and kills all that runs in it. The default session cannot be destroyed.",
 "inputSchema": {"type": "object", "properties": {
   "sessionId": {"type": "string", "description": "The session to destroy"}},
  "required": ["sessionId"]},
 "outputSchema": {"type": "object", "properties": {"sessionId": {"type": "string"}}, "required": ["sessionId"]},
 "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": false}},

{"name": "run",
 "title": "Run a command",
 "description": "Types a command into the session's shell, presses Enter, and waits for its end. Returns its output as plain text and its exit code. When timeoutMs is over, the command runs on and the answer has running: true; call wait with the answer's offset to go on waiting. The exit code is known if the shell is bash.",
 "inputSchema": {"type": "object", "properties": {
   "command": {"type": "string", "description": "The command line"},
   "timeoutMs": {"type": "integer", "minimum": 0, "maximum": 3600000, "description": "How long to wait. Default: 30000"},
   "maxBytes": {"type": "integer", "minimum": 1, "maximum": 1000000, "description": "Longest output to return; the last part counts. Default: 50000"},
   "sessionId": {"type": "string", "description": "The session to use; default: the default session"}},
  "required": ["command"]},
 "outputSchema": {"type": "object", "properties": {
   "output": {"type": "string"}, "exitCode": {"type": ["integer", "null"]}, "running": {"type": "boolean"},
   "truncated": {"type": "boolean"}, "offset": {"type": "integer"}, "nextOffset": {"type": "integer"}},
  "required": ["output", "exitCode", "running", "truncated", "offset", "nextOffset"]},
 "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}},

{"name": "wait",
 "title": "Wait for the terminal",
 "description": "Waits until the output since the last input, or since offset, contains a text or matches a regular expression, until there is no output for silenceMs, or until the shell ends; at most timeoutMs. Says which it was (reason: text, regex, silence, exit, timeout), and returns the output as plain text.",
 "inputSchema": {"type": "object", "properties": {
   "text": {"type": "string", "description": "A text to wait for"},
   "regex": {"type": "string", "description": "A regular expression to wait for (RE2 syntax)"},
   "silenceMs": {"type": "integer", "minimum": 0, "maximum": 3600000, "description": "End when there is no output for this long; 0: never. Default: 0"},
   "timeoutMs": {"type": "integer", "minimum": 0, "maximum": 3600000, "description": "How long to wait. Default: 30000"},
   "offset": {"type": "integer", "minimum": 0, "description": "Look at the output from here on: offset or nextOffset of an earlier answer"},
   "maxBytes": {"type": "integer", "minimum": 1, "maximum": 1000000, "description": "Longest output to return; the last part counts. Default: 50000"},
   "sessionId": {"type": "string", "description": "The session to watch; default: the default session"}},
  "required": []},
 "outputSchema": {"type": "object", "properties": {
   "reason": {"type": "string"}, "output": {"type": "string"}, "exitCode": {"type": ["integer", "null"]}, "running": {"type": "boolean"},
   "truncated": {"type": "boolean"}, "offset": {"type": "integer"}, "nextOffset": {"type": "integer"}},
  "required": ["reason", "output", "exitCode", "running", "truncated", "offset", "nextOffset"]},
 "annotations": {"readOnlyHint": true, "openWorldHint": false}},

{"name": "readOutput",
 "title": "Read output page by page",
 "description": "Returns the output of the session from an offset on as plain text, at most maxBytes of it, up to the end of a line. Pass nextOffset of this answer, or of run or wait, to get only what is new, or the next page; when nextOffset equals endOffset, there is no more yet. Output of full-screen programs is of little use here: use takeScreenshot.",
 "inputSchema": {"type": "object", "properties": {
   "offset": {"type": "integer", "minimum": 0, "description": "Where to begin, counted in bytes from the begin of the session. Default: 0, or the oldest output that is kept"},
   "maxBytes": {"type": "integer", "minimum": 16, "maximum": 1000000, "description": "Longest page. Default: 50000"},
   "sessionId": {"type": "string", "description": "The session to read; default: the default session"}},
  "required": []},
 "outputSchema": {"type": "object", "properties": {
   "output": {"type": "string"}, "offset": {"type": "integer"}, "nextOffset": {"type": "integer"}, "endOffset": {"type": "integer"}},
  "required": ["output", "offset", "nextOffset", "endOffset"]},
 "annotations": {"readOnlyHint": true, "openWorldHint": false}},

{"name": "resize",
 "title": "Resize the terminal",
 "description": "Sets the size of the terminal. The program in it gets SIGWINCH.",
 "inputSchema": {"type": "object", "properties": {
   "cols": {"type": "integer", "minimum": 1, "maximum": 4096, "description": "Width in characters"},
   "rows": {"type": "integer", "minimum": 1, "maximum": 2048, "description": "Height in lines"},
   "sessionId": {"type": "string", "description": "The session to resize; default: the default session"}},
  "required": ["cols", "rows"]},
 "outputSchema": {"type": "object", "properties": {"cols": {"type": "integer"}, "rows": {"type": "integer"}}, "required": ["cols", "rows"]},
 "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}},

{"name": "signal",
 "title": "Send a signal",
 "description": "Sends a signal to the program in the terminal's foreground, for example TERM, KILL or HUP. Ctrl+C and Ctrl+Z are keys: use sendKey.",
 "inputSchema": {"type": "object", "properties": {
   "signal": {"type": "string", "description": "A name or number: TERM, SIGKILL, 15"},
   "sessionId": {"type": "string", "description": "The session; default: the default session"}},
  "required": ["signal"]},
 "outputSchema": {"type": "object", "properties": {"signal": {"type": "integer"}}, "required": ["signal"]},
 "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": false}}
])json";

constexpr char kInstructions[] =
    R"(A real terminal with a shell, in a sandbox of Corral. It sees the workspace; it has no network unless the user has allowed hosts.

Prefer it to tools that only run commands when a program asks questions, draws its screen (vim, less, htop, a
debugger), needs a terminal for colours or progress bars, or has to be watched while it runs.

Work in this order: type(command), sendKey('Enter'), getContent(). For programs that draw their screen, sendKey to
move and takeScreenshot to see. The default session keeps its shell, directory and variables between calls for as long
as this server runs; createSession starts further terminals beside it.)";

}  // namespace

const OrderedJson& ToolList() {
  static const auto* const list =
      new OrderedJson(ParseOrderedJson(kTools).value());
  return *list;
}

const char* Instructions() { return kInstructions; }

}  // namespace bridge
