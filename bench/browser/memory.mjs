// The memory of all processes of a browser.

import { ownProcesses, readProcess, statusBytes } from "./processes.mjs";

const INTERVAL_MS = 50;
/** The names of the browsers' processes: Chromium's, WebKitGTK's and Firefox's. */
const BROWSERS =
  /chrom|^(webkit[nw]|minibrowser|firefox|(isolated|privileged|web|rdd|socket|utility) |webext)/i;

/** The anonymous memory of this process's browsers in bytes. */
function browserBytes() {
  if (process.platform !== "linux") return 0;
  let total = 0;
  for (const pid of ownProcesses().keys()) {
    if (BROWSERS.test(readProcess(pid, "comm") ?? "")) total += statusBytes(pid, "RssAnon");
  }
  return total;
}

/** Measures the peak of the browsers' memory beyond what they use at the start. */
export class Peak {
  #before = browserBytes();
  #peak = this.#before;
  #timer = setInterval(() => this.#sample(), INTERVAL_MS);

  #sample() {
    this.#peak = Math.max(this.#peak, browserBytes());
  }

  /** Ends the measurement; returns the peak in bytes. */
  end() {
    clearInterval(this.#timer);
    this.#sample();
    return this.#peak - this.#before;
  }
}
