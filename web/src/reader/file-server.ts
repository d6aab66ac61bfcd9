import type { Fetch } from "../http/fetch-bridge.js";
import { ColonnadeError } from "../model/errors.js";
import type { ParquetFile } from "./parquet-file.js";

const STREAM = "application/vnd.apache.arrow.stream";

/**
 * Answers requests for the rows of a file as a Colonnade server does (`docs/http.md`): its rows, and
 * results by their ids. All results are the whole table, so no id is looked up.
 */
export function serveTable(opening: Promise<ParquetFile>): Fetch {
  return async (url, { method = "GET", headers, signal }) => {
    try {
      const file = await opening;
      const { pathname, searchParams } = new URL(url);
      const [, kind, id = "", part = ""] =
        /\/v1\/(tables|query)(?:\/([^/]+)(?:\/(\w+))?)?$/.exec(pathname) ?? [];
      if (method === "DELETE") return new Response(null, { status: 204 });
      if (method === "GET" && part === "rows") {
        const isBegun = new Headers(headers).get("prefer") === "return=minimal";
        const first = Number(searchParams.get("offset") ?? 0);
        const limit = Number(searchParams.get("limit") ?? Number.POSITIVE_INFINITY);
        const end = Math.min(first + limit, file.numRows);
        const rows = isBegun ? null : file.rows(first, end, signal ?? new AbortController().signal);
        const answer = {
          "content-type": STREAM,
          "x-query-id": kind === "query" ? id : (searchParams.get("id") ?? ""),
          "x-result-order": "partition",
        };
        return new Response(rows, { status: isBegun ? 204 : 200, headers: answer });
      }
      if (method === "GET" && kind === "query" && part === "") {
        const { rows } = file.facts;
        return Response.json({
          ...file.facts,
          state: "done",
          order: "partition",
          rows_ready: rows,
        });
      }
      throw new ColonnadeError(
        "not_loaded",
        "This needs all rows of the file, and only some are loaded.",
        {
          hint: "Press Load all first.",
        },
      );
    } catch (thrown) {
      if (signal?.aborted) throw thrown;
      return problem(ColonnadeError.from(thrown, "reader_failed"));
    }
  };
}

/** An error in the form in which servers send it. */
function problem({ code, message, hint, status }: ColonnadeError): Response {
  const body = { code, detail: message, hint };
  const headers = { "content-type": "application/problem+json" };
  return new Response(JSON.stringify(body), { status: status ?? 422, headers });
}
