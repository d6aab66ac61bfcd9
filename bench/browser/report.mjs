// The results as a page of Markdown.

import { browsersSection, browserTargets } from "../browsers.mjs";
import { enginesSection, engineTargets } from "../engines.mjs";
import { readersSection, readerTargets } from "../readers.mjs";
import { statementsSection, statementTargets } from "../statements.mjs";
import { formatMs, fraction, markdown, median, percent, spread } from "./format.mjs";
import { isNoisy, verdict } from "./machine.mjs";
import { NOT_COMPARED, plots, TARGET_NAMES, tableSection, tableTargets } from "./table-report.mjs";

/** The decoder's largest slab that batches share: `MAX_SHARED_BYTES` in `core/src/wire/slab/mod.rs`. */
const SLAB_BYTES = 32 * 1024 * 1024;

const NAMES = {
  copy: "shortest possible time: copied once into wasm memory",
  drain: "read and discarded",
  module: "**Colonnade**, the worker's decoder alone",
  "open(stream)": "**Colonnade**, `open(ReadableStream)`",
  "open(buffer)": "**Colonnade**, `open(ArrayBuffer)`",
  "open(url)": "**Colonnade**, `open(url)`",
  native: "the same code as a native program",
  "apache-arrow async": "apache-arrow, `RecordBatchReader.from(stream)`",
  "apache-arrow sync": "apache-arrow, `RecordBatchReader.from(chunks)`",
  flechette: "flechette, including the assembly of one buffer",
  "flechette, one buffer": "flechette, given one buffer",
};

/** The report as Markdown, and its plots as SVG by file name. */
export function report({ workloads, tables }, results) {
  const workloadSections = workloads.map((workload) => {
    const result = results.workloads[workload.name];
    return workload.kind === "scroll"
      ? scrollSection(workload, result)
      : workloadSection(workload, result);
  });
  const whole = tables.map((table) => tableSection(table, results.tables[table.name]));
  const files = plots(results.tables);
  const pictures = Object.keys(files).map(
    (name) => `![${name.replace(".svg", "")}](plots/${name})`,
  );
  const engines = enginesOf(results);
  const sections = [
    head(results),
    targets(workloads, results),
    ...pictures,
    ...(whole.length > 0 ? [WHOLE, ...whole] : []),
    ...(results.browsers ? [browsersSection(results.browsers)] : []),
    ...(results.readers ? [readersSection(results.readers)] : []),
    ...(engines.length > 0 ? [enginesSection(engines)] : []),
    ...(results.statements ? [statementsSection(results.statements)] : []),
    ...(results.stream ? [`${STREAM}\n\n${results.stream.trim()}`] : []),
    ...(workloadSections.length > 0 ? [inWorker(results), ...workloadSections] : []),
  ];
  return { text: `${sections.join("\n\n")}\n`, files };
}

/** The results of all comparisons with engines, Spark's cluster last. */
function enginesOf({ engines = [], spark }) {
  return spark === undefined ? engines : [...engines, spark];
}

const STREAM = `# The ordered stream and the Parquet file

No socket is involved in these measurements. The server's *stitcher* puts the rows of partitions in order. The first
table shows how fast lineitem passes through the stitcher, by codec and number of threads. The second table shows the
time to the first batch of each demo table. Both run inside one process. The third table shows the time to write
lineitem to one Parquet file (zstd, level 1), compared with DataFusion's parallel writer. A new process writes each
file.`;

const WHOLE = `# Whole tables

Every reader fetches the same bytes from the same address, in an empty page of a new browser context. Times start
when the page is still empty, so they include loading the reader's own code. If a reader does not start a worker of
its own, it runs in a new one.

- *First row painted*: the frame that shows the first 20 rows. \`<colonnade-viewer>\` shows them in its grid; all other
  readers show them in a plain HTML table.
- *Every value read*: the end of a loop over all values, which sums the numbers and a checksum of each text.
  DuckDB-Wasm runs one SQL query instead. All readers must get the same sum.
- *Ratio to the shortest possible time* and *ratio to the best compared tool*: both compare the time of the last row.
- *Memory*: the peak of all browser processes, without the memory of the empty page. *Memory / bytes* divides the peak
  by the size of the table.
- *Code*: the size of the fetched code, which includes some KB of the benchmark itself.
- *Page blocked*: the total of all tasks of the page that took more than 50 ms (median of the rounds). *Longest task*
  is the longest one of any round.

**Wrong** means that a text in the first or last rows differs from pyarrow's. This check covers lineitem only.
DuckDB-Wasm and Perspective do more than read: they build tables that can be queried.`;

function inWorker({ numFewer }) {
  return `# Reading alone

Each reader runs in a worker, without a grid. The readers take turns for ${numFewer} rounds. In each round a reader
gets a new renderer process of the browser and a new worker, which reads the same table four times.

- *Cold* is the first of the four times, and *warm* is the median of the other three.
- *Decode* is the time until the table can be read. *Touch* is the time to read every value after that. *Both* is the
  total time.
- × is the ratio to the first line. The first line is the shortest possible time, or the same code as a native program.
- The cold times of \`open\` include the start of a worker and of a wasm instance. The decoder alone gets its instance
  before the measurement.`;
}

function head({ sessions, numRounds, workloads, tables }) {
  const shares = [...Object.values(workloads), ...Object.values(tables)].map(
    ({ othersShare }) => othersShare ?? 0,
  );
  return `# What reading a table costs

\`npm run bench\` writes this file. It compares Colonnade with other tools that read the same bytes, and with the
*shortest possible time*: the bytes are fetched and copied once into wasm memory, and not decoded.
[What limits the speed](../docs/performance.md) explains the results.

- Each line of a table is a *reader*: a tool, or a way to use Colonnade. The readers take turns for ${numRounds} rounds.
  A reader that takes more than ten seconds runs in three rounds only.
- Times are medians of the rounds, with the minimum and maximum in brackets.
- A ratio compares two medians. A ratio below 1 is written as a fraction: 1/4.0 is a quarter of the time.
- In “Whole tables” and “Reading alone”, each heading ends with the name of the measurement in brackets. The table of
  targets and \`npm run bench -- --only NAME\` use these names.
- lineitem is a table of the [TPC-H](https://www.tpc.org/tpch/) benchmark. At scale 1 it has 6,001,215 rows.
- Compare only results of the same session.

${sessions.map((session) => sessionSection(session, sessions.length > 1)).join("\n\n")}

Other programs used at most ${percent(Math.max(0, ...shares))} of the processors during any measurement.`;
}

/** The date and machine of a session; with several sessions, also what each one measured. */
function sessionSection({ date, machine, loadBefore, loadAfter, measured }, isOneOfSeveral) {
  const facts = Object.entries(machine).map(([name, value]) => `${name} ${value}`);
  const of = isOneOfSeveral ? ` (${measured.join(", ")})` : "";
  return `${date}${of}: ${facts.join(" · ")} · load average ${loadBefore} before, ${loadAfter} after`;
}

/** The table of all targets. */
function targets(workloads, measured) {
  const { workloads: results, tables, readers } = measured;
  const rows = workloads.flatMap((workload) =>
    workload.targets.map((target) => {
      const { measure, ours, against, limit, unit } = target;
      const is = reached(target, results[workload.name]);
      return [
        `${workload.name}: ${measure}, ${TARGET_NAMES[ours] ?? ours}`,
        `at most ${fraction(limit)} ${unit ?? `of ${TARGET_NAMES[against] ?? against}`}`,
        fraction(is),
        verdict(is <= limit, ...(measure === "memory" ? [] : [results[workload.name]])),
      ];
    }),
  );
  const all = [
    ...tableTargets(tables),
    ...(measured.browsers ? browserTargets(measured.browsers) : []),
    ...(readers ? readerTargets(readers) : []),
    ...engineTargets(enginesOf(measured)),
    ...(measured.statements ? statementTargets(measured.statements) : []),
    ...rows,
  ];
  return all.length === 0 ? "" : markdown(["target", "limit", "measured", ""], all);
}

/** The measured value of a target, to compare with its `limit`. */
function reached({ measure, ours, against, unit }, result) {
  if (measure === "memory") return (memoryOf(result, ours) - SLAB_BYTES) / result.numBytes;
  const ms = median(measuresOf(result, ours).get(measure));
  if (unit === "µs a batch") return (ms * 1e3) / result.numBatches;
  return ms / median(measuresOf(result, against).get(measure));
}

/** Wasm memory never shrinks, so its size after the first table is the peak. */
function memoryOf({ samples }, reader) {
  return samples.find((sample) => sample.reader === reader)?.runs[0]?.memoryBytes ?? undefined;
}

/** Milliseconds of every round by measure: `cold decode`, `warm decode`, … */
function measuresOf({ samples }, reader) {
  const measures = new Map();
  const add = (name, ms) => measures.set(name, [...(measures.get(name) ?? []), ms]);
  for (const { runs } of samples.filter((sample) => sample.reader === reader)) {
    const [cold, ...warm] = runs;
    for (const name of Object.keys(cold.ms)) {
      add(`cold ${name}`, cold.ms[name]);
      if (warm.length > 0) add(`warm ${name}`, median(warm.map(({ ms }) => ms[name])));
    }
  }
  return measures;
}

function workloadSection(workload, result) {
  const { numBytes, numRows, numBatches, numColumns, othersShare } = result;
  const [floor] = workload.readers;
  const ofFloor = isNoisy(result) ? new Map() : measuresOf(result, floor);
  const columns = [...measuresOf(result, workload.readers[1] ?? floor).keys()];
  const lines = [
    `## ${workload.title} (${workload.name})`,
    "",
    `${(numBytes / 1e6).toFixed(1)} MB, ${numRows} rows, ${numBatches} batches, ${numColumns} columns; ` +
      `other programs used ${percent(othersShare ?? 0)} of the processors.`,
    ...(isNoisy(result) ? ["", NOT_COMPARED] : []),
    "",
    `| ms | ${columns.join(" | ")} | wasm memory / bytes |`,
    `| --- |${" --- |".repeat(columns.length + 1)}`,
  ];
  for (const reader of workload.readers) {
    const measures = measuresOf(result, reader);
    const cells = columns.map((name) => cell(measures.get(name), ofFloor.get(name)));
    const memoryBytes = memoryOf(result, reader);
    cells.push(memoryBytes === undefined ? "" : (memoryBytes / numBytes).toFixed(2));
    lines.push(`| ${NAMES[reader] ?? reader} | ${cells.join(" | ")} |`);
  }
  if (workload.timesBatches) lines.push("", batchesSection(result.batches));
  return lines.join("\n");
}

/** The time of each batch in all warm runs; medians of the rounds. */
function batchesSection(batches) {
  const readers = [...new Set(batches.map(({ reader }) => reader))];
  const of = (who, key) =>
    median(batches.flatMap(({ reader, us }) => (reader === who ? us[key] : [])));
  const keys = ["mean", "p95", "p99", "deviation"];
  const rows = readers.map((reader) => [
    NAMES[reader],
    ...keys.map((key) => formatMs(of(reader, key))),
  ]);
  return markdown(["µs a batch", "mean", "P95", "P99", "standard deviation"], rows);
}

function cell(times, floorTimes) {
  if (times === undefined) return "";
  const ratio =
    floorTimes === undefined ? "" : `, ×${(median(times) / median(floorTimes)).toFixed(2)}`;
  return `${spread(times)}${ratio}`;
}

function scrollSection({ name, title }, { samples, othersShare }) {
  const lines = [
    `## ${title} (${name})`,
    "",
    `Long frames are those that took more than 50 ms. Other programs used ${percent(othersShare ?? 0)} of the processors.`,
    "",
    "| while | frames | long frames | longest ms | median ms |",
    "| --- | --- | --- | --- | --- |",
  ];
  for (const work of Object.keys(samples[0].frames)) {
    const of = (key) => samples.map(({ frames }) => frames[work][key]);
    const counts = ["count", "long"].map((key) => of(key).reduce((sum, value) => sum + value, 0));
    const times = [Math.max(...of("longestMs")), median(of("medianMs"))].map(formatMs);
    lines.push(`| ${work} | ${[...counts, ...times].join(" | ")} |`);
  }
  return lines.join("\n");
}
