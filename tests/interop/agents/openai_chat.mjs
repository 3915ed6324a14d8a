// The older API of OpenAI: POST /v1/chat/completions, whole and as a stream.

export function answer(request, response, decide) {
  const { tool, input, text } = decide({
    tools: (request.tools ?? []).map((each) => ({ name: each.function?.name, schema: each.function?.parameters })),
    result: lastResult(request.messages),
  });
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

const textOf = (content) => (typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join(""));

function lastResult(messages) {
  const message = messages.findLast(({ role }) => role === "tool");
  return message && textOf(message.content);
}
