// Generates the reference of the package from the build: the types with their comments, the element's
// manifest and the error codes. `node build/reference.mjs` writes it.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseSync } from "rolldown/utils";
import { errorCodes } from "./errors.mjs";

const types = new URL("../dist/types/", import.meta.url);
const page = new URL("../../docs/reference.md", import.meta.url);

/** A file of types: its declarations and the comments before them. */
class TypesFile {
  static #opened = new Map();
  #url;
  #text;
  #comments;
  #body;

  /** The file at a URL, which is read once. */
  static open(url) {
    const file = TypesFile.#opened.get(url.href) ?? new TypesFile(url);
    TypesFile.#opened.set(url.href, file);
    return file;
  }

  constructor(url) {
    this.#url = url;
    this.#text = readFileSync(url, "utf8");
    const { program, comments } = parseSync(fileURLToPath(url), this.#text);
    this.#comments = comments.filter(({ value }) => value.startsWith("*"));
    this.#body = program.body;
  }

  /** The statements that re-export names of other files. */
  get exports() {
    return this.#body.filter(({ source, specifiers }) => source && specifiers);
  }

  /** The file that declares a name, which may be imported here; undefined for packages. */
  fileOf(name) {
    if (this.declarations(name).length > 0) return this;
    const found = this.#body.find(({ type, specifiers }) => {
      return type === "ImportDeclaration" && specifiers.some(({ local }) => local.name === name);
    });
    if (found === undefined || !found.source.value.startsWith(".")) return undefined;
    return TypesFile.open(new URL(found.source.value.replace(/\.js$/, ".d.ts"), this.#url));
  }

  /** All declarations of a name, such as a class and an interface. */
  declarations(name) {
    return this.#body
      .map((statement) => ({ statement, node: statement.declaration ?? statement }))
      .filter(({ node }) => (node.id?.name ?? node.declarations?.[0]?.id.name) === name);
  }

  /** The source of a node without comments, `export` and `declare`. */
  textOf({ start, end }) {
    return this.#comments
      .filter((comment) => comment.start >= start && comment.end <= end)
      .reduceRight(
        (text, comment) => {
          return text.slice(0, comment.start - start) + text.slice(comment.end - start);
        },
        this.#text.slice(start, end),
      )
      .replace(/^(?:export )?(?:declare )?/, "")
      .replace(/^\s*\n/gm, "")
      .replace(/^ {4}/gm, "  ");
  }

  /** The comment right before a node, as paragraphs of text and tags. */
  commentOf({ start }) {
    const comment = this.#comments.findLast(({ end }) => end <= start);
    if (comment === undefined || this.#text.slice(comment.end, start).trim() !== "") return "";
    return comment.value
      .slice(1)
      .replace(/^\s*\* ?/gm, "")
      .replace(/\{@link ([\w.]+)\}/g, "`$1`")
      .replace(/^@param (\w+) (?:- )?/gm, "\n`$1`: ")
      .replace(/^@throws (?:\{?\w+\}? )?/gm, "\nThrows: ")
      .trim();
  }
}

/** A text on one line, as a table cell. */
const inCell = (text) => text.replace(/\s+/g, " ").replaceAll("|", "\\|").trim();
const code = (text) => `\`${inCell(text)}\``;
const fenced = (text) => `\`\`\`ts\n${text}\n\`\`\``;

function table(titles, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(titles), line(titles.map(() => "---")), ...rows.map(line)].join("\n");
}

/** A table of the public members that have a comment. */
function membersOf(file, nodes) {
  const rows = nodes
    .flatMap(({ body }) => body?.body ?? [])
    .map((member) => ({ member, comment: file.commentOf(member) }))
    .filter(({ member, comment }) => member.key?.name !== undefined && comment !== "")
    .map(({ member, comment }) => {
      const isCall = member.type === "MethodDefinition" && member.kind === "method";
      return [code(`${member.key.name}${isCall ? "()" : ""}`), inCell(comment)];
    });
  return rows.length === 0 ? [] : [table(["member", "what"], rows)];
}

function entry(name, file) {
  const found = file.declarations(name);
  if (found.length === 0) throw new Error(`the types do not declare ${name}`);
  const nodes = found.map(({ node }) => node);
  // A name may have several declarations with comments; the last one is the class or the value.
  const comments = found.map(({ statement }) => file.commentOf(statement)).filter(Boolean);
  const signatures = nodes.map((node) => file.textOf(node).replace(/^ *#private;\n/gm, ""));
  return [
    `### ${name}`,
    comments.join("\n\n"),
    fenced(signatures.join("\n")),
    ...membersOf(file, nodes),
  ];
}

/** Types that these entries name but do not include, and types that those name in turn. */
function namedBy(entries) {
  const known = new Set(entries.map(({ name }) => name));
  const found = [];
  for (const { name, file } of entries) look(name, file);
  function look(name, file) {
    for (const { node } of file?.declarations(name) ?? []) {
      for (const [other] of file.textOf(node).matchAll(/\b[A-Z]\w+\b/g)) {
        const its = known.has(other) ? undefined : file.fileOf(other);
        if (its === undefined || its.declarations(other).length === 0) continue;
        known.add(other);
        found.push({ name: other, file: its });
        look(other, its);
      }
    }
  }
  return found;
}

const byName = (a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1);

function elementSections() {
  const url = new URL("../dist/custom-elements.json", import.meta.url);
  const [module] = JSON.parse(readFileSync(url, "utf8")).modules;
  const [element] = module.declarations;
  const typeOf = ({ type }) => (type === undefined ? "" : code(type.text));
  const fields = element.members.filter(({ kind }) => kind === "field");
  const methods = element.members.filter(({ kind }) => kind === "method");
  const file = TypesFile.open(new URL("viewer/viewer.d.ts", types));
  const members = file.declarations(element.name)[0].node.body.body;
  const signature = (name) => file.textOf(members.find(({ key }) => key?.name === name));
  const noted = ({ description = "", readonly }) =>
    `${inCell(description)}${readonly ? " (read only)" : ""}`;
  const named = ({ name, description = "" }) => [code(name), inCell(description)];
  return [
    `## \`<${element.tagName}>\``,
    "`colonnade/define` registers it; its class is exported there as `ColonnadeViewer`.",
    "### Attributes",
    table(
      ["attribute", "property", "type", "what"],
      element.attributes.map((each) => [
        code(each.name),
        code(each.fieldName),
        typeOf(each),
        inCell(each.description),
      ]),
    ),
    "### Properties",
    table(
      ["property", "type", "what"],
      fields
        .filter(({ attribute }) => attribute === undefined)
        .map((field) => [code(field.name), typeOf(field), noted(field)]),
    ),
    "### Methods",
    table(
      ["method", "what"],
      methods.map(({ name, description = "" }) => [
        code(signature(name).replace(/;$/, "")),
        inCell(description),
      ]),
    ),
    "### Events",
    "All bubble and cross shadow roots.",
    table(
      ["event", "type", "when"],
      element.events.map((event) => [code(event.name), typeOf(event), inCell(event.description)]),
    ),
    "### CSS parts",
    table(["part", "what"], element.cssParts.map(named)),
    "### CSS custom properties",
    table(
      ["property", "default"],
      element.cssProperties.map(({ name, default: value }) => [code(name), code(value)]),
    ),
  ];
}

/** The content of `docs/reference.md`. */
export function reference() {
  const index = TypesFile.open(new URL("index.d.ts", types));
  const modules = index.exports.map(({ source, specifiers }) => ({
    file: TypesFile.open(new URL(source.value.replace(/\.js$/, ".d.ts"), types)),
    names: specifiers.map(({ exported }) => exported.name),
  }));
  const exported = modules.flatMap(({ file, names }) => names.map((name) => ({ name, file })));
  const entries = exported.filter(({ name }) => name !== "ColonnadeViewer").sort(byName);
  const sections = [
    "# Reference",
    "<!-- Made from the source by `npm run docs`; edit the comments there. -->",
    "This page lists the exports of the package `colonnade` and its element. `embedding.md` says how to put the element into a page; `web/README.md` says how to use it.",
    ...elementSections(),
    "## Exports of `colonnade`",
    ...entries.flatMap(({ name, file }) => entry(name, file)),
    "## Other types",
    "The exports use these types, but the package does not export their names.",
    ...namedBy(entries)
      .sort(byName)
      .flatMap(({ name, file }) => entry(name, file)),
    "## Error codes",
    "The `code` of a `ColonnadeError` is one of these, or one of the server's (`http.md`).",
    table(
      ["code", "what"],
      errorCodes().map(({ code: name, text }) => [code(name), inCell(text)]),
    ),
  ];
  return `${sections.filter(Boolean).join("\n\n")}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(page, reference());
