/** Throws if readers have different checksums. `sums` are pairs of a reader and its checksum. */
export function checkSums(name, sums) {
  const readers = new Map();
  for (const [reader, sum] of sums) {
    if (sum !== undefined && sum !== null) readers.set(sum, reader);
  }
  if (readers.size <= 1) return;
  const list = [...readers].map(([sum, reader]) => `${reader}: ${sum}`);
  throw new Error(`${name}: the readers do not agree: ${list.join("; ")}`);
}
