/** Files that are looked at in this tab, by the names that the address calls them. */
const files = new Map<string, File>();

/** Takes a file in; answers the name that it goes by: a second `a.arrow` is `a.arrow (2)`. */
export function openLocalFile(file: File): string {
  let { name } = file;
  for (let count = 2; files.has(name) && files.get(name) !== file; count++) {
    name = `${file.name} (${count})`;
  }
  files.set(name, file);
  return name;
}

/** The file of a name; undefined where it is not open in this tab, or no longer. */
export function localFile(name: string): File | undefined {
  return files.get(name);
}
