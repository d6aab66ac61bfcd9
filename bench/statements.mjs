// Measures SQL statements: all of TPC-H compared with plain DataFusion, what a process of its own costs a statement,
// and how long small requests wait beside large statements.

import { spawn } from "node:child_process";
import { existsSync, readFileSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { cacheDir } from "../scripts/cache.mjs";
import { root, run, say } from "../scripts/run.mjs";
import { formatMs, fraction, markdown, median, spread } from "./browser/format.mjs";
import { verdict } from "./browser/machine.mjs";
import { resetPeak, statusBytes } from "./browser/processes.mjs";
import { measureAlternately } from "./engines.mjs";
import { Peers, setUpPeers } from "./python-peers.mjs";
import { benchBinary, startProgram, startServer } from "./server.mjs";

const SCALE = 1;
const OURS = "Colonnade";
const PLAIN = "DataFusion, the same build";
const WHEEL = "DataFusion's wheel";
const DUCKDB = "DuckDB";

const WHOLE = "select * from lineitem where l_orderkey >= 0";
const FIRST = "select * from lineitem where l_orderkey >= 0 limit 10";
const IN_PROCESS = "in the server's process";
const ISOLATED = "in a process of its own";

/** Each of them takes seconds and much memory. */
const HEAVY = [
  "select l_comment, count(*) from lineitem group by l_comment order by 2 desc, 1",
  "select * from lineitem order by l_comment, l_orderkey, l_linenumber",
  "select l_suppkey, median(l_extendedprice) from lineitem group by l_suppkey order by 2",
  "select o_orderkey, l_partkey, l_extendedprice from lineitem join orders on l_orderkey = o_orderkey order by 3, 2, 1",
];
const NUM_SAMPLES = 60;
/** The largest waiting times beside the heavy statements. */
const MAX_TABLE_MS = 200;
const MAX_LIGHT_MS = 1000;
const MAX_FIRST_MS = 15;

/** Results; undefined except on Linux, or if the peers cannot be installed. */
export async function measureStatements({ numRounds }) {
  const python = process.platform === "linux" ? await setUpPeers() : undefined;
  if (python === undefined) return undefined;
  const folder = await provideTables(python);
  return {
    tpch: await measureTpch(folder, python, numRounds),
    price: await measurePrice(folder, numRounds),
    waiting: await measureWaiting(folder),
  };
}

/** The folder with TPC-H's tables in Parquet. */
async function provideTables(python) {
  const folder = join(cacheDir(), "bench", `tpch-${SCALE}`);
  if (existsSync(folder)) return folder;
  say(`writing the tables of TPC-H, scale ${SCALE}`);
  const generator = join(dirname(python), "tpchgen-cli");
  const parts = `${folder}.part`;
  await run(generator, ["parquet", "-s", String(SCALE), "--overwrite", "-o", parts]);
  renameSync(parts, folder);
  return folder;
}

/** The queries of TPC-H, each in one line. */
function tpchQueries() {
  const text = readFileSync(join(root, "server/tests/statements/tpch.sql"), "utf8");
  const lines = text.split("\n").filter((line) => !line.startsWith("--"));
  return lines
    .join(" ")
    .replaceAll(":fraction", (0.0001 / SCALE).toFixed(12))
    .split(";")
    .map((query) => query.trim())
    .filter((query) => query !== "");
}

async function measureTpch(folder, python, numRounds) {
  const server = await startServer([folder]);
  const plain = new PlainDataFusion(folder);
  const peers = new Peers(python);
  const queries = [];
  try {
    for (const [index, sql] of tpchQueries().entries()) {
      const peaks = { [OURS]: 0, [PLAIN]: 0 };
      const note = (name, bytes) => {
        peaks[name] = Math.max(peaks[name], bytes);
      };
      const tasks = {
        [OURS]: async () => {
          const answer = await runStatement(server.origin, sql);
          note(OURS, answer.peakBytes);
          return answer;
        },
        [PLAIN]: async () => {
          const answer = await plain.run(sql);
          note(PLAIN, answer.peakBytes);
          return answer;
        },
        [WHEEL]: () => peers.run({ task: "datafusion", folder, sql }),
        [DUCKDB]: () => peers.run({ task: "duckdb", folder, sql }),
      };
      const names = Object.keys(tasks);
      for (const name of names) await tasks[name]();
      const measured = await measureAlternately(
        `TPC-H, query ${index + 1}`,
        names,
        numRounds,
        (name) => tasks[name](),
      );
      queries.push({ ...measured, peaks });
    }
  } finally {
    plain.close();
    await peers.end();
    await server.close();
  }
  return queries;
}

/** DataFusion with its default settings, in a process of its own. */
class PlainDataFusion {
  #child;
  #answers;

  constructor(folder) {
    this.#child = spawn(benchBinary, ["statements", folder], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async run(sql) {
    resetPeak(this.#child.pid);
    const beforeBytes = statusBytes(this.#child.pid, "VmHWM");
    this.#child.stdin.write(`${sql}\n`);
    const { value } = await this.#answers.next();
    const peakBytes = statusBytes(this.#child.pid, "VmHWM") - beforeBytes;
    const ms = Number(value);
    return Number.isNaN(ms) ? { error: value, peakBytes } : { ms, peakBytes };
  }

  close() {
    this.#child.kill();
  }
}

/** Runs a statement and reads all its rows. */
async function runStatement(origin, sql) {
  const startMs = performance.now();
  const id = crypto.randomUUID();
  const response = await fetch(`${origin}/v1/query`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql, id }),
  });
  if (!response.ok) return { error: (await response.json()).code, peakBytes: 0 };
  // If the stream is cut, the record says why.
  await readAll(response).catch(() => {});
  const ms = performance.now() - startMs;
  const { error, usage } = await (await fetch(`${origin}/v1/query/${id}`)).json();
  await fetch(`${origin}/v1/query/${id}`, { method: "DELETE" });
  const peakBytes = usage?.peak_memory_bytes ?? 0;
  return error ? { error: error.code, peakBytes } : { ms, peakBytes };
}

async function readAll(response) {
  const reader = response.body.getReader();
  while (!(await reader.read()).done);
}

async function measurePrice(folder, numRounds) {
  const isolated = await startServer([folder]);
  const inProcess = await startProgram(benchBinary, ["serve", folder]);
  const origins = { [IN_PROCESS]: inProcess.origin, [ISOLATED]: isolated.origin };
  const price = {};
  try {
    for (const [title, sql, factor] of [
      ["the first 10 rows", FIRST, 10],
      ["all rows", WHOLE, 1],
    ]) {
      const names = Object.keys(origins);
      const read = (name) => runStatement(origins[name], sql);
      for (const name of names) await read(name);
      price[title] = await measureAlternately(title, names, numRounds * factor, read);
    }
  } finally {
    await isolated.close();
    await inProcess.close();
  }
  return price;
}

/** Times of small requests, alone and beside the heavy statements, in milliseconds. */
async function measureWaiting(folder) {
  const server = await startServer([folder]);
  const table = async () => {
    const startMs = performance.now();
    await readAll(await fetch(`${server.origin}/v1/tables/orders/rows?limit=100`));
    return performance.now() - startMs;
  };
  const light = async () => (await runStatement(server.origin, "select count(*) from nation")).ms;
  const sample = async () => {
    const times = { table: [], light: [] };
    for (let index = 0; index < NUM_SAMPLES; index++) {
      times.table.push(await table());
      times.light.push(await light());
    }
    return times;
  };
  try {
    await sample();
    say("small requests alone");
    const alone = await sample();
    say("small requests beside heavy statements");
    let isDone = false;
    const errors = [];
    const repeat = async (sql) => {
      while (!isDone) {
        const { error } = await runStatement(server.origin, sql);
        if (error) errors.push(error);
      }
    };
    const heavy = HEAVY.map(repeat);
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const beside = await sample();
    isDone = true;
    await Promise.all(heavy);
    return { alone, beside, errors };
  } finally {
    await server.close();
  }
}

/** The value below which 95 % of the values are. */
function p95(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.95) - 1];
}

const ABOUT = `# SQL statements

A statement runs in a process of its own. The tables are those of TPC-H (scale ${SCALE}) in Parquet. “${PLAIN}” is a default
\`SessionContext\`, compiled with the same settings; it discards the rows. Colonnade sends them over HTTP, and the
benchmark reads them.`;

/** The section of the report. */
export function statementsSection({ tpch, price, waiting }) {
  const names = Object.keys(tpch[0].times);
  const ms = (query, name) => median(query.times[name]);
  const rows = tpch.map((query, index) => [
    String(index + 1),
    ...names.map((name) => (query.errors[name] ? query.errors[name] : formatMs(ms(query, name)))),
    ...[OURS, PLAIN].map((name) => String(Math.round(query.peaks[name] / 1e6))),
  ]);
  const complete = tpch.filter(({ errors }) => Object.keys(errors).length === 0);
  const sum = (name) => complete.reduce((total, query) => total + ms(query, name), 0);
  rows.push(["sum", ...names.map((name) => formatMs(sum(name))), "", ""]);
  const priceRows = Object.entries(price).map(([title, { times }]) => [
    title,
    ...[IN_PROCESS, ISOLATED].map((name) => spread(times[name])),
    fraction(median(times[ISOLATED]) / median(times[IN_PROCESS])),
  ]);
  const waitingRows = [
    ["the first 100 rows of a table", "table"],
    ["a small statement", "light"],
  ].map(([title, key]) => [
    title,
    ...[waiting.alone, waiting.beside].flatMap((times) => [
      formatMs(median(times[key])),
      formatMs(p95(times[key])),
    ]),
  ]);
  const head = ["query", ...names.map((name) => `${name}, ms`), "our peak, MB", "its peak, MB"];
  const failed = waiting.errors.length > 0 ? ` Errors of these: ${waiting.errors.join(", ")}.` : "";
  return [
    ABOUT,
    `## All queries of TPC-H\n\n${markdown(head, rows)}`,
    `## The price of a process\n\nBoth servers run \`${WHOLE}\`, the first one with \`limit 10\`.\n\n${markdown(["", `${IN_PROCESS}, ms`, `${ISOLATED}, ms`, "ratio"], priceRows)}`,
    `## Beside ${HEAVY.length} large statements\n\nThe large statements run again and again.${failed}\n\n${markdown(["", "alone, median ms", "alone, P95", "beside them, median ms", "beside them, P95"], waitingRows)}`,
  ].join("\n\n");
}

/** Rows of the table of targets. */
export function statementTargets({ tpch, price, waiting }) {
  const complete = tpch.filter(({ errors }) => Object.keys(errors).length === 0);
  const sum = (name) => complete.reduce((total, { times }) => total + median(times[name]), 0);
  const of = (title, name) => median(price[title].times[name]);
  const first = of("the first 10 rows", ISOLATED) - of("the first 10 rows", IN_PROCESS);
  const rate = of("all rows", IN_PROCESS) / of("all rows", ISOLATED);
  const ratio = sum(OURS) / sum(PLAIN);
  const row = (what, limit, value, holds, ...results) => [
    what,
    limit,
    value,
    verdict(holds, ...results),
  ];
  const [table, light] = ["table", "light"].map((key) => p95(waiting.beside[key]));
  return [
    row(
      `TPC-H, ${complete.length} queries`,
      "at most 1.25 of plain DataFusion",
      fraction(ratio),
      ratio <= 1.25 && complete.length === tpch.length,
      ...tpch,
    ),
    row(
      "the first 10 rows of a statement, in a process of its own",
      `at most ${MAX_FIRST_MS} ms more than in the server`,
      `${formatMs(first)} ms`,
      first <= MAX_FIRST_MS,
      price["the first 10 rows"],
    ),
    row(
      "all rows of a statement, in a process of its own",
      "at least 0.80 of the rate in the server",
      rate.toFixed(2),
      rate >= 0.8,
      price["all rows"],
    ),
    row(
      "a table's first rows beside large statements, P95",
      `at most ${MAX_TABLE_MS} ms`,
      `${formatMs(table)} ms`,
      table <= MAX_TABLE_MS,
    ),
    row(
      "a small statement beside large ones, P95",
      `at most ${MAX_LIGHT_MS} ms`,
      `${formatMs(light)} ms`,
      light <= MAX_LIGHT_MS,
    ),
  ];
}
