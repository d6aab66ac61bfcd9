import { ColonnadeError } from "../model/errors.js";
import { needsText } from "../model/needs-text.js";

/** The error of a browser that lacks features. */
export function tooOld(missing: readonly string[]): ColonnadeError {
  return new ColonnadeError("browser_too_old", "This browser is too old.", {
    hint: needsText(missing),
  });
}
