import { ColonnadeError } from "../model/errors.js";

/** The error of a host that could not be asked: browsers do not say why. */
export function notFromHost(url: string): ColonnadeError {
  const { origin } = new URL(url);
  const page = globalThis.location?.origin;
  if (page === undefined || page === origin) {
    return new ColonnadeError("network_error", `Could not reach ${origin}.`);
  }
  return new ColonnadeError("network_error", `Could not read from ${origin}.`, {
    hint: `Is the host running? For pages of other origins it has to send "Access-Control-Allow-Origin: ${page}", and this page's policy has to allow it in connect-src.`,
  });
}

/** The error of a host that says nothing about the length of the file. */
export function hostRefused(url: string, encoding: string | null): ColonnadeError {
  const { host } = new URL(url);
  if (encoding !== null) {
    return new ColonnadeError(
      "compressed_file",
      `${host} sends the file with "Content-Encoding: ${encoding}", so parts of it cannot be read.`,
      { hint: "Store the file without that encoding: Parquet is compressed inside." },
    );
  }
  return new ColonnadeError("unknown_length", `${host} does not say how long the file is.`, {
    hint: "The host has to send Content-Length, without Content-Encoding.",
  });
}

/** The error of a host that sends whole files only. */
export function lacksRanges(url: string, size: number): ColonnadeError {
  const { host } = new URL(url);
  const megabytes = Math.ceil(size / 1e6);
  return new ColonnadeError(
    "no_ranges",
    `${host} does not send parts of a file, and this file has ${megabytes} MB.`,
    { hint: 'The host has to answer Range requests: "Accept-Ranges: bytes", status 206.' },
  );
}

const WORDS: Record<number, [string, string]> = {
  401: ["wants to know who asks", "Give the element headers or credentials."],
  403: ["does not allow this page to read the file", "A signed address may have expired."],
  404: ["does not have the file", "Check the address."],
  410: ["no longer has the file", "Check the address."],
  416: ["has a shorter file than before", "Open it again."],
  429: ["refuses further requests for a while", "Try again later."],
};

/** The error of a status other than success. */
export function errorOfStatus(url: string, { status }: Response): ColonnadeError {
  const { host } = new URL(url);
  const later: [string, string] = ["cannot answer at the moment", "Try again later."];
  const other: [string, string] = ["does not send the file", "Check the address."];
  const [what, hint] = WORDS[status] ?? (status >= 500 ? later : other);
  const code = status === 416 ? "source_changed" : "http_error";
  return new ColonnadeError(code, `${host} ${what} (status ${status}).`, { status, hint });
}
