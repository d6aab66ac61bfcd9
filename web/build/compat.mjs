// Which browsers have a feature: MDN's browser-compat-data, compared with the least versions.

import { readFileSync } from "node:fs";
import data from "@mdn/browser-compat-data/forLegacyNode";

const leastVersions = JSON.parse(
  readFileSync(new URL("../src/model/least-versions.json", import.meta.url), "utf8"),
);

/** The data below a path of names; undefined if there are none. */
function dataAt(path) {
  let node = data;
  for (const name of path) node = node && Object.hasOwn(node, name) ? node[name] : undefined;
  return node;
}

/** The feature at a path, such as `"api", "Navigator", "locks"`; undefined if there is none. */
export function featureAt(...path) {
  const compat = dataAt(path)?.__compat;
  return compat && { path: path.join("."), name: path.at(-1), support: compat.support };
}

/** Whether version `a` is older than version `b`. */
function isOlder(a, b) {
  const [[majorA, minorA = 0], [majorB, minorB = 0]] = [a, b].map((version) =>
    version.replace("≤", "").split(".").map(Number),
  );
  return majorA === majorB ? minorA < minorB : majorA < majorB;
}

/**
 * What the least versions lack of a feature, in words; empty if they have it.
 *
 * @param besides names that are used together with it: one may be its name with a browser's prefix
 */
export function lacking({ name, support }, besides = []) {
  return Object.entries(leastVersions).flatMap(([browser, least]) => {
    const ways = [support[browser] ?? []]
      .flat()
      .filter(({ flags, alternative_name: other, prefix }) => {
        return !flags && !other && (!prefix || besides.includes(prefix + name));
      });
    const has = ways.some(({ version_added: added, version_removed: removed }) => {
      const isAdded = /^≤?\d/.test(added) && !isOlder(least, added);
      return isAdded && !(/^≤?\d/.test(removed) && !isOlder(least, removed));
    });
    if (has) return [];
    const since = ways.find(({ version_added: added }) => /^\d/.test(added))?.version_added;
    const title = data.browsers[browser].name;
    return [`${title} ${least} lacks it (${since ? `${since} has it` : "no version has it"})`];
  });
}

/** Features that have the same name in different groups, by that name: `nameOf` the last part of their path. */
function byName(groups, nameOf) {
  const index = new Map();
  for (const path of groups) {
    for (const key of Object.keys(dataAt(path))) {
      const feature = featureAt(...path, key);
      const name = feature && nameOf(key);
      if (name) index.set(name, [...(index.get(name) ?? []), feature]);
    }
  }
  return index;
}

/** The paths of all groups of features below a path. */
function groupsBelow(path) {
  const names = Object.keys(dataAt(path)).filter((name) => name !== "__compat");
  return [path, ...names.flatMap((name) => groupsBelow([...path, name]))];
}

const namesIn = (...path) => Object.keys(dataAt(path)).map((name) => [...path, name]);
const interfaces = [...namesIn("javascript", "builtins"), ...namesIn("api")];

/** The members of objects, by name. */
export const members = byName(interfaces, (key) => !key.includes("_") && key);

/** The events, by name. */
export const events = byName(interfaces, (key) => /^(\w+)_event$/.exec(key)?.[1]);

/** The functions and keywords of CSS that several properties know, by name. */
export const cssTypes = byName(groupsBelow(["css", "types"]), (key) =>
  key.replace(/[-_]function$/, ""),
);
