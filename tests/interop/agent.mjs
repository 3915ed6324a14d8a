// An ACP agent on the official library that runs scripts: the text of a prompt is the body of an async
// JavaScript function with the parameter `agent`. The agent reports its result to the client as JSON.
import * as acp from "@agentclientprotocol/sdk";
import { Readable, Writable } from "node:stream";

const { methods } = acp;
const AsyncFunction = (async () => {}).constructor;
const cwds = new Map();
let initialize = null;

// Returns the `agent` of scripts.
function scriptApi(client, sessionId) {
  const call = (method, params, options) => client.request(method, { sessionId, ...params }, options);
  return {
    initialize,
    client,
    sessionId,
    cwd: cwds.get(sessionId),
    call,
    create: async (params) => (await call("terminal/create", params)).terminalId,
    output: (terminalId) => call("terminal/output", { terminalId }),
    wait: (terminalId, options) => call("terminal/wait_for_exit", { terminalId }, options),
    kill: (terminalId) => call("terminal/kill", { terminalId }),
    release: (terminalId) => call("terminal/release", { terminalId }),
    // Runs one command from its creation to its release.
    run: async function (params) {
      const terminal = await this.create(params);
      const exit = await this.wait(terminal);
      const output = await this.output(terminal);
      await this.release(terminal);
      return { exit, ...output };
    },
    // Returns the error of a request as the agent sees it.
    failure: (promise) => promise.then((value) => ({ value }), ({ code, message, data }) => ({ code, message, data })),
    say: (text) =>
      client.notify(methods.client.session.update, {
        sessionId,
        update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
      }),
  };
}

const cancellations = new Map();

acp
  .agent({ name: "scripted-agent" })
  .onRequest(methods.agent.initialize, ({ params }) => {
    initialize = params;
    return { protocolVersion: acp.PROTOCOL_VERSION, agentCapabilities: {}, authMethods: [] };
  })
  .onRequest(methods.agent.session.new, ({ params }) => {
    const sessionId = `session-${cwds.size}`;
    cwds.set(sessionId, params.cwd);
    return { sessionId };
  })
  .onRequest(methods.agent.session.close, () => ({}))
  .onNotification(methods.agent.session.cancel, ({ params }) => cancellations.get(params.sessionId)?.())
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const agent = scriptApi(client, params.sessionId);
    let cancelled = false;
    agent.cancelled = new Promise((resolve) =>
      cancellations.set(params.sessionId, () => {
        cancelled = true;
        resolve();
      }),
    );
    const script = params.prompt.map((block) => block.text ?? "").join("");
    let outcome;
    try {
      outcome = { returned: (await new AsyncFunction("agent", script)(agent)) ?? null };
    } catch (error) {
      outcome = { threw: { code: error.code, message: error.message, data: error.data } };
    }
    await agent.say(JSON.stringify(outcome));
    return { stopReason: cancelled ? "cancelled" : "end_turn" };
  })
  .onRequest("_test/echo", (params) => params, ({ params }) => params)
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
