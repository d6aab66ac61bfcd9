import { splitTypes } from "../address/read-as.js";

/** The rows that the code fetches, and from where. */
export interface CodeOptions {
  /** The server's origin, e.g. `http://localhost:7878`. */
  origin: string;
  /** A table or a statement. */
  rows: { table: string } | { sql: string };
  /** Columns, sort and filter as in the body of `POST /v1/query`; empty for all rows unsorted. */
  arrangement: Record<string, unknown>;
  /** The largest number of rows; undefined for all. */
  limit: number | undefined;
  /** Whether the server requires a token. */
  hasToken: boolean;
}

/** A library or tool for which code can be generated. */
export type CodeLanguage = "pandas" | "polars" | "duckdb" | "pyarrow" | "curl";

/** The names of the languages in the order of their tabs. */
export const CODE_LANGUAGES: Readonly<Record<CodeLanguage, string>> = {
  pandas: "pandas",
  polars: "Polars",
  duckdb: "DuckDB",
  pyarrow: "pyarrow",
  curl: "curl",
};

/** The environment variable from which the code reads the token. */
const TOKEN_VARIABLE = "COLONNADE_TOKEN";

/** How long the server keeps a statement's result for the second request, in seconds. */
const LINGER_S = 60;

/** Code that fetches the rows. */
export function codeFor(language: CodeLanguage, options: CodeOptions): string {
  return language === "curl" ? curlCode(options) : pythonCode(language, options);
}

type QueryBody = Record<string, unknown>;

/**
 * The bodies of the requests. A filtered or sorted statement needs two: the first runs the statement,
 * the second refers to its result by the id in the first response.
 */
function queryBodies({
  rows,
  arrangement,
  limit,
}: CodeOptions): [first: QueryBody | undefined, last: QueryBody] {
  const cut = limit === undefined ? {} : { limit };
  const isArranged = Object.keys(arrangement).length > 0;
  if ("sql" in rows && isArranged) {
    return [
      { sql: rows.sql, linger_s: LINGER_S },
      { query: RESULT, ...arrangement, ...cut },
    ];
  }
  return [undefined, { ...rows, ...arrangement, ...cut }];
}

/** Placeholder for the id from the first response. */
const RESULT = Symbol("result");

const USES: Record<Exclude<CodeLanguage, "curl">, { module: string; lines: string[] }> = {
  pandas: {
    module: "pandas",
    lines: ["frame = table.to_pandas(types_mapper=pandas.ArrowDtype)", "print(frame)"],
  },
  polars: { module: "polars", lines: ["frame = polars.from_arrow(table)", "print(frame)"] },
  duckdb: { module: "duckdb", lines: ["rows = duckdb.from_arrow(table)", "rows.show()"] },
  pyarrow: { module: "pyarrow.ipc", lines: ["print(table)"] },
};

const TOKEN_HEADERS = [
  "    headers = {",
  '        "Content-Type": "application/json",',
  `        "Authorization": "Bearer " + os.environ["${TOKEN_VARIABLE}"],`,
  "    }",
];

function pythonCode(language: Exclude<CodeLanguage, "curl">, options: CodeOptions): string {
  const { origin, hasToken } = options;
  const { module, lines } = USES[language];
  const standard = ["json", ...(hasToken ? ["os"] : []), "urllib.request"];
  const installed = [...new Set([module, "pyarrow.ipc"])].sort();
  const [first, last] = queryBodies(options);
  return [
    ...standard.map((name) => `import ${name}`),
    "",
    ...installed.map((name) => `import ${name}`),
    "",
    "",
    "def ask(question):",
    ...(hasToken ? TOKEN_HEADERS : ['    headers = {"Content-Type": "application/json"}']),
    "    body = json.dumps(question).encode()",
    `    url = ${JSON.stringify(`${origin}/v1/query`)}`,
    "    return urllib.request.urlopen(urllib.request.Request(url, body, headers))",
    "",
    "",
    ...(first === undefined
      ? []
      : [
          `with ask(${pythonValue(first)}) as answer:`,
          '    result = answer.headers["X-Query-Id"]',
        ]),
    `with ask(${pythonValue(last)}) as answer:`,
    "    table = pyarrow.ipc.open_stream(answer).read_all()",
    "",
    ...lines,
    "",
  ].join("\n");
}

function pythonValue(value: unknown, indent = ""): string {
  if (value === RESULT) return "result";
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return pythonText(value);
  if (typeof value !== "object") return String(value);
  const inner = `${indent}    `;
  if (Array.isArray(value)) {
    const items = value.map((item) => pythonValue(item, inner));
    const isShort = !value.some((item) => typeof item === "object") && items.join(", ").length < 72;
    if (isShort) return `[${items.join(", ")}]`;
    return `[\n${items.map((item) => `${inner}${item},\n`).join("")}${indent}]`;
  }
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}: ${pythonValue(member, inner)}`,
  );
  const isFlat = !Object.values(value).some((member) => typeof member === "object");
  const line = `{${members.join(", ")}}`;
  if (isFlat && !line.includes("\n") && line.length < 80) return line;
  return `{\n${members.map((member) => `${inner}${member},\n`).join("")}${indent}}`;
}

/** A Python string: in triple quotes if it has several lines, else with JSON's escapes. */
function pythonText(text: string): string {
  const isPlain = !/[\\\p{Cc}]|"""|"$/u.test(text.replaceAll("\n", ""));
  return text.includes("\n") && isPlain ? `"""${text}"""` : JSON.stringify(text);
}

function curlCode(options: CodeOptions): string {
  const [first, last] = queryBodies(options);
  const fileName = "table" in options.rows ? splitTypes(options.rows.table)[0] : "query";
  const output = shellText(`${fileName.replace(/[\p{Cc}/]/gu, "_")}.arrows`);
  if (first === undefined) {
    return `${curl("--fail --show-error", options, last)} \\\n  --output ${output}\n`;
  }
  const begin = curl("--include --no-buffer", options, first);
  const id = "grep -a -m 1 -i '^x-query-id:' | tr -d '\\r' | cut -d ' ' -f 2";
  const end = curl("--fail --show-error", options, last);
  return `result=$(${begin} |\n  ${id})\n${end} \\\n  --output ${output}\n`;
}

function curl(flags: string, { origin, hasToken }: CodeOptions, body: QueryBody): string {
  const data = shellText(
    JSON.stringify({ ...body, ...("query" in body ? { query: "RESULT" } : {}) }),
  );
  return [
    `curl --silent ${flags} ${shellText(`${origin}/v1/query`)}`,
    ...(hasToken ? [`--header "Authorization: Bearer $${TOKEN_VARIABLE}"`] : []),
    "--header 'Content-Type: application/json'",
    `--data-binary ${data.replace('"query":"RESULT"', `"query":"'"$result"'"`)}`,
  ].join(" \\\n  ");
}

function shellText(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
