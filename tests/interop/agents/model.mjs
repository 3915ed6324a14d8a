// A model for agents under test: calls the agent's tool for shell commands once, and then repeats what the tool said.
// Serves the APIs of Anthropic (/v1/messages) and OpenAI (/v1/chat/completions), whole and as streams.
//
//   node model.mjs COMMAND [TOOL]
//
// TOOL: the name of another tool to call. Prints its port.
import http from "node:http";

const [command, wantedTool] = process.argv.slice(2);
const shellTools = wantedTool ? [new RegExp(`^${wantedTool}$`)] : [/^mcp__acp__Bash$/, /^Bash$/i, /^Shell$/i, /^(run_)?(shell|terminal|command)/i, /bash|shell|execute/i];

// The name of the agent's tool for shell commands; nothing if it has none.
function shellTool(tools) {
  const names = tools.map((tool) => tool.name ?? tool.function?.name);
  return shellTools.map((pattern) => names.find((name) => pattern.test(name))).find((name) => name !== undefined);
}

const textOf = (content) =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? textOf(part.content ?? "")).join("");

// What the last messages say about the tool; nothing if it was not called yet.
function toolResult(messages) {
  for (const message of messages.slice().reverse()) {
    if (message.role === "tool") return textOf(message.content);
    const result = Array.isArray(message.content) && message.content.find((part) => part.type === "tool_result");
    if (result) return textOf(result.content);
  }
  return undefined;
}

// The next step: { tool } or { text }.
function decide({ messages, tools = [] }) {
  const tool = shellTool(tools);
  const result = toolResult(messages);
  if (result !== undefined) return { text: `The tool said: ${result}` };
  return tool === undefined ? { text: "ok" } : { tool };
}

const input = wantedTool ? { command } : { command, description: "test", timeout: 60000 };

function anthropic(request, response) {
  const { tool, text } = decide(request);
  const block = tool ? { type: "tool_use", id: "toolu_1", name: tool, input } : { type: "text", text };
  const stop_reason = tool ? "tool_use" : "end_turn";
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: "msg_1", type: "message", role: "assistant", model: request.model, stop_sequence: null, usage };
  if (!request.stream) {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ...message, content: [block], stop_reason }));
    return;
  }
  response.setHeader("content-type", "text/event-stream");
  const send = (type, data) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  send("message_start", { message: { ...message, content: [], stop_reason: null } });
  send("content_block_start", { index: 0, content_block: tool ? { ...block, input: {} } : { type: "text", text: "" } });
  send("content_block_delta", {
    index: 0,
    delta: tool ? { type: "input_json_delta", partial_json: JSON.stringify(input) } : { type: "text_delta", text },
  });
  send("content_block_stop", { index: 0 });
  send("message_delta", { delta: { stop_reason, stop_sequence: null }, usage });
  send("message_stop", {});
  response.end();
}

function openai(request, response) {
  const { tool, text } = decide(request);
  const call = { index: 0, id: "call_1", type: "function", function: { name: tool, arguments: JSON.stringify(input) } };
  const message = tool ? { role: "assistant", content: null, tool_calls: [call] } : { role: "assistant", content: text };
  const finish_reason = tool ? "tool_calls" : "stop";
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const head = { id: "chat_1", created: 1, model: request.model };
  if (!request.stream) {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ...head, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage }));
    return;
  }
  response.setHeader("content-type", "text/event-stream");
  const send = (choice, more = {}) =>
    response.write(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, ...choice }], ...more })}\n\n`);
  send({ delta: message, finish_reason: null });
  send({ delta: {}, finish_reason }, { usage });
  response.end("data: [DONE]\n\n");
}

const server = http.createServer((request, response) => {
  let body = "";
  request.on("data", (data) => (body += data));
  request.on("end", () => {
    const { pathname } = new URL(request.url, "http://model");
    const parsed = body === "" ? {} : JSON.parse(body);
    if (pathname.endsWith("/messages")) anthropic(parsed, response);
    else if (pathname.endsWith("/chat/completions")) openai(parsed, response);
    else if (pathname.endsWith("/count_tokens")) response.end(JSON.stringify({ input_tokens: 1 }));
    else response.end(JSON.stringify({ data: [{ id: "fake", object: "model" }] }));
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
