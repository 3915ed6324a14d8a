// Times a terminal from its creation to its release, as an agent sees it: through corral-acp, and with a client on the
// official library that spawns locally. Prints "corral MICROSECONDS" and "local MICROSECONDS", in turn.
//
//   node terminal.mjs WORKSPACE BRIDGE [ARGUMENTS] -- AGENT [ARGUMENTS]
//
// The agent is the scripted one of tests/interop.
import * as acp from "@agentclientprotocol/sdk";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const { methods } = acp;
const [workspace, ...bridge] = process.argv.slice(2);
const agent = bridge.slice(bridge.indexOf("--") + 1);
const rounds = 20;
const script = `
  const times = [];
  for (let i = 0; i < 20; ++i) {
    const begin = performance.now();
    const { exit } = await agent.run({ command: "/bin/true", args: ["ignored"] });
    times.push((performance.now() - begin) * 1000);
    if (exit.exitCode !== 0) throw new Error(JSON.stringify(exit));
  }
  return times;`;

// The terminals of a client that runs commands on its own machine.
function localTerminals(app) {
  const terminals = new Map();
  let next = 0;
  const find = ({ params }) => terminals.get(params.terminalId);
  return app
    .onRequest(methods.client.terminal.create, ({ params }) => {
      const terminalId = `terminal-${next++}`;
      const child = spawn(params.command, params.args ?? [], { cwd: params.cwd ?? workspace, stdio: ["ignore", "pipe", "pipe"] });
      const terminal = { output: "", status: null };
      terminal.exited = new Promise((resolve) =>
        child.on("close", (exitCode, signal) => resolve((terminal.status = { exitCode, signal }))),
      );
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (data) => (terminal.output += data));
      }
      terminals.set(terminalId, terminal);
      return { terminalId };
    })
    .onRequest(methods.client.terminal.output, (request) => {
      const { output, status } = find(request);
      return { output, truncated: false, exitStatus: status };
    })
    .onRequest(methods.client.terminal.waitForExit, (request) => find(request).exited)
    .onRequest(methods.client.terminal.release, ({ params }) => {
      terminals.delete(params.terminalId);
      return {};
    });
}

async function connect([command, ...args], terminal) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const exited = new Promise((resolve) => child.on("exit", resolve));
  let answered = () => {};
  let app = acp.client({ name: "benchmark" }).onNotification(methods.client.session.update, ({ params }) => {
    if (params.update.sessionUpdate === "agent_message_chunk") answered(JSON.parse(params.update.content.text));
  });
  if (terminal) app = localTerminals(app);
  const connection = app.connect(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
  await connection.agent.request(methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal },
  });
  const { sessionId } = await connection.agent.request(methods.agent.session.new, { cwd: workspace, mcpServers: [] });
  return {
    measure: async () => {
      const outcome = new Promise((resolve) => (answered = resolve));
      await connection.agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: script }] });
      const { returned, threw } = await outcome;
      if (threw) throw new Error(JSON.stringify(threw));
      return returned;
    },
    end: async () => {
      child.stdin.end();
      await exited;
    },
  };
}

// A bridge that does not answer must not hold up the other figures.
setTimeout(() => {
  console.error("no end after 2 minutes");
  process.exit(1);
}, 120_000).unref();

const clients = { corral: await connect(bridge, false), local: await connect(agent, true) };
for (let round = -1; round < rounds; ++round) {
  for (const [name, client] of Object.entries(clients)) {
    const times = await client.measure();
    // The first round warms up.
    if (round >= 0) times.forEach((time) => console.log(`${name} ${time.toFixed(1)}`));
  }
}
for (const client of Object.values(clients)) await client.end();
