// client.mjs PORT CHECK: one check of server.mjs at this port; its end is 0 if all is right.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { WebSocket } from 'ws';

const [port, check] = process.argv.slice(2);
const url = `http://127.0.0.1:${port}`;

async function connect() {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
  await once(socket, 'open');
  return socket;
}

async function close(socket) {
  socket.close(1000);
  await once(socket, 'close');
}

async function report() {
  return (await fetch(`${url}/report`)).json();
}

// Waits until the server has seen this.
async function awaitReport(seen) {
  while (!seen(await report()));
}

// Text and binary, from 0 to 16 KiB.
function message(i) {
  const text = String(i).repeat((i * 37) % 4096);
  return i % 2 === 0 ? text : Buffer.from(text);
}

const checks = {
  async echo() {
    const socket = await connect();
    let received = 0;
    const all = new Promise((resolve, reject) => {
      socket.on('message', (data, isBinary) => {
        const sent = message(received);
        if (isBinary !== Buffer.isBuffer(sent) || !Buffer.from(sent).equals(data)) reject(new Error(`message ${received} differs`));
        received += 1;
        if (received === 1000) resolve();
      });
    });
    for (let i = 0; i < 1000; i += 1) socket.send(message(i));
    await all;
    await close(socket);
  },

  async push() {
    const socket = await connect();
    const received = [];
    socket.on('message', (data) => received.push(data.toString()));
    socket.send('push');
    while (received.length < 1000) await once(socket, 'message');
    assert.deepEqual(received, Array.from({ length: 1000 }, (_, i) => `push ${i}`));
    await close(socket);
  },

  async ping() {
    const socket = await connect();
    socket.ping('of the client');
    assert.equal((await once(socket, 'pong'))[0].toString(), 'of the client');
    socket.send('ping');
    assert.equal((await once(socket, 'ping'))[0].toString(), 'of the server');
    await awaitReport(({ pongs }) => pongs.includes('of the server'));
    await close(socket);
  },

  async close() {
    const first = await connect();
    first.close(4001, 'the client closes');
    assert.equal((await once(first, 'close'))[0], 4001);
    await awaitReport(({ closes }) => closes.includes('4001 the client closes'));
    const second = await connect();
    second.send('close');
    const [code, reason] = await once(second, 'close');
    assert.equal(`${code} ${reason}`, '4002 the server closes');
  },

  async terminate() {
    const socket = await connect();
    socket.terminate();
    await awaitReport(({ closes }) => closes.includes('1006 '));
  },

  async fetch() {
    const { connections } = await report();
    for (let i = 0; i < 100; i += 1) {
      const answer = await fetch(`${url}/${i}`);
      assert.equal(answer.status, 200);
      assert.equal((await answer.text()).length, i);
    }
    // The first may not be free again when the second request begins.
    assert.ok((await report()).connections <= connections + 1);
  },

  async body() {
    const sent = Buffer.alloc(32 << 20, 'corral ');
    const answer = await fetch(url, { method: 'POST', body: sent });
    assert.ok(Buffer.from(await answer.arrayBuffer()).equals(sent));
    assert.equal((await (await fetch(`${url}/${32 << 20}`)).arrayBuffer()).byteLength, 32 << 20);
  },
};

await checks[check]();
// fetch keeps its connection.
process.exit(0);
