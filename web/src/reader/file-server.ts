import type { Fetch } from "../http/fetch-bridge.js";
import type { SortKey } from "../model/arrangement.js";
import { ColonnadeError } from "../model/errors.js";
import type { FileFacts, FileOrder } from "../model/file-source.js";
import type { FindParams } from "../rpc/messages.js";
import { Computations, type DecoderModule } from "./computations.js";
import type { ParquetFile } from "./parquet-file.js";
import { Result } from "./result.js";

const STREAM = "application/vnd.apache.arrow.stream";

/** A remote file above this size shows its rows on demand, as a file does that does not fit the memory budget. */
const ON_DEMAND_BYTES = 32 * 1024 * 1024;
/** Fewer rows than this are read whole if they are filtered or sorted. */
const MAX_WHOLE_ROWS = 20_000;

/** The rows that a request names. */
interface Request {
  parameters: URLSearchParams;
  headers: Headers;
  signal: AbortSignal;
}

/**
 * Answers requests for the rows of a file as a Colonnade server does (`docs/http.md`): its rows, filtered and sorted,
 * and results by their ids, which it summarises and searches.
 */
export class FileServer {
  readonly #opening: Promise<ParquetFile>;
  readonly #order: FileOrder;
  readonly #wasm: DecoderModule;
  readonly #closed: AbortSignal;
  readonly #results = new Map<string, Result>();
  #computations: Promise<Computations> | undefined;

  /**
   * @param wasm the decoder's module
   * @param closed aborts when nobody waits for answers
   */
  constructor(
    opening: Promise<ParquetFile>,
    order: FileOrder,
    wasm: DecoderModule,
    closed: AbortSignal,
  ) {
    this.#closed = closed;
    this.#opening = opening;
    this.#order = order;
    this.#wasm = wasm;
  }

  readonly answer: Fetch = async (url, { method = "GET", headers, signal }) => {
    try {
      const file = await this.#opening;
      const { pathname, searchParams: parameters } = new URL(url);
      const [, kind, name = "", part = ""] =
        /\/v1\/(tables|query)(?:\/([^/]+)(?:\/(\w+))?)?$/.exec(pathname) ?? [];
      const own = AbortSignal.any([this.#closed, ...(signal ? [signal] : [])]);
      const request = { parameters, headers: new Headers(headers), signal: own };
      if (kind === "tables") {
        if (part === "") return Response.json(this.#facts(file));
        const id = parameters.get("id") ?? "";
        const result = await this.#arrange(file, request);
        this.#results.set(id, result);
        return this.#rows(file, id, result, request);
      }
      const id = decodeURIComponent(name);
      if (method === "DELETE") {
        this.#results.delete(id);
        return new Response(null, { status: 204 });
      }
      const result = this.#results.get(id);
      if (result === undefined) {
        throw new ColonnadeError("unknown_query", "These rows were closed.", { status: 404 });
      }
      switch (part) {
        case "rows":
          return this.#rows(file, id, result, request);
        case "summary": {
          const [column = "", top] = ["column", "top"].map(
            (key) => parameters.get(key) ?? undefined,
          );
          return json(await (await this.#compute(file)).summarise(result, column, top, own));
        }
        case "find":
          return json(await (await this.#compute(file)).find(result, findOf(parameters), own));
        default:
          return Response.json({
            state: "done",
            order: "partition",
            rows: result.numRows,
            rows_ready: result.numRows,
          });
      }
    } catch (thrown) {
      if (signal?.aborted || this.#closed.aborted) throw thrown;
      return problem(ColonnadeError.from(thrown, "reader_failed"));
    }
  };

  #facts(file: ParquetFile): FileFacts {
    const { numRows: rows, size: bytes, warning, columnCosts, leastMemoryBytes } = file;
    const canLoadAll = this.#isOnDemand(file) && leastMemoryBytes <= this.#order.memoryBytes;
    const columnBytes = columnCosts.map(({ fileBytes }) => fileBytes);
    return { rows, bytes, leastMemoryBytes, warning, canLoadAll, columnBytes };
  }

  #isOnDemand({ size, leastMemoryBytes }: ParquetFile): boolean {
    const { file, memoryBytes } = this.#order;
    const isRemote = file.kind === "remote";
    return leastMemoryBytes > memoryBytes || (isRemote && size > ON_DEMAND_BYTES);
  }

  /** What computes with the rows of the file; made once. */
  #compute(file: ParquetFile): Promise<Computations> {
    this.#computations ??= Computations.of(file, this.#order.computedBytes, this.#wasm);
    this.#computations.catch(() => {
      this.#computations = undefined;
    });
    return this.#computations;
  }

  async #arrange(file: ParquetFile, { parameters, signal }: Request): Promise<Result> {
    let result = new Result(file.numRows);
    const [filter, sort] = [parameters.get("filter"), sortOf(parameters.get("sort"))];
    if (filter === null && sort.length === 0) return result;
    const computations = await this.#compute(file);
    if (filter !== null) result = await computations.filter(result, filter, signal);
    if (sort.length > 0) result = await computations.sort(result, sort, signal);
    return result;
  }

  #rows(file: ParquetFile, id: string, result: Result, request: Request): Response {
    const { parameters, headers, signal } = request;
    const first = countOf(parameters, "offset") ?? 0;
    const limit = countOf(parameters, "limit") ?? Number.POSITIVE_INFINITY;
    const isWhole =
      !this.#isOnDemand(file) ||
      parameters.has("sort") ||
      (parameters.has("filter") && result.numRows < MAX_WHOLE_ROWS);
    const isBegun = headers.get("prefer") === "return=minimal" && !isWhole;
    const rows = () =>
      file.rows(result.range(first, Math.min(first + limit, result.numRows)), signal);
    const answer = { "content-type": STREAM, "x-query-id": id, "x-result-order": "partition" };
    return new Response(isBegun ? null : rows(), { status: isBegun ? 204 : 200, headers: answer });
  }
}

/** The keys of `-"a","b"`. */
function sortOf(sort: string | null): SortKey[] {
  const keys = (sort ?? "").matchAll(/(-?)"((?:[^"]|"")*)"/g);
  return Array.from(keys, ([, sign, name = ""]) => ({
    column: name.replaceAll('""', '"'),
    descending: sign === "-",
  }));
}

function findOf(parameters: URLSearchParams): FindParams {
  const columns = parameters.get("columns");
  const names = columns === null ? undefined : sortOf(columns).map(({ column }) => column);
  const limit = countOf(parameters, "limit") ?? 100;
  if (limit === 0 || names?.length === 0) {
    throw new ColonnadeError("bad_parameter", "A search needs a limit above 0, and columns.");
  }
  return {
    text: parameters.get("text") ?? "",
    from: countOf(parameters, "from") ?? 0,
    limit,
    columns: names,
    matchCase: parameters.get("case") === "exact",
  };
}

function countOf(parameters: URLSearchParams, name: string): number | undefined {
  const text = parameters.get(name);
  if (text === null) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new ColonnadeError("bad_parameter", `${name}=${text} is not a number of rows.`);
}

function json(text: string): Response {
  return new Response(text, { headers: { "content-type": "application/json" } });
}

/** An error in the form in which servers send it. */
function problem({ code, message, hint, status }: ColonnadeError): Response {
  const body = { code, detail: message, hint };
  const headers = { "content-type": "application/problem+json" };
  return new Response(JSON.stringify(body), { status: status ?? 422, headers });
}
