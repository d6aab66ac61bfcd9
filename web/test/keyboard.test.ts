import { expect, test } from "vitest";
import { commandLetter, HEADER_ROW, moveFocus } from "../src/grid/keyboard.js";

const extent = { numRows: 1_000_000_000, numColumns: 16, pageRows: 20 };
const from = { row: 500, column: 5 };

function press(key: string, modifiers: { ctrlKey?: boolean; metaKey?: boolean } = {}, at = from) {
  return moveFocus(
    { key, ctrlKey: false, metaKey: false, altKey: false, ...modifiers },
    at,
    extent,
  );
}

test.each([
  ["ArrowUp", {}, 499, 5],
  ["ArrowDown", {}, 501, 5],
  ["ArrowLeft", {}, 500, 4],
  ["ArrowRight", {}, 500, 6],
  ["PageUp", {}, 480, 5],
  ["PageDown", {}, 520, 5],
  ["Home", {}, 500, 0],
  ["End", {}, 500, 15],
  ["Home", { ctrlKey: true }, 0, 0],
  ["End", { ctrlKey: true }, 999_999_999, 15],
  ["Home", { metaKey: true }, 0, 0],
  ["ArrowDown", { ctrlKey: true }, 999_999_999, 5],
  ["ArrowLeft", { metaKey: true }, 500, 0],
])("%s with %o goes to row %i, column %i", (key, modifiers, row, column) => {
  expect(press(key, modifiers)).toEqual({ row, column });
});

test("no key moves beyond the table", () => {
  expect(press("ArrowUp", {}, { row: -1, column: 0 })).toEqual({ row: -1, column: 0 });
  expect(press("PageDown", {}, { row: 999_999_990, column: 15 })).toEqual({
    row: 999_999_999,
    column: 15,
  });
});

test("the header is above the first row, and only an arrow reaches it", () => {
  const first = { row: 0, column: 3 };
  const header = { row: HEADER_ROW, column: 3 };
  expect(press("ArrowUp", {}, first)).toEqual(header);
  expect(press("PageUp", {}, first)).toEqual(first);
  expect(press("ArrowUp", { ctrlKey: true }, { row: 9, column: 3 })).toEqual(first);
  expect(press("ArrowDown", {}, header)).toEqual(first);
  expect(press("ArrowRight", {}, header)).toEqual({ row: HEADER_ROW, column: 4 });
  expect(press("End", {}, header)).toEqual({ row: HEADER_ROW, column: 15 });
});

test("other keys are not handled", () => {
  expect(press("a")).toBeUndefined();
  expect(press("Tab")).toBeUndefined();
  expect(
    moveFocus({ key: "ArrowLeft", ctrlKey: false, metaKey: false, altKey: true }, from, extent),
  ).toBeUndefined();
});

test.each([
  ["c", "KeyC", "c"],
  ["C", "KeyC", "c"],
  // Latin letters decide, wherever their keys are: here those of Dvorak and AZERTY.
  ["c", "KeyI", "c"],
  ["a", "KeyQ", "a"],
  // Cyrillic, Greek and Hebrew.
  ["с", "KeyC", "c"],
  ["φ", "KeyF", "f"],
  ["ש", "KeyA", "a"],
  // No letters.
  ["Enter", "Enter", undefined],
  [";", "KeyC", undefined],
  ["é", "Digit2", undefined],
])("Ctrl with the key %s at %s is the shortcut %s", (key, code, letter) => {
  const event = { key, code, ctrlKey: true, metaKey: false, altKey: false, shiftKey: false };
  expect(commandLetter(event)).toBe(letter);
  expect(commandLetter({ ...event, ctrlKey: false, metaKey: true })).toBe(letter);
  expect(commandLetter({ ...event, shiftKey: true })).toBeUndefined();
  expect(commandLetter({ ...event, ctrlKey: false })).toBeUndefined();
});
