// What is measured: each workload is a stream, what is done with it, and by whom. The first reader is
// the floor: what the work costs at least.

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
 * With `timesBatches` the time of each batch is taken, too. `kind` is `chunks`, `network`, `kernels` or `scroll` (see `page/tasks.ts`). `targets` say what
 * should hold, of medians: `ours / against` of one measure at most `limit`; a
 * target without `against` says its `unit`.
 */
export const WORKLOADS = [
  {
    name: "batches",
    title: "1,000 batches × 1,000 rows × 10 float64, fetched before, in chunks of 64 KiB",
    stream: "floats",
    kind: "chunks",
    touches: true,
    timesBatches: true,
    readers: IN_MEMORY,
    targets: [
      { measure: "warm decode", ours: "module", against: "apache-arrow async", limit: 1 / 10 },
      { measure: "warm decode", ours: "module", against: "flechette", limit: 1 / 3 },
      { measure: "memory", ours: "module", limit: 1.1, unit: "of the bytes, and a slab" },
    ],
  },
  {
    name: "small batches",
    title: "4,096 batches of 16 KiB (128 rows × 16 float64), fetched before, in chunks of 64 KiB",
    stream: "small",
    kind: "chunks",
    touches: false,
    readers: IN_MEMORY,
    targets: [{ measure: "warm decode", ours: "module", limit: 15, unit: "µs a batch" }],
  },
  {
    name: "network",
    title: "The 1,000 batches from loopback",
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
    title: "500,000 rows × 4 columns of text, fetched before, in chunks of 64 KiB",
    stream: "utf8",
    kind: "chunks",
    touches: true,
    readers: IN_MEMORY,
    targets: [],
  },
  {
    name: "dictionary",
    title: "1,000,000 rows × 4 columns of 1,000 texts by dictionary, in chunks of 64 KiB",
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
    title: "A text that stands in the last of 1,000,000 rows of 80 bytes",
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
