import { readFileSync } from "node:fs";
import { inCheckout } from "./server.js";

const EXPORT_SECTION = 7;
const IMPORT_SECTION = 2;
const CODE_SECTION = 10;
const FUNCTION = 0;
const UNREACHABLE = 0x00;

/** Reads a WebAssembly binary: LEB128 numbers, bytes and names. */
class Reader {
  at = 0;
  constructor(readonly bytes: Uint8Array) {}

  number(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.at++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  take(length: number): Uint8Array {
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  name(): string {
    return new TextDecoder().decode(this.take(this.number()));
  }
}

function leb(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(Math.floor(value / 128))];
}

/**
 * The built wasm module, changed so that an exported function traps when it is called, or only when the
 * memory has more than `pages` pages of 64 KiB. Spec: WebAssembly Core 2.0, binary format, "Modules".
 */
export function trappingModule(exported: string, pages?: number): Buffer {
  const reader = new Reader(readFileSync(inCheckout("web/dist/colonnade.wasm")));
  const trap =
    pages === undefined
      ? [UNREACHABLE]
      : // memory.size, i32.const, i32.gt_u, if, unreachable, end
        [0x3f, 0, 0x41, ...signedLeb(pages), 0x4b, 0x04, 0x40, UNREACHABLE, 0x0b];
  const out: Uint8Array[] = [reader.take(8)];
  let numImported = 0;
  let index: number | undefined;
  while (reader.at < reader.bytes.length) {
    const id = reader.take(1)[0] ?? 0;
    let section = reader.take(reader.number());
    if (id === IMPORT_SECTION) numImported = countImportedFunctions(section);
    if (id === EXPORT_SECTION) index = functionIndex(section, exported);
    if (id === CODE_SECTION) {
      if (index === undefined) throw new Error(`the module exports no function ${exported}`);
      section = withPrefix(section, index - numImported, trap);
    }
    out.push(Uint8Array.of(id, ...leb(section.length)), section);
  }
  return Buffer.concat(out);
}

/** The signed LEB128 bytes of a number from 0 to 2³¹ − 1. */
function signedLeb(value: number): number[] {
  return value < 0x40 ? [value] : [(value & 0x7f) | 0x80, ...signedLeb(value >> 7)];
}

function countImportedFunctions(section: Uint8Array): number {
  const reader = new Reader(section);
  let count = 0;
  for (let left = reader.number(); left > 0; left--) {
    reader.name();
    const name = reader.name();
    if (reader.number() !== FUNCTION) throw new Error(`the import ${name} is not a function`);
    reader.number();
    count++;
  }
  return count;
}

function functionIndex(section: Uint8Array, exported: string): number | undefined {
  const reader = new Reader(section);
  for (let left = reader.number(); left > 0; left--) {
    const name = reader.name();
    const kind = reader.number();
    const index = reader.number();
    if (name === exported && kind === FUNCTION) return index;
  }
  return undefined;
}

/** The code section with `prefix` inserted before the instructions of one function. */
function withPrefix(section: Uint8Array, position: number, prefix: number[]): Uint8Array {
  const reader = new Reader(section);
  const count = reader.number();
  const out: Uint8Array[] = [Uint8Array.from(leb(count))];
  for (let index = 0; index < count; index++) {
    let body = reader.take(reader.number());
    if (index === position) {
      const locals = new Reader(body);
      for (let left = locals.number(); left > 0; left--) {
        locals.number();
        locals.number();
      }
      body = Buffer.concat([
        body.subarray(0, locals.at),
        Uint8Array.from(prefix),
        body.subarray(locals.at),
      ]);
    }
    out.push(Uint8Array.from(leb(body.length)), body);
  }
  return Buffer.concat(out);
}
