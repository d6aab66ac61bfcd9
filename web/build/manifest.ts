// The custom elements manifest, made from the source of `<colonnade-viewer>`.
//
// Names come from the code (`static properties`, the members of the class, `ViewerEventMap`, the parts
// and custom properties in use), descriptions from the comments beside it. Throws if the comment of the
// class does not name the same attributes, events and parts as the code.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "rolldown/utils";

/** A name and its description. */
interface Described {
  name: string;
  description: string;
}

interface Typed {
  type?: { text: string };
}

/** An attribute, and the property that it sets. */
export interface ManifestAttribute extends Described, Typed {
  fieldName: string;
}

/** A property or a method of the element. */
export interface ManifestMember extends Typed {
  kind: "field" | "method";
  name: string;
  description?: string;
  attribute?: string;
  readonly?: true;
}

/** `<colonnade-viewer>` as a manifest declares it. */
export interface ElementDeclaration {
  kind: "class";
  customElement: true;
  name: string;
  tagName: string;
  description: string;
  superclass: { name: string };
  attributes: ManifestAttribute[];
  members: ManifestMember[];
  events: (Described & Typed)[];
  cssParts: Described[];
  cssProperties: { name: string; default: string }[];
}

/** A custom elements manifest of one element. */
export interface Manifest {
  schemaVersion: string;
  readme: string;
  modules: {
    kind: "javascript-module";
    path: string;
    declarations: ElementDeclaration[];
    exports: object[];
  }[];
}

const TAG = "colonnade-viewer";
const CLASS = "ColonnadeViewer";
const source = fileURLToPath(new URL("../src", import.meta.url));

// biome-ignore lint/suspicious/noExplicitAny: the nodes of a syntax tree are read by their names
type Node = any;

/** The parsed comment of a class: its text, and its tags by name. */
interface ClassComment {
  text: string;
  tags: Map<string, Map<string, string>>;
}

/** Reads the sources and describes the element. Throws if code and comments differ. */
export function elementManifest(): Manifest {
  const declaration = describe();
  const module = "dist/define.js";
  return {
    schemaVersion: "1.0.0",
    readme: "README.md",
    modules: [
      {
        kind: "javascript-module",
        path: module,
        declarations: [declaration],
        exports: [
          { kind: "js", name: CLASS, declaration: { name: CLASS, module } },
          { kind: "custom-element-definition", name: TAG, declaration: { name: CLASS, module } },
        ],
      },
    ],
  };
}

/** A file of the element's folder. */
class SourceFile {
  readonly #text: string;
  readonly #comments: { value: string; start: number; end: number }[];
  /** Its named exports. */
  readonly exported: Node[];

  constructor(path: string) {
    this.#text = readFileSync(path, "utf8");
    const { program, comments } = parseSync(path, this.#text);
    this.#comments = comments;
    this.exported = program.body.filter(({ type }) => type === "ExportNamedDeclaration");
  }

  /** The text of a node, on one line. */
  textOf(node: Node): string {
    return this.#text.slice(node.start, node.end).replace(/\s+/g, " ");
  }

  /** The docstring right before a node. */
  commentBefore(node: Node): string {
    const comment = this.#comments.find(
      ({ value, end }) =>
        value.startsWith("*") &&
        end <= node.start &&
        this.#text.slice(end, node.start).trim() === "",
    );
    return (comment?.value.slice(1) ?? "").replace(/^\s*\* ?/gm, "").trim();
  }
}

/** A declaration or a member, and its file. */
interface Found {
  node: Node;
  file: SourceFile;
}

function describe(): ElementDeclaration {
  const folder = join(source, "viewer");
  const files = readdirSync(folder).map((name) => new SourceFile(join(folder, name)));
  const find = (name: string): Found | undefined =>
    files
      .flatMap((file) => file.exported.map((node) => ({ node, file })))
      .find(({ node }) => node.declaration?.id?.name === name);
  const demand = (name: string): Found => {
    const found = find(name);
    if (found === undefined) throw new Error(`nothing in ${folder} exports ${name}`);
    return found;
  };

  const element = demand(CLASS);
  const comment = parseComment(element.file.commentBefore(element.node));
  const members: Found[] = [];
  for (let next: Found | undefined = element; next !== undefined; ) {
    const { node, file }: Found = next;
    members.unshift(...node.declaration.body.body.map((member: Node) => ({ node: member, file })));
    next = find(node.declaration.superClass?.name);
  }
  const typeOf = (file: SourceFile, node: Node): Typed => {
    const annotation = node?.typeAnnotation?.typeAnnotation;
    return annotation ? { type: { text: file.textOf(annotation) } } : {};
  };

  const attributes: ManifestAttribute[] = [];
  const declared = members.find(({ node }) => node.static && node.key.name === "properties");
  for (const { key, value } of declared?.node.value.properties ?? []) {
    const name = attributeOf(key.name, value);
    if (name === undefined) continue;
    const field = members.find(({ node }) => !node.static && node.key.name === key.name);
    const type = field === undefined ? {} : typeOf(field.file, field.node);
    const description = comment.tags.get("attr")?.get(name) ?? "";
    attributes.push({ name, fieldName: key.name, description, ...type });
  }

  const fields: ManifestMember[] = [];
  for (const { node: member, file } of members.filter(({ node }) => isPublic(node))) {
    const { name } = member.key;
    if (fields.some((field) => field.name === name)) continue;
    const attribute = attributes.find(({ fieldName }) => fieldName === name);
    const description = file.commentBefore(member) || attribute?.description;
    const isMethod = member.kind === "method";
    const typed = member.kind === "get" ? { typeAnnotation: member.value.returnType } : member;
    const hasSetter = members.some(({ node }) => node.kind === "set" && node.key.name === name);
    fields.push({
      kind: isMethod ? "method" : "field",
      name,
      ...(description ? { description } : {}),
      ...(isMethod ? {} : typeOf(file, typed)),
      ...(attribute === undefined ? {} : { attribute: attribute.name }),
      ...(member.kind === "get" && !hasSetter ? { readonly: true } : {}),
    });
  }

  const map = demand("ViewerEventMap");
  const events = map.node.declaration.body.body.map((event: Node) => ({
    name: event.key.value,
    description: comment.tags.get("fires")?.get(event.key.value) ?? "",
    ...typeOf(map.file, event),
  }));
  const used = usedNames();
  const cssParts = used.parts.map((name) => ({
    name,
    description: comment.tags.get("csspart")?.get(name) ?? "",
  }));
  hold(comment, "attr", attributes);
  hold(comment, "fires", events);
  hold(comment, "csspart", cssParts);
  return {
    kind: "class",
    customElement: true,
    name: CLASS,
    tagName: TAG,
    description: comment.text,
    superclass: { name: "HTMLElement" },
    attributes,
    members: fields,
    events,
    cssParts,
    cssProperties: used.properties,
  };
}

/** The attribute of a Lit property; undefined if it has none. */
function attributeOf(name: string, options: Node): string | undefined {
  const option = options.properties.find(({ key }: Node) => key.name === "attribute");
  if (option === undefined) return name.toLowerCase();
  return option.value.value === false ? undefined : option.value.value;
}

/** Whether a member is public: neither private nor part of the lifecycle. */
function isPublic(member: Node): boolean {
  const { name, type } = member.key;
  const isHidden = type === "PrivateIdentifier" || member.accessibility !== null || member.static;
  return !isHidden && name !== "constructor" && !/Callback$/.test(name);
}

function parseComment(comment: string): ClassComment {
  const [text = "", ...rest] = comment.split(/^@/m);
  const tags: ClassComment["tags"] = new Map();
  for (const line of rest) {
    const [, tag = "", name = "", description = ""] = /^(\w+) (\S+) - ([\s\S]*)$/.exec(line) ?? [];
    const named = tags.get(tag) ?? new Map<string, string>();
    named.set(name, description.replace(/\s+/g, " ").trim());
    tags.set(tag, named);
  }
  return { text: text.trim(), tags };
}

/** Throws unless the comment's `tag`s name exactly what the code has. */
function hold(comment: ClassComment, tag: string, found: Described[]): void {
  const told = [...(comment.tags.get(tag)?.keys() ?? [])].sort();
  const names = found.map(({ name }) => name).sort();
  if (told.join() === names.join()) return;
  throw new Error(`the comment of ${CLASS} has @${tag} of [${told}], the code has [${names}]`);
}

/** The parts that elements get and the custom properties that styles read, in all sources. */
function usedNames(): { parts: string[]; properties: { name: string; default: string }[] } {
  const parts = new Set<string>();
  const properties = new Map<string, string>();
  for (const name of readdirSync(source, { recursive: true, encoding: "utf8" }).sort()) {
    if (!name.endsWith(".ts")) continue;
    const text = readFileSync(join(source, name), "utf8");
    for (const [, ...names] of text.matchAll(/ part="([\w -]+)"|"part", "([\w -]+)"/g)) {
      for (const part of names.join(" ").split(" ").filter(Boolean)) parts.add(part);
    }
    for (const { index, 1: property = "" } of text.matchAll(/var\(\s*(--colonnade-[\w-]+),/g)) {
      // The first one is the default; others are for media queries such as more contrast.
      if (properties.has(property)) continue;
      const fallback = text.slice(text.indexOf(",", index) + 1);
      properties.set(property, untilClosed(fallback).replace(/\s+/g, " ").trim());
    }
  }
  const cssProperties = [...properties].map(([name, fallback]) => ({ name, default: fallback }));
  return { parts: [...parts], properties: cssProperties };
}

/** The text before the unmatched closing parenthesis. */
function untilClosed(text: string): string {
  let depth = 1;
  const end = [...text].findIndex((character) => {
    if (character === "(") depth++;
    if (character === ")") depth--;
    return depth === 0;
  });
  return text.slice(0, end);
}
