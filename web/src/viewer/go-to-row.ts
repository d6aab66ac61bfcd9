import { html } from "lit";
import { parseRowNumber } from "./parse.js";

/** Where a row number is typed, counted from 1; `onRow` gets it counted from 0. */
export function goToRowForm(onRow: (row: number) => void) {
  return html`<form
    @submit=${(event: SubmitEvent) => {
      event.preventDefault();
      const input = (event.currentTarget as HTMLFormElement).querySelector("input");
      const number = parseRowNumber(input?.value ?? "");
      if (number === undefined) input?.setAttribute("aria-invalid", "true");
      else onRow(number - 1);
    }}
  >
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
