// The API of Gemini: POST /v1beta/models/MODEL:generateContent, and :streamGenerateContent.

export function answer(request, response, decide, stream) {
  const declarations = (request.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
  const { tool, input, text } = decide({
    tools: declarations.map(({ name, parametersJsonSchema, parameters }) => ({ name, schema: parametersJsonSchema ?? parameters })),
    result: lastResult(request.contents),
  });
  const part = tool ? { functionCall: { name: tool, args: input } } : { text };
  const body = JSON.stringify({
    candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    modelVersion: "fake",
  });
  response.setHeader("content-type", stream ? "text/event-stream" : "application/json");
  response.end(stream ? `data: ${body}\n\n` : body);
}

function lastResult(contents) {
  const parts = (contents ?? []).flatMap((content) => content.parts ?? []);
  const last = parts.findLast((part) => part.functionResponse)?.functionResponse.response;
  return last && (last.output ?? last.error ?? JSON.stringify(last));
}
