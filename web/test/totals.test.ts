import { expect, test } from "vitest";
import { groupDigits } from "../src/model/counts.js";
import { TotalsCounter } from "../src/viewer/totals.js";

const all = (length: number) => new Uint8Array(length).fill(1);

test("64-bit integers are summed exactly", () => {
  const counter = new TotalsCounter();
  const values = BigInt64Array.of(9223372036854775807n, 9223372036854775807n, -1n, 5n);
  counter.add({ values, validity: Uint8Array.of(1, 1, 1, 0) });
  expect(counter.totals).toEqual({
    count: 3,
    sum: "18446744073709551613",
    isSumRounded: false,
    mean: "6148914691236517204.333333",
    isMeanRounded: true,
    min: "-1",
    max: "9223372036854775807",
  });
});

test("decimals keep any scale", () => {
  const counter = new TotalsCounter();
  counter.add({ values: ["0.10", "-2.25"], validity: all(2) });
  counter.add({ values: ["1.5E+3", "0.001"], validity: all(2) });
  expect(counter.totals).toMatchObject({ count: 4, sum: "1497.851", min: "-2.25", max: "1500" });
  expect(counter.totals).toMatchObject({ mean: "374.46275", isMeanRounded: false });
});

test("sums of floats are marked as rounded; NaN is not counted", () => {
  const counter = new TotalsCounter();
  const values = Float64Array.of(1e16, 1, -1e16, Number.NaN);
  counter.add({ values, validity: all(4) });
  expect(counter.totals).toMatchObject({ count: 3, sum: "1", isSumRounded: true });
  counter.add({ values: Int32Array.of(-7), validity: all(1) });
  expect(counter.totals).toMatchObject({
    sum: "-6",
    min: "-10000000000000000",
    max: "10000000000000000",
  });
});

test("infinities are kept", () => {
  const counter = new TotalsCounter();
  counter.add({ values: Float64Array.of(Number.POSITIVE_INFINITY, 1), validity: all(2) });
  expect(counter.totals).toMatchObject({ sum: "Infinity", max: "Infinity", min: "1" });
});

test("without numbers there are no totals", () => {
  const counter = new TotalsCounter();
  counter.add({ values: Int8Array.of(0), validity: Uint8Array.of(0) });
  expect(counter.totals).toBeUndefined();
});

test("the mean of negative numbers is rounded away from zero at the half", () => {
  const counter = new TotalsCounter();
  counter.add({ values: ["-0.0000015", "-0.0000016"], validity: all(2) });
  expect(counter.totals?.mean).toBe("-0.0000016");
});

test("only digits before the point are grouped", () => {
  expect(groupDigits("-1234567.1234567")).toBe("-1,234,567.1234567");
  expect(groupDigits("123")).toBe("123");
  expect(groupDigits("Infinity")).toBe("Infinity");
});
