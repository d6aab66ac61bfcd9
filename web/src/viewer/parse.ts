import { ColonnadeError } from "../model/errors.js";

const BYTES_PER_UNIT: Record<string, number> = {
  "": 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
};

/** Parses `128MiB`, `1.5 GB` or `1048576` to bytes. */
export function parseBytes(text: string): number {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(text);
  const unit = BYTES_PER_UNIT[match?.[2]?.toLowerCase() ?? "?"];
  if (match === null || unit === undefined) {
    throw new ColonnadeError("bad_memory", `Expected a size such as 128MiB, found "${text}".`);
  }
  return Math.floor(Number(match[1]) * unit);
}

/** Parses a row number, counted from 1: digits, grouped or not. Undefined for anything else. */
export function parseRowNumber(text: string): number | undefined {
  const digits = text.trim().replace(/[,._\s'’](?=\d{3}(\D|$))/g, "");
  if (!/^\d{1,15}$/.test(digits)) return undefined;
  const number = Number(digits);
  return number >= 1 ? number : undefined;
}
