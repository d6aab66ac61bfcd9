import { ColonnadeError, type Table } from "colonnade";
import { expect, test } from "vitest";
import { formatAddress, parseAddress, subjectAddress } from "../src/address/address.js";
import { readAs, readingsOf, splitTypes, withoutColumn, withType } from "../src/address/read-as.js";
import { questionsOf } from "../src/files/reading-questions.js";
import { offeredReadings, readingChoices } from "../src/readings/choices.js";
import { columnOf } from "../src/readings/read-as-menu.js";

const NUMBERS = ["number(.)", "number(,)"];

/** The examples by their words, of those that have one. */
function examples(offered: readonly string[], values: readonly string[]): object {
  const choices = readingChoices(offered, values).filter(({ example }) => example !== undefined);
  return Object.fromEntries(choices.map(({ word, example }) => [word, example]));
}

test("choices are merged, replaced and taken back", () => {
  const one = readAs("orders", "Menge", "number(,)");
  expect(one).toBe("orders?types=Menge:number(,)");
  const two = readAs(one, "a:b&c%?", "decimal(12,2)");
  expect(two).toBe("orders?types=Menge:number(,),a:b%26c%25%3F:decimal(12,2)");
  expect([...readingsOf(two)]).toEqual([
    ["Menge", "number(,)"],
    ["a:b&c%?", "decimal(12,2)"],
  ]);
  expect(readingsOf(readAs(two, "Menge", "text")).get("Menge")).toBe("text");
  expect(readAs(one, "Menge", undefined)).toBe("orders");
  expect(splitTypes("what?decimal=,")).toEqual(["what?decimal=,", ""]);
});

test("a type joins those that were typed", () => {
  expect(withType("", "amount", "number(,)")).toBe("amount:number(,)");
  expect(withType("id:text,p:decimal(12, 2)", "amount", "number(.)")).toBe(
    "id:text,p:decimal(12, 2),amount:number(.)",
  );
  expect(withType("amount:text,50%:text", "amount", "number(,)")).toBe("amount:number(,),50%:text");
});

test("an upload asks about columns with several readings", async () => {
  const field = (name: string, readings?: string) => ({
    name,
    type: "string",
    nullable: true,
    metadata: readings === undefined ? {} : { "colonnade.readings": readings },
  });
  const fields = [
    field("city"),
    field("amount", JSON.stringify(NUMBERS)),
    field("a,b", JSON.stringify(NUMBERS)),
    field("broken", "["),
  ];
  const table = {
    schema: { fields, metadata: {} },
    numRows: 2,
    text: (_range: object, columns: number[]) =>
      Promise.resolve([columns.map(() => "5"), columns.map(() => "1.234")]),
  } as unknown as Table;
  expect(fields.map(offeredReadings)).toEqual([[], NUMBERS, NUMBERS, []]);
  // A name with a comma cannot be written in the types.
  expect(await questionsOf(table)).toEqual([
    {
      column: "amount",
      choices: [
        { word: "number(.)", label: "Number, decimal point", example: "1.234 → 1.234" },
        { word: "number(,)", label: "Number, decimal comma", example: "1.234 → 1234" },
      ],
    },
  ]);
});

test("the address has the readings beside the table", () => {
  const subject = { table: "orders?types=50%25:number(,),Tag:date(DD.MM.YYYY)" };
  const address = formatAddress(subjectAddress(subject));
  expect(address).toBe("/?table=orders&types=50%25:number(,),Tag:date(DD.MM.YYYY)");
  expect(parseAddress(address.slice(1)).subject).toEqual(subject);
});

test("numbers are shown as they would be read", () => {
  expect(examples(NUMBERS, ["5", "1.234"])).toEqual({
    "number(.)": "1.234 → 1.234",
    "number(,)": "1.234 → 1234",
  });
  expect(examples([], ["−1 234 567,5"])).toEqual({ "number(,)": "−1 234 567,5 → -1234567.5" });
  expect(examples([], ["1'234.50"])).toEqual({ "number(.)": "1'234.50 → 1234.50" });
  expect(examples([], ["007"])).toEqual({});
  expect(examples([], ["1.2345,5"])).toEqual({});
});

test("dates are shown as they would be read", () => {
  expect(examples(["date(DD.MM.YYYY)", "date(MM.DD.YYYY)"], ["01.02.2026"])).toEqual({
    "date(DD.MM.YYYY)": "01.02.2026 → 1 February 2026",
    "date(MM.DD.YYYY)": "01.02.2026 → 2 January 2026",
  });
  expect(examples([], ["31/12/2025, 9:30 PM"])).toEqual({
    "date(DD/MM/YYYY)": "31/12/2025, 9:30 PM → 31 December 2025, 9:30 PM",
  });
  expect(examples([], ["2026. 1. 8."])).toEqual({
    "date(YYYY.MM.DD)": "2026. 1. 8. → 8 January 2026",
  });
  expect(examples([], ["31.12.69"])).toEqual({ "date(DD.MM.YY)": "31.12.69 → 31 December 1969" });
  expect(examples([], ["30.02.2026"])).toEqual({});
});

test("without values, all readings are offered", () => {
  expect(readingChoices([], []).map(({ word }) => word)).toEqual([
    "text",
    ...NUMBERS,
    "date(DD.MM.YYYY)",
    "date(MM.DD.YYYY)",
    "date(YYYY.MM.DD)",
  ]);
});

test("conditions on a column that is read in another way are dropped", () => {
  const [a, b] = [
    { op: "contains", column: "a", value: "1" } as const,
    { op: "is_null", column: "b" } as const,
  ];
  expect(withoutColumn({ and: [a, b] }, "a")).toEqual(b);
  expect(withoutColumn({ or: [a, b] }, "a")).toBeNull();
  expect(withoutColumn(a, "b")).toEqual(a);
});

test("the error of a value names its column", () => {
  const error = (code: string, message: string) => columnOf(new ColonnadeError(code, message));
  const message = String.raw`a.csv, line 2: "in column \"x\"" in column "the \"b\"" is not of type int64`;
  expect(error("broken_row", message)).toBe('the "b"');
  expect(error("broken_row", "a.csv, line 2: 3 fields instead of 2")).toBeUndefined();
  expect(error("http_error", message)).toBeUndefined();
});
