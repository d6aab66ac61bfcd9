import type { ColonnadeError } from "colonnade";
import type { Diagnostic } from "./code-editor.js";

/**
 * Where in a text the diagnostic is that a statement was refused for; undefined where the server does
 * not say.
 *
 * @param text what stands in the editor
 * @param statement the part of it that was run
 * @param ranFrom where that began when it was run: what stands there is meant among equal parts
 */
export function diagnosticOf(
  text: string,
  statement: string,
  { message, hint }: ColonnadeError,
  ranFrom = 0,
): Diagnostic | undefined {
  const start = text.startsWith(statement, ranFrom) ? ranFrom : text.indexOf(statement);
  const place = start < 0 ? undefined : errorRangeIn(statement, message);
  if (place === undefined) return undefined;
  const [from, to] = place;
  const words = hint === undefined ? message : `${message}: ${hint}`;
  return { from: start + from, to: start + to, message: words };
}

function errorRangeIn(statement: string, message: string): [number, number] | undefined {
  const at = /at Line: (\d+), Column: (\d+)/.exec(message);
  if (at !== null) return wordAt(statement, Number(at[1]), Number(at[2]));
  if (message.includes("found: EOF")) return lastWord(statement);
  const name = /(?:no (?:column|table)|function) ["']([^"']+)["']/i.exec(message)?.[1];
  return name === undefined ? undefined : wordOf(statement, name);
}

/** The word at a line and a column, both counted from 1; columns in characters, not UTF-16 units. */
function wordAt(statement: string, line: number, column: number): [number, number] {
  const lines = statement.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
  const inLine = [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
  const from = Math.min(before + inLine, Math.max(0, statement.length - 1));
  const word = /^(?:\w+|'[^']*'?|.)/su.exec(statement.slice(from))?.[0] ?? "";
  return [from, from + word.length];
}

function lastWord(statement: string): [number, number] | undefined {
  const word = /\S+\s*$/.exec(statement);
  return word === null ? undefined : [word.index, word.index + word[0].trimEnd().length];
}

/** Where a name first stands as a word of its own, whatever its case. */
function wordOf(statement: string, name: string): [number, number] | undefined {
  const escaped = (name.split(".").at(-1) ?? name).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const word = new RegExp(`(?<![\\w'])${escaped}(?![\\w'])`, "i").exec(statement);
  return word === null ? undefined : [word.index, word.index + word[0].length];
}
