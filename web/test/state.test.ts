import { expect, test, vi } from "vitest";
import { checkedState, type ViewerStateInput } from "../src/viewer/state.js";

test("members of a state that are not of their type are left out, and named", () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const named = (state: unknown) => {
    warn.mockClear();
    const kept = checkedState(state as ViewerStateInput);
    return [kept, ...warn.mock.calls.map(([text]) => /state\.\w+/.exec(text)?.[0])];
  };
  expect(named({ columns: { pinned: 1 }, row: 7 })).toEqual([
    { columns: {}, row: 7 },
    "state.pinned",
  ]);
  expect(named({ row: Number.NaN })).toEqual([{}, "state.row"]);
  expect(named({ row: "7", summaries: 1 })).toEqual([{}, "state.row", "state.summaries"]);
  expect(named({ columns: { widthsPx: "wide", shown: ["a", 1] } })).toEqual([
    { columns: {} },
    "state.widthsPx",
    "state.shown",
  ]);
  expect(named({ columns: { widthsPx: { a: Number.NaN } } })[1]).toBe("state.widthsPx");
  expect(named({ columns: { widthsPx: null } })[1]).toBe("state.widthsPx");
  expect(named({ sort: [null] })[1]).toBe("state.sort");
  expect(named({ sort: "a", filter: "a > 1" }).slice(1)).toEqual(["state.sort", "state.filter"]);
  for (const filter of [
    [],
    {},
    { op: "in", column: "a" },
    { op: "in", column: "a", value: "b" },
    { op: "eq", value: 1 },
    { and: { op: "is_null", column: "a" } },
    { and: "a", or: [] },
    { or: [{ not: {} }] },
    { not: null },
  ]) {
    expect(named({ filter })).toEqual([{}, "state.filter"]);
  }
  const filters = [{ and: [] }, { not: { op: "in", column: "a", value: [1n, "b"] } }];
  for (const filter of filters) expect(named({ filter })).toEqual([{ filter }]);
  expect(named({ colour: "red" })).toEqual([{}, "state.colour"]);
  for (const nothing of [null, {}, { columns: null }]) expect(named(nothing)).toEqual([{}]);
  const whole = {
    sort: [{ column: "a", descending: true }],
    filter: null,
    row: 3,
    summaries: false,
    columns: { shown: ["a"], pinned: [], widthsPx: { a: 90 } },
  };
  expect(named(whole)).toEqual([whole]);
});
