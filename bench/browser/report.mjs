// The results as a page of Markdown.

/** Above this share of the processors, others decide what is measured. */
const MAX_OTHERS_SHARE = 0.1;

/** The most that the decoder takes from its memory at once: `core/src/wire/slab.rs`. */
const SLAB_BYTES = 32 * 1024 * 1024;

const NAMES = {
  copy: "floor: copied once into wasm memory",
  drain: "floor: drained only",
  module: "**Colonnade**, the worker's decoder alone",
  "open(stream)": "**Colonnade**, `open(ReadableStream)`",
  "open(buffer)": "**Colonnade**, `open(ArrayBuffer)`",
  "open(url)": "**Colonnade**, `open(url)`",
  native: "floor: the same code natively",
  "apache-arrow async": "apache-arrow, `RecordBatchReader.from(stream)`",
  "apache-arrow sync": "apache-arrow, `RecordBatchReader.from(chunks)`",
  flechette: "flechette, with putting its buffer together",
  "flechette, one buffer": "flechette, where the buffer is there",
};

/** The page. */
export function report(workloads, results) {
  const parts = workloads.map((workload) => {
    const result = results.workloads[workload.name];
    return workload.kind === "scroll" ? scrollPart(workload, result) : part(workload, result);
  });
  return `${[head(results), targets(workloads, results), ...parts].join("\n\n")}\n`;
}

function head({ machine, numRounds, loadBefore, loadAfter, workloads }) {
  const shares = Object.values(workloads).map(({ othersShare }) => othersShare ?? 0);
  const worst = Math.max(...shares);
  const lines = [
    "# What reading a table costs in a browser",
    "",
    "Written by `npm run bench`. Every reader works in a worker of its own, in turns with the others:",
    `${numRounds} rounds, in each a new renderer and four tables in one worker. *Cold* is the first`,
    "table, *warm* the median of the next three; what is told is the median of the rounds, in",
    "brackets the least and the most. × is against the floor, the first line.",
    "`open` starts a worker and an instance for the first table, and counts them; the decoder alone has its",
    "instance before.",
    "",
    Object.entries(machine)
      .map(([name, value]) => `${name} ${value}`)
      .join(" · "),
    "",
    `Load average ${loadBefore} before, ${loadAfter} after; other programs took at most ` +
      `${percent(worst)} of the processors.`,
  ];
  if (worst > MAX_OTHERS_SHARE) {
    lines.push("", "**Others took too much of the processors: these numbers compare nothing.**");
  }
  return lines.join("\n");
}

function percent(share) {
  return `${Math.round(share * 100)} %`;
}

/** A row of the table of targets for each. */
function targets(workloads, results) {
  const rows = workloads.flatMap((workload) =>
    workload.targets.map((target) => {
      const { measure, ours, against, limit, unit } = target;
      const is = reached(target, results.workloads[workload.name]);
      const verdict = is <= limit ? "met" : "**missed**";
      const what = unit ?? `of ${against}`;
      return `| ${workload.name}: ${measure}, ${ours} | at most ${fraction(limit)} ${what} | ${fraction(is)} | ${verdict} |`;
    }),
  );
  if (rows.length === 0) return "";
  return ["| target | | is | |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

/** What a target bounds. */
function reached({ measure, ours, against, unit }, result) {
  if (measure === "memory") return (memoryOf(result, ours) - SLAB_BYTES) / result.numBytes;
  const ms = median(measuresOf(result, ours).get(measure));
  if (unit === "µs a batch") return (ms * 1e3) / result.numBatches;
  return ms / median(measuresOf(result, against).get(measure));
}

function fraction(number) {
  return number < 1 ? `1/${(1 / number).toFixed(1)}` : number.toFixed(2);
}

/** Wasm memory never shrinks: what it is after the first table was its peak. */
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

function part(workload, result) {
  const { numBytes, numRows, numBatches, numColumns, othersShare } = result;
  const [floor] = workload.readers;
  const ofFloor = measuresOf(result, floor);
  const columns = [...measuresOf(result, workload.readers[1] ?? floor).keys()];
  const lines = [
    `## ${workload.title}`,
    "",
    `${(numBytes / 1e6).toFixed(1)} MB, ${numRows} rows, ${numBatches} batches, ${numColumns} columns; ` +
      `other programs ${percent(othersShare ?? 0)}.`,
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
  return lines.join("\n");
}

function cell(times, floorTimes) {
  if (times === undefined) return "";
  const ratio =
    floorTimes === undefined ? "" : `, ×${(median(times) / median(floorTimes)).toFixed(2)}`;
  const [least, most] = [Math.min(...times), Math.max(...times)];
  return `${told(median(times))} (${told(least)}–${told(most)})${ratio}`;
}

function told(ms) {
  return ms < 10 ? ms.toFixed(1) : ms.toFixed(0);
}

function scrollPart({ title }, { samples, othersShare }) {
  const lines = [
    `## ${title}`,
    "",
    `Long frames took more than 50 ms. Other programs ${percent(othersShare ?? 0)}.`,
    "",
    "| while | frames | long frames | longest ms | median ms |",
    "| --- | --- | --- | --- | --- |",
  ];
  for (const name of Object.keys(samples[0].frames)) {
    const of = (key) => samples.map(({ frames }) => frames[name][key]);
    const counts = ["count", "long"].map((key) => of(key).reduce((sum, value) => sum + value, 0));
    const times = [Math.max(...of("longestMs")), median(of("medianMs"))].map(told);
    lines.push(`| ${name} | ${[...counts, ...times].join(" | ")} |`);
  }
  return lines.join("\n");
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
