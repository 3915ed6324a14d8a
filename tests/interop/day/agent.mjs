// The agent of the traffic: on each prompt it runs commands as agents do, and checks that every answer is true.
//
//   node agent.mjs SEED
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { Connection, makeRandom, oddLine, pick, upTo } from "./traffic.mjs";

const random = makeRandom(Number(process.argv[2]));
const pending = new Map(); // JSON text of a request's id -> function that takes the answer
const problems = [];
let oddSent = 0;
let oddReceived = 0;
let requests = 0;
let commands = 0;

const connection = new Connection(random, process.stdin, process.stdout, onLine, () => process.exit(0));

// Ids of every type and form, each used once at a time.
function nextId() {
  const number = requests++;
  return pick(random, [number, number, `${number}`, `id "${number}" é`, -number - 1]);
}

// `cancel`: the request is cancelled soon after it was sent.
function call(method, params, { cancel = false } = {}) {
  const id = nextId();
  const key = JSON.stringify(id);
  return new Promise((resolve) => {
    assert.ok(!pending.has(key));
    pending.set(key, resolve);
    connection.sendJson({ id, method, params });
    if (cancel) {
      setTimeout(() => connection.sendJson({ method: "$/cancel_request", params: { requestId: id } }), upTo(random, 30));
    }
  });
}

function onLine(line) {
  const message = JSON.parse(line);
  if (message.method === undefined) {
    const key = JSON.stringify(message.id);
    const answered = pending.get(key);
    pending.delete(key);
    if (answered === undefined) problems.push(`an answer to no request: ${line}`);
    else answered(message);
  } else if (message.method === "initialize") {
    if (message.params.clientCapabilities.terminal !== true) problems.push("no terminals are announced");
    connection.sendJson({ id: message.id, result: { protocolVersion: 1, agentCapabilities: { loadSession: true } } });
  } else if (message.method === "session/new") {
    connection.sendJson({ id: message.id, result: { sessionId: message.params._meta.wanted } });
  } else if (message.method === "session/load" || message.method === "session/close") {
    connection.sendJson({ id: message.id, result: {} });
  } else if (message.method === "session/prompt") {
    turn(message);
  } else if (message.method === "_day/report") {
    connection.sendJson({ id: message.id, result: { problems, oddSent, oddReceived, commands, open: pending.size } });
  } else {
    const expected = oddLine("client", oddReceived++);
    if (line !== expected) problems.push(`line ${oddReceived - 1} of the client differs: ${line} instead of ${expected}`);
  }
}

async function turn({ id, params }) {
  const { sessionId } = params;
  for (let i = upTo(random, 3); i > 0; --i) connection.send(oddLine("agent", oddSent++));
  const name = pick(random, Object.keys(habits));
  try {
    await habits[name](sessionId);
  } catch (error) {
    problems.push(`${name} in ${sessionId}: ${error.message}`);
  }
  connection.sendJson({ id, result: { stopReason: "end_turn" } });
}

// A terminal of one command. Each method returns the whole answer.
class Terminal {
  static async create(sessionId, params) {
    const answer = await call("terminal/create", { sessionId, ...params });
    assert.ok(answer.result?.terminalId, JSON.stringify(answer));
    ++commands;
    return new Terminal(sessionId, answer.result.terminalId);
  }

  constructor(sessionId, terminalId) {
    this.reference = { sessionId, terminalId };
  }
  output = () => call("terminal/output", this.reference);
  wait = (options) => call("terminal/wait_for_exit", this.reference, options);
  kill = () => call("terminal/kill", this.reference);
  release = async () => assert.deepEqual((await call("terminal/release", this.reference)).result, {});
}

const exited = (code) => ({ exitCode: code, signal: null });
const signalled = (signal) => ({ exitCode: null, signal });

const habits = {
  async runALine(sessionId) {
    const code = upTo(random, 255);
    const terminal = await Terminal.create(sessionId, { command: `echo $((6*7)); echo err >&2; exit ${code}` });
    assert.deepEqual((await terminal.wait()).result, exited(code));
    const { output, truncated, exitStatus } = (await terminal.output()).result;
    assert.deepEqual({ output, truncated, exitStatus }, { output: "42\nerr\n", truncated: false, exitStatus: exited(code) });
    await terminal.release();
  },
  async runAProgram(sessionId) {
    const word = `a b'c"$d é ${upTo(random, 1e6)}`;
    const terminal = await Terminal.create(sessionId, { command: "printf", args: ["%s", word], env: [{ name: "X", value: "1" }] });
    const waits = await Promise.all([terminal.wait(), terminal.wait(), terminal.wait()]);
    for (const wait of waits) assert.deepEqual(wait.result, exited(0));
    assert.equal((await terminal.output()).result.output, word);
    await terminal.release();
    await terminal.release();
  },
  async keepATail(sessionId) {
    const last = 1000 + upTo(random, 30000);
    const terminal = await Terminal.create(sessionId, { command: `seq ${last}`, outputByteLimit: 50 });
    await terminal.wait();
    const { output, truncated } = (await terminal.output()).result;
    assert.ok(truncated && output.length <= 50 && output.endsWith(`\n${last}\n`), output);
    await terminal.release();
  },
  async pollAndKill(sessionId) {
    const terminal = await Terminal.create(sessionId, { command: "echo up; exec sleep 1000", args: [] });
    while ((await terminal.output()).result.output !== "up\n") await sleep(20);
    assert.deepEqual((await terminal.kill()).result, {});
    assert.deepEqual((await terminal.wait()).result, signalled("SIGTERM"));
    assert.deepEqual((await terminal.kill()).result, {});
    await terminal.release();
  },
  // As fast-agent's terminal runtime: a wait with a timeout, then kill, output, release.
  async giveUpWaiting(sessionId) {
    const terminal = await Terminal.create(sessionId, { command: "/bin/sh", args: ["-lc", "echo partial; sleep 1000"], outputByteLimit: 16000 });
    const wait = terminal.wait();
    await Promise.race([wait, sleep(upTo(random, 300))]);
    assert.deepEqual((await terminal.kill()).result, {});
    const exit = (await wait).result;
    assert.deepEqual(exit, signalled("SIGTERM"));
    const { output } = (await terminal.output()).result;
    assert.ok(["partial\n", ""].includes(output), output);
    await terminal.release();
  },
  async releaseWhileWaiting(sessionId) {
    const terminal = await Terminal.create(sessionId, { command: "sleep", args: ["1000"] });
    const waits = [terminal.wait(), terminal.wait()];
    await terminal.release();
    for (const wait of await Promise.all(waits)) assert.deepEqual(wait.result, signalled("SIGKILL"));
    for (const method of ["output", "wait", "kill"]) assert.equal((await terminal[method]()).error.code, -32002);
  },
  async cancelAWait(sessionId) {
    const terminal = await Terminal.create(sessionId, { command: "sleep", args: ["1000"] });
    assert.equal((await terminal.wait({ cancel: true })).error.code, -32800);
    assert.equal((await terminal.output()).result.exitStatus, undefined);
    await terminal.release();
  },
  async cancelACreation(sessionId) {
    const answer = await call("terminal/create", { sessionId, command: "sleep", args: ["1000"] }, { cancel: true });
    if (answer.error) assert.equal(answer.error.code, -32800);
    else await new Terminal(sessionId, answer.result.terminalId).release();
  },
  async askTheClient(sessionId) {
    const answer = await call("fs/read_text_file", { sessionId, path: "/odd" });
    assert.equal(answer.result.content, "content\u0000é");
  },
  async makeMistakes(sessionId) {
    assert.equal((await call("terminal/output", { sessionId, terminalId: "never" })).error.code, -32002);
    assert.equal((await call("terminal/create", { sessionId: "never", command: "true" })).error.code, -32002);
    assert.equal((await call("terminal/create", { sessionId, command: "" })).error.code, -32602);
    assert.equal((await call("terminal/nonsense", { sessionId })).error.code, -32601);
    const missing = await call("terminal/create", { sessionId, command: "/no/such/program", args: ["x"] });
    assert.equal(missing.error.code, -32603);
  },
  // Some agents never release.
  async forget(sessionId) {
    const terminal = await Terminal.create(sessionId, { command: "true" });
    assert.deepEqual((await terminal.wait()).result, exited(0));
  },
};
