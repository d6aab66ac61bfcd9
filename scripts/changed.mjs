// The stages that changed files can reach, for `npm run test:changed`.

import { Obstacle, read, root, say } from "./run.mjs";

/** The stages by the start of a path; the longest start that fits decides. */
const reached = {
  "": "all",
  "bench/": "lint types",
  "core/": "lint rust web python e2e",
  "deploy/": "",
  "docs/": "rust web e2e",
  "docs/decisions/": "",
  "docs/upstream/": "",
  "e2e/": "types e2e",
  "examples/": "python e2e",
  "fixtures/": "rust web python e2e",
  "fuzz/": "rust",
  "python/": "python e2e",
  "reader/": "lint rust web python e2e",
  "server/": "lint rust python e2e",
  "server/tests/": "lint rust",
  "text/": "lint rust python e2e",
  "wasm/": "lint web python e2e",
  "web/": "lint types rust web python e2e",
  "web/dashboard/": "lint types rust web e2e",
  "web/dashboard/test/": "types web",
  "web/test/": "types web python",
  "xtask/": "lint web",
};

/** The files that differ from `since`; by default from the commit at which this branch left `origin/main`. */
function changedFiles(since) {
  const git = (...args) => read("git", ["-C", root, ...args]);
  const base = since ?? git("merge-base", "origin/main", "HEAD");
  const changed = base && git("diff", "--name-only", base);
  if (changed === undefined) {
    throw new Obstacle(
      since
        ? `${since} is no commit of this checkout`
        : "this checkout has no origin/main: name the commit to compare with, `npm run test:changed -- --since COMMIT`",
    );
  }
  const added = git("ls-files", "--others", "--exclude-standard");
  return `${changed}\n${added}`.split("\n").filter(Boolean);
}

/** The stages of `tier` that the files changed since the commit `since` can reach. */
export function changedStages(tier, since) {
  const found = new Set();
  for (const file of changedFiles(since)) {
    const starts = Object.keys(reached).filter((start) => file.startsWith(start));
    const longest = starts.reduce((a, b) => (b.length > a.length ? b : a));
    // A document at the top is only checked for its form.
    const names = longest === "" && file.endsWith(".md") ? "" : reached[longest];
    for (const name of names === "all" ? tier : `format ${names}`.trim().split(" ")) {
      if (!found.has(name)) say(`${name}: ${file}`);
      found.add(name);
    }
  }
  return tier.filter((name) => found.has(name));
}
