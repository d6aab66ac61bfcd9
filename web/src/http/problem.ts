import { ColonnadeError } from "../model/errors.js";

/**
 * The error of an HTTP response other than 2xx: its `application/problem+json` if there is one,
 * otherwise its status line.
 */
export async function errorFromResponse(response: Response): Promise<ColonnadeError> {
  const { status } = response;
  const retryAfterS = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  const retryAfterMs = retryAfterS >= 0 ? retryAfterS * 1000 : undefined;
  const type = response.headers.get("content-type") ?? "";
  if (type.includes("json")) {
    try {
      return errorFromProblem(await response.json(), status, retryAfterMs);
    } catch {
      // The body is not JSON, so the status line is used.
    }
  }
  const reason = response.statusText === "" ? "" : ` ${response.statusText}`;
  const message = `The server answered ${status}${reason}.`;
  return new ColonnadeError("http_error", message, { status, retryAfterMs });
}

/**
 * Reads RFC 9457 problem details with this server's `code` and `hint`, or the `error` of a query's
 * record, whose text is its `message`.
 */
export function errorFromProblem(
  problem: unknown,
  status: number,
  retryAfterMs?: number,
): ColonnadeError {
  const { code, title, detail, message: said, hint } = (problem ?? {}) as Record<string, unknown>;
  const message = text(detail) ?? text(said) ?? text(title) ?? `The server answered ${status}.`;
  const details = { status, hint: text(hint), retryAfterMs };
  return new ColonnadeError(text(code) ?? "http_error", message, details);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
