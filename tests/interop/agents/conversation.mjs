// Prints what a user sees of a conversation that acpx or editor.mjs has printed as JSON: the final state of each tool
// call, the agent's text, and the end of the turn. What differs from run to run is left out.
//
//   node conversation.mjs < TRANSCRIPT
import fs from "node:fs";

const calls = new Map();
let text = "";
let end = "";
for (const line of fs.readFileSync(0, "utf8").split("\n")) {
  if (!line.startsWith("{")) continue;
  const message = JSON.parse(line);
  const update = message.params?.update;
  if (update?.sessionUpdate === "agent_message_chunk") text += update.content.text;
  if (update?.sessionUpdate?.startsWith("tool_call")) {
    const call = calls.get(update.toolCallId) ?? {};
    calls.set(update.toolCallId, { ...call, ...(update.title && { title: update.title }), ...(update.status && { status: update.status }) });
  }
  if (message.result?.stopReason) end = message.result.stopReason;
}
const stable = text.replace(/Wall time(:?) [\d.]+ seconds/, "Wall time$1 N seconds").replace(/PGID: \d+/, "PGID: N");
console.log(JSON.stringify({ calls: [...calls.values()], text: stable, end }, null, 1));
