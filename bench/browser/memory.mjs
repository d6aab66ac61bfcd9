// Memory of all of a browser's processes.

import { ownProcesses, readProcess, statusBytes } from "./processes.mjs";

const INTERVAL_MS = 50;

/** Bytes that this process's browsers alone have: what is shared with others is left out. */
function browserBytes() {
  if (process.platform !== "linux") return 0;
  let total = 0;
  for (const pid of ownProcesses().keys()) {
    if (/chrom/i.test(readProcess(pid, "comm") ?? "")) total += statusBytes(pid, "RssAnon");
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
