// An editor on the official ACP library: opens a session in the current directory, sends one prompt, approves everything,
// and has terminals. Prints each message that it gets as a line of JSON, as acpx does.
//
//   node editor.mjs PROMPT COMMAND [ARGUMENTS]
import * as acp from "@agentclientprotocol/sdk";
import { spawn } from "node:child_process";
import { Readable, Transform, Writable } from "node:stream";

const { methods } = acp;
const [prompt, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const exited = new Promise((resolve) => child.on("exit", resolve));

const copy = new Transform({
  transform(data, _, done) {
    process.stdout.write(data);
    done(null, data);
  },
});
// The editor's terminals, by id.
const terminals = new Map();
function create({ command, args = [], env = [], cwd }) {
  const variables = { ...process.env, ...Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])) };
  const terminal = { output: "", process: spawn(command, args ?? [], { cwd: cwd ?? undefined, env: variables, stdio: ["ignore", "pipe", "pipe"], shell: !args?.length }) };
  for (const stream of [terminal.process.stdout, terminal.process.stderr]) stream.on("data", (data) => (terminal.output += data));
  terminal.ended = new Promise((resolve) => {
    terminal.process.on("close", (exitCode, signal) => resolve((terminal.exitStatus = { exitCode, signal })));
    terminal.process.on("error", () => resolve((terminal.exitStatus = { exitCode: 127, signal: null })));
  });
  const terminalId = `terminal-${terminals.size + 1}`;
  terminals.set(terminalId, terminal);
  return { terminalId };
}
const known = ({ params }) => terminals.get(params.terminalId);
function kill(request) {
  known(request).process.kill("SIGKILL");
  return {};
}

const app = acp
  .client({ name: "editor" })
  .onNotification(methods.client.session.update, () => {})
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    const option = params.options.find(({ kind }) => kind === "allow_once") ?? params.options[0];
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onRequest(methods.client.terminal.create, ({ params }) => create(params))
  .onRequest(methods.client.terminal.output, (request) => {
    const { output, exitStatus } = known(request);
    return { output, truncated: false, exitStatus };
  })
  .onRequest(methods.client.terminal.waitForExit, (request) => known(request).ended)
  .onRequest(methods.client.terminal.kill, kill)
  .onRequest(methods.client.terminal.release, kill);
const { agent } = app.connect(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout.pipe(copy))));

await agent.request(methods.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: { terminal: true } });
const { sessionId } = await agent.request(methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] });
await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: prompt }] });
child.stdin.end();
// Some agents wait for a signal.
setTimeout(() => child.kill(), 5000).unref();
await exited;
process.exit(0);
