import { distinctNames } from "colonnade";

/** The files that are open in this tab, by their names in the address. */
const files = new Map<string, File>();

/** Opens a file; returns its distinct name: a second `a.arrow` is `a.arrow (2)`. */
export function openLocalFile(file: File): string {
  const known = [...files].find(([, open]) => open === file);
  if (known !== undefined) return known[0];
  const name = distinctNames([...files.keys(), file.name]).at(-1) ?? file.name;
  files.set(name, file);
  return name;
}

/** The open file with a name; undefined if there is none. */
export function localFile(name: string): File | undefined {
  return files.get(name);
}
