// Writes the licences of the third-party code that ships: `THIRD_PARTY_LICENCES.md` for everything, and
// `web/THIRD_PARTY_LICENCES.md` for the npm package and the Python wheel. With `--check` it only compares
// the components in both files with the lock files.

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { Obstacle, root, say, script } from "./run.mjs";

/** Modules that the sources import and the builds leave out: optional peers, own modules, Vite's virtual ones. */
const EXTERNAL = /^(?:apache-arrow|colonnade|virtual:|node:)/;

/** npm dependencies without code in the bundles: types, and Lit's stand-in for the DOM (`web/vite.config.ts`). */
const NOT_BUNDLED = /^@types\/|^@lit-labs\/ssr-dom-shim$/;

/** Licence files that do not apply: of xz's programs and petgraph's pictures, and zstd's GPL (zstd is BSD or GPL). */
const NOT_COMPILED = /^(?:xz\/COPYING(?:\.L?GPL.*)?|zstd\/COPYING|assets\/.*)$/;

/** Where an expression offers a choice, the first of these that it names is taken. */
const PREFERENCE = ["Apache-2.0", "MIT", "BSD-3-Clause", "BSD-2-Clause", "ISC", "Zlib", "BSL-1.0"];

/** The Rust compiler links it into every binary; its version is that of the toolchain. */
const STANDARD_LIBRARY = {
  name: "Rust standard library",
  version: "of the toolchain",
  licence: "MIT OR Apache-2.0",
};

/** Runs cargo in the checkout; its standard output. */
function cargo(...args) {
  try {
    const stdio = ["ignore", "pipe", "inherit"];
    const maxBuffer = 2 ** 28;
    return execFileSync("cargo", args, { cwd: root, encoding: "utf8", stdio, maxBuffer });
  } catch (error) {
    throw new Obstacle(`cargo ${args.join(" ")} failed: ${error.message}`);
  }
}

function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), "utf8"));
}

/** The components sorted by name and version. */
function sorted(components) {
  return components.sort((a, b) => {
    const [left, right] = [a, b].map(({ name, version }) => `${name} ${version}`);
    return left < right ? -1 : left > right ? 1 : 0;
  });
}

/** The crates that are linked into a crate of the workspace for `target`: no build and no dev dependencies. */
function crates(name, target) {
  const options = ["-p", name, "--target", target, "--locked", "-e", "normal,no-proc-macro"];
  const lines = cargo("tree", ...options, "--prefix", "none", "-f", "{p}|{l}").split("\n");
  const found = new Map();
  for (const line of lines) {
    const [, crate, version, licence] = /^(\S+) v(\S+)\|(.*?)(?: \(\*\))?$/.exec(line) ?? [];
    // Crates of the workspace have a path behind the version.
    if (crate) found.set(`${crate} ${version}`, { name: crate, version, licence });
  }
  return sorted([STANDARD_LIBRARY, ...found.values()]);
}

/** The npm packages that the sources below `folder` bring into their bundle, by package-lock.json. */
function modules(folder) {
  const { packages } = readJson("package-lock.json");
  const found = new Map();
  const add = (name, from) => {
    if (EXTERNAL.test(name) || NOT_BUNDLED.test(name)) return;
    let parent = from;
    while (parent !== "" && !(`${parent}/node_modules/${name}` in packages)) {
      parent = parent.includes("/node_modules/")
        ? parent.slice(0, parent.lastIndexOf("/node_modules/"))
        : "";
    }
    const path = parent === "" ? `node_modules/${name}` : `${parent}/node_modules/${name}`;
    const entry = packages[path];
    if (!entry) throw new Obstacle(`package-lock.json has no ${name}, which ${from} imports`);
    if (found.has(path)) return;
    found.set(path, { name, version: entry.version, licence: entry.license ?? "unknown", path });
    for (const dependency of Object.keys(entry.dependencies ?? {})) add(dependency, path);
  };
  const source = join(root, folder, "src");
  for (const file of readdirSync(source, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts")) continue;
    const text = readFileSync(join(source, file), "utf8");
    const imports =
      /^import\s+"([^"]+)"|^(?:import|export)\s+(?!type\b)[\w\s{},*$]*?\sfrom\s+"([^"]+)"|\bimport\(\s*"([^"]+)"/gm;
    for (const [, ...names] of text.matchAll(imports)) {
      const [, name] = /^((?:@[^/]+\/)?[^/.][^/]*)/.exec(names.find(Boolean)) ?? [];
      if (name) add(name, folder);
    }
  }
  return sorted([...found.values()]);
}

/** The parts that ship, with their components: those of the npm package, and those of the server alone. */
function shipped() {
  const viewer = [
    {
      title: "Rust crates in the decoder (`colonnade.wasm`)",
      components: crates("colonnade-wasm", "wasm32-unknown-unknown"),
    },
    {
      title: "Rust crates in the reader of Parquet files (`colonnade-reader.wasm`)",
      components: crates("colonnade-reader-wasm", "wasm32-unknown-unknown"),
    },
    { title: "npm packages in the viewer", components: modules("web") },
  ];
  const server = [
    {
      title: "Rust crates in the server",
      components: crates("colonnade-server", "x86_64-unknown-linux-gnu"),
    },
    { title: "npm packages in the dashboard", components: modules("web/dashboard") },
  ];
  return { viewer, server };
}

/** Both files: paths, introductions and parts. */
function documents() {
  const { viewer, server } = shipped();
  return [
    {
      path: "THIRD_PARTY_LICENCES.md",
      intro: `The server binary (for Linux on x86-64) contains all components listed here. The npm package and the Python wheel
contain only those of the decoder, the reader and the viewer, which \`web/THIRD_PARTY_LICENCES.md\` lists alone.`,
      parts: [...server, ...viewer],
    },
    {
      path: "web/THIRD_PARTY_LICENCES.md",
      intro: "The npm package and the Python wheel contain the components listed here.",
      parts: viewer,
    },
  ];
}

/** The start of a file: all components, without the texts. */
function renderComponents({ intro, parts }) {
  const tables = parts.map(({ title, components }) => {
    const rows = components.map(
      ({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`,
    );
    return `## ${title}\n\n| component | version | licence |\n| --- | --- | --- |\n${rows.join("\n")}\n`;
  });
  return `# Third-party licences

Generated by \`npm run licences\`; do not edit.

${intro}
Where a licence expression offers a choice (\`OR\`), this project takes Apache-2.0 if it is offered, otherwise MIT.

${tables.join("\n")}
## Licence texts
`;
}

/** The licence names that are taken from an SPDX expression, and those that are declined. */
function chooseLicences(expression) {
  const tokens = expression
    .replaceAll("/", " OR ")
    .match(/[()]|[^\s()]+/g)
    .reduce((list, token) => {
      // `A WITH B` is one name.
      if (token === "WITH" || list.at(-1)?.endsWith(" WITH")) list.push(`${list.pop()} ${token}`);
      else list.push(token);
      return list;
    }, []);
  const rankOne = (name) => (PREFERENCE.includes(name) ? PREFERENCE.indexOf(name) : Infinity);
  const rank = (names) => Math.max(...names.map(rankOne));
  let index = 0;
  const operand = () => {
    if (tokens[index] !== "(") return [tokens[index++]];
    index += 1;
    const inside = either();
    index += 1;
    return inside;
  };
  const both = () => {
    const names = operand();
    while (tokens[index] === "AND") {
      index += 1;
      names.push(...operand());
    }
    return names;
  };
  const either = () => {
    let names = both();
    while (tokens[index] === "OR") {
      index += 1;
      const other = both();
      if (rank(other) < rank(names)) names = other;
    }
    return names;
  };
  const taken = either();
  const names = tokens.filter((token) => !/^(?:[()]|AND|OR)$/.test(token));
  return { taken, declined: names.filter((name) => !taken.includes(name)) };
}

/** Matches `text` however its lines are broken. */
function loose(text) {
  return text.replaceAll(" ", "\\s+");
}

/** The licences whose texts come with different copyright lines, and what each text is from its start to its end. */
const TEMPLATES = [
  {
    name: "Apache-2.0",
    start: "Apache License Version 2\\.0, January 2004",
    end: "END OF TERMS AND CONDITIONS(?:[\\s\\S]*?limitations under the License\\.)?",
  },
  {
    name: "MIT",
    start: "Permission is hereby granted, free of charge, to any person obtaining a copy",
    end: "DEALINGS IN THE SOFTWARE\\.?",
  },
  {
    name: "BSD",
    start: "Redistribution and use in source and binary forms",
    end: "POSSIBILITY OF SUCH DAMAGE\\.",
  },
  {
    name: "ISC",
    start: "Permission to use, copy, modify, and(?:/or)? distribute",
    end: "PERFORMANCE OF THIS SOFTWARE\\.",
  },
  {
    name: "Zlib",
    start: "This software is provided ['‘]as-is['’]",
    end: "any source distribution\\.",
  },
].map(({ name, start, end }) => ({
  name,
  pattern: new RegExp(`${loose(start)}[\\s\\S]*?${loose(end)}`, "i"),
}));

/** A line above a licence text that is neither a notice nor part of it. */
const TITLE =
  /^(?:#*\s*)?(?:the )?(?:apache|mit|isc|zlib|bsd|\(mit\))?[\w\s"“”.,()-]*licen[cs]e[\s():\w-]*$|^=+$|^-+$/i;
const COPYRIGHT = /copyright|©|^\(c\)/i;

/** The name of the licence whose text this is; undefined if it is no known one or several. */
function identify(text) {
  if (/LLVM Exceptions to the Apache/i.test(text)) return "Apache-2.0 WITH LLVM-exception";
  if (/This is free and unencumbered software/i.test(text)) return "Unlicense";
  if (/Boost Software License/i.test(text)) return "BSL-1.0";
  const names = TEMPLATES.filter(({ pattern }) => pattern.test(text)).map(({ name }) => name);
  if (names.length !== 1) return undefined;
  if (names[0] === "MIT" && /associated documentation \(the "Data Files"\)|DATA FILES/.test(text)) {
    return "Unicode-3.0";
  }
  if (names[0] === "ISC" && !/provided\s+that/i.test(text)) return "0BSD";
  if (names[0] !== "BSD") return names[0];
  return /Neither\s+the\s+name/i.test(text) ? "BSD-3-Clause" : "BSD-2-Clause";
}

/** A licence file as a text that many share and the notices that only this one has. */
function splitText(text, licence) {
  const pattern = TEMPLATES.find(({ name }) => licence?.startsWith(name))?.pattern;
  const match = licence === "Unicode-3.0" ? null : pattern?.exec(text);
  if (!match) return { body: text, notices: [], rest: "" };
  const lines = (part) => part.split("\n").map((line) => line.trim());
  const head = lines(
    text.slice(0, match.index).replace(/\n\s*(?=All rights reserved)/gi, " "),
  ).filter((line) => line && (COPYRIGHT.test(line) || !TITLE.test(line)));
  const rest = text.slice(match.index + match[0].length).trim();
  if (!head.every((line) => COPYRIGHT.test(line))) return { body: text, notices: [], rest: "" };
  if (licence === "Apache-2.0") {
    const [terms, appendix = ""] = match[0].split(/(?<=END OF TERMS AND CONDITIONS)/);
    const owners = lines(appendix).filter((line) => /^copyright (?![[{])/i.test(line));
    return { body: terms, notices: [...head, ...owners], rest };
  }
  if (rest) return { body: text, notices: [], rest: "" };
  return { body: match[0], notices: head, rest: "" };
}

/** What two copies of one text have in common: letters and digits, without the address of the Apache licence. */
function normalise(text) {
  return text
    .toLowerCase()
    .replace(/https?:\/\/www\.apache\.org\/\S*/g, "")
    .replace(/[^a-z0-9]+/g, " ")
    .trim();
}

/** The text without common indentation and trailing space. */
function tidy(text) {
  const lines = text.split("\n").map((line) => line.trimEnd());
  while (lines[0] === "") lines.shift();
  while (lines.at(-1) === "") lines.pop();
  // A text that is cut out of its file has lost the first line's indentation.
  const indents = lines
    .slice(1)
    .filter(Boolean)
    .map((line) => /^ */.exec(line)[0].length);
  const indent = indents.length > 0 ? Math.min(...indents) : 0;
  return lines.map((line, index) => (index === 0 ? line.trim() : line.slice(indent))).join("\n");
}

/** The text of a file, without carriage returns and the slashes of a comment around it. */
function readText(path) {
  return readFileSync(path, "utf8")
    .replace(/\r/g, "")
    .replace(/^\/\/ ?/gm, "");
}

/** The licence files below `folder`: paths inside it and texts. */
function licenceFiles(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(?:rs|js|ts|py|sh|json|toml)$/.test(entry.name))
    .filter((entry) => /licen[cs]e|^(?:copying|notice|copyright)\b/i.test(entry.name))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .filter((path) => !NOT_COMPILED.test(path) && !/(?:^|\/)(?:tests?|node_modules)\//.test(path))
    .sort()
    .map((path) => ({ path, text: readText(join(folder, path)) }));
}

/** The folders with each component's source, by name and version, and the repositories of crates. */
function sources() {
  const folders = new Map();
  for (const target of ["wasm32-unknown-unknown", "x86_64-unknown-linux-gnu"]) {
    const options = ["--format-version", "1", "--locked", "--filter-platform", target];
    for (const entry of JSON.parse(cargo("metadata", ...options)).packages) {
      const folder = dirname(entry.manifest_path);
      const key = `${entry.name} ${entry.version}`;
      folders.set(key, { folder, repository: entry.repository?.replace(/\/tree\/.*/, "") });
    }
  }
  return folders;
}

/** The texts that apply to the components of `parts`, each once: name, text, notices and the users' names. */
function collectTexts(parts, folders) {
  const texts = new Map();
  const bare = new Map();
  const put = (title, text, name, notices = []) => {
    const key = normalise(text);
    if (!texts.has(key))
      texts.set(key, { title, text: tidy(text), users: new Set(), notices: new Map() });
    const entry = texts.get(key);
    entry.users.add(name);
    for (const notice of notices) {
      if (!entry.notices.has(notice)) entry.notices.set(notice, new Set());
      entry.notices.get(notice).add(name);
    }
  };
  /** Adds the texts of a folder that apply; returns the names of the licences that were found. */
  const take = (folder, name, { taken, declined }) => {
    const found = new Set();
    for (const { path, text } of licenceFiles(folder)) {
      const inside = path.includes("/");
      // A licence that no pattern knows is named by the component's own expression.
      const own = taken.length === 1 && !PREFERENCE.includes(taken[0]) && !inside;
      const licence = own ? taken[0] : identify(text);
      // A folder inside holds other people's code, to which the choice of the expression need not apply.
      if (declined.includes(licence) && !inside) continue;
      const { body, notices, rest } = splitText(text, licence);
      put(licence ?? `${name}: ${path}`, body, name, notices);
      if (normalise(rest)) put(`${name}: ${path}`, rest, name);
      // An unknown text counts as that of the component, for example both licences in one file.
      for (const known of licence ? [licence] : taken) found.add(known);
    }
    return found;
  };
  const apache = readFileSync(join(root, "LICENSE"), "utf8");
  for (const { components } of parts) {
    for (const { name, version, licence, path } of components) {
      const choice = chooseLicences(licence);
      const { folder, repository } = path
        ? { folder: join(root, path) }
        : (folders.get(`${name} ${version}`) ?? {});
      if (folder && !existsSync(folder)) throw new Obstacle(`${folder} is missing: run npm ci`);
      const found = folder ? take(folder, name, choice) : new Set();
      for (const missing of choice.taken.filter((licence) => !found.has(licence))) {
        if (missing === "Apache-2.0") {
          put(missing, splitText(apache, missing).body, name);
          continue;
        }
        // Another crate of the same repository may ship the text.
        const sibling = [...folders.values()].find((other) => {
          if (!repository || other.repository !== repository || other.folder === folder)
            return false;
          return licenceFiles(other.folder).some(({ text }) => identify(text) === missing);
        });
        if (sibling) {
          take(sibling.folder, name, choice);
          continue;
        }
        // It may ship only the text of the licence that was declined.
        const other = { taken: choice.declined, declined: [] };
        const shipsOther = folder && take(folder, name, other).size > 0;
        if (!shipsOther) bare.set(`${name} ${version}`, missing);
      }
    }
  }
  return { texts: [...texts.values()], bare };
}

function renderTexts({ texts, bare }) {
  const names = (users) => [...users].sort().join(", ");
  const rank = ({ title, users }) => (title.includes(":") ? 0 : users.size);
  const sections = texts
    .sort((a, b) => rank(b) - rank(a) || (a.title < b.title ? -1 : 1))
    .map(({ title, text, users, notices }) => {
      const lines = [...notices].map(([notice, users]) => `- ${notice} (${names(users)})`);
      const list = lines.length > 0 ? `\n${lines.join("\n")}\n` : "";
      return `### ${title}\n\nApplies to: ${names(users)}\n${list}\n\`\`\`\`text\n${text}\n\`\`\`\`\n`;
    });
  if (bare.size > 0) {
    const list = [...bare].map(([name, licence]) => `- ${name}: ${licence}`);
    sections.push(`### Without a text\n\nThese ship no licence text:\n\n${list.join("\n")}\n`);
  }
  return sections.join("\n");
}

/** Writes both files. */
function writeLicences() {
  const folders = sources();
  for (const document of documents()) {
    const texts = renderTexts(collectTexts(document.parts, folders));
    const text = `${renderComponents(document)}\n${texts}`;
    writeFileSync(join(root, document.path), text);
    say(`${document.path}: ${Math.round(text.length / 1024)} KiB`);
  }
}

/** Fails where the components in a file are not those of Cargo.lock and package-lock.json. */
export function checkLicences() {
  for (const document of documents()) {
    const path = join(root, document.path);
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    const expected = renderComponents(document);
    if (text.startsWith(expected)) continue;
    const rows = (text) => text.split("\n").filter((line) => line.startsWith("| "));
    const [before, now] = [rows(text), rows(expected)];
    const changes = [
      ...before.filter((row) => !now.includes(row)).map((row) => `- ${row}`),
      ...now.filter((row) => !before.includes(row)).map((row) => `+ ${row}`),
    ];
    throw new Obstacle(
      [`${document.path} is stale: run \`npm run licences\``, ...changes.slice(0, 20)].join("\n  "),
    );
  }
  say("the third-party licences are those of the lock files");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await script(async () => (process.argv.includes("--check") ? checkLicences() : writeLicences()));
}
