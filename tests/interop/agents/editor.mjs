// An editor on the official ACP library: opens a session in the current directory, sends one prompt, and approves
// everything. Prints each message that it gets as a line of JSON, as acpx does.
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
const app = acp
  .client({ name: "editor" })
  .onNotification(methods.client.session.update, () => {})
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    const option = params.options.find(({ kind }) => kind === "allow_once") ?? params.options[0];
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  });
const { agent } = app.connect(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout.pipe(copy))));

await agent.request(methods.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
const { sessionId } = await agent.request(methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] });
await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: prompt }] });
child.stdin.end();
// Some agents wait for a signal.
setTimeout(() => child.kill(), 5000).unref();
await exited;
process.exit(0);
