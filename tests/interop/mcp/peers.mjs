// Official MCP clients of both eras with corral-mcp, over stdio and HTTP. Every frame that corral-mcp sends is checked
// against the schema of its revision. Prints "PASS name" or "FAIL name: why".
//
//   node peers.mjs URL CORRAL-MCP [ARGUMENT...]

import assert from 'node:assert';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { FrameCheck, readSchemas } from './schemas.mjs';

const [url, command, ...args] = process.argv.slice(2);
const schemas = readSchemas();
const who = { name: 'peer', version: '0' };

const libraries = {
  'sdk 1': { revision: '2025-11-25', client: () => new OldClient(who), Stdio: OldStdio, Http: OldHttp },
  'client 2': { revision: '2025-11-25', client: () => new Client(who), Stdio: StdioClientTransport, Http: StreamableHTTPClientTransport },
  'client 2, pinned to 2026-07-28': {
    revision: '2026-07-28',
    client: () => new Client(who, { versionNegotiation: { mode: { pin: '2026-07-28' } } }),
    Stdio: StdioClientTransport,
    Http: StreamableHTTPClientTransport,
  },
  'client 2, auto': {
    revision: '2026-07-28',
    client: () => new Client(who, { versionNegotiation: { mode: 'auto' } }),
    Stdio: StdioClientTransport,
    Http: StreamableHTTPClientTransport,
  },
};

// Shows every message of the transport to the check. A client sets onmessage when it connects.
function watch(transport, check) {
  const send = transport.send.bind(transport);
  transport.send = (message, ...rest) => {
    [message].flat().forEach((each) => check.sent(each));
    return send(message, ...rest);
  };
  let receive;
  Object.defineProperty(transport, 'onmessage', {
    get: () => receive && ((message, ...rest) => {
      check.received(message);
      return receive(message, ...rest);
    }),
    set: (value) => { receive = value; },
  });
  return transport;
}

const textOf = (result) => result.content[0].text;

async function converse(client) {
  const { tools } = await client.listTools();
  const names = tools.map((tool) => tool.name);
  for (const name of ['type', 'sendKey', 'getContent', 'takeScreenshot', 'clear', 'startRecording', 'stopRecording', 'run']) {
    assert(names.includes(name), `no tool ${name}`);
  }
  const call = (name, args = {}, options) => client.callTool({ name, arguments: args }, ...options ?? []);

  const ran = await call('run', { command: 'echo $((40 + 2)); (exit 3)' });
  assert(!ran.isError, textOf(ran));
  assert.equal(ran.structuredContent.output, '42\n');
  assert.equal(ran.structuredContent.exitCode, 3);

  assert.equal(textOf(await call('type', { text: 'echo ty""ped' })), 'Typed 12 character(s) to terminal');
  assert.equal(textOf(await call('sendKey', { key: 'Enter' })), 'Sent key: Enter');
  const waited = await call('wait', { text: 'typed\n', timeoutMs: 60000 });
  assert.equal(waited.structuredContent.reason, 'text');
  assert.match(textOf(await call('getContent')), /\ntyped\n/);

  const screen = JSON.parse(textOf(await call('takeScreenshot')));
  assert.equal(screen.dimensions.cols, 120);
  const picture = await call('takeScreenshot', { format: 'png' });
  assert.equal(picture.content[0].mimeType, 'image/png');

  const failed = await call('sendKey', { key: 'Nonsense' });
  assert.equal(failed.isError, true);
  await assert.rejects(call('nonsense'), /Unknown tool/);

  const { prompts } = await client.listPrompts();
  assert.equal(prompts[0].name, 'tool-usage');
  await client.getPrompt({ name: 'tool-usage' });
  assert.equal(textOf(await call('clear')), 'Terminal cleared');
}

async function tell(name, work) {
  try {
    const note = await work();
    console.log(`PASS ${name}${note ? `: ${note}` : ''}`);
  } catch (error) {
    console.log(`FAIL ${name}: ${String(error.stack ?? error).replaceAll('\n', ' ').slice(0, 600)}`);
    process.exitCode = 1;
  }
}

for (const [name, { revision, client: make, Stdio, Http }] of Object.entries(libraries)) {
  for (const [way, transport] of [
    ['stdio', () => new Stdio({ command, args, stderr: 'inherit', env: process.env })],
    ['HTTP', () => new Http(new URL(url))],
  ]) {
    await tell(`mcp: ${name} over ${way}`, async () => {
      const check = new FrameCheck(schemas[revision]);
      const client = make();
      try {
        await client.connect(watch(transport(), check));
        await converse(client);
      } finally {
        await client.close();
      }
      assert.deepEqual(check.errors, []);
      return `${check.frames} frames match the schema of ${revision}`;
    });
  }
}
