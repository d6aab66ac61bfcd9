// Compares our server with native engines on the same rows: Spark's collect, toPandas and
// createDataFrame, pyarrow, Flight, and writing one Parquet file.

import { say } from "../scripts/run.mjs";
import { fraction, markdown, median, spread } from "./browser/format.mjs";
import { isNoisy, OtherLoad, verdict } from "./browser/machine.mjs";
import { Peers, setUpPeers } from "./python-peers.mjs";
import { startServer } from "./server.mjs";

/** Tasks that take longer than this are measured three times. */
const SLOW_MS = 10_000;
const SLOW_ROUNDS = 3;

const series = (rows) => `(select value as id from generate_series(0, ${rows - 1}))`;
const FRAME_ROWS = 2 ** 25;

/**
 * Each workload's tasks by who runs them; the first is ours. `limit` is the largest allowed ratio of our time to that
 * of the best compared tool.
 */
function workloads({ origin, site, lineitem }) {
  const frame = `select id, id * 0.5 as a, id * 0.25 as b, id * 0.125 as c, id * 2.5 as d from ${series(FRAME_ROWS)}`;
  const collect = (rows) => ({
    title: `${rows / 1e6} million rows of one column, computed and collected`,
    tasks: {
      "Colonnade, read by pyarrow": {
        task: "collect",
        origin,
        sql: `select id from ${series(rows)}`,
      },
      "pyspark, collect()": { task: "spark collect", rows },
      "pyspark, toArrow()": { task: "spark toArrow", rows },
    },
  });
  const parquet = (columns) => ({
    title: `lineitem's first ${columns} columns to one Parquet file (zstd)`,
    tasks: {
      "Colonnade, export": { task: "export", origin, columns },
      "pyarrow, write_table": { task: "pyarrow parquet", columns, path: lineitem.arrows },
      "pyspark, coalesce(1)": { task: "spark parquet", columns, parquet: lineitem.parquet },
    },
  });
  return [
    {
      title: "2^25 rows × 5 columns, computed, to a pandas frame",
      tasks: {
        "Colonnade, read by pyarrow": { task: "frame", origin, sql: frame },
        "pyspark, toPandas()": { task: "spark frame", rows: FRAME_ROWS },
      },
    },
    ...[1e6, 2e6, 4e6].map(collect),
    {
      title: "the first 1,000 of 2^25 rows",
      tasks: {
        "Colonnade, read by pyarrow": {
          task: "collect",
          origin,
          sql: `select id from ${series(FRAME_ROWS)} limit 1000`,
        },
        "pyspark, limit().collect()": { task: "spark limit", rows: FRAME_ROWS, limit: 1000 },
      },
    },
    {
      title: "10 million rows × 10 columns sent to the server",
      tasks: {
        "Colonnade, PUT": { task: "put", origin },
        "Arrow Flight, DoPut (pyarrow)": { task: "flight put" },
        "pyspark, createDataFrame(pandas)": { task: "spark put" },
      },
    },
    {
      title: "lineitem (1 GB) from memory or a file, read by pyarrow",
      tasks: {
        "Colonnade, an Arrow file": { task: "read", url: `${origin}/v1/tables/arrow/rows` },
        "static file (Node)": { task: "read", url: `${site}/files/lineitem.arrows` },
        "pyarrow over HTTP": { task: "http", path: lineitem.arrows },
        "Arrow Flight, DoGet (pyarrow)": { task: "flight", path: lineitem.arrows },
      },
    },
    {
      title: "lineitem (1 GB), read and discarded",
      tasks: {
        "Colonnade, an Arrow file": { task: "drain", url: `${origin}/v1/tables/arrow/rows` },
        "static file (Node)": { task: "drain", url: `${site}/files/lineitem.arrows` },
      },
      limit: 1 / 0.8,
    },
    parquet(16),
    parquet(3),
  ];
}

/** Results of all workloads; undefined if the peers cannot be installed. */
export async function measureEngines({ site, lineitem, numRounds }) {
  const python = await setUpPeers();
  if (python === undefined) return undefined;
  const server = await startServer([
    "--writable",
    `arrow=${lineitem.arrow}`,
    `lineitem=${lineitem.parquet}`,
  ]);
  const peers = new Peers(python);
  const results = [];
  try {
    for (const { title, tasks, limit = 1 } of workloads({
      origin: server.origin,
      site: site.origin,
      lineitem,
    })) {
      const run = (name) => peers.run(tasks[name]);
      results.push({
        title,
        limit,
        ...(await measureAlternately(title, Object.keys(tasks), numRounds, run)),
      });
      await peers.end();
    }
  } finally {
    await peers.end();
    await server.close();
  }
  return results;
}

/** Calls `run` for each name in each round; returns times in milliseconds and errors by name. */
export async function measureAlternately(title, names, numRounds, run) {
  const others = new OtherLoad();
  const times = Object.fromEntries(names.map((name) => [name, []]));
  const errors = {};
  for (let round = 0; round < numRounds; round++) {
    say(`${title}, round ${round + 1} of ${numRounds}`);
    // The order alternates, so that drift affects all.
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const isSlow = times[name].some((ms) => ms > SLOW_MS);
      if (errors[name] || (isSlow && times[name].length >= SLOW_ROUNDS)) continue;
      const { ms, error } = await run(name);
      if (error) errors[name] = error;
      else times[name].push(ms);
    }
  }
  return { times, errors, othersShare: others.share() };
}

/** One table for each workload; the ratio is our time to that of the best compared tool. */
export function enginesSection(results) {
  const sections = results.map((result) => {
    const { title, times, errors } = result;
    const [ours, ...others] = Object.keys(times);
    const best = Math.min(...others.map((name) => median(times[name]) ?? Number.POSITIVE_INFINITY));
    const rows = Object.entries(times).map(([name, ms]) => [
      name === ours ? `**${name}**` : name,
      ms.length === 0 ? (errors[name] ?? "") : spread(ms),
      name === ours && !isNoisy(result) ? fraction(median(ms) / best) : "",
    ]);
    return `## ${title}\n\n${markdown(["", "ms", "ratio to the best compared tool"], rows)}`;
  });
  return ["# Compared with Spark, pyarrow and Flight", ABOUT, ...sections].join("\n\n");
}

/** Rows of the table of targets. */
export function engineTargets(results) {
  return results.flatMap((result) => {
    const { title, limit, times } = result;
    const [ours, ...others] = Object.keys(times);
    const best = Math.min(...others.map((name) => median(times[name]) ?? Number.POSITIVE_INFINITY));
    if (times[ours].length === 0 || !Number.isFinite(best)) return [];
    const ratio = median(times[ours]) / best;
    const is = verdict(ratio <= limit, result);
    return [[title, `at most ${fraction(limit)} of the best compared tool`, fraction(ratio), is]];
  });
}

const ABOUT = `A Python process runs the tasks. It reads from the Colonnade server over HTTP on loopback, and it starts the compared
tools: Spark with two threads, a Flight server and an HTTP server. The two servers use pyarrow and have the table in
memory. Sessions, servers and the data to send are created before the measurement. Rows that a query computes are
computed anew each time. In the last comparison, a browser reads from the Colonnade server, and the server reads from
the same Spark cluster as pyspark.`;
