import { expect, test } from "vitest";
import { binsOf } from "../src/charts/bins.js";
import { boundText, isBeyondType } from "../src/charts/bounds.js";
import type { ChartData } from "../src/charts/chart-loader.js";
import { type Brush, brushPredicate, type ChartSpec } from "../src/charts/chart-spec.js";
import { brushOf, markedBy } from "../src/charts/drawing.js";
import { binLabel } from "../src/charts/labels.js";

const field = (type: string) => ({ name: "a", type });

test("a bound of floats is rounded up to the next float", () => {
  const next = (value: number) => {
    const bits = new DataView(new ArrayBuffer(4));
    bits.setFloat32(0, value);
    bits.setInt32(0, bits.getInt32(0) + (value > 0 ? 1 : -1));
    return bits.getFloat32(0);
  };
  let seed = 1;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  for (let round = 0; round < 2000; round++) {
    const bound = (random() - 0.5) * 10 ** Math.floor(random() * 80 - 44) || 0.7;
    const near = Math.fround(bound);
    const least = near >= bound ? near : near === 0 ? 2 ** -149 : next(near);
    expect(Number(boundText(field("float"), bound)) + 0, String(bound)).toBe(least + 0);
  }
});

test.each([
  ["float", 0.7, "0.7000000476837158"],
  ["dictionary<values=float, indices=int8, ordered=0>", 0.7, "0.7000000476837158"],
  ["float", -0.7, "-0.699999988079071"],
  ["float", 0.5, "0.5"],
  ["float", 4e38, "Infinity"],
  ["float", -4e38, "-3.4028234663852886e+38"],
  ["halffloat", 0.7, "0.7001953125"],
  ["halffloat", -0.7, "-0.69970703125"],
  ["halffloat", 1e-8, "5.960464477539063e-8"],
  ["halffloat", 65_505, "Infinity"],
  ["halffloat", -70_000, "-65504"],
  ["double", 0.7, "0.7"],
  ["decimal128(4, 2)", 0.7, "0.7"],
])("a bound of %s: %d is %s", (type, bound, text) => {
  expect(boundText(field(type), bound)).toBe(text);
});

test.each(["float", "halffloat", "double"])("a brush over %s marks only its bins", (type) => {
  const bins = binsOf(field(type), { low: "0", high: "1" }, 10);
  const data = { bins } as ChartData;
  const brush = brushOf(data, [6, 7], undefined);
  expect([...(markedBy(data, brush)?.positions ?? [])]).toEqual([6, 7]);
  expect(binLabel(bins, 6)).toBe("0.6 to 0.7");
});

test.each<[string, [string, string], object[]]>([
  ["uint8", ["250", "260"], [{ op: "ge", column: "a", value: "250" }]],
  ["int8", ["-130", "-120"], [{ op: "lt", column: "a", value: "-120" }]],
  ["int8", ["-130", "130"], [{ op: "not_null", column: "a" }]],
  [
    "int64",
    ["9223372036854775800", "9223372036854775810"],
    [{ op: "ge", column: "a", value: "9223372036854775800" }],
  ],
  [
    "timestamp[ns]",
    ["1600-01-01T00:00:00", "1700-01-01T00:00:00"],
    [{ op: "lt", column: "a", value: "1700-01-01T00:00:00" }],
  ],
])("a brush over %s omits bounds outside the type's range", (type, x, and) => {
  const spec: ChartSpec = { kind: "histogram", x: "a", aggregate: "count", brush: { x } as Brush };
  expect(brushPredicate(spec, [field(type)])).toEqual({ and });
});

test("bounds within a type's range are kept", () => {
  for (const [type, least, greatest] of [
    ["uint8", "0", "255"],
    ["int16", "-32768", "32767"],
    ["uint64", "0", "18446744073709551615"],
    ["timestamp[ns, tz=UTC]", "1678-01-01T00:00:00Z", "2262-01-01T00:00:00Z"],
    ["timestamp[us]", "1600-01-01T00:00:00", "2300-01-01T00:00:00"],
    ["float", "-1e300", "1e300"],
  ] as const) {
    expect([least, greatest].map((text) => isBeyondType(field(type), text))).toEqual([
      false,
      false,
    ]);
  }
});
