// Fails if an identifier that was renamed is used again, so that one thing keeps one name.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Obstacle, root, say, script } from "./run.mjs";

const list = "scripts/retired-names.txt";

/** The retired identifiers of each list of folders, with the names to use instead. */
function readSections() {
  const sections = readFileSync(join(root, list), "utf8")
    .split(/^\[(.+)\]$/m)
    .slice(1);
  return sections.flatMap((folders, index) => {
    if (index % 2 === 1) return [];
    const lines = sections[index + 1].split("\n").filter((line) => line !== "");
    return [
      { folders: folders.split(" "), names: new Map(lines.map((line) => line.split(/\s+/))) },
    ];
  });
}

/** The lines of a file without comments. */
function codeLines(file) {
  return readFileSync(join(root, file), "utf8")
    .replace(/\/\*.*?\*\//gs, (comment) => comment.replace(/[^\n]/g, ""))
    .replace(/(^|\s)(?:\/\/|# ).*/gm, "$1")
    .split("\n");
}

/** Throws if the code, without comments, has a retired identifier. */
export function checkNames() {
  const found = readSections().flatMap(({ folders, names }) => {
    const pattern = new RegExp(`\\b(?:${[...names.keys()].join("|")})\\b`, "g");
    const files = execFileSync("git", ["ls-files", "--", ...folders], {
      cwd: root,
      encoding: "utf8",
    });
    return files
      .split("\n")
      .filter((file) => /\.(rs|ts|mjs|js|py)$/.test(file))
      .flatMap((file) =>
        codeLines(file).flatMap((line, index) =>
          [...line.matchAll(pattern)].map(
            ([name]) => `${file}:${index + 1}: ${name}; use ${names.get(name)}`,
          ),
        ),
      );
  });
  if (found.length > 0) {
    throw new Obstacle(`retired names (${list}):\n  ${found.join("\n  ")}`);
  }
  say("no retired name is used");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await script(async () => checkNames());
}
