/** The longest name that the server accepts, in characters. */
const MAX_NAME_CHARS = 128;

/** An existing table. */
export interface NamedTable {
  name: string;
  uploaded: boolean;
}

/** Whether an upload can have a name. */
export type NameCheck =
  | { is: "free" }
  /** An uploaded table has the name and can be replaced. */
  | { is: "uploaded" }
  | { is: "wrong"; reason: string };

/** Proposes a table name that needs no quotes in SQL and differs from the server's own tables. */
export function proposeName(
  fileName: string,
  tables: readonly NamedTable[],
  otherNames: readonly string[] = [],
): string {
  const stem = fileName.replace(/(?<=.)(?:\.(?:gz|zst))?$/i, "").replace(/(?<=.)\.[^.]*$/, "");
  const plain = stem
    .normalize("NFC")
    .replace(/[^\p{L}\p{N}_]+/gu, "_")
    .replace(/^_+|_+$/g, "");
  const word = plain === "" ? "table" : plain;
  const name = (/^\p{N}/u.test(word) ? `t_${word}` : word).slice(0, MAX_NAME_CHARS - 4);
  const isTaken = (candidate: string) =>
    otherNames.includes(candidate) ||
    tables.some((table) => table.name === candidate && !table.uploaded);
  let candidate = name;
  for (let count = 2; isTaken(candidate); count++) candidate = `${name}_${count}`;
  return candidate;
}

/** Checks a name against the server's tables and the names of other uploads. */
export function checkName(
  name: string,
  tables: readonly NamedTable[],
  otherNames: readonly string[] = [],
): NameCheck {
  const wrong = (reason: string): NameCheck => ({ is: "wrong", reason });
  if (name.trim() === "") return wrong("Enter a table name.");
  if ([...name].length > MAX_NAME_CHARS)
    return wrong(`A table name has at most ${MAX_NAME_CHARS} characters.`);
  if (/[\p{Cc}/]/u.test(name)) return wrong("A table name cannot contain / or control characters.");
  if (otherNames.includes(name)) return wrong("Another file in the list has this name.");
  const table = tables.find((other) => other.name === name);
  if (table === undefined) return { is: "free" };
  if (table.uploaded) return { is: "uploaded" };
  return wrong("The server has its own table with this name. Choose another name.");
}
