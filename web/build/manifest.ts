// The custom elements manifest, made from the source of `<colonnade-viewer>`.
//
// What there is comes from the code (`static properties`, the members of the class, `ViewerEventMap`,
// the parts and custom properties that are used); what it is for, from the comments beside it. Where
// the comment at the class's head does not name the same attributes, events and parts, this throws.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "rolldown/utils";

/** A thing with a name and what it is for. */
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
const BASE = "ViewerAttributes";
const source = fileURLToPath(new URL("../src", import.meta.url));

// biome-ignore lint/suspicious/noExplicitAny: the nodes of a syntax tree are read by the names they have
type Node = any;

/** What the comment of a class says: its text, and its tags by their name. */
interface ClassComment {
  text: string;
  tags: Map<string, Map<string, string>>;
}

/** Reads the sources and says what the element is. Throws where code and comments differ. */
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

/** What a source file exports. */
interface SourceFile {
  find(name: string): Node;
  commentBefore(node: Node): string;
  typeOf(node: Node): Typed;
}

function readSource(file: string): SourceFile {
  const text = readFileSync(join(source, "viewer", file), "utf8");
  const { program, comments } = parseSync(file, text);
  const textOf = (node: Node): string => text.slice(node.start, node.end).replace(/\s+/g, " ");
  const exported = program.body.filter((node) => node.type === "ExportNamedDeclaration");
  return {
    find: (name) => {
      const found = exported.find(({ declaration }: Node) => declaration?.id?.name === name);
      if (found === undefined) throw new Error(`${file} exports no ${name}`);
      return found;
    },
    commentBefore: (node) => {
      const comment = comments.find(
        ({ value, end }) => value.startsWith("*") && text.slice(end, node.start).trim() === "",
      );
      return (comment?.value.slice(1) ?? "").replace(/^\s*\* ?/gm, "").trim();
    },
    typeOf: (node) => {
      const annotation = node?.typeAnnotation?.typeAnnotation;
      return annotation ? { type: { text: textOf(annotation) } } : {};
    },
  };
}

function describe(): ElementDeclaration {
  const viewer = readSource("viewer.ts");
  const base = readSource("attributes.ts");
  const element = viewer.find(CLASS);
  const comment = parseComment(viewer.commentBefore(element));
  const membersOf = (file: SourceFile, name: string): { file: SourceFile; member: Node }[] =>
    file.find(name).declaration.body.body.map((member: Node) => ({ file, member }));
  const members = [...membersOf(base, BASE), ...membersOf(viewer, CLASS)];

  const attributes: ManifestAttribute[] = [];
  const declared = members.find(
    ({ member: { key, static: isStatic } }) => isStatic && key.name === "properties",
  );
  for (const { key, value } of declared?.member.value.properties ?? []) {
    const name = attributeOf(key.name, value);
    if (name === undefined) continue;
    const field = members.find(({ member }) => !member.static && member.key.name === key.name);
    const description = comment.tags.get("attr")?.get(name) ?? "";
    attributes.push({ name, fieldName: key.name, description, ...base.typeOf(field?.member) });
  }

  const fields: ManifestMember[] = [];
  for (const { file, member } of members.filter(({ member }) => isPublic(member))) {
    const { name } = member.key;
    if (fields.some((field) => field.name === name)) continue;
    const attribute = attributes.find(({ fieldName }) => fieldName === name);
    const description = file.commentBefore(member) || attribute?.description;
    const isMethod = member.kind === "method";
    const isReadOnly =
      member.kind === "get" &&
      !members.some(({ member: { kind, key } }) => kind === "set" && key.name === name);
    fields.push({
      kind: isMethod ? "method" : "field",
      name,
      ...(description ? { description } : {}),
      ...(isMethod
        ? {}
        : file.typeOf(
            member.kind === "get" ? { typeAnnotation: member.value.returnType } : member,
          )),
      ...(attribute === undefined ? {} : { attribute: attribute.name }),
      ...(isReadOnly ? { readonly: true } : {}),
    });
  }

  const eventsFile = readSource("events.ts");
  const events = eventsFile.find("ViewerEventMap").declaration.body.body.map((event: Node) => ({
    name: event.key.value,
    description: comment.tags.get("fires")?.get(event.key.value) ?? "",
    ...eventsFile.typeOf(event),
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

/** The attribute of a Lit property, or undefined where it has none. */
function attributeOf(name: string, options: Node): string | undefined {
  const option = options.properties.find(({ key }: Node) => key.name === "attribute");
  if (option === undefined) return name.toLowerCase();
  return option.value.value === false ? undefined : option.value.value;
}

/** What somebody who uses the element may call: no lifecycle, nothing private. */
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

/** Throws unless the comment's `tag`s name just what there is. */
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
      const fallback = text.slice(text.indexOf(",", index) + 1);
      properties.set(property, untilClosed(fallback).replace(/\s+/g, " ").trim());
    }
  }
  const cssProperties = [...properties].map(([name, fallback]) => ({ name, default: fallback }));
  return { parts: [...parts], properties: cssProperties };
}

/** The text before the parenthesis that closes one opened earlier. */
function untilClosed(text: string): string {
  let depth = 1;
  const end = [...text].findIndex((character) => {
    if (character === "(") depth++;
    if (character === ")") depth--;
    return depth === 0;
  });
  return text.slice(0, end);
}
