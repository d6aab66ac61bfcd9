// The user's cache folder, which all checkouts share.

import { mkdirSync, readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** The cache folder, which also has the demo tables; the server uses the same one. */
export function cacheDir() {
  const { COLONNADE_CACHE_DIR, XDG_CACHE_HOME } = process.env;
  return COLONNADE_CACHE_DIR || join(XDG_CACHE_HOME || join(homedir(), ".cache"), "colonnade");
}

/** Marks the folder `kind/{key}` of the cache as used, and removes all others of its kind but the newest. */
export function keepNewest(kind, key) {
  const folder = join(cacheDir(), kind);
  mkdirSync(join(folder, key), { recursive: true });
  const now = new Date();
  utimesSync(join(folder, key), now, now);
  const age = (name) => statSync(join(folder, name)).mtimeMs;
  const others = readdirSync(folder).filter((name) => name !== key);
  for (const name of others.sort((a, b) => age(b) - age(a)).slice(1)) {
    rmSync(join(folder, name), { recursive: true });
  }
}
