import { html } from "lit";
import { formatCount } from "../model/counts.js";
import { parseRowNumber } from "./parse.js";
import { formatRows } from "./status.js";

/** The form for a row number, counted from 1. */
export function goToRowForm({
  numRows,
  isGrowing,
  onRow,
  say,
}: {
  /** Rows that are known. */
  numRows: number;
  /** Whether there may be more rows. */
  isGrowing: boolean;
  /** Called with the row, counted from 0. */
  onRow: (row: number) => void;
  /** Reports a wrong number, or a row other than the requested one. */
  say: (text: string, isError: boolean) => void;
}) {
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    const input = (event.currentTarget as HTMLFormElement).querySelector("input");
    const text = input?.value.trim() ?? "";
    const number = parseRowNumber(text);
    if (number === undefined) {
      input?.setAttribute("aria-invalid", "true");
      say(wrongNumber(text, numRows, isGrowing), true);
      return;
    }
    const asked = `Row ${formatCount(number)}`;
    if (number > numRows) {
      say(
        isGrowing
          ? `${asked} has not arrived yet. The view moves there when it does.`
          : `${asked} does not exist: there are ${formatRows(numRows)}. Showing the last one.`,
        false,
      );
    }
    onRow(number - 1);
  };
  return html`<form @submit=${onSubmit}>
    <input
      aria-label="Go to row"
      placeholder="Go to row"
      inputmode="numeric"
      autocomplete="off"
      spellcheck="false"
      @input=${(event: InputEvent) =>
        (event.currentTarget as HTMLInputElement).removeAttribute("aria-invalid")}
    />
  </form>`;
}

/** The message for a text that is not a row number, with the valid range. */
export function wrongNumber(text: string, numRows: number, isGrowing: boolean): string {
  const what = text === "" ? "No row number was typed" : `“${text}” is not a row number`;
  const right = isGrowing ? "1 or more" : `1 to ${formatCount(numRows)}`;
  return `${what}. Type a whole number: ${right}.`;
}
