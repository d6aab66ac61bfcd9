// Memory of all of a browser's processes.

import { readdirSync, readFileSync } from "node:fs";

const INTERVAL_MS = 50;

/** Bytes that this process's browsers alone have: what is shared with others is left out. */
function browserBytes() {
  if (process.platform !== "linux") return 0;
  const parents = new Map();
  const bytes = new Map();
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    let status;
    try {
      status = readFileSync(`/proc/${pid}/status`, "utf8");
    } catch {
      continue; // It has ended since.
    }
    const field = (name) => status.match(new RegExp(`^${name}:\\s+(\\S+)`, "m"))?.[1];
    parents.set(Number(pid), Number(field("PPid")));
    if (/chrom/i.test(field("Name") ?? "")) {
      bytes.set(Number(pid), Number(field("RssAnon") ?? 0) * 1024);
    }
  }
  let total = 0;
  for (const [pid, own] of bytes) {
    let parent = pid;
    while (parent !== undefined && parent !== process.pid) parent = parents.get(parent);
    if (parent === process.pid) total += own;
  }
  return total;
}

/** The most memory that browsers take from here on, beyond what they take now. */
export class Peak {
  #before = browserBytes();
  #peak = this.#before;
  #timer = setInterval(() => this.#look(), INTERVAL_MS);

  #look() {
    this.#peak = Math.max(this.#peak, browserBytes());
  }

  /** Bytes so far; nothing is looked at afterwards. */
  end() {
    clearInterval(this.#timer);
    this.#look();
    return this.#peak - this.#before;
  }
}
