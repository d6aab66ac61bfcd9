import { readRowsOnce } from "../server/read-rows.js";

/** A function of the server's SQL. */
export interface SqlFunction {
  name: string;
  /** `scalar`, `aggregate`, `window` or `table`. */
  kind: string;
  description: string;
  /** An example of a call. */
  syntax: string;
}

const ALL = `SELECT routine_name, lower(min(function_type)), min(description), min(syntax_example)
FROM information_schema.routines GROUP BY routine_name ORDER BY routine_name`;

let loading: Promise<SqlFunction[]> | undefined;

/** Reads the server's functions once; resolves with none if the server cannot be reached. */
export function loadFunctions(): Promise<SqlFunction[]> {
  loading ??= readFunctions().catch(() => {
    loading = undefined;
    return [];
  });
  return loading;
}

async function readFunctions(): Promise<SqlFunction[]> {
  const rows = await readRowsOnce(ALL);
  return rows.map(([name, kind, description, syntax]) => ({
    name: name ?? "",
    kind: kind ?? "",
    description: description ?? "",
    syntax: syntax ?? "",
  }));
}
