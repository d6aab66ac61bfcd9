// The results of whole tables as Markdown and plots.

import { formatMs, fraction, markdown, median, percent, spread } from "./format.mjs";
import { isNoisy, verdict } from "./machine.mjs";
import { bars, lines } from "./plot.mjs";

export const TABLE_NAMES = {
  copy: "shortest possible time: fetched, copied once into wasm memory",
  viewer: "**Colonnade**, `<colonnade-viewer>`",
  "open(url)": "**Colonnade**, `open(url)`",
  "apache-arrow": "apache-arrow JS",
  flechette: "flechette",
  "duckdb-wasm": "DuckDB-Wasm",
  perspective: "Perspective (64-bit)",
  "parquet-wasm": "parquet-wasm with apache-arrow JS",
};
const OURS = ["viewer", "open(url)"];
/** The names of readers in the table of targets. */
export const TARGET_NAMES = {
  copy: "the shortest possible time",
  viewer: "`<colonnade-viewer>`",
  "open(url)": "`open(url)`",
  module: "the worker's decoder alone",
  native: "the native program",
  "apache-arrow": "apache-arrow JS",
  "apache-arrow async": "apache-arrow, `RecordBatchReader.from(stream)`",
  "duckdb-wasm": "DuckDB-Wasm",
};
const MARKS = ["first", "painted", "last", "every value"];
const HEADS = ["first row readable", "first row painted", "last row readable", "every value read"];
const RATIO_HEADS = ["ratio to the shortest possible time", "ratio to the best compared tool"];

/** Targets: of the medians of one table, `ours / against` of a mark is at most `limit`. */
export const TABLE_TARGETS = [
  ...["frame", "lineitem", "wide", "tall"].map((table) => ({
    table,
    mark: "last",
    ours: "open(url)",
    against: "copy",
    limit: 1.15,
  })),
  ...OURS.flatMap((ours) => [
    { table: "lineitem", mark: "painted", ours, against: "duckdb-wasm", limit: 1 / 30 },
    { table: "lineitem", mark: "painted", ours, against: "apache-arrow", limit: 1 },
  ]),
  {
    table: "lineitem",
    mark: "every value",
    ours: "open(url)",
    against: "apache-arrow",
    limit: 1 / 4,
  },
  { table: "lineitem", mark: "every value", ours: "open(url)", against: "flechette", limit: 1 / 4 },
  { table: "lineitem", mark: "memory", ours: "viewer", limit: 1.3 },
  { table: "frame", mark: "last", ours: "open(url)", against: "apache-arrow", limit: 1 },
  ...["256 KiB", "1 MiB", "16 MiB"].map((chunk) => ({
    table: `sweep ${chunk}`,
    mark: "last",
    ours: "open(url)",
    against: "open(url)",
    of: "sweep 64 KiB",
    limit: 1.2,
  })),
];

/** Milliseconds of a mark in every round; for `memory`, its ratio to the table's bytes. */
export function marksOf(result, reader, mark) {
  const samples = result.samples.filter((sample) => sample.reader === reader && !sample.error);
  if (mark === "memory") return samples.map(({ peakBytes }) => peakBytes / result.numBytes);
  return samples.map(({ ms }) => ms[mark]).filter((ms) => ms !== undefined);
}

/** Rows of the table of targets, for the tables that were measured. */
export function tableTargets(results) {
  return TABLE_TARGETS.flatMap(({ table, mark, ours, against, of = table, limit }) => {
    const [mine, other] = [results[table], results[of]];
    if (mine === undefined || other === undefined) return [];
    const is = marksOf(mine, ours, mark);
    const base = mark === "memory" ? [1] : marksOf(other, against, mark);
    if (is.length === 0 || base.length === 0) return [];
    const ratio = median(is) / median(base);
    const what = mark === "memory" ? "the table's bytes" : of === table ? nameOf(against) : of;
    return [
      [
        `${table}: ${HEADS[MARKS.indexOf(mark)] ?? mark}, ${nameOf(ours)}`,
        `at most ${fraction(limit)} of ${what}`,
        fraction(ratio),
        verdict(ratio <= limit, ...(mark === "memory" ? [] : [mine, other])),
      ],
    ];
  });
}

function nameOf(reader) {
  return TARGET_NAMES[reader] ?? reader;
}

export const NOT_COMPARED =
  "**Other programs used more than 10 % of the processors, so these times are not compared.**";

/** The section of a table: one line for each reader. */
export function tableSection({ name, title, readers, touches, works }, result) {
  const { numBytes, samples, othersShare = 0 } = result;
  const isQuiet = !isNoisy(result);
  const isSmall = numBytes < 1e6;
  const marks = touches ? MARKS : MARKS.slice(0, 3);
  const floor = marksOf(result, "copy", "last");
  const best = Math.min(
    ...readers
      .filter((reader) => TABLE_NAMES[reader] && reader !== "copy" && !OURS.includes(reader))
      .map((reader) => marksOf(result, reader, "last"))
      .filter((times) => times.length > 0)
      .map(median),
  );
  const sizeHeads = isSmall ? ["memory", "code, gzip"] : ["memory / bytes"];
  const rows = readers.map((reader) => {
    const failed = samples.find((sample) => sample.reader === reader && sample.error);
    const label = TABLE_NAMES[reader] ?? reader;
    if (failed)
      return [label, ...marks.map(() => ""), "", "", ...sizeHeads.map(() => ""), failed.error];
    const cells = marks.map((mark) => {
      const times = marksOf(result, reader, mark);
      return times.length === 0 ? "" : spread(times);
    });
    const last = median(marksOf(result, reader, "last"));
    const ratios = [
      floor.length > 0 ? `×${(last / median(floor)).toFixed(2)}` : "",
      OURS.includes(reader) && Number.isFinite(best) ? fraction(last / best) : "",
    ];
    const memory = median(marksOf(result, reader, "memory"));
    const codeBytes = median(
      samples.flatMap((each) => (each.reader === reader ? [each.codeBytes] : [])),
    );
    const taken = isSmall ? `${formatMs((memory * numBytes) / 1e6)} MB` : memory.toFixed(2);
    const sizes = isSmall ? [taken, `${formatMs(codeBytes / 1e3)} KB`] : [taken];
    return [label, ...cells, ...(isQuiet ? ratios : ["", ""]), ...sizes, note(samples, reader)];
  });
  const head = ["ms", ...HEADS.slice(0, marks.length), ...RATIO_HEADS, ...sizeHeads, ""];
  const lines = [
    `## ${title} (${name})`,
    "",
    `${(numBytes / 1e6).toFixed(1)} MB; other programs used ${percent(othersShare)} of the processors.`,
    ...(isQuiet ? [] : ["", NOT_COMPARED]),
    "",
    markdown(head, rows),
  ];
  if (works) lines.push("", worksSection(readers, samples));
  return lines.join("\n");
}

/** Notes on wrong texts and on long tasks of the page. */
function note(samples, reader) {
  const mine = samples.filter((sample) => sample.reader === reader);
  const notes = [];
  const wrong = mine.find((sample) => sample.wrong)?.wrong;
  if (wrong)
    notes.push(`**wrong**: \`${wrong.column}\` shows ${wrong.is} instead of ${wrong.text}`);
  const longMs = mine.map(({ longTasksMs = [] }) => longTasksMs.reduce((sum, ms) => sum + ms, 0));
  const longest = Math.max(...mine.flatMap(({ longTasksMs = [] }) => longTasksMs), 0);
  if (longest > 0) {
    notes.push(
      `page blocked for ${formatMs(median(longMs))} ms, longest task ${formatMs(longest)} ms`,
    );
  }
  return notes.join("; ");
}

const WORKS = {
  sort: "sort by price",
  sortAll: "all rows by price",
  filter: "filter by quantity",
  group: "rows by ship mode",
  search: "search in comments",
};

/** Times of work over all rows, until its first rows can be read. */
function worksSection(readers, samples) {
  const rows = readers.flatMap((reader) => {
    const mine = samples.filter(({ reader: who, works }) => who === reader && works?.sort);
    if (mine.length === 0) return [];
    const cells = Object.keys(WORKS).map((work) => {
      const times = mine.flatMap(({ works }) => works[work] ?? []);
      return times.length === 0 ? "" : spread(times);
    });
    return [[TABLE_NAMES[reader] ?? reader, ...cells]];
  });
  return markdown(["ms", ...Object.values(WORKS)], rows);
}

/** Plots by file name, for the tables that were measured. */
export function plots(results) {
  const files = {};
  const sweep = Object.keys(results).filter((name) => name.startsWith("sweep "));
  if (sweep.length > 1) {
    const readers = ["copy", "open(url)", "apache-arrow", "flechette"];
    const series = readers.map((reader) => ({
      label: plain(reader),
      isOurs: OURS.includes(reader),
      values: sweep.map((name) => {
        const times = marksOf(results[name], reader, "last");
        return times.length === 0 ? undefined : results[name].numBytes / median(times) / 1e3;
      }),
    }));
    const steps = sweep.map((name) => name.replace("sweep ", ""));
    files["sweep.svg"] = lines("1 GiB of float64, by batch size", "MB/s", steps, series);
  }
  const { lineitem } = results;
  for (const [mark, title] of [
    ["painted", "lineitem (1 GB): first row painted"],
    ["every value", "lineitem (1 GB): every value read"],
  ]) {
    if (lineitem === undefined) continue;
    const items = Object.keys(TABLE_NAMES)
      .filter((reader) => marksOf(lineitem, reader, mark).length > 0)
      .map((reader) => {
        const value = median(marksOf(lineitem, reader, mark));
        const text = value < 1000 ? `${formatMs(value)} ms` : `${(value / 1000).toFixed(1)} s`;
        return { label: plain(reader), value, text, isOurs: OURS.includes(reader) };
      })
      .sort((a, b) => a.value - b.value);
    if (items.length > 1)
      files[`lineitem-${mark.replace(" ", "-")}.svg`] = bars(title, "ms", items);
  }
  return files;
}

function plain(reader) {
  return TABLE_NAMES[reader]
    .replaceAll(/[*`]|shortest possible time: /g, "")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
