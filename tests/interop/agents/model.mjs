// A model for agents under test: calls the agent's tool for shell commands once, and then repeats what the tool said.
// Serves the APIs of Anthropic, OpenAI and Gemini over HTTP.
//
//   node model.mjs COMMAND [TOOL]
//
// TOOL: the name of another tool to call. Prints its port. Variables: MODEL_LOG, a file that gets a line for each request;
// MODEL_TLS, a directory with server.pem and server.key, for TLS.
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import * as anthropic from "./anthropic.mjs";
import * as gemini from "./gemini.mjs";
import * as chat from "./openai_chat.mjs";
import * as responses from "./openai_responses.mjs";

const [command, wantedTool] = process.argv.slice(2);
const shellTools = wantedTool
  ? [new RegExp(`^${wantedTool}$`)]
  : [/^mcp__acp__Bash$/, /^Bash$/i, /^Shell$/i, /^exec_command$/, /^exec$/, /^(run_)?(shell|terminal|command)/i, /bash|shell|execute/i];

// The name of the agent's tool for shell commands and its schema; nothing if it has none.
const shellTool = (tools) =>
  shellTools.map((pattern) => tools.find(({ name }) => pattern.test(name ?? ""))).find((tool) => tool !== undefined);

// What each agent's tool expects.
function inputFor({ schema }) {
  const known = schema?.properties ?? {};
  if ("cmd" in known) return { cmd: command };
  if (known.command?.type === "array") return { command: ["bash", "-c", command] };
  if (wantedTool) return { command };
  return { command, description: "test", ...("timeout" in known && { timeout: 60000 }) };
}

// The next step: { tool, input } or { text }. `tools`: names and schemas; `result`: what the tool said.
function decide({ tools, result }) {
  if (result !== undefined) return { text: `The tool said: ${result}` };
  const tool = shellTool(tools);
  return tool === undefined ? { text: "ok" } : { tool: tool.name, input: inputFor(tool) };
}

function serve(pathname, request, response) {
  if (pathname.endsWith("/messages")) anthropic.answer(request, response, decide);
  else if (pathname.endsWith("/chat/completions")) chat.answer(request, response, decide);
  else if (pathname.endsWith("/responses")) responses.answer(request, response, decide);
  else if (pathname.endsWith(":streamGenerateContent")) gemini.answer(request, response, decide, true);
  else if (pathname.endsWith(":generateContent")) gemini.answer(request, response, decide, false);
  else if (pathname.endsWith(":countTokens")) response.end(JSON.stringify({ totalTokens: 1 }));
  else if (pathname.endsWith("/count_tokens")) response.end(JSON.stringify({ input_tokens: 1 }));
  else response.end(JSON.stringify({ data: [{ id: "fake", object: "model" }] }));
}

const { MODEL_LOG, MODEL_TLS } = process.env;
const files = MODEL_TLS && { cert: fs.readFileSync(`${MODEL_TLS}/server.pem`), key: fs.readFileSync(`${MODEL_TLS}/server.key`) };
const server = MODEL_TLS ? https.createServer(files) : http.createServer();
server.on("request", (request, response) => {
  let body = "";
  request.on("data", (data) => (body += data));
  request.on("end", () => {
    const { pathname } = new URL(request.url, "http://model");
    const { host, authorization, "x-api-key": key = authorization, "x-goog-api-key": credential = key } = request.headers;
    if (MODEL_LOG) fs.appendFileSync(MODEL_LOG, `${request.method} ${host}${request.url} ${credential}\n`);
    serve(pathname, body === "" ? {} : JSON.parse(body), response);
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
