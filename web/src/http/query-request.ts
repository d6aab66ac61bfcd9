import type { QueryRange, UrlSource } from "../model/wire-source.js";

/** How long the server holds a result without readers, in seconds. */
const LINGER_S = 60;

/** `…/v1/tables/{name}/rows`, `…/v1/query` and `…/v1/query/{id}/rows`. */
const ROUTE = /\/v1\/(?:tables\/[^/]+\/rows|query(?:\/([^/]+)\/rows)?)$/;

/**
 * Gives a request to a Colonnade server an id, by which it can be resumed after a lost connection.
 * Requests to other servers, and those that the server would refuse, are returned unchanged.
 */
export function claimQuery(source: UrlSource): UrlSource {
  const route = ROUTE.exec(new URL(source.url).pathname);
  const isPost = route?.[0] === "/v1/query";
  if (route === null || source.method !== (isPost ? "POST" : "GET")) return source;
  const parameters = isPost ? bodyOf(source) : Object.fromEntries(new URL(source.url).searchParams);
  const { id: givenId, offset, limit, linger_s: lingerS } = parameters ?? {};
  const firstRow = countOf(offset) ?? 0;
  const maxRows = countOf(limit);
  const isSound = [firstRow, maxRows ?? 0].every(Number.isSafeInteger);
  if (parameters === undefined || !isSound) return source;

  const keptId = route[1] && decodeURIComponent(route[1]);
  const id = keptId ?? (typeof givenId === "string" ? givenId : makeUuid());
  const claimed = withParameters(source, {
    ...(keptId === undefined ? { id } : {}),
    ...(countOf(lingerS) === undefined ? { linger_s: LINGER_S } : {}),
  });
  const headers = new Headers(source.headers);
  if (!headers.has("accept")) headers.set("accept", acceptFor(new URL(source.url)));
  const query = { id, isKept: keptId !== undefined, firstRow, limit: maxRows };
  return { ...claimed, headers: [...headers], query };
}

/**
 * The request for the rest of the result after `numRows` rows, by its id.
 *
 * @param maxRows the most rows of the response; default all
 */
export function resumeRequest(
  source: UrlSource,
  query: QueryRange,
  numRows: number,
  maxRows?: number,
): UrlSource {
  const headers = source.headers.filter(([name]) => name !== "content-type");
  const rows: UrlSource = {
    ...source,
    url: `${queryUrl(source.url, query.id)}/rows`,
    method: "GET",
    headers,
    body: null,
  };
  const part = maxRows === undefined ? {} : { limit: maxRows };
  return withParameters(rows, { ...rest(query, numRows), ...part, linger_s: LINGER_S });
}

/** The original request for the rows after `numRows`, if the server no longer has the result. */
export function restartRequest(source: UrlSource, query: QueryRange, numRows: number): UrlSource {
  return withParameters(source, rest(query, numRows));
}

function rest({ firstRow, limit }: QueryRange, numRows: number): Parameters {
  return {
    offset: firstRow + numRows,
    ...(limit === undefined ? {} : { limit: Math.max(0, limit - numRows) }),
    checksum: "xxh3",
  };
}

/** The address of a result, beside the address its rows came from: `…/v1/query/{id}`. */
export function queryUrl(rowsUrl: string, queryId: string): string | undefined {
  const { origin, pathname } = new URL(rowsUrl);
  const route = ROUTE.exec(pathname);
  if (route === null) return undefined;
  return `${origin}${pathname.slice(0, route.index)}/v1/query/${encodeURIComponent(queryId)}`;
}

type Parameters = Record<string, string | number>;

function withParameters(source: UrlSource, parameters: Parameters): UrlSource {
  if (source.body === null) {
    const url = new URL(source.url);
    for (const [name, value] of Object.entries(parameters)) {
      url.searchParams.set(name, String(value));
    }
    return { ...source, url: url.href };
  }
  const json = Object.entries(parameters).reduce(setMember, new TextDecoder().decode(source.body));
  return { ...source, body: new TextEncoder().encode(json).buffer };
}

/**
 * Sets a string or number of the object in JSON text. All other text stays as it is, because parsing
 * and writing it would round numbers beyond 2^53.
 */
function setMember(json: string, [name, value]: [string, string | number]): string {
  const text = `"${name}":${JSON.stringify(value)}`;
  for (const found of json.matchAll(new RegExp(`"${name}"\\s*:\\s*(?:"[^"]*"|[^,}\\s]+)`, "g"))) {
    const before = json.slice(0, found.index);
    try {
      JSON.parse(`${before}"":0}`);
      return before + text + json.slice(found.index + found[0].length);
    } catch {
      // The match is inside a string, a list or a nested object.
    }
  }
  return json.replace("{", () => `{${text},`);
}

function bodyOf({ body }: UrlSource): Record<string, unknown> | undefined {
  if (body === null) return undefined;
  try {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(body));
    const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
    if (isObject && Object.keys(parsed).length > 0) return parsed as Record<string, unknown>;
  } catch {
    // The server reports the error.
  }
  return undefined;
}

/** A count of rows or seconds; undefined if absent, NaN if invalid. */
function countOf(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  const isCount = typeof value === "number" || (typeof value === "string" && /^\d+$/.test(value));
  return isCount && Number(value) >= 0 ? Number(value) : Number.NaN;
}

/**
 * The Accept header. Compressed bodies are faster over a network, but not from this machine
 * (measured). A quoted list would cost requests to other origins a preflight.
 */
function acceptFor(url: URL): string {
  const stream = "application/vnd.apache.arrow.stream";
  if (/^(?:localhost|.*\.localhost|127\.[\d.]+|\[::1\])$/.test(url.hostname)) return stream;
  const isSameOrigin = url.origin === globalThis.location?.origin;
  return `${stream}; codecs=${isSameOrigin ? '"lz4, zstd"' : "lz4"}`;
}

/** A random UUID; `crypto.randomUUID` exists in secure contexts only. */
function makeUuid(): string {
  if (crypto.randomUUID !== undefined) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
