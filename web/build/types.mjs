// Removes Lit from the element's types, so that users of the package do not need it: the class extends
// HTMLElement, and Lit's callbacks are left out. Without apache-arrow installed, its table is `any`.
// Adds the type of the wasm module's address.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { parseSync } from "rolldown/utils";

const types = new URL("../dist/types/", import.meta.url);

/** The types of the element's class and its base class, without Lit. */
function withoutLit(text) {
  const { program, comments } = parseSync("viewer.d.ts", text);
  const classes = program.body
    .map(({ declaration }) => declaration)
    .filter((declaration) => declaration?.type === "ClassDeclaration")
    .filter(
      ({ id, superClass }) => id.name === "ColonnadeViewer" || superClass?.name === "LitElement",
    );
  if (classes.length === 0) return text;
  const lits = classes
    .flatMap(({ body }) => body.body)
    .filter(({ static: isStatic, accessibility }) => isStatic || accessibility === "protected");
  const docs = lits.flatMap(({ start }) =>
    comments.filter(({ end }) => end <= start && text.slice(end, start).trim() === ""),
  );
  const imports = program.body.filter(({ source }) => source?.value === "lit");
  const bases = classes
    .map(({ superClass }) => superClass)
    .filter(({ name }) => name === "LitElement");
  const plain = [
    ...[...imports, ...lits, ...docs].map((node) => ({ node, by: "" })),
    ...bases.map((node) => ({ node, by: "HTMLElement" })),
  ]
    .sort((a, b) => b.node.start - a.node.start)
    .reduce((rest, { node, by }) => rest.slice(0, node.start) + by + rest.slice(node.end), text);
  if (/\blit\b/i.test(plain)) throw new Error("the element's types still name Lit");
  return plain;
}

for (const name of readdirSync(new URL("viewer/", types))) {
  const file = new URL(`viewer/${name}`, types);
  writeFileSync(file, withoutLit(readFileSync(file, "utf8")));
}

for (const name of readdirSync(new URL("api/", types))) {
  const file = new URL(`api/${name}`, types);
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace(/^import .* from "apache-arrow";$/gm, "// @ts-ignore\n$&"));
}

writeFileSync(
  new URL("wasm.d.ts", types),
  "/** The address of `colonnade.wasm`, as bundlers provide it. */\ndeclare const address: string;\nexport default address;\n",
);
