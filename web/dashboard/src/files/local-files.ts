/** The files that are open in this tab, by their names in the address. */
const files = new Map<string, File>();

/** Opens a file; returns its distinct name: a second `a.arrow` is `a.arrow (2)`. */
export function openLocalFile(file: File): string {
  let { name } = file;
  for (let count = 2; files.has(name) && files.get(name) !== file; count++) {
    name = `${file.name} (${count})`;
  }
  files.set(name, file);
  return name;
}

/** The open file with a name; undefined if there is none. */
export function localFile(name: string): File | undefined {
  return files.get(name);
}
