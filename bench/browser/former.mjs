// Another commit, built from its own sources and measured in turns with the present one.

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { cacheDir } from "../../scripts/cache.mjs";
import { Obstacle, read, root, run, say } from "../../scripts/run.mjs";

/** Builds `commit` in a clone in the cache folder; returns its short hash and its `openSite`. */
export async function buildFormer(commit) {
  const hash = read("git", ["-C", root, "rev-parse", "--verify", "--quiet", `${commit}^{commit}`]);
  if (hash === undefined) throw new Obstacle(`there is no commit "${commit}"; see \`git log\``);
  const folder = join(cacheDir(), "bench", "against");
  if (!existsSync(folder)) {
    mkdirSync(join(folder, ".."), { recursive: true });
    await run("git", ["clone", "--quiet", "--no-checkout", root, folder]);
  }
  await run("git", ["-C", folder, "fetch", "--quiet", "--force", root, "+refs/*:refs/former/*"]);
  await run("git", ["-C", folder, "checkout", "--quiet", "--force", "--detach", hash]);
  say(`building ${hash} in ${folder}`);
  await run("node", [join(folder, "scripts/build.mjs"), "wasm", "web"]);
  const { openSite } = await import(pathToFileURL(join(folder, "bench/browser/site.mjs")).href);
  return { hash: hash.slice(0, 7), openSite };
}

/** The readers of a benchmark, and those that are Colonnade once more as they were at commit `hash`. */
export function withFormer(readers, ours, hash) {
  return readers.flatMap((reader) =>
    ours.includes(reader) ? [reader, `${reader} at ${hash}`] : [reader],
  );
}

/** The name of a reader at its own commit, and the site that has it. */
export function readerAt(site, reader) {
  const [name, hash] = reader.split(" at ");
  return { name, site: hash === undefined ? site : site.former };
}
