import type { ColonnadeError } from "colonnade";
import { html, nothing } from "lit";
import { copyButton } from "./copy-button.js";

/** What went wrong, what to do about it, and the details to pass on. */
export function problem(error: ColonnadeError) {
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
