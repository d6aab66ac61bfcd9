// Checks the imports of the Rust crates: the modules of a folder never import each other in a cycle, and a
// module of the crate's root imports only modules of lower layers, by the tables of ARCHITECTURE.md.
// Biome checks TypeScript: biome.json.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { Obstacle, root, say, script } from "./run.mjs";

/** The folders of the workspace's crates. */
function readCrates() {
  const members = /^members = \[(.*?)\]/ms.exec(readFileSync(join(root, "Cargo.toml"), "utf8"));
  const folders = [...(members?.[1] ?? "").matchAll(/"(.+?)"/g)].map(([, folder]) => folder);
  return folders.filter((folder) => existsSync(join(root, folder, "src")));
}

/** The code of a crate's modules, without comments and tests, by path: `source::csv`, "" for the root. */
function readModules(folder) {
  const modules = new Map();
  const tests = [];
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".rs")) continue;
    const path = name.slice(0, -3).split(/[/\\]/);
    if (path.at(-1) === "mod" || name === "lib.rs") path.pop();
    const text = readFileSync(join(folder, name), "utf8")
      .replace(/\/\/[^\n]*|b?'\\?"'|"(?:[^"\\]|\\.)*"/gs, '""')
      .replace(/#\[cfg\(test\)\]\s*mod (\w+);/g, (_, test) => {
        tests.push([...path, test].join("::"));
        return "";
      })
      .replace(/#\[cfg\(test\)\]\s*mod .*/s, "");
    modules.set(path.join("::"), text);
  }
  for (const test of tests) modules.delete(test);
  return modules;
}

/** The paths of a use tree with their segments and the names that they bind: `a::{b, c as d}` has two. */
function usePaths(tree, prefix = []) {
  const group = /^((?:\w+::)*)\{(.*)\}$/s.exec(tree.trim());
  if (!group) {
    const [path, name] = tree.trim().split(/\s+as\s+/);
    const segments = prefix.concat(path.split("::"));
    return [{ segments, name: name ?? segments.at(-1) }];
  }
  const inside = prefix.concat(group[1].split("::").filter(Boolean));
  let depth = 0;
  let item = "";
  const paths = [];
  for (const character of `${group[2]},`) {
    if (character === "{") depth += 1;
    if (character === "}") depth -= 1;
    if (character !== "," || depth > 0) item += character;
    else {
      if (item.trim()) paths.push(...usePaths(item, inside));
      item = "";
    }
  }
  return paths;
}

/** The imports between modules as `[from, to]`; `to` is the module that defines a re-exported name. */
function readArrows(modules) {
  const imports = new Map();
  const exports = new Map();
  for (const [module, text] of modules) {
    const paths = [];
    const rest = text.replace(/(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);/g, (_, pub, tree) => {
      const found = usePaths(tree);
      paths.push(...found);
      if (pub) {
        for (const path of found) exports.set(`${module}::${path.name}`, path.segments);
      }
      return "";
    });
    for (const [path] of rest.matchAll(/\b(?:crate|super|self)(?:::\w+)+/g)) {
      paths.push({ segments: path.split("::") });
    }
    imports.set(
      module,
      paths.map((path) => path.segments),
    );
  }

  const absolute = (segments, module) => {
    if (segments[0] === "crate") return segments.slice(1);
    const path = module === "" ? [] : module.split("::");
    let index = 0;
    for (; segments[index] === "super" || segments[index] === "self"; index += 1) {
      if (segments[index] === "super") path.pop();
    }
    const resolved = path.concat(segments.slice(index));
    return index > 0 || modules.has(path.concat(segments[0]).join("::")) ? resolved : undefined;
  };
  const definer = (path, depth = 0) => {
    for (let length = path.length; length >= 0; length -= 1) {
      const module = path.slice(0, length).join("::");
      if (!modules.has(module)) continue;
      const source = exports.get(`${module}::${path[length]}`);
      const target = source && depth < 8 ? absolute(source, module) : undefined;
      return target ? definer(target.concat(path.slice(length + 1)), depth + 1) : module;
    }
    return "";
  };

  const arrows = [];
  for (const [from, paths] of imports) {
    for (const segments of paths) {
      const path = absolute(segments, from);
      if (path) arrows.push([from, definer(path)]);
    }
  }
  return arrows;
}

/** The imports between the direct children of each module, as `{parent, from, to, example}`. */
function siblingArrows(arrows) {
  const found = new Map();
  for (const [from, to] of arrows) {
    const [a, b] = [from.split("::"), to.split("::")];
    let shared = 0;
    while (shared < a.length && shared < b.length && a[shared] === b[shared]) shared += 1;
    if (!a[shared] || !b[shared]) continue;
    const parent = a.slice(0, shared).join("::");
    const key = [parent, a[shared], b[shared]].join(" ");
    if (!found.has(key)) {
      found.set(key, { parent, from: a[shared], to: b[shared], example: `${from} uses ${to}` });
    }
  }
  return [...found.values()];
}

/** The names of one import cycle in `arrows`; undefined if there is none. */
function findCycle(arrows) {
  const done = new Set();
  const walk = (name, path) => {
    if (path.includes(name)) return path.slice(path.indexOf(name)).concat(name);
    if (done.has(name)) return undefined;
    for (const arrow of arrows.filter((arrow) => arrow.from === name)) {
      const cycle = walk(arrow.to, path.concat(name));
      if (cycle) return cycle;
    }
    done.add(name);
    return undefined;
  };
  for (const { from } of arrows) {
    const cycle = walk(from, []);
    if (cycle) return cycle;
  }
  return undefined;
}

/** The layer of each root module, by the table below the heading of `folder` in ARCHITECTURE.md, if there is one. */
function readLayers(folder) {
  const text = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
  const section = text.split(/^#+ /m).find((section) => section.startsWith(`\`${folder}\``));
  const layers = new Map();
  for (const [, layer, names] of (section ?? "").matchAll(/^\| (\d+) \| ([^|]*) \|/gm)) {
    for (const [, name] of names.matchAll(/`(\w+)(?:\.rs|\/)?`/g)) layers.set(name, Number(layer));
  }
  return layers;
}

/** The faults of a crate's imports, one line each. */
function importFaults(crate) {
  const folder = join(root, crate, "src");
  const modules = readModules(folder);
  const arrows = siblingArrows(readArrows(modules));
  const faults = [];
  for (const parent of new Set(arrows.map((arrow) => arrow.parent))) {
    const inside = arrows.filter((arrow) => arrow.parent === parent);
    const cycle = findCycle(inside);
    if (!cycle) continue;
    const examples = cycle
      .slice(1)
      .map((to, index) => inside.find((arrow) => arrow.from === cycle[index] && arrow.to === to))
      .map((arrow) => arrow.example);
    const place = relative(root, join(folder, ...parent.split("::")));
    faults.push(`${place}: cycle ${cycle.join(" → ")} (${examples.join(", ")})`);
  }
  const layers = readLayers(`${crate}/src`);
  if (layers.size === 0) return faults;
  for (const name of modules.keys()) {
    if (name && !name.includes("::") && !layers.has(name)) {
      faults.push(`${crate}/src/${name}: has no layer in ARCHITECTURE.md`);
    }
  }
  for (const { parent, from, to, example } of arrows) {
    if (parent === "" && layers.get(to) >= layers.get(from)) {
      faults.push(
        `${crate}/src: ${from} may not import ${to}, which is not in a lower layer (${example})`,
      );
    }
  }
  return faults;
}

/** Throws if an import of a Rust crate is not allowed. */
export function checkImports() {
  const crates = readCrates();
  if (crates.length === 0) throw new Obstacle("Cargo.toml lists no crates");
  const faults = crates.flatMap(importFaults);
  if (faults.length > 0) {
    throw new Obstacle(`imports that ARCHITECTURE.md does not allow:\n  ${faults.join("\n  ")}`);
  }
  say("no imports form a cycle or go to a layer that is not lower");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await script(async () => checkImports());
}
