import { execFileSync } from "node:child_process";
import { tableFromIPC as flechetteTable } from "@uwdata/flechette";
import { tableFromIPC as arrowTable } from "apache-arrow";

/** Rows as objects by column name; values as JSON can hold them. */
export type Rows = Record<string, unknown>[];

/** A reader of Arrow streams from another library. */
export type Reader = (stream: Uint8Array) => Rows;

const packages = process.env.COLONNADE_PYTHON_PACKAGES;

/** Whether pyarrow is installed. */
export const hasPython = packages !== undefined;

/** Runs a Python program with pyarrow; returns its output. */
export function python(program: string, args: string[], input?: Uint8Array): Buffer {
  return execFileSync("python3", ["-c", program, ...args], {
    env: { ...process.env, PYTHONPATH: packages },
    input,
    maxBuffer: 2 ** 28,
  });
}

/** Runs a Python file with pyarrow. */
export function pythonFile(path: string, args: string[]): void {
  execFileSync("python3", [path, ...args], { env: { ...process.env, PYTHONPATH: packages } });
}

const TO_JSON = `
import json, sys
import pyarrow.ipc
table = pyarrow.ipc.open_stream(sys.stdin.buffer).read_all()
table.validate(full=True)
json.dump(table.to_pylist(), sys.stdout)
`;

/** The readers by name; those of JavaScript have no built-in codecs for compressed bodies. */
export const READERS: Record<string, Reader> = {
  pyarrow: (stream) => JSON.parse(String(python(TO_JSON, [], stream))) as Rows,
  "apache-arrow": (stream) => arrowTable(stream).toArray().map(plain) as Rows,
  flechette: (stream) => flechetteTable(stream).toArray().map(plain) as Rows,
};

/** A value as JSON can hold it; bigints and non-finite numbers become texts. */
export function plain(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object") return value;
  if (value instanceof Date) return value.getTime();
  if (value instanceof Map) return [...value].map(plain);
  if (ArrayBuffer.isView(value) || Array.isArray(value)) {
    return Array.from(value as unknown as unknown[], plain);
  }
  if ("toJSON" in value && typeof value.toJSON === "function") return plain(value.toJSON());
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}
