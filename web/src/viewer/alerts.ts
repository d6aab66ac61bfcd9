import { html, nothing } from "lit";
import { type ColonnadeError, isFatal } from "../model/errors.js";
import { toClipboard } from "./clipboard.js";
import { errorPosition, formatRows, type ViewerPhase } from "./status.js";

/**
 * The alert of an error, above the rows.
 *
 * @param numKept rows that arrived before and can be read
 * @param retry called by the Retry button; without it, there is no button
 * @param dismiss called by the Dismiss button; without it, there is no button
 */
export function errorAlert(
  error: ColonnadeError,
  numKept: number,
  retry?: () => void,
  dismiss?: () => void,
) {
  const position = errorPosition(error);
  return html`<div class="alert" role="alert">
    <div class="words">
      <p class="what">${error.message}</p>
      ${error.hint === undefined ? nothing : html`<p class="detail">${error.hint}</p>`}
      <p class="detail">
        ${numKept === 0 || isFatal(error) ? nothing : html`${formatRows(numKept)} arrived before and stay readable. `}
        <code>${error.code}${position === "" ? "" : ` ${position}`}</code>
      </p>
    </div>
    <button @click=${(event: MouseEvent) => copyDetails(event, error)}>Copy details</button>
    ${retry === undefined ? nothing : html`<button @click=${retry}>Retry</button>`}
    ${dismiss === undefined ? nothing : html`<button @click=${dismiss}>Dismiss</button>`}
  </div>`;
}

/** Copies the error for a bug report; the button shows whether the browser allowed it. */
async function copyDetails({ currentTarget }: MouseEvent, error: ColonnadeError): Promise<void> {
  const button = currentTarget as HTMLButtonElement;
  try {
    const text = [JSON.stringify(error, null, 2)];
    await toClipboard(Promise.resolve({ text, html: undefined }), false);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => {
    button.textContent = "Copy details";
  }, 2000);
}

/** The progress bar at the top of the rows; `fraction` is from 0 to 1, undefined if unknown. */
export function progressBar(phase: ViewerPhase, fraction: number | undefined) {
  const label = phase === "arranging" ? "Sorting and filtering" : "Loading rows";
  if (fraction === undefined) {
    return html`<div class="progress unknown ${phase}" role="progressbar" aria-label=${label}>
      <div></div>
    </div>`;
  }
  return html`<div
    class="progress ${phase}"
    role="progressbar"
    aria-label=${label}
    aria-valuemin="0"
    aria-valuemax="100"
    aria-valuenow=${Math.floor(fraction * 100)}
  >
    <div .style=${`transform: scaleX(${fraction})`}></div>
  </div>`;
}
