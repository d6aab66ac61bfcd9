// The workloads: a stream, the work on it, and its readers. The first reader is the floor: the least that
// the work can cost.

const IN_MEMORY = [
  "copy",
  "module",
  "open(stream)",
  "open(buffer)",
  "apache-arrow async",
  "apache-arrow sync",
  "flechette",
  "flechette, one buffer",
];

/**
 * With `timesBatches`, each batch is timed too. `kind` is `chunks`, `network` or `kernels` (see
 * `page/tasks.ts`), or `scroll`. A target holds if, of the medians of one measure, `ours / against` is at
 * most `limit`; a target without `against` has a `unit`.
 */
export const WORKLOADS = [
  {
    name: "batches",
    title: "1,000 batches × 1,000 rows × 10 float64, fetched beforehand, in chunks of 64 KiB",
    stream: "floats",
    kind: "chunks",
    touches: true,
    timesBatches: true,
    readers: IN_MEMORY,
    targets: [
      { measure: "warm decode", ours: "module", against: "apache-arrow async", limit: 1 / 10 },
      { measure: "warm decode", ours: "module", against: "flechette", limit: 1 / 3 },
      {
        measure: "memory",
        ours: "module",
        limit: 1.1,
        unit: "of the table's bytes, after subtracting the 32 MiB that the decoder reserves",
      },
    ],
  },
  {
    name: "small batches",
    title:
      "4,096 batches of 16 KiB (128 rows × 16 float64), fetched beforehand, in chunks of 64 KiB",
    stream: "small",
    kind: "chunks",
    touches: false,
    readers: IN_MEMORY,
    targets: [{ measure: "warm decode", ours: "module", limit: 15, unit: "µs a batch" }],
  },
  {
    name: "network",
    title: "The same 1,000 batches over loopback",
    stream: "floats",
    kind: "network",
    touches: false,
    readers: ["copy", "drain", "module", "open(url)", "apache-arrow async", "flechette"],
    targets: [
      { measure: "warm decode", ours: "module", against: "copy", limit: 1.15 },
      { measure: "warm decode", ours: "open(url)", against: "copy", limit: 1.15 },
      { measure: "cold decode", ours: "module", against: "copy", limit: 1.15 },
      { measure: "cold decode", ours: "open(url)", against: "flechette", limit: 1 },
      { measure: "warm decode", ours: "open(url)", against: "flechette", limit: 1 },
    ],
  },
  {
    name: "text",
    title: "500,000 rows × 4 columns of text, fetched beforehand, in chunks of 64 KiB",
    stream: "utf8",
    kind: "chunks",
    touches: true,
    readers: IN_MEMORY,
    targets: [],
  },
  {
    name: "dictionary",
    title: "1,000,000 rows × 4 dictionary columns of 1,000 texts, in chunks of 64 KiB",
    stream: "dictionary",
    kind: "chunks",
    touches: true,
    readers: IN_MEMORY,
    targets: [],
  },
  {
    name: "kernels",
    title: "Sort, filter and summary (with histogram) of 10,000,000 float64",
    stream: "column",
    kind: "kernels",
    readers: ["native", "module"],
    targets: [{ measure: "warm sort", ours: "module", against: "native", limit: 2 }],
  },
  {
    name: "search",
    title: "Find a text in the last of 1,000,000 rows of 80 bytes",
    stream: "text",
    kind: "kernels",
    readers: ["native", "module"],
    targets: [{ measure: "warm find", ours: "module", against: "native", limit: 2 }],
  },
  {
    name: "scroll",
    title: "Frames of the page while it scrolls and the worker computes over 10,000,000 float64",
    stream: "column",
    kind: "scroll",
    readers: [],
    targets: [],
  },
];
