// Checks that DataFusion compiles once: crates that are tested together must give the libraries of a program the
// features that they have in it, since cargo compiles a library anew for other features.

import { execFileSync } from "node:child_process";
import { Obstacle, root } from "./run.mjs";

/** The options with which cargo selects `packages`. */
export const selected = (packages) => packages.flatMap((name) => ["-p", name]);

/** The libraries that `packages` bring, with their features: "name version" to sets of features. */
function libraries(packages, kinds) {
  const options = ["--locked", "-e", kinds, "--prefix", "none", "-f", "{p}|{f}"];
  const found = new Map();
  const tree = execFileSync("cargo", ["tree", ...options, ...selected(packages)], {
    cwd: root,
    encoding: "utf8",
  });
  for (const line of tree.split("\n")) {
    // Crates of the workspace have a path behind the version.
    const [, library, features] =
      /^(\S+ v\S+)(?: \(proc-macro\))?\|(.*?)(?: \(\*\))?$/.exec(line) ?? [];
    if (library) found.set(library, (found.get(library) ?? new Set()).add(features));
  }
  return found;
}

/**
 * Compares the libraries of `program` as it is built alone with those of `packages`, of which it is one, as they are
 * tested together.
 */
export function checkFeatures(program, packages) {
  const tested = libraries(packages, "normal,build,dev");
  for (const [library, wanted] of libraries([program], "normal,build")) {
    for (const features of wanted) {
      if (tested.get(library)?.has(features)) continue;
      throw new Obstacle(
        `${library} has the features "${features}" in ${program}, but others where ` +
          `${packages.join(", ")} are tested together (${[...(tested.get(library) ?? [])].join(" or ")}): ` +
          "DataFusion could compile twice. Give both the same features in their Cargo.toml",
      );
    }
  }
}
