// Finds features in built code that the least versions of the browsers lack.
//
// Seen are: the newest syntax; globals with their members; names of members of other values, if only newer
// features have that name and the code gives it to nothing of its own; names of events; CSS in style sheets, texts
// and attributes; elements and attributes of HTML, in pages and texts.
//
// Not seen are: instance methods with the name of an older one (`lib` in `web/tsconfig.json` has no newer ones of
// JavaScript), globals whose name the same file declares, options of functions, what a text means to a function, and
// instructions of wasm.

import { extname } from "node:path";
import { parseSync } from "rolldown/utils";
import { events, featureAt, lacking, members } from "./compat.mjs";
import { readMarkup, readStyleSheet, readText } from "./newer-styles.mjs";

/** The interfaces of global objects. */
const INTERFACES = {
  caches: "CacheStorage",
  crypto: "Crypto",
  customElements: "CustomElementRegistry",
  document: "Document",
  globalThis: "Window",
  history: "History",
  indexedDB: "IDBFactory",
  localStorage: "Storage",
  location: "Location",
  navigator: "Navigator",
  performance: "Performance",
  scheduler: "Scheduler",
  screen: "Screen",
  self: "Window",
  sessionStorage: "Storage",
  visualViewport: "VisualViewport",
  window: "Window",
};

/**
 * The features that the least versions lack, as `{ path, lacking, uses }`: their path in browser-compat-data, the
 * browsers that lack them, and where they are used.
 *
 * @param files scripts, style sheets and pages, as `{ name, text }`
 */
export function newerFeatures(files) {
  const found = new Map();
  const scripts = files.filter(({ name }) => extname(name) === ".js").map(parse);
  const own = new Set(scripts.flatMap(({ program }) => [...ownMembers(program)]));
  for (const file of files) {
    /** Reports features of one name, if the least versions lack all of them. Returns whether they do. */
    const add = (features, code, besides) => {
      const known = features.filter(Boolean);
      const lacks = known.map((feature) => lacking(feature, besides));
      if (known.length === 0 || lacks.some((words) => words.length === 0)) return false;
      const [{ path }] = known;
      if (!found.has(path)) found.set(path, { path, lacking: lacks[0], uses: new Set() });
      found.get(path).uses.add(`${file.name}: ${code.replace(/\s+/g, " ").slice(0, 80)}`);
      return true;
    };
    const script = scripts.find(({ name }) => name === file.name);
    if (script) readScript(script, own, add);
    else if (extname(file.name) === ".css") readStyleSheet(file.text, add);
    else readMarkup(file.text, add);
  }
  return [...found.values()].map(({ uses, ...feature }) => ({ ...feature, uses: [...uses] }));
}

function parse({ name, text }) {
  const { program, errors } = parseSync(name, text, { sourceType: "module" });
  if (errors.length > 0) throw new Error(`${name}: ${errors[0].message}`);
  return { name, text, program };
}

/** Calls `visit(node, parent, key)` for each node of a syntax tree. */
function walk(node, visit, parent, key) {
  if (Array.isArray(node)) {
    for (const item of node) walk(item, visit, parent, key);
  } else if (typeof node?.type === "string") {
    visit(node, parent, key);
    for (const name in node) {
      if (typeof node[name] === "object") walk(node[name], visit, node, name);
    }
  }
}

/** The names of members that a script gives to its own objects and classes. */
function ownMembers(program) {
  const names = new Set();
  walk(program, (node, parent) => {
    const isMember = /^(Property|MethodDefinition|PropertyDefinition)$/.test(node.type);
    if (isMember && parent.type !== "ObjectPattern" && !node.computed) {
      names.add(node.key.name ?? node.key.value);
    }
    if (node.type === "AssignmentExpression" && node.left.object?.type === "ThisExpression") {
      names.add(node.left.property.name);
    }
  });
  return names;
}

/** The names that a pattern declares. */
function patternNames(node) {
  const inner = {
    Identifier: () => [node.name],
    AssignmentPattern: () => patternNames(node.left),
    RestElement: () => patternNames(node.argument),
    ArrayPattern: () => node.elements.flatMap(patternNames),
    ObjectPattern: () => node.properties.flatMap((item) => patternNames(item.value ?? item)),
  };
  return inner[node?.type]?.() ?? [];
}

/** The names that a script declares, in any scope. */
function declaredNames(program) {
  const names = new Set();
  walk(program, ({ id, local, param, params = [] }) => {
    const patterns = [id, local, param, ...[params].flat()];
    for (const name of patterns.flatMap(patternNames)) names.add(name);
  });
  return names;
}

/** Whether an identifier is a value that is read, rather than the name of a member or of something declared. */
function isRead(parent, key) {
  if (key === "property" || key === "key") return parent.computed;
  return !/^(id|params|label|local|imported|exported|param)$/.test(key);
}

function readScript({ program, text }, own, add) {
  const declared = declaredNames(program);
  const isGlobal = (node) => node.type === "Identifier" && !declared.has(node.name);
  walk(program, (node, parent, key) => {
    const report = (features) => add(features, text.slice(node.start - 20, node.end + 20));
    report(syntaxFeatures(node));
    if (node.type === "Identifier" && isGlobal(node) && isRead(parent, key)) {
      report(globalFeatures(node.name));
    } else if (node.type === "MemberExpression") {
      const name = node.computed ? node.property.value : node.property.name;
      if (typeof name !== "string") return;
      const known = isGlobal(node.object) ? memberFeatures(node.object.name, name) : [];
      if (known.length > 0) report(known);
      else if (!own.has(name)) report(unknownMemberFeatures(name));
    } else if (node.type === "ObjectPattern") {
      const names = node.properties.map((property) => property.key?.name);
      for (const name of names) if (!own.has(name)) report(unknownMemberFeatures(name));
    } else if (node.type === "Property" && /[a-z][A-Z]/.test(node.key.name)) {
      report([cssProperty(node.key.name)]);
    } else if (node.type === "CallExpression") {
      const [event] = node.arguments;
      if (node.callee.property?.name === "addEventListener") report(events.get(event?.value) ?? []);
    } else if (node.type === "TemplateLiteral") {
      readText(node.quasis.map(({ value }) => value.cooked).join("\0"), add);
    } else if (node.type === "Literal" && typeof node.value === "string") {
      readText(node.value, add);
    }
  });
}

function globalFeatures(name) {
  const owners = ["Window", "WorkerGlobalScope", "DedicatedWorkerGlobalScope"];
  return [
    featureAt("javascript", "builtins", name),
    featureAt("api", name),
    ...owners.map((owner) => featureAt("api", owner, name)),
  ].filter(Boolean);
}

/** The features of a member of a global, such as a static method. */
function memberFeatures(global, name) {
  const owner = Object.hasOwn(INTERFACES, global) ? INTERFACES[global] : global;
  return [
    featureAt("javascript", "builtins", owner, name),
    featureAt("api", owner, `${name}_static`),
    featureAt("api", owner, name),
    ...(owner === "Window" ? globalFeatures(name) : []),
  ].filter(Boolean);
}

/** The features that a member of an unknown value may be. */
function unknownMemberFeatures(name) {
  return [...(members.get(name) ?? []), cssProperty(name ?? "")];
}

/** The CSS property that a name in camel case means. */
function cssProperty(name) {
  const inCss = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return featureAt("css", "properties", inCss);
}

/** Features of the syntax that are newer than ES2022; Vite refuses or rewrites other syntax by its target. */
function syntaxFeatures({ type, kind, phase, attributes, regex }) {
  const statement = (...path) => [featureAt("javascript", "statements", ...path)];
  if (regex) return regexFeatures(regex);
  if (type === "VariableDeclaration" && /using/.test(kind))
    return statement(kind.replace(" ", "_"));
  if (phase) return statement("import", phase);
  if (type === "ImportDeclaration" && attributes.length > 0) {
    return statement("import", "import_attributes");
  }
  return [];
}

function regexFeatures({ pattern, flags }) {
  const expressions = ["javascript", "regular_expressions"];
  const names = [...pattern.matchAll(/\(\?<(\w+)>/g)].map(([, name]) => name);
  if (new Set(names).size < names.length) {
    const path = ["named_capturing_group", "duplicate_named_capturing_groups"];
    return [featureAt(...expressions, ...path)];
  }
  if (/\(\?[ims-]+:/.test(pattern)) return [featureAt(...expressions, "modifier")];
  return flags.includes("v") ? [featureAt("javascript", "builtins", "RegExp", "unicodeSets")] : [];
}
