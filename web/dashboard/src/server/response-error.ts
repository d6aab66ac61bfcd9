import { ColonnadeError } from "colonnade";

/** The error of a response: its problem details, or only its status. */
export function errorFromResponse(status: number, body: string): ColonnadeError {
  let problem: Record<string, unknown> = {};
  try {
    problem = { ...JSON.parse(body) };
  } catch {
    // A proxy answered without problem details; only the status is known.
  }
  const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  const { code, title, detail, message, hint } = problem;
  return new ColonnadeError(
    text(code) ?? "http_error",
    text(detail) ?? text(message) ?? text(title) ?? `The server answered ${status}.`,
    { status, hint: text(hint) },
  );
}

/** The error for a server that does not respond. */
export function unreachableError(): ColonnadeError {
  return new ColonnadeError("network_error", "The server cannot be reached.", {
    hint: "Is it still running?",
  });
}

/** An error as sentences: the message, then the hint. */
export function errorText({ message, hint }: ColonnadeError): string {
  return [message, hint].flatMap((text) => (text ? [sentence(text)] : [])).join(" ");
}

function sentence(text: string): string {
  const capitalized = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(capitalized) ? capitalized : `${capitalized}.`;
}
