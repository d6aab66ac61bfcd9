// The codes of a `ColonnadeError`, read from the sources.

import { readdirSync, readFileSync } from "node:fs";
import { parseSync, Visitor } from "rolldown/utils";

const source = new URL("../src/", import.meta.url);

/**
 * The codes and their descriptions, sorted by code: those of the reader and the decoder from the comments of their
 * enums, the package's from its messages.
 */
export function errorCodes() {
  const files = ["reader/src/error.rs", "core/src/wire/error.rs"];
  const codes = new Map([...packageCodes(), ...files.flatMap(enumCodes)]);
  return [...codes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([code, text]) => ({ code, text }));
}

function enumCodes(path) {
  const rust = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const codes = [...rust.matchAll(/Self::(\w+) => "(\w+)"/g)];
  return codes.map(([, variant, code]) => {
    const comment = new RegExp(`((?: +/// .*\\n)+) +${variant},\\n`).exec(rust)?.[1] ?? "";
    return [
      code,
      comment
        .replace(/ *\/\/\/ /g, "")
        .replace(/\s+/g, " ")
        .trim(),
    ];
  });
}

function packageCodes() {
  // Its message is the page's.
  const found = [["source_error", "What the page's own `fetch` or stream threw."]];
  for (const name of readdirSync(source, { recursive: true, encoding: "utf8" }).sort()) {
    if (!name.endsWith(".ts")) continue;
    const { program } = parseSync(name, readFileSync(new URL(name, source), "utf8"));
    new Visitor({
      NewExpression({ callee, arguments: [code, message] }) {
        if (callee.name !== "ColonnadeError" || code?.type !== "Literal") return;
        const text = textOf(message);
        if (text !== undefined) found.push([code.value, text]);
      },
    }).visit(program);
  }
  return found;
}

/** A message as in the source, with `…` for inserted values; undefined if it is not a text literal. */
function textOf(node) {
  if (node?.type === "Literal") return node.value;
  if (node?.type !== "TemplateLiteral") return undefined;
  return node.quasis.map(({ value }) => value.cooked).join("…");
}
