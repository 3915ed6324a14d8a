// What both sides of the traffic know: random numbers that a seed repeats, the lines that must pass unchanged, and a
// connection that writes in random pieces.
import { setTimeout as sleep } from "node:timers/promises";

// A generator of numbers in [0, 1) (mulberry32).
export function makeRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const pick = (random, list) => list[Math.floor(random() * list.length)];
export const upTo = (random, most) => Math.floor(random() * (most + 1));

const oddities = [
  `"n":9007199254740993`,
  `"n":1e400`,
  `"n":-0.0,"m":1.50e+3`,
  `"dup":1,"dup":{"dup":2},"dup":[3]`,
  `"unknown":{"deep":[[[[{"x":null}]]]]}`,
  `"\\u0061b":"\\ud83d\\ude00 \\/ \\u0000"`,
  `"text":"é€😀 \\"terminal/create\\" {[}]"`,
  ` "spaced" :  [ 1 ,2 ,\t3 ] `,
  `"_meta":{"terminal_output":true,"x":[]}`,
  `"id":"not the id","method":"not the method"`,
];

// The line number `index` that `side` sends and that must arrive byte for byte.
export function oddLine(side, index) {
  const random = makeRandom(index * 2654435761 + (side === "client" ? 1 : 2));
  const members = Array.from({ length: 1 + upTo(random, 3) }, () => pick(random, oddities));
  const filler = random() < 0.02 ? `,"filler":"${"x".repeat(upTo(random, 300_000))}"` : "";
  const params = `{${members.join(",")}${filler},"index":${index}}`;
  const method = pick(random, ["_day/odd", "$/unknown", "session/odd"]);
  const end = random() < 0.1 ? "\r\n" : "\n";
  return pick(random, [
    `{"jsonrpc":"2.0","method":"${method}","params":${params}}${end}`,
    `{"params":${params},"method":"${method}", "jsonrpc":"2.0"}${end}`,
    ` {"jsonrpc" : "2.0", "method" : "${method}", "params" : ${params}} ${end}`,
  ]);
}

// Lines to and from another process. `onLine` gets each line with its newline.
export class Connection {
  #random;
  #output;
  #pending = [];
  #writing = false;

  constructor(random, input, output, onLine, onEnd) {
    this.#random = random;
    this.#output = output;
    let rest = Buffer.alloc(0);
    input.on("data", (data) => {
      rest = Buffer.concat([rest, data]);
      for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
        const line = rest.subarray(0, at + 1).toString("utf8");
        rest = rest.subarray(at + 1);
        onLine(line);
      }
    });
    input.on("end", onEnd);
  }

  send(line) {
    this.#pending.push(Buffer.from(line));
    this.#write();
  }

  sendJson(message) {
    this.send(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  // Writes one byte, a few, a piece, or several lines at once.
  async #write() {
    if (this.#writing) return;
    this.#writing = true;
    while (this.#pending.length > 0) {
      await sleep(0);
      let bytes = Buffer.concat(this.#pending.splice(0));
      const kind = this.#random();
      if (kind < 0.3 && bytes.length < 2000) {
        for (const byte of bytes) this.#output.write(Buffer.from([byte]));
        continue;
      }
      while (bytes.length > 0) {
        const size = kind < 0.6 ? 1 + upTo(this.#random, 5000) : bytes.length;
        this.#output.write(bytes.subarray(0, size));
        bytes = bytes.subarray(size);
        if (kind < 0.6) await sleep(0);
      }
    }
    this.#writing = false;
  }
}
