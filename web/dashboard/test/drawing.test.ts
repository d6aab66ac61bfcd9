import { readFileSync } from "node:fs";
import type { Predicate } from "colonnade";
import { expect, test } from "vitest";
import { binsOf } from "../src/charts/bins.js";
import { withoutBrushes } from "../src/charts/brush-filters.js";
import type { ChartData } from "../src/charts/chart-loader.js";
import { fileNameOf, summaryOf, tableOf } from "../src/charts/chart-text.js";
import { draw, drawAlone } from "../src/charts/draw.js";
import { brushOf, markedBy } from "../src/charts/drawing.js";
import { svgText } from "../src/charts/image-files.js";
import { INKS } from "../src/charts/scene.js";

const measure = (text: string, sizePx: number) => text.length * sizePx * 0.55;

/** Sales by month, from 5 up to 16. */
function months(): ChartData {
  const field = { name: "day", type: "date32[day]" };
  const bins = binsOf(field, { low: "8035", high: "8390" }, 20);
  return {
    spec: { kind: "line", x: "day", y: "price", aggregate: "mean" },
    bins,
    yBins: undefined,
    categories: undefined,
    group: undefined,
    points: Array.from({ length: bins.to - bins.from }, (_, position) => ({
      position,
      series: 0,
      value: 5 + position,
      text: `${5 + position}.00`,
      numRows: 10,
    })),
    dots: undefined,
    boxes: undefined,
    numRows: 120,
    notes: [],
  };
}

/** Rows by a text with a null, the empty text and others. */
function bars(): ChartData {
  const values = ["ORD & <LAX>", null, "", "a name that is much too long for the room at the left"];
  return {
    ...months(),
    spec: { kind: "bar", x: "origin", aggregate: "count" },
    bins: undefined,
    categories: { field: { name: "origin", type: "string" }, values, hasOthers: true },
    points: [40, 30, 20, 10, 4000].map((value, position) => ({
      position,
      series: 0,
      value,
      text: String(value),
      numRows: value,
    })),
  };
}

test.each([200, 400, 900])("texts do not overlap in %i pixels", (width) => {
  for (const data of [months(), bars()]) {
    const texts = (draw(data, width, measure)?.shapes ?? []).flatMap((shape) => {
      if (!("text" in shape)) return [];
      const long = measure(shape.text, shape.sizePx);
      const left = shape.x - { start: 0, middle: long / 2, end: long }[shape.anchor];
      return [{ text: shape.text, left, right: left + long, y: shape.y }];
    });
    for (const [index, one] of texts.entries()) {
      for (const other of texts.slice(index + 1)) {
        const isApart =
          Math.abs(one.y - other.y) >= 11 || one.right <= other.left || other.right <= one.left;
        expect(isApart, `${one.text} and ${other.text}`).toBe(true);
      }
    }
  }
});

test("a chart has a text summary and a table of exact values", () => {
  const data = months();
  const drawing = draw(data, 400, measure);
  if (drawing === undefined) throw new Error("there is no drawing");
  expect(summaryOf(data, drawing)).toBe(
    "Line chart of mean of price by day (per month): 12 points, lowest 5 (1992-01), highest 16 (1992-12), rising.",
  );
  expect(tableOf(data).headers).toEqual(["day", "mean of price", "rows"]);
  expect(tableOf(data).rows[0]).toEqual(["1992-01", "5.00", "10"]);
  expect(tableOf(bars()).rows.map(([name]) => name)).toEqual([
    "ORD & <LAX>",
    "null",
    "empty text",
    "a name that is much too long for the room at the left",
    "others",
  ]);
  expect(fileNameOf("dir.a/b", data.spec, "png")).toBe("dir-a-b-Mean-of-price-by-day.png");
});

test("areas stand on the series below also where one between has no sum", () => {
  const data = months();
  const year = { name: "year", type: "int32" };
  const points = [0, 1, 2].flatMap((series) =>
    data.points.map((point) => ({
      ...point,
      series,
      value: series === 1 && point.position === 3 ? Number.NaN : 10,
    })),
  );
  const stacked: ChartData = {
    ...data,
    spec: { kind: "area", x: "day", y: "price", aggregate: "sum", group: "year" },
    group: { field: year, values: ["1997", "1998", "1999"], hasOthers: false },
    points,
  };
  const stops = draw(stacked, 400, measure)?.stops ?? [];
  const there = stops.filter(({ position }) => position === 3).map(({ name }) => name);
  expect(there.sort()).toEqual(["1997", "1999"]);
  const { rows, numNames } = tableOf(stacked);
  expect(rows[0]?.slice(0, numNames)).toEqual(["1992-01", "1997"]);
});

test("a brush marks the positions that were brushed", () => {
  const line = months();
  const brush = brushOf(line, [4, 2], undefined);
  expect(brush).toEqual({ x: ["1992-03-01", "1992-06-01"] });
  expect([...(markedBy(line, brush)?.positions ?? [])]).toEqual([2, 3, 4]);
  const withOthers = brushOf(bars(), [3, 4], undefined);
  expect(withOthers).toEqual({ values: ["ORD & <LAX>", null, ""], isOthers: true });
  expect([...(markedBy(bars(), withOthers)?.positions ?? [])]).toEqual([3, 4]);
  const one = brushOf(bars(), [1, 1], undefined);
  expect(one).toEqual({ values: [null] });
  expect([...(markedBy(bars(), one)?.positions ?? [])]).toEqual([1]);
});

test("brushes are separated from the table's own filter, and removed ones are reported", () => {
  const own: Predicate = { op: "ge", column: "a", value: "1" };
  const range: Predicate = {
    and: [
      { op: "ge", column: "b", value: "1" },
      { op: "lt", column: "b", value: "2" },
    ],
  };
  const list: Predicate = { op: "eq", column: "c", value: "x" };
  const all: Predicate = { and: [own, range, list] };
  expect(withoutBrushes(all, [range, undefined, list])).toEqual({ own, missing: new Set() });
  const { missing } = withoutBrushes({ and: [own, list] }, [range, list]);
  expect([...missing]).toEqual([0]);
  expect(withoutBrushes(null, [])).toEqual({ own: null, missing: new Set() });
});

test("an SVG file escapes the names in it", () => {
  const scene = drawAlone(bars(), 'a\u0000 "b" <c>', 720, measure);
  if (scene === undefined) throw new Error("there is no drawing");
  const palette = Object.fromEntries(INKS.map((ink) => [ink, "#123456"])) as Parameters<
    typeof svgText
  >[2];
  const text = svgText(scene, 'a\u0000 "b" <c>', palette);
  expect(text).toContain("<title>a\ufffd &quot;b&quot; &lt;c&gt;</title>");
  expect(text).toContain("ORD &amp; &lt;LAX&gt;");
  expect(text).not.toContain("undefined");
});

/** Relative luminance, as WCAG 2 defines it. */
function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

test("every series has a contrast of 3:1 to either background", () => {
  const styles = readFileSync(
    new URL("../src/charts/chart-figure-styles.ts", import.meta.url),
    "utf8",
  );
  const pairs = [
    ...styles.matchAll(/--c-(series\d|others): [^;]*?light-dark\((#\w{6}), (#\w{6})\)/g),
  ];
  expect(pairs.length).toBe(7);
  for (const [, name, light = "", dark = ""] of pairs) {
    expect(1.05 / (luminance(light) + 0.05), `${name} in light`).toBeGreaterThan(3);
    const contrast = (luminance(dark) + 0.05) / (luminance("#131418") + 0.05);
    expect(contrast, `${name} in dark`).toBeGreaterThan(3);
  }
});
