// A day of traffic between a client and an agent, through corral-acp and a corrald that is killed again and again.
// Each random choice follows from SEED, which is printed; only the scheduling of the processes differs.
//
//   node client.mjs SCRATCH [TURNS [SEED]]
//
// CORRAL_BIN is the directory of corrald, corral and corral-acp. SCRATCH: an empty directory.
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Connection, makeRandom, oddLine, pick, upTo } from "./traffic.mjs";

const [scratch, turns = "150", seed = "1"] = process.argv.slice(2);
const bin = process.env.CORRAL_BIN;
const random = makeRandom(Number(seed));
const socket = path.join(scratch, "server", "corrald.sock");
const server = `unix:${socket}`;
const workspaces = ["a", "b", "c"].map((name) => path.join(scratch, "work", name));
[path.dirname(socket), ...workspaces].forEach((directory) => fs.mkdirSync(directory, { recursive: true }));

const problems = [];
let kills = 0;

function startServer() {
  const log = fs.openSync(path.join(scratch, "corrald.log"), "a");
  return spawn(path.join(bin, "corrald"), ["--listen", server, "--state-dir", path.join(scratch, "state")], {
    stdio: ["ignore", "ignore", log],
  });
}
let corrald = startServer();
while (!fs.existsSync(socket)) await sleep(20);

const agent = fileURLToPath(new URL("agent.mjs", import.meta.url));
const bridge = spawn(path.join(bin, "corral-acp"), ["--server", server, "--", process.execPath, agent, seed], {
  stdio: ["pipe", "pipe", fs.openSync(path.join(scratch, "bridge.log"), "a")],
});
const ended = new Promise((resolve) => bridge.on("exit", (code, signal) => resolve({ code, signal })));
const pending = new Map();
let oddReceived = 0;
let oddSent = 0;
const connection = new Connection(random, bridge.stdout, bridge.stdin, onLine, () => {});

let next = 0;
function call(method, params) {
  const id = next++;
  return new Promise((resolve) => {
    pending.set(id, resolve);
    connection.sendJson({ id, method, params });
  });
}

function onLine(line) {
  const message = JSON.parse(line);
  if (message.method === undefined) {
    const answered = pending.get(message.id);
    pending.delete(message.id);
    if (answered === undefined) problems.push(`an answer to no request: ${line}`);
    else answered(message);
  } else if (message.method === "fs/read_text_file") {
    connection.sendJson({ id: message.id, result: { content: "content\u0000é" } });
  } else if (message.method.startsWith("terminal/")) {
    problems.push(`a terminal request reached the client: ${line}`);
  } else if (message.method === "$/cancel_request") {
    // Of a request that was answered meanwhile: it names nothing that this client knows.
  } else {
    const expected = oddLine("agent", oddReceived++);
    if (line !== expected) problems.push(`line ${oddReceived - 1} of the agent differs: ${line} instead of ${expected}`);
  }
}

await call("initialize", { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: true } } });
const sessions = [];
for (const cwd of workspaces) {
  const wanted = `session ${cwd}`;
  const { result } = await call("session/new", { cwd, mcpServers: [], _meta: { wanted } });
  sessions.push(result.sessionId);
}

let over = false;
async function killServers() {
  while (!over) {
    await sleep(100 + upTo(random, 900));
    if (over) return;
    const gone = new Promise((resolve) => corrald.on("exit", resolve));
    corrald.kill("SIGKILL");
    await gone;
    ++kills;
    await sleep(upTo(random, 500));
    corrald = startServer();
  }
}
const killing = killServers();

// A few turns at a time, in any session.
let begun = 0;
await Promise.all(
  Array.from({ length: 4 }, async () => {
    while (begun++ < Number(turns)) {
      for (let i = upTo(random, 3); i > 0; --i) connection.send(oddLine("client", oddSent++));
      await call("session/prompt", { sessionId: pick(random, sessions), prompt: [] });
    }
  }),
);
over = true;
await killing;
const { result: report } = await call("_day/report", {});
problems.push(...report.problems);
if (report.oddReceived !== oddSent) problems.push(`${oddSent - report.oddReceived} lines of the client were lost`);
if (oddReceived !== report.oddSent) problems.push(`${report.oddSent - oddReceived} lines of the agent were lost`);
if (report.open !== 0) problems.push(`${report.open} requests of the agent were not answered`);
await call("session/close", { sessionId: sessions[0] });
bridge.stdin.end();
const end = await ended;
if (end.code !== 0) problems.push(`corral-acp ended with ${JSON.stringify(end)}`);
const left = JSON.parse(execFileSync(path.join(bin, "corral"), ["--server", server, "info", "--json"], { encoding: "utf8" }));
if (Number(left.sandboxes ?? 0) !== 0) problems.push(`${left.sandboxes} sandboxes are left`);
corrald.kill("SIGTERM");

const summary = `${turns} turns, ${report.commands} commands, ${oddSent + oddReceived} odd lines, ${kills} kills of corrald, seed ${seed}`;
if (problems.length > 0) {
  console.log(`FAIL day: ${summary}: ${problems.slice(0, 5).join("; ").slice(0, 2000)}`);
  process.exitCode = 1;
} else {
  console.log(`PASS day: ${summary}`);
}
