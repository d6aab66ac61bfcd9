// `node scripts/rust-cache.mjs restore|save`: keeps the compiled third-party crates in the user's cache folder, for
// clean clones with the same toolchain, lock file and profiles. The crates of the workspace are left out, because
// cargo judges them by the times of their files, which are new in every clone.

import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { cacheDir, keepNewest } from "./cache.mjs";
import { Obstacle, read, root, say, script } from "./run.mjs";

/** The folders of the profiles below `target`. */
const profiles = ["release", "wasm", join("wasm32-unknown-unknown", "wasm")];

/** Whether a unit such as `colonnade-core-0123456789abcdef` belongs to the workspace. */
const isOwn = (unit) => /^(colonnade|xtask)-/.test(unit);

/** The hash of a unit or of its files: `libhttp-0123456789abcdef.rlib` belongs to `http-0123456789abcdef`. */
const hashOf = (name) => /-([0-9a-f]{16})(\.\w+)?$/.exec(name)?.[1];

function list(folder) {
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** The files of third-party crates in a profile's folder, relative to it. */
function foreignFiles(folder) {
  const units = list(join(folder, ".fingerprint")).filter((unit) => !isOwn(unit));
  const hashes = new Set(units.map(hashOf));
  const inside = (parent, unit) =>
    readdirSync(join(folder, parent, unit), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  return [
    ...units.flatMap((unit) => inside(".fingerprint", unit)),
    ...list(join(folder, "build"))
      .filter((unit) => !isOwn(unit))
      .flatMap((unit) => inside("build", unit)),
    ...list(join(folder, "deps"))
      .filter((file) => hashes.has(hashOf(file)))
      .map((file) => join("deps", file)),
  ];
}

/** Links a file, or copies it with its times if it is on another file system. */
function place(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  try {
    linkSync(from, to);
  } catch (error) {
    if (error.code === "EEXIST") return;
    copyFileSync(from, to);
    const { atime, mtime } = statSync(from);
    utimesSync(to, atime, mtime);
  }
}

/** Places the third-party files of all profiles below `from` at the same places below `to`. */
function placeAll(from, to) {
  let numFiles = 0;
  for (const profile of profiles) {
    for (const file of foreignFiles(join(from, profile))) {
      place(join(from, profile, file), join(to, profile, file));
      numFiles += 1;
    }
  }
  return numFiles;
}

const target = join(root, "target");

/** What decides whether compiled crates can be used. */
function key() {
  const hash = createHash("sha256").update(read("rustc", ["-vV"]) ?? "");
  const content = (file) => readFileSync(join(root, file), "utf8");
  // Packages without a source are the workspace's own.
  const isForeign = (entry) => entry.includes("\nsource = ");
  for (const entry of content("Cargo.lock").split("\n\n").filter(isForeign)) hash.update(entry);
  for (const file of ["Cargo.toml", ".cargo/config.toml"]) hash.update(content(file));
  return hash
    .update(process.env.RUSTFLAGS ?? "")
    .digest("hex")
    .slice(0, 16);
}

const cache = () => join(cacheDir(), "rust", key());

function restore() {
  if (existsSync(target)) return say("target exists: no compiled crates are restored");
  say(`restored ${placeAll(cache(), target)} files of third-party crates`);
}

function save() {
  placeAll(target, cache());
  keepNewest("rust", key());
}

await script(async () => {
  const command = { restore, save }[process.argv[2]];
  if (!command) throw new Obstacle("expected `restore` or `save`");
  command();
});
