import { RecordBatchStreamWriter, Table, TimestampSecond, vectorFromArray } from "apache-arrow";
import { expect, test } from "vitest";
import { readHere } from "./sources.js";

test("an offset that changes within a quarter of an hour, whichever cell is read first", async () => {
  const second = Date.parse("1972-01-07T00:44:30Z") / 1000;
  const before = "1972-01-06 23:59:59-004430";
  const after = "1972-01-07 00:44:30Z";
  for (const [order, texts] of [
    [
      [second - 1, second],
      [before, after],
    ],
    [
      [second, second - 1],
      [after, before],
    ],
  ] as const) {
    const at = vectorFromArray(
      order.map((second) => second * 1000),
      new TimestampSecond("Africa/Monrovia"),
    );
    const stream = RecordBatchStreamWriter.writeAll(new Table({ at })).toUint8Array(true);
    const table = await readHere(stream);
    expect((await table.text({ start: 0, end: 2 })).flat()).toEqual(texts);
  }
});
