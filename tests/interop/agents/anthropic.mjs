// The API of Anthropic: POST /v1/messages, whole and as a stream.

// The next step after these messages: { tool, input } or { text }.
export function answer(request, response, decide) {
  const { tool, input, text } = decide({
    tools: (request.tools ?? []).map(({ name, input_schema }) => ({ name, schema: input_schema })),
    result: lastResult(request.messages),
  });
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

const textOf = (content) =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? textOf(part.content ?? "")).join("");

function lastResult(messages) {
  for (const { content } of messages.slice().reverse()) {
    const result = Array.isArray(content) && content.find((part) => part.type === "tool_result");
    if (result) return textOf(result.content);
  }
  return undefined;
}
