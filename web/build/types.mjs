// Takes Lit out of the element's types, so that who uses the package needs no Lit: the class extends
// HTMLElement, and what Lit calls is left out. Where apache-arrow is not there, its table is `any`.
// Adds the type of the wasm module's address.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { parseSync } from "rolldown/utils";

const types = new URL("../dist/types/", import.meta.url);

for (const name of ["attributes", "viewer"]) removeLit(new URL(`viewer/${name}.d.ts`, types));

/** Of the one class that the file holds. */
function removeLit(file) {
  const text = readFileSync(file, "utf8");
  const { program, comments } = parseSync(file.pathname, text);
  const element = program.body
    .map(({ declaration }) => declaration)
    .find((declaration) => declaration?.type === "ClassDeclaration");
  const fromLit = program.body.filter(({ source }) => source?.value === "lit");
  const lits = element.body.body.filter(
    ({ static: isStatic, accessibility }) => isStatic || accessibility === "protected",
  );
  const edits = [...fromLit, ...lits].map(({ start, end }) => ({ start, end, text: "" }));
  if (element.superClass.name === "LitElement") {
    edits.push({ ...element.superClass, text: "HTMLElement" });
  }
  for (const { start, end } of lits) {
    const doc = comments.find(
      (comment) => text.slice(comment.end, start).trim() === "" && comment.end < end,
    );
    if (doc !== undefined) edits.push({ start: doc.start, end: doc.end, text: "" });
  }
  const plain = edits
    .sort((a, b) => b.start - a.start)
    .reduce((rest, edit) => rest.slice(0, edit.start) + edit.text + rest.slice(edit.end), text);
  if (/\blit\b/i.test(plain)) throw new Error(`${file.pathname} still names Lit`);
  writeFileSync(file, plain);
}

for (const name of readdirSync(types).filter((name) => name.endsWith(".d.ts"))) {
  const file = new URL(name, types);
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace(/^import .* from "apache-arrow";$/gm, "// @ts-ignore\n$&"));
}

writeFileSync(
  new URL("wasm.d.ts", types),
  "/** The address of `colonnade.wasm`, as bundlers give it. */\ndeclare const address: string;\nexport default address;\n",
);
