import { expect, test } from "vitest";
import {
  type Address,
  formatAddress,
  PLAIN_STATE,
  parseAddress,
  rowsStateOf,
  subjectAddress,
} from "../src/address/address.js";
import { formatList, parseList } from "../src/text/quote.js";

const addresses: Address[] = [
  subjectAddress(undefined),
  subjectAddress({ table: "lineitem" }),
  subjectAddress({ table: "a b/c&d" }, "details"),
  subjectAddress({ sql: "" }),
  subjectAddress({ file: "ä (2).arrow" }),
  subjectAddress({ sql: "SELECT 1 + 1 -- ä\n, '%2C'" }, "plan"),
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

test.each(addresses)("address %# is the same after formatting and parsing", (address) => {
  const { search, pathname } = new URL(formatAddress(address), "http://h");
  expect(parseAddress(search)).toEqual(address);
  expect(pathname + search).toBe(formatAddress(address));
});

test("an address omits parameters that have their default values", () => {
  expect(formatAddress(subjectAddress({ table: "lineitem" }))).toBe("/?table=lineitem");
  const sort = [{ column: "l_tax", descending: true }];
  const address = { ...subjectAddress({ table: "lineitem" }), state: { ...PLAIN_STATE, sort } };
  expect(formatAddress(address)).toBe("/?table=lineitem&sort=-l_tax");
});

test("invalid parameters of an address are ignored", () => {
  const address = parseAddress("?table=t&row=-1&filter={&widths=x&view=plan&sort=");
  expect(address).toEqual(subjectAddress({ table: "t" }));
});

test("columns are omitted if all are shown in the table's order", () => {
  const columns = { shown: ["a", "b"], pinned: [], widthsPx: {} };
  const state = { ...PLAIN_STATE, columns };
  expect(rowsStateOf(state, ["a", "b"])).toEqual(PLAIN_STATE);
  expect(rowsStateOf(state, ["b", "a"])).toEqual(state);
  expect(rowsStateOf(state, ["a", "b", "c"])).toEqual(state);
});

test("a list of any names is the same after formatting and parsing", () => {
  const names = ["a", "", 'b"', "c,d", " e "];
  expect(parseList(formatList(names))).toEqual(names);
  expect(parseList("")).toEqual([]);
});
