// The newer API of OpenAI: POST /v1/responses, as a stream.

export function answer(request, response, decide) {
  const tools = allTools(request);
  const { tool, input, text } = decide({
    tools: tools.map(({ name, parameters }) => ({ name, schema: parameters })),
    result: lastResult(request.input),
  });
  const item = tool
    ? callOf(tools.find(({ name }) => name === tool), input)
    : { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{ type: "output_text", text, annotations: [] }] };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const head = { id: "resp_1", object: "response", created_at: 1, model: request.model };
  response.setHeader("content-type", "text/event-stream");
  const send = (type, data) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  send("response.created", { response: { ...head, status: "in_progress", output: [] } });
  send("response.output_item.added", { output_index: 0, item: { ...item, ...("content" in item && { content: [] }) } });
  if (!tool) send("response.output_text.delta", { item_id: item.id, output_index: 0, content_index: 0, delta: text });
  send("response.output_item.done", { output_index: 0, item });
  send("response.completed", { response: { ...head, status: "completed", output: [item], usage } });
  response.end();
}

// Codex names most tools in its input, in groups.
const flat = (tools) => tools.flatMap((tool) => (tool.type === "namespace" ? flat(tool.tools) : [tool]));
const allTools = ({ tools, input }) =>
  flat([...(tools ?? []), ...input.flatMap((item) => (item.type === "additional_tools" ? item.tools : []))]);

// A "custom" tool takes a text: that of Codex is a script which calls other tools.
function callOf({ type, name }, input) {
  const call = { id: "fc_1", call_id: "call_1", name, status: "completed" };
  return type === "custom"
    ? { ...call, type: "custom_tool_call", input: `text((await tools.exec_command({ cmd: ${JSON.stringify(input.command)} })).output)` }
    : { ...call, type: "function_call", arguments: JSON.stringify(input) };
}

const textOf = (output) => (typeof output === "string" ? output : (output ?? []).map((part) => part.text ?? "").join(""));

function lastResult(input) {
  const item = input.findLast(({ type }) => type === "function_call_output" || type === "custom_tool_call_output");
  return item && textOf(item.output);
}
