import { ColonnadeError } from "colonnade";

/** The server's words in an answer that is an error: problem details, or the status alone. */
export function errorFromAnswer(status: number, body: string): ColonnadeError {
  let problem: Record<string, unknown> = {};
  try {
    problem = { ...JSON.parse(body) };
  } catch {
    // Somebody between us and the server answered; the status is all there is.
  }
  const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  const { code, title, detail, message, hint } = problem;
  return new ColonnadeError(
    text(code) ?? "http_error",
    text(detail) ?? text(message) ?? text(title) ?? `The server answered ${status}.`,
    { status, hint: text(hint) },
  );
}

/** The error of a server that does not answer. */
export function unreachable(): ColonnadeError {
  return new ColonnadeError("network_error", "The server cannot be reached.", {
    hint: "Is it still running?",
  });
}

/** An error in words: what was wrong, and what to do about it. */
export function wordsOf({ message, hint }: ColonnadeError): string {
  return [message, hint].flatMap((text) => (text ? [sentence(text)] : [])).join(" ");
}

function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
