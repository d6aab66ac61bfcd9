// Fails if a Markdown page names a file or folder of the checkout that does not exist.
//
// A path is a word between backticks, or in a block of code, that begins with a folder of the checkout's root:
// `scripts/run.mjs`. A source file may be named by the end of its path: `run.mjs`. Words with other characters
// than those of our paths (`*`, `{`, `:`), placeholders (`NAME`), and what Git ignores are not checked.

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Obstacle, root, say, script } from "./run.mjs";

/** Pages that we do not write, or that tell what was. */
const leftOut = /(^|\/)(CHANGELOG|THIRD_PARTY_LICENCES)\.md$/;

/** Media types that begin like a path. */
const mediaTypes = new Set(["text/csv", "text/tab-separated-values"]);

const source = /\.(rs|ts|tsx|mjs|py|md)$/;

/** The words of a page that may be paths, as `{word, line, isInline}`. */
function readWords(text) {
  const words = [];
  const add = (code, start, isInline) => {
    for (const { 0: word, index } of code.matchAll(/[^\s"'(),;[\]]+/g)) {
      const line = text.slice(0, start + index).split("\n").length;
      if (/^(\.\/)?[\w.-]+(\/[\w.-]+)*\/?$/.test(word)) words.push({ word, line, isInline });
    }
  };
  const prose = text.replace(/^( *```+)[^\n]*\n(.*?)^\1/gms, (block, _fence, code, start) => {
    add(code, start + block.indexOf("\n") + 1, false);
    return block.replace(/[^\n]/g, " ");
  });
  // A code span does not go beyond its paragraph.
  for (const { 1: ticks, 2: code, index } of prose.matchAll(/(`+)((?:[^`\n]|\n(?!\s*\n))+)\1/g)) {
    add(code, index + ticks.length, true);
  }
  return words.sort((one, other) => one.line - other.line);
}

/** The files of the checkout that Git does not ignore, and their folders. */
function readTree() {
  const list = ["ls-files", "--cached", "--others", "--exclude-standard"];
  const files = execFileSync("git", list, { cwd: root, encoding: "utf8" })
    .split("\n")
    .filter((file) => file !== "" && existsSync(join(root, file)));
  const folders = new Set();
  for (const file of files) {
    for (let folder = dirname(file); folder !== "."; folder = dirname(folder)) folders.add(folder);
  }
  return { files, known: new Set([...files, ...folders]), folders };
}

/** Whether Git ignores a file or folder of that path, as it does what is built. */
function isIgnored(path) {
  const options = ["check-ignore", "--no-index", path, `${path}/`];
  return spawnSync("git", options, { cwd: root }).status === 0;
}

/** The words of `page` that are paths of nothing, one line each. */
function pathFaults(page, { files, known, folders }) {
  const bases = [""];
  for (let folder = dirname(page); folder !== "."; folder = dirname(folder)) {
    bases.push(`${folder}/`);
  }
  return readWords(readFileSync(join(root, page), "utf8")).flatMap(({ word, line, isInline }) => {
    const path = word.replace(/^\.\//, "").replace(/\/$/, "");
    const segments = path.split("/");
    const isPlaceholder = segments.some((segment) => /^[A-Z][A-Z_]*(\.(?!md$)\w+)?$/.test(segment));
    if (isPlaceholder || mediaTypes.has(path)) return [];
    if (bases.some((base) => known.has(base + path))) return [];
    if (segments.length > 1 && folders.has(segments[0])) {
      return isIgnored(path) ? [] : [`${page}:${line}: ${word}`];
    }
    if (!isInline || !source.test(path) || files.some((file) => file.endsWith(`/${path}`))) {
      return [];
    }
    return [`${page}:${line}: ${word}`];
  });
}

/** Throws if a Markdown page names a path of the checkout that does not exist. */
export function checkPaths() {
  const tree = readTree();
  const pages = tree.files.filter((file) => file.endsWith(".md") && !leftOut.test(file));
  const faults = pages.flatMap((page) => pathFaults(page, tree));
  if (faults.length > 0) {
    throw new Obstacle(`paths that do not exist:\n  ${faults.join("\n  ")}`);
  }
  say("every path in a Markdown page exists");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await script(async () => checkPaths());
}
