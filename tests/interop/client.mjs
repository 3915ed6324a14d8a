// An ACP client on the official library, without terminals of its own, that checks corral-acp. Each check
// launches COMMAND (corral-acp with the scripted agent) and prints PASS or FAIL.
//
//   node client.mjs WORKSPACE COMMAND [ARGUMENTS]
import * as acp from "@agentclientprotocol/sdk";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { Readable, Writable } from "node:stream";

const { methods } = acp;
const [workspace, command, ...args] = process.argv.slice(2);
const checkTimeoutMs = 60_000;

// Launches the agent, runs `use` with it, and ends it.
// `capabilities` are added to the client's own, `options` to those of corral-acp.
async function withAgent(use, handlers = (app) => app, { capabilities = {}, options = [] } = {}) {
  const words = [...args];
  words.splice(words.indexOf("--"), 0, ...options);
  const child = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
  const exited = new Promise((resolve) => child.on("exit", (code, signal) => resolve({ code, signal })));
  // Texts of the agent that no check has read yet. The library may deliver the end of a turn before them.
  const texts = [];
  // Every update, checked by the library against its schema.
  const updates = [];
  const listeners = [];
  const nextText = async () => {
    while (texts.length === 0) {
      await new Promise((resolve) => listeners.push(resolve));
    }
    return texts.shift();
  };
  const app = handlers(acp.client({ name: "interop-client" })).onNotification(
    methods.client.session.update,
    ({ params }) => {
      const { update } = params;
      updates.push(update);
      if (update.sessionUpdate === "agent_message_chunk") {
        texts.push(update.content.text);
      }
      listeners.forEach((listener) => listener(update));
    },
  );
  const connection = app.connect(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
  const { agent } = connection;
  const initialized = await agent.request(methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: false }, terminal: false, _meta: { kept: 1 }, ...capabilities },
  });
  const open = async (cwd = workspace) =>
    (await agent.request(methods.agent.session.new, { cwd, mcpServers: [] })).sessionId;
  const prompt = (sessionId, script) =>
    agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: script }] });
  // Runs a script in the agent and returns its result.
  const script = async (text, sessionId) => {
    await prompt(sessionId ?? (await open()), text);
    const outcome = JSON.parse(await nextText());
    if ("threw" in outcome) {
      throw new Error(`the agent: ${JSON.stringify(outcome.threw)}`);
    }
    return outcome.returned;
  };
  try {
    return await use({ agent, child, exited, initialized, nextText, open, prompt, script, updates });
  } finally {
    child.stdin.end();
    await exited;
  }
}

let failed = false;
async function check(name, body) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done in ${checkTimeoutMs} ms`)), checkTimeoutMs);
  });
  try {
    await Promise.race([body(), late]);
    console.log(`PASS sdk: ${name}`);
  } catch (error) {
    failed = true;
    console.log(`FAIL sdk: ${name}: ${String(error.message).split("\n").join(" ")}`);
  } finally {
    clearTimeout(timer);
  }
}

const exited = (code) => ({ exitCode: code, signal: null });
const killed = (signal) => ({ exitCode: null, signal });

await check("initialize announces terminals to the agent and changes nothing else", () =>
  withAgent(async ({ script }) => {
    const initialize = await script("return agent.initialize");
    assert.deepEqual(initialize.clientCapabilities, {
      ...initialize.clientCapabilities,
      fs: { readTextFile: true, writeTextFile: false },
      terminal: true,
      _meta: { kept: 1 },
    });
  }),
);

await check("a program with arguments", () =>
  withAgent(async ({ script }) => {
    assert.deepEqual(await script(`return agent.run({ command: "printf", args: ["%s-%s", "a b", "c"] })`), {
      exit: exited(0),
      output: "a b-c",
      truncated: false,
      exitStatus: exited(0),
    });
  }),
);

await check("a shell line without arguments, or with an empty list or null", () =>
  withAgent(async ({ script }) => {
    for (const args of ["", ", args: []", ", args: null"]) {
      const ran = await script(`return agent.run({ command: "echo one; echo two >&2; exit 7" ${args} })`);
      assert.equal(ran.output, "one\ntwo\n");
      assert.deepEqual(ran.exit, exited(7));
    }
  }),
);

await check("a shell that the server does not have", () =>
  withAgent(async ({ script }) => {
    for (const shell of ["/opt/homebrew/bin/bash", "/nonexistent/zsh", "/usr/local/cellar/sh"]) {
      for (const flag of ["-c", "-lc"]) {
        const ran = await script(`return agent.run({ command: "${shell}", args: ["${flag}", "echo ran; exit 4"] })`);
        assert.deepEqual([ran.output, ran.exit], ["ran\n", exited(4)]);
      }
    }
  }),
);

await check("no pager and no prompt waits for a key, unless the agent wants one", () =>
  withAgent(async ({ script }) => {
    const line = `command: "echo $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT; read x || echo no input"`;
    assert.equal((await script(`return agent.run({ ${line} })`)).output, "cat cat 0\nno input\n");
    const given = await script(`return agent.run({ ${line}, env: [{ name: "PAGER", value: "mine" }] })`);
    assert.equal(given.output, "mine cat 0\nno input\n");
  }),
);

await check("a limit of output that is missing or absurd", () =>
  withAgent(async ({ script }) => {
    for (const limit of ["null", "-5", "1.5", `"many"`, "1e30", "{}"]) {
      const ran = await script(`return agent.run({ command: "echo x", outputByteLimit: ${limit} })`);
      assert.deepEqual([ran.output, ran.truncated], ["x\n", false], limit);
    }
  }),
);

// fast-agent's terminal runtime, when the command takes longer than its timeout.
await check("create, wait with a timeout, kill, output, release", () =>
  withAgent(async ({ script }) => {
    const seen = await script(`
      const terminal = await agent.create({
        command: "/bin/sh", args: ["-lc", "echo partial; sleep 1000; echo never"], outputByteLimit: 16000 });
      const wait = agent.wait(terminal);
      while ((await agent.output(terminal)).output === "") {}
      const late = new Promise((resolve) => setTimeout(resolve, 50, "late"));
      const first = await Promise.race([wait, late]);
      await agent.kill(terminal);
      const output = await agent.output(terminal);
      await agent.release(terminal);
      return { first, output: output.output, wait: await wait }`);
    assert.deepEqual(seen, { first: "late", output: "partial\n", wait: killed("SIGTERM") });
  }),
);

await check("a server that one terminal runs is reached from the next", () =>
  withAgent(async ({ open, script }) => {
    const session = await open();
    const serve = `$s = IO::Socket::INET->new(Listen => 5, LocalAddr => q(127.0.0.1), LocalPort => 8123) or die;
      $| = 1; print qq(up\\n); while ($c = $s->accept) { print $c qq(served\\n); close $c }`;
    const seen = await script(
      `const server = await agent.create({ command: "perl", args: ["-MIO::Socket::INET", "-e", \`${serve}\`] });
       let now;
       do { now = await agent.output(server); } while (now.output === "" && !now.exitStatus);
       const client = await agent.run({ command: "bash", args: ["-c", "cat < /dev/tcp/127.0.0.1/8123"] });
       await agent.release(server);
       return [now.output, client.output]`,
      session,
    );
    assert.deepEqual(seen, ["up\n", "served\n"]);
  }),
);

await check("environment as a list and as an object", () =>
  withAgent(async ({ script }) => {
    for (const env of [`[{ name: "N", value: "1" }, { name: "N", value: "v w" }]`, `{ N: "v w", X: null }`]) {
      const ran = await script(`return agent.run({ command: "echo $N $HOME", env: ${env} })`);
      assert.match(ran.output, /^v w \/.*\n$/);
    }
  }),
);

await check("two sessions work in their own directories", () =>
  withAgent(async ({ open, script }) => {
    for (const name of ["one", "two"]) {
      const directory = path.join(workspace, name);
      fs.mkdirSync(directory, { recursive: true });
      const session = await open(directory);
      const ran = await script(`return agent.run({ command: "pwd; echo x > made; ls .." })`, session);
      assert.equal(ran.output.split("\n")[0], directory);
      assert.deepEqual(ran.output.split("\n").slice(1), [name, ""]);
      assert.equal(fs.readFileSync(path.join(directory, "made"), "utf8"), "x\n");
    }
  }),
);

await check("a relative and an absolute cwd, and one outside", () =>
  withAgent(async ({ script }) => {
    fs.mkdirSync(path.join(workspace, "sub"), { recursive: true });
    const sub = path.join(workspace, "sub");
    assert.equal((await script(`return agent.run({ command: "pwd", cwd: "sub" })`)).output, `${sub}\n`);
    assert.equal((await script(`return agent.run({ command: "pwd", cwd: agent.cwd + "/sub" })`)).output, `${sub}\n`);
    const outside = await script(`return agent.failure(agent.create({ command: "pwd", cwd: "/etc" }))`);
    assert.equal(outside.code, -32602);
  }),
);

await check("output can be read while the command runs", () =>
  withAgent(async ({ script }) => {
    const seen = await script(`
      const terminal = await agent.create({ command: "echo early; exec sleep 1000" });
      let now;
      do { now = await agent.output(terminal); } while (now.output === "");
      await agent.release(terminal);
      return now;`);
    assert.deepEqual(seen, { output: "early\n", truncated: false });
  }),
);

await check("a long output keeps its tail, cut between characters", () =>
  withAgent(async ({ script }) => {
    const ran = await script(`return agent.run({
      command: "i=0; while [ $i -lt 2000 ]; do printf '\\u00e9\\u20ac'; i=$((i+1)); done; printf end",
      outputByteLimit: 101 })`);
    assert.equal(ran.truncated, true);
    assert.ok(Buffer.byteLength(ran.output) <= 101 && Buffer.byteLength(ran.output) > 97);
    assert.match(ran.output, /^€?(é€)*end$/);
  }),
);

await check("no output at all with a limit of 0", () =>
  withAgent(async ({ script }) => {
    const ran = await script(`return agent.run({ command: "echo x", outputByteLimit: 0 })`);
    assert.equal(ran.output, "");
    assert.equal(ran.truncated, true);
  }),
);

await check("4 MiB of output that JSON escapes to six times that size", () =>
  withAgent(async ({ script }) => {
    const ran = await script(`
      const ran = await agent.run({ command: "head -c 5000000 /dev/zero", outputByteLimit: 100000000 });
      return { length: ran.output.length, truncated: ran.truncated }`);
    assert.deepEqual(ran, { length: 4 << 20, truncated: true });
  }),
);

await check("bytes that are not UTF-8", () =>
  withAgent(async ({ script }) => {
    assert.equal((await script(`return agent.run({ command: "printf 'a\\\\377b\\\\303'" })`)).output, "a\ufffdb\ufffd");
  }),
);

await check("a kill ends the tree and keeps the terminal", () =>
  withAgent(async ({ script }) => {
    const seen = await script(`
      const terminal = await agent.create({ command: "sleep 1000 & echo up; wait" });
      while ((await agent.output(terminal)).output === "") {}
      await agent.kill(terminal);
      const exit = await agent.wait(terminal);
      await agent.kill(terminal);
      const output = await agent.output(terminal);
      await agent.release(terminal);
      return { exit, output }`);
    assert.deepEqual(seen, {
      exit: killed("SIGTERM"),
      output: { output: "up\n", truncated: false, exitStatus: killed("SIGTERM") },
    });
  }),
);

await check("a command that ignores SIGTERM gets SIGKILL", () =>
  withAgent(async ({ script }) => {
    const exit = await script(`
      const terminal = await agent.create({ command: "trap '' TERM; echo up; while :; do sleep 1; done" });
      while ((await agent.output(terminal)).output === "") {}
      await agent.kill(terminal);
      return agent.wait(terminal)`);
    assert.deepEqual(exit, killed("SIGKILL"));
  }),
);

await check("a release answers pending waits and forgets the terminal", () =>
  withAgent(async ({ script }) => {
    const seen = await script(`
      const terminal = await agent.create({ command: "sleep", args: ["1000"] });
      const waits = [agent.wait(terminal), agent.wait(terminal)];
      await agent.release(terminal);
      return {
        waits: await Promise.all(waits),
        again: await agent.release(terminal),
        output: (await agent.failure(agent.output(terminal))).code,
        wait: (await agent.failure(agent.wait(terminal))).code,
        kill: (await agent.failure(agent.kill(terminal))).code,
        unknown: (await agent.failure(agent.release("never"))).code,
      }`);
    assert.deepEqual(seen, {
      waits: [killed("SIGKILL"), killed("SIGKILL")],
      again: {},
      output: -32002,
      wait: -32002,
      kill: -32002,
      unknown: -32002,
    });
  }),
);

await check("a cancelled wait leaves the command alone", () =>
  withAgent(async ({ script }) => {
    const seen = await script(`
      const terminal = await agent.create({ command: "sleep", args: ["1000"] });
      const abort = new AbortController();
      const wait = agent.failure(agent.wait(terminal, { cancellationSignal: abort.signal }));
      abort.abort();
      const cancelled = (await wait).code;
      const output = await agent.output(terminal);
      await agent.kill(terminal);
      return { cancelled, output, exit: await agent.wait(terminal) }`);
    assert.deepEqual(seen, {
      cancelled: -32800,
      output: { output: "", truncated: false },
      exit: killed("SIGTERM"),
    });
  }),
);

await check("a missing program, a directory and a script without its interpreter", () =>
  withAgent(async ({ script }) => {
    fs.writeFileSync(path.join(workspace, "broken"), "#!/nonexistent/sh\n", { mode: 0o755 });
    for (const [program, name] of [
      ["/nonexistent/program", "ENOENT"],
      ["nonexistent-program", "ENOENT"],
      ["/usr", "EACCES"],
      ["./broken", "ENOENT"],
    ]) {
      const failure = await script(`return agent.failure(agent.create({ command: "${program}", args: ["x"] }))`);
      assert.equal(failure.code, -32603);
      assert.ok(failure.data.details.startsWith(`spawn ${program} ${name}`), failure.data.details);
    }
  }),
);

await check("bad parameters", () =>
  withAgent(async ({ script }) => {
    for (const params of [
      `{ command: "" }`,
      `{}`,
      `{ command: "x", args: "y" }`,
      `{ command: "a\\u0000b", args: ["x"] }`,
    ]) {
      assert.equal((await script(`return agent.failure(agent.create(${params}))`)).code, -32602, params);
    }
    const unknown = await script(
      `return agent.failure(agent.call("terminal/create", { sessionId: "nobody", command: "ls" }))`,
    );
    assert.equal(unknown.code, -32002);
    assert.equal((await script(`return agent.failure(agent.call("terminal/nonsense", {}))`)).code, -32601);
  }),
);

// Embeds a terminal in a tool call, as agents do, and waits for its end.
const embed = `
  const update = (update) => agent.client.notify("session/update", { sessionId: agent.sessionId, update });
  await update({ sessionUpdate: "tool_call", toolCallId: "c", title: "count", kind: "execute", status: "in_progress" });
  const terminalId = await agent.create({ command: "echo $((6*7)); exit 3" });
  await update({ sessionUpdate: "tool_call_update", toolCallId: "c", content: [{ type: "terminal", terminalId }] });
  const exit = await agent.wait(terminalId);
  await agent.release(terminalId);
  await update({ sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed" });
  return exit;`;

await check("a client without terminals shows output as text", () =>
  withAgent(async ({ script, updates }) => {
    assert.deepEqual(await script(embed), exited(3));
    const contents = updates.flatMap((update) => update.content ?? []).filter((item) => item.type !== "text");
    assert.ok(contents.length > 0 && contents.every((item) => item.type === "content"));
    assert.equal(contents.at(-1).content.text, "```console\n42\n```");
  }),
);

await check("a client that draws terminals gets output, end and text for its history", () =>
  withAgent(
    async ({ script, updates }) => {
      assert.deepEqual(await script(embed), exited(3));
      const metas = updates.map((update) => update._meta ?? {});
      const announced = updates.find((update) => update._meta?.terminal_info);
      assert.equal(announced.sessionUpdate, "tool_call");
      assert.equal(announced.title, "count");
      assert.equal(announced.content[0].terminalId, announced._meta.terminal_info.terminal_id);
      assert.equal(metas.map((meta) => meta.terminal_output?.data ?? "").join(""), "42\n");
      assert.equal(metas.find((meta) => meta.terminal_exit).terminal_exit.exit_code, 3);
      assert.equal(updates.find((update) => update.rawOutput).rawOutput.output, "42\n");
    },
    undefined,
    { capabilities: { _meta: { terminal_output: true } } },
  ),
);

await check("a client with terminals runs a mirror of the command", () => {
  const mirror = { output: "" };
  return withAgent(
    async ({ script, updates }) => {
      assert.deepEqual(await script(embed), exited(3));
      await mirror.released;
      assert.equal(mirror.output, "42\n");
      assert.equal(mirror.exit, 3);
      assert.ok(updates.some((update) => update.content?.[0]?.terminalId === "mirror"));
    },
    (app) => {
      const { terminal } = methods.client;
      let release;
      mirror.released = new Promise((resolve) => (release = resolve));
      return app
        .onRequest(terminal.create, ({ params }) => {
          const child = spawn(params.command, params.args, { stdio: ["ignore", "pipe", "inherit"] });
          child.stdout.on("data", (data) => (mirror.output += data));
          mirror.ended = new Promise((resolve) => child.on("close", (code) => resolve((mirror.exit = code))));
          return { terminalId: "mirror" };
        })
        .onRequest(terminal.waitForExit, async () => ({ exitCode: await mirror.ended, signal: null }))
        .onRequest(terminal.release, () => (release(), {}));
    },
    { capabilities: { terminal: true } },
  );
});

await check("the user is asked about the real command, and a refusal is a terminal that ended", () => {
  const gate = path.join(workspace, "gate.textproto");
  fs.writeFileSync(gate, 'rule { decision: DENY program: "rm" reason: "nothing is deleted" } otherwise: ASK');
  const titles = [];
  return withAgent(
    async ({ open, script }) => {
      const session = await open();
      const run = (command) => script(`return agent.run({ command: ${JSON.stringify(command)} })`, session);
      const refused = await run("rm -r x");
      assert.equal(refused.exit.exitCode, 126);
      assert.equal(refused.output, "corral: not run: nothing is deleted\n");
      assert.equal((await run("echo asked")).output, "asked\n");
      assert.equal((await run("echo asked")).output, "asked\n");
      assert.equal((await run("echo no")).exit.exitCode, 126);
      assert.deepEqual(titles, ["echo asked", "echo no"]);
    },
    (app) =>
      app.onRequest(methods.client.session.requestPermission, ({ params }) => {
        titles.push(params.toolCall.title);
        const kind = params.toolCall.title === "echo no" ? "reject_once" : "allow_always";
        const { optionId } = params.options.find((option) => option.kind === kind);
        return { outcome: { outcome: "selected", optionId } };
      }),
    { options: ["--gate", gate] },
  );
});

await check("fifty commands at once", () =>
  withAgent(async ({ script }) => {
    const outputs = await script(`
      const runs = Array.from({ length: 50 }, (_, i) => agent.run({ command: "echo", args: [String(i)] }));
      return (await Promise.all(runs)).map((run) => run.output)`);
    assert.deepEqual(
      outputs,
      Array.from({ length: 50 }, (_, i) => `${i}\n`),
    );
  }),
);

await check("the exit status is reported after the last byte of output", () =>
  withAgent(async ({ script }) => {
    const complete = await script(`
      let complete = 0;
      for (let i = 0; i < 30; ++i) {
        const ran = await agent.run({ command: "seq 20000", outputByteLimit: 1000000 });
        complete += ran.output.endsWith("\\n20000\\n") ? 1 : 0;
      }
      return complete`);
    assert.equal(complete, 30);
  }),
);

await check("other requests pass in both directions", () =>
  withAgent(
    async ({ agent, script }) => {
      assert.deepEqual(await agent.request("_test/echo", { a: [1, "é", null] }), { a: [1, "é", null] });
      const seen = await script(`
        const read = await agent.call("fs/read_text_file", { path: agent.cwd + "/file" });
        const asked = await agent.call("session/request_permission", {
          toolCall: { toolCallId: "t" }, options: [{ optionId: "o", name: "yes", kind: "allow_once" }] });
        const missing = await agent.failure(agent.call("_nobody/knows", {}));
        return { read, asked, missing: missing.code }`);
      assert.equal(seen.read.content, `${workspace}/file`);
      assert.deepEqual(seen.asked.outcome, { outcome: "selected", optionId: "o" });
      assert.equal(seen.missing, -32601);
    },
    (app) =>
      app
        .onRequest(methods.client.fs.readTextFile, ({ params }) => ({ content: params.path }))
        .onRequest(methods.client.session.requestPermission, ({ params }) => ({
          outcome: { outcome: "selected", optionId: params.options[0].optionId },
        })),
  ),
);

await check("a cancelled turn whose agent kills its command", () =>
  withAgent(async ({ agent, nextText, open, prompt }) => {
    const sessionId = await open();
    const turn = prompt(
      sessionId,
      `const terminal = await agent.create({ command: "sleep", args: ["1000"] });
       await agent.say("running");
       await agent.cancelled;
       await agent.kill(terminal);
       return agent.wait(terminal)`,
    );
    assert.equal(await nextText(), "running");
    await agent.notify(methods.agent.session.cancel, { sessionId });
    assert.equal((await turn).stopReason, "cancelled");
    assert.deepEqual(JSON.parse(await nextText()).returned, killed("SIGTERM"));
  }),
);

await check("the bridge ends when the client terminates it", () =>
  withAgent(async ({ child, exited: end, script }) => {
    await script(`await agent.create({ command: "trap '' TERM; touch alive; while :; do sleep 1; done" })`);
    child.kill("SIGTERM");
    const { code, signal } = await end;
    assert.equal(signal, null);
    assert.ok(code === 0 || code > 128, `exit code ${code}`);
  }),
);

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

await check("the agent ends when the bridge is killed", () =>
  withAgent(async ({ child, exited: end, script }) => {
    const pid = await script(`return process.pid`);
    child.kill("SIGKILL");
    await end;
    while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
  }),
);

process.exitCode = failed ? 1 : 0;
