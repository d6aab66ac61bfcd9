import { open } from "colonnade";
import { queryRequest } from "../catalog/catalog.js";

/** A function of the server's SQL. */
export interface SqlFunction {
  name: string;
  /** `scalar`, `aggregate`, `window` or `table`. */
  kind: string;
  description: string;
  /** How it is called. */
  syntax: string;
}

const ALL = `SELECT routine_name, lower(min(function_type)), min(description), min(syntax_example)
FROM information_schema.routines GROUP BY routine_name ORDER BY routine_name`;

let loading: Promise<SqlFunction[]> | undefined;

/** The functions that the server has; asked for once. None where it cannot be asked. */
export function loadFunctions(): Promise<SqlFunction[]> {
  loading ??= readFunctions().catch(() => {
    loading = undefined;
    return [];
  });
  return loading;
}

async function readFunctions(): Promise<SqlFunction[]> {
  const table = await open(queryRequest(ALL));
  try {
    await table.done;
    const rows = await table.text({ start: 0, end: table.numRows });
    return rows.map(([name, kind, description, syntax]) => ({
      name: name ?? "",
      kind: kind ?? "",
      description: description ?? "",
      syntax: syntax ?? "",
    }));
  } finally {
    table.close();
  }
}
