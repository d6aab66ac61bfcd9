import { expect, test } from "vitest";
import {
  addressOf,
  PLAIN_STATE,
  type Place,
  placeIn,
  placeOf,
  rowsStateOf,
} from "../src/address/address.js";
import { listText, parseList } from "../src/text/quote.js";

const places: Place[] = [
  placeOf(undefined),
  placeOf({ table: "lineitem" }),
  placeOf({ table: "a b/c&d" }, "details"),
  placeOf({ sql: "" }),
  placeOf({ file: "ä (2).arrow" }),
  placeOf({ sql: "SELECT 1 + 1 -- ä\n, '%2C'" }, "plan"),
  {
    subject: { table: "t" },
    view: "rows",
    state: {
      sort: [
        { column: "a", descending: true },
        { column: "-b", descending: false },
        { column: "+x", descending: false },
        { column: 'c,"d"', descending: false },
      ],
      filter: {
        and: [
          { op: "eq", column: "x&y", value: "50%" },
          { op: "is_null", column: "z" },
        ],
      },
      columns: { shown: ["c,d", "a", ""], pinned: ["c,d"], widthsPx: { a: 120, "b, c": 36 } },
      row: 5_000_000,
    },
    chart: "bar:a=1;b",
  },
];

test.each(places)("place %# is in the address and comes back from it", (place) => {
  const { search, pathname } = new URL(addressOf(place), "http://h");
  expect(placeIn(search)).toEqual(place);
  expect(pathname + search).toBe(addressOf(place));
});

test("an address is short where nothing is said", () => {
  expect(addressOf(placeOf({ table: "lineitem" }))).toBe("/?table=lineitem");
  const sort = [{ column: "l_tax", descending: true }];
  const place = { ...placeOf({ table: "lineitem" }), state: { ...PLAIN_STATE, sort } };
  expect(addressOf(place)).toBe("/?table=lineitem&sort=-l_tax");
});

test("what an address says wrongly is left out", () => {
  const place = placeIn("?table=t&row=-1&filter={&widths=x&view=plan&sort=");
  expect(place).toEqual(placeOf({ table: "t" }));
});

test("columns go unsaid while all are there in their order", () => {
  const columns = { shown: ["a", "b"], pinned: [], widthsPx: {} };
  const state = { ...PLAIN_STATE, columns };
  expect(rowsStateOf(state, ["a", "b"])).toEqual(PLAIN_STATE);
  expect(rowsStateOf(state, ["b", "a"])).toEqual(state);
  expect(rowsStateOf(state, ["a", "b", "c"])).toEqual(state);
});

test("lists hold any names", () => {
  const names = ["a", "", 'b"', "c,d", " e "];
  expect(parseList(listText(names))).toEqual(names);
  expect(parseList("")).toEqual([]);
});
