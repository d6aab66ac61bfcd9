import type { ColonnadeError } from "colonnade";
import { html, nothing } from "lit";
import { copyButton } from "./copy-button.js";

/** An error with its hint and code, and a button that copies its details. */
export function errorAlert(error: ColonnadeError) {
  const { message, hint, code, status } = error;
  const details = JSON.stringify({ code, message, hint, status, page: location.href }, null, 2);
  return html`<div class="problem" role="alert">
    <div>
      <p>${message}</p>
      ${hint === undefined ? nothing : html`<p class="minor">${hint}</p>`}
      <p class="minor"><code>${code}</code></p>
    </div>
    ${copyButton("Copy details", () => details)}
  </div>`;
}
