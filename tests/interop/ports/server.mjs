// A dev server with WebSocket. GET /report says what it has seen; GET /SIZE gets as many bytes; POST echoes the body.
import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';

const report = { connections: 0, closes: [], pongs: [] };

const server = createServer((request, response) => {
  if (request.method === 'POST') {
    request.pipe(response);
  } else if (request.url === '/report') {
    response.end(JSON.stringify(report));
  } else {
    response.end('x'.repeat(Number(request.url.slice(1))));
  }
});
server.keepAliveTimeout = 60_000;
server.on('connection', () => { report.connections += 1; });

new WebSocketServer({ server }).on('connection', (socket) => {
  const orders = {
    push: () => { for (let i = 0; i < 1000; i += 1) socket.send(`push ${i}`); },
    ping: () => socket.ping('of the server'),
    close: () => socket.close(4002, 'the server closes'),
  };
  socket.on('message', (data, isBinary) => {
    const order = isBinary ? undefined : orders[data.toString()];
    if (order === undefined) socket.send(data, { binary: isBinary });
    else order();
  });
  socket.on('pong', (data) => report.pongs.push(data.toString()));
  socket.on('close', (code, reason) => report.closes.push(`${code} ${reason}`));
});
server.listen(8080, '127.0.0.1', () => console.log('ready'));
