import type { ColonnadeError } from "colonnade";
import type { Diagnostic } from "./code-editor.js";

/**
 * The range of a text to which a statement's error belongs; undefined if the error has no position.
 *
 * @param text the editor's text
 * @param statement the part of it that was run
 * @param ranFrom the position at which that part began; used if the text contains it several times
 */
export function diagnosticOf(
  text: string,
  statement: string,
  { message, hint }: ColonnadeError,
  ranFrom = 0,
): Diagnostic | undefined {
  const start = text.startsWith(statement, ranFrom) ? ranFrom : text.indexOf(statement);
  const range = start < 0 ? undefined : errorRangeIn(statement, message);
  if (range === undefined) return undefined;
  const [from, to] = range;
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

/** The range of the first occurrence of a name as a whole word, ignoring case. */
function wordOf(statement: string, name: string): [number, number] | undefined {
  const escaped = (name.split(".").at(-1) ?? name).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const word = new RegExp(`(?<![\\w'])${escaped}(?![\\w'])`, "i").exec(statement);
  return word === null ? undefined : [word.index, word.index + word[0].length];
}
