import { ColonnadeError, type Field, type Summary } from "colonnade";
import { html, nothing } from "lit";
import { NUM_SUMMARY_CELLS, summaryCells } from "./summary-cells.js";

/**
 * The columns of a table, one per row.
 *
 * @param sample texts of the first rows
 * @param isRequested whether summaries were requested
 */
export function columnsTable(
  fields: readonly Field[],
  sample: readonly (string | null)[][],
  summaries: ReadonlyMap<string, Summary | ColonnadeError>,
  isRequested: boolean,
) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Columns">
    <table>
      <thead>
        <tr>
          <th>Column</th>
          <th>Type</th>
          <th class="number">Nulls</th>
          <th class="number">Empty</th>
          <th class="number">Distinct</th>
          <th>Min</th>
          <th>25 %</th>
          <th>Median</th>
          <th>75 %</th>
          <th>Max</th>
          <th>Mean</th>
          <th>Distribution</th>
          <th>First rows</th>
        </tr>
      </thead>
      <tbody>
        ${fields.map(
          (field, index) => html`<tr data-column=${field.name}>
            <th scope="row">${field.name}${metadataOf(field)}</th>
            <td class="type" title=${field.type}>${field.type}${field.nullable ? nothing : html`<span class="tag">not null</span>`}</td>
            ${summaryColumns(summaries.get(field.name), isRequested)}
            <td class="value sample" title=${sampleText(sample, index, "\n")}>
              ${sampleText(sample, index, " · ")}
            </td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function summaryColumns(summary: Summary | ColonnadeError | undefined, isRequested: boolean) {
  if (summary === undefined)
    return html`<td colspan=${NUM_SUMMARY_CELLS} class="pending">${isRequested ? "…" : ""}</td>`;
  if (summary instanceof ColonnadeError) {
    return html`<td colspan=${NUM_SUMMARY_CELLS} class="note-error">${summary.message}</td>`;
  }
  return summaryCells(summary);
}

function metadataOf({ metadata }: Field) {
  const entries = Object.entries(metadata);
  if (entries.length === 0) return nothing;
  return html`<ul class="metadata">
    ${entries.map(([key, value]) => html`<li><span>${key}</span> ${value}</li>`)}
  </ul>`;
}

function sampleText(sample: readonly (string | null)[][], index: number, between: string): string {
  return sample.map((row) => row[index] ?? "null").join(between);
}
