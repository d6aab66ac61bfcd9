import type { Table } from "colonnade";
import { html, nothing } from "lit";
import { canReadAs } from "../address/read-as.js";
import { offeredReadings, type ReadingChoice, readingChoices } from "../readings/choices.js";

/** A column whose values have several readings, and these. */
export interface ReadingQuestion {
  column: string;
  choices: readonly ReadingChoice[];
}

/** The most questions that are shown. */
const MAX_QUESTIONS = 3;

/** The columns of a complete table that have several readings, with an example for each reading. */
export async function questionsOf(table: Table): Promise<ReadingQuestion[]> {
  const asked = table.schema.fields
    .map((field, position) => ({ column: field.name, position, words: offeredReadings(field) }))
    .filter(({ column, words }) => words.length > 0 && canReadAs(column));
  const rows = await table.text(
    { start: 0, end: table.numRows },
    asked.map(({ position }) => position),
  );
  return asked.map(({ column, words }, index) => {
    const values = rows.flatMap((row) => row[index] ?? []);
    const choices = readingChoices(words, values).filter(({ word }) => words.includes(word));
    return { column, choices };
  });
}

/** The questions, with a button for each reading. */
export function readingQuestions(
  questions: readonly ReadingQuestion[],
  choose: (column: string, word: string) => void,
) {
  const numOthers = questions.length - MAX_QUESTIONS;
  return html`${questions.slice(0, MAX_QUESTIONS).map(
    ({
      column,
      choices,
    }) => html`<div class="question" role="group" aria-label=${`Readings of ${column}`}>
      <span><b>${column}</b> may be read as</span>
      ${choices.map(
        ({ word, label, example }) => html`<button
          class="action"
          @click=${() => choose(column, word)}
        >
          ${label}${example === undefined ? nothing : html` <span class="minor">${example}</span>`}
        </button>`,
      )}
    </div>`,
  )}
  ${numOthers > 0 ? html`<p class="question minor">and ${numOthers} more ${numOthers === 1 ? "column" : "columns"}</p>` : nothing}`;
}
