// A name server for agents in sandboxes: answers every question for an IPv4 address with 127.0.0.1, and all others with
// no address. Prints its port.
import dgram from "node:dgram";

const socket = dgram.createSocket("udp4");
socket.on("message", (query, from) => {
  let end = 12;
  while (query[end] !== 0) end += query[end] + 1;
  const question = query.subarray(12, end + 5);
  const isA = query.readUInt16BE(end + 1) === 1;
  const head = Buffer.from(query.subarray(0, 12));
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(isA ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  // The name of the question, A, IN, 60 s, 4 bytes.
  const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
  socket.send(Buffer.concat(isA ? [head, question, answer] : [head, question]), from.port, from.address);
});
socket.bind(0, "127.0.0.1", () => console.log(socket.address().port));
