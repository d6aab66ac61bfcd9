import { html } from "lit";
import type { Part } from "../shell/shell.js";

/** Asks for the token, over all of the page, wherever the server wants one. */
export const signIn: Part = () => html`<sign-in></sign-in>`;

/** Ends the session, where there is one. */
export const signOut: Part = () => html`<sign-out></sign-out>`;
