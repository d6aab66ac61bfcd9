// Fails if the built code needs a feature that the least versions of the browsers lack
// (`web/src/model/least-versions.json`). `scripts/newer-features.txt` lists those that are used where they exist.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { newerFeatures } from "../web/build/newer-features.mjs";
import { Obstacle, root, say, script } from "./run.mjs";

const list = "scripts/newer-features.txt";

/** The built scripts, style sheets and pages. */
function readFiles() {
  return ["web/dist", "web/dashboard/dist"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(js|css|html|svg)$/.test(name))
      .map((name) => join(folder, name))
      .map((name) => ({ name, text: readFileSync(join(root, name), "utf8") })),
  );
}

/** The lines of the list, as `{ path, file }`: a feature, and a part of a file's name. */
function readExceptions() {
  const lines = readFileSync(join(root, list), "utf8").split("\n");
  return lines
    .map((line) => /^(\w\S+) +(\S+) +\S/.exec(line))
    .filter((match) => match !== null)
    .map(([, path, file]) => ({ path, file: file === "*" ? "" : file }));
}

await script(async () => {
  const exceptions = readExceptions();
  const unused = new Set(exceptions);
  const isListed = (feature, use) => {
    const listed = exceptions.filter(({ path, file }) => {
      return `${feature}.`.startsWith(`${path}.`) && use.split(": ")[0].includes(file);
    });
    for (const exception of listed) unused.delete(exception);
    return listed.length > 0;
  };
  const faults = newerFeatures(readFiles()).flatMap(({ path, lacking, uses }) => {
    const unlisted = uses.filter((use) => !isListed(path, use));
    return unlisted.length === 0
      ? []
      : [`${path}: ${lacking.join(", ")}`, ...unlisted.map((use) => `    ${use}`)];
  });
  for (const { path } of unused) faults.push(`${path}: no longer used; remove it from ${list}`);
  if (faults.length > 0) {
    const rule = `the least versions of the browsers lack these features; ${list} lists those that may be used`;
    throw new Obstacle(`${rule}:\n  ${faults.join("\n  ")}`);
  }
  say("the least versions of the browsers have every feature that is needed");
});
