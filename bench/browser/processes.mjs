// The processes that a run is made of, as Linux tells them; see proc(5).

import { readdirSync, readFileSync } from "node:fs";

/** Of this process and its descendants what `/proc/PID/stat` has from the state on, by pid. */
export function ownProcesses() {
  const all = new Map();
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const stat = readProcess(pid, "stat");
    // The command, in brackets, may hold blanks.
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

/** A file of a process; undefined where that has ended since. */
export function readProcess(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return undefined;
  }
}

/** Bytes of a line of `/proc/PID/status`; 0 where there is none. */
export function statusBytes(pid, name) {
  const line = readProcess(pid, "status")?.match(new RegExp(`^${name}:\\s+(\\d+) kB`, "m"));
  return Number(line?.[1] ?? 0) * 1024;
}
