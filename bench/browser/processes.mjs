// This process and its descendants, from Linux's /proc; see proc(5).

import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** The fields of `/proc/PID/stat` from the state on, by pid, of this process and its descendants. */
export function ownProcesses() {
  const all = new Map();
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const stat = readProcess(pid, "stat");
    // The command, in brackets, may contain blanks.
    if (stat !== undefined) all.set(Number(pid), stat.slice(stat.lastIndexOf(")") + 2).split(" "));
  }
  const isOwn = (pid) => {
    let parent = pid;
    while (parent !== undefined && parent !== process.pid) parent = parentOf(all.get(parent));
    return parent === process.pid;
  };
  return new Map([...all].filter(([pid]) => isOwn(pid)));
}

function parentOf(fields) {
  return fields === undefined ? undefined : Number(fields[1]);
}

/** Reads a file of a process; undefined if the process has ended. */
export function readProcess(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return undefined;
  }
}

/** A size in `/proc/PID/status`, in bytes; 0 if it is missing. */
export function statusBytes(pid, name) {
  const line = readProcess(pid, "status")?.match(new RegExp(`^${name}:\\s+(\\d+) kB`, "m"));
  return Number(line?.[1] ?? 0) * 1024;
}

/** Resets the peak memory of a process (`VmHWM`) to its current memory; see `clear_refs` in proc(5). */
export function resetPeak(pid) {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}
