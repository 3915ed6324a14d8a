// The official JSON schemas of MCP, and a check of frames against them. The package of the conformance tests holds the
// schemas as literals in its one source file.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const require = createRequire(import.meta.url);
const source = require
  .resolve('@modelcontextprotocol/conformance/package.json')
  .replace('package.json', 'dist/index.js');

// The results of the methods that corral-mcp has.
const results = {
  initialize: 'InitializeResult',
  ping: 'EmptyResult',
  'prompts/get': 'GetPromptResult',
  'prompts/list': 'ListPromptsResult',
  'server/discover': 'DiscoverResult',
  'tools/call': 'CallToolResult',
  'tools/list': 'ListToolsResult',
};

// The end of the object literal that begins at `begin`.
function endOfLiteral(text, begin) {
  let depth = 0;
  let quote = null;
  for (let at = begin; at < text.length; ++at) {
    const c = text[at];
    if (quote !== null) {
      if (c === '\\') ++at;
      else if (c === quote) quote = null;
    } else if ('`"\''.includes(c)) {
      quote = c;
    } else if (c === '{') {
      ++depth;
    } else if (c === '}' && --depth === 0) {
      return at + 1;
    }
  }
  throw new Error('a schema does not end');
}

// By revision. They stand in the order of the revisions, and the first ones have fewer definitions.
export function readSchemas() {
  const text = fs.readFileSync(source, 'utf8');
  const revisions = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];
  const found = [...text.matchAll(/=(\{\$schema:`https?:\/\/json-schema\.org\/draft[^`]*`,(?:definitions|\$defs):)/g)];
  if (found.length !== revisions.length) throw new Error(`expected 4 schemas, found ${found.length}`);
  return Object.fromEntries(
    found.map((match, index) => {
      const begin = match.index + 1;
      const literal = text.slice(begin, endOfLiteral(text, begin));
      return [revisions[index], new Function(`return ${literal}`)()];
    }),
  );
}

// Checks the frames of one conversation with the schema of its revision.
export class FrameCheck {
  constructor(schema) {
    const Validator = schema.$defs ? Ajv2020 : Ajv;
    this.part = schema.$defs ? '$defs' : 'definitions';
    this.ajv = new Validator({ strict: false, allErrors: true });
    addFormats(this.ajv);
    this.ajv.addSchema(schema, 'mcp');
    this.methods = new Map();
    this.frames = 0;
    this.errors = [];
  }

  #check(name, value) {
    const validate = this.ajv.getSchema(`mcp#/${this.part}/${name}`);
    if (!validate) {
      this.errors.push(`the schema has no ${name}`);
    } else if (!validate(value)) {
      this.errors.push(`${name}: ${this.ajv.errorsText(validate.errors).slice(0, 300)}`);
    }
  }

  sent(message) {
    if (message.id !== undefined && message.method) this.methods.set(message.id, message.method);
  }

  received(message) {
    ++this.frames;
    this.#check('JSONRPCMessage', message);
    if (message.method) this.#check('ServerNotification', message);
    if (message.result) this.#check(results[this.methods.get(message.id)], message.result);
  }
}
