"""Responds to a viewer's requests in the kernel, as a server does over HTTP (``docs/http.md``)."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from decimal import Decimal
from hashlib import sha256
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa

from .columns import without_runs
from .errors import ColonnadeError
from .find import find
from .predicate import filter_mask
from .rows import Rows, bytes_of
from .sort import sort_indices
from .summary import summary
from .wire import MEDIA_TYPE, numbered_stream

TABLE = "data"
"""The table's name in URLs."""

# The first message is small, so that rows are shown at once; the others have some MB.
_BATCH_BYTES = 4 * 2**20
_FIRST_BATCH_ROWS = 500
_MAX_GROWTH = 8

# The stored filters and orders; each may hold a copy of the rows.
_MAX_RESULTS = 8

# Repeated requests return the rows in the same order.
_ORDER = "partition"

_STATUS = {"unknown_query": 404, "unknown_column": 400, "source_failed": 500, "kernel_error": 500}


class Response(NamedTuple):
    """A response, whose body is generated while it is read."""

    status: int
    headers: dict[str, str]
    body: Iterator[bytes]


class Arrangement(NamedTuple):
    """A filter and a sort order; see `filter_mask` and `sort_indices`."""

    filter: Any
    sort: Any

    def rows_of(self, rows: Rows) -> Rows:
        """Return the arranged rows, a copy; raises as `filter_mask` and `sort_indices` do."""
        if self.filter is None and not self.sort:
            return rows
        table = without_runs(rows.table())
        if self.filter is not None:
            table = table.filter(filter_mask(table, self.filter))
        if self.sort:
            table = table.take(sort_indices(table, self.sort))
        identity = json.dumps([rows.snapshot, self.filter, self.sort], default=str)
        return Rows(table, sha256(identity.encode()).hexdigest()[:16])


class KernelServer:
    """Serves the rows of one source. Safe to use from several threads."""

    def __init__(self, rows: Rows) -> None:
        """Serve the given rows."""
        self._rows = rows
        self._results: OrderedDict[str, Rows] = OrderedDict()
        self._lock = Lock()

    def respond(self, method: str, url: str, body: bytes = b"") -> Response:
        """Respond to a request; an error becomes a response with problem details."""
        try:
            return self._route(method, url, body)
        except ColonnadeError as refusal:
            error = refusal
        except Exception as failure:  # without a response, the page would wait forever
            message = f"the request failed in the kernel: {failure or type(failure).__name__}"
            error = ColonnadeError("kernel_error", message)
        problem = {"code": error.code, "detail": error.message, "hint": error.hint}
        status = _STATUS.get(error.code, 400)
        return Response(status, {"content-type": "application/problem+json"}, _json(problem))

    def _route(self, method: str, url: str, body: bytes) -> Response:
        target = urlsplit(url)
        query = dict(parse_qsl(target.query, keep_blank_values=True))
        if (method, target.path) == ("GET", f"/v1/tables/{TABLE}/rows"):
            return self._store(query, self._rows)
        if (method, target.path) == ("POST", "/v1/query"):
            request = json.loads(body, parse_float=Decimal)
            base = self._result(request["query"]) if "query" in request else self._rows
            arrangement = Arrangement(request.get("filter"), request.get("sort"))
            return self._store(request, arrangement.rows_of(base))
        match = re.fullmatch(r"/v1/query/([^/]+)(/rows|/summary|/find|)", target.path)
        if match is None:
            raise ColonnadeError("unknown_path", f"there is no route for {method} {target.path}.")
        query_id = unquote(match[1])
        if method == "DELETE":
            with self._lock:
                self._results.pop(query_id, None)
            return Response(204, {}, iter(()))
        rows = self._result(query_id)
        work: dict[str, Callable[[], Response]] = {
            "": lambda: _json_response(_record(query_id, rows)),
            "/rows": lambda: _stream(query_id, rows, query),
            "/summary": lambda: _json_response(_summary(rows, query)),
            "/find": lambda: _json_response(_find(rows, query)),
        }
        return work[match[2]]()

    def _store(self, query: dict[str, Any], rows: Rows) -> Response:
        query_id = str(query.get("id", ""))
        with self._lock:
            self._results[query_id] = rows
            while len(self._results) > _MAX_RESULTS:
                self._results.popitem(last=False)
        return _stream(query_id, rows, query)

    def _result(self, query_id: str) -> Rows:
        with self._lock:
            rows = self._results.get(query_id)
            if rows is None:
                raise ColonnadeError("unknown_query", f"there is no result {query_id}.")
            self._results.move_to_end(query_id)
            return rows


def _summary(rows: Rows, query: dict[str, Any]) -> dict[str, Any]:
    options = {"top": int(query["top"])} if "top" in query else {}
    return summary(rows.table(), query.get("column", ""), **options)


def _stream(query_id: str, rows: Rows, query: dict[str, Any]) -> Response:
    start = int(query.get("offset", 0))
    limit = query.get("limit")
    end = 2**63 if limit is None else start + int(limit)
    headers = {
        "content-type": MEDIA_TYPE,
        "x-query-id": query_id,
        "x-result-order": _ORDER,
    }
    batches = _batches(rows, start, end)
    return Response(200, headers, numbered_stream(rows.schema, batches, start, rows.snapshot))


def _batches(rows: Rows, start: int, end: int) -> Iterator[pa.RecordBatch]:
    """Yield rows in batches of some MB."""
    num_rows = _FIRST_BATCH_ROWS
    while start < end:
        batch = next(rows.batches(start, min(end, start + num_rows)), None)
        if batch is None:
            return
        yield batch
        start += batch.num_rows
        wanted_rows = _BATCH_BYTES * batch.num_rows // bytes_of(batch)
        num_rows = max(1, min(wanted_rows, num_rows * _MAX_GROWTH))


def _record(query_id: str, rows: Rows) -> dict[str, Any]:
    error = rows.error
    return {
        "id": query_id,
        "state": "done" if rows.is_whole else "running",
        "order": _ORDER,
        "rows": rows.num_rows if rows.is_whole else None,
        "first_row": 0,
        "rows_ready": rows.num_rows,
        "error": error and {"code": error.code, "message": error.message, "hint": error.hint},
    }


def _find(rows: Rows, query: dict[str, str]) -> dict[str, Any]:
    first_row, limit = int(query.get("from", 0)), int(query.get("limit", 100))
    quoted = re.findall(r'"((?:[^"]|"")*)"', query.get("columns", ""))
    columns = [name.replace('""', '"') for name in quoted] if "columns" in query else None
    match_case = query.get("case") == "exact"
    return find(rows, query.get("text", ""), first_row, limit, columns, match_case=match_case)


def _json_response(value: object) -> Response:
    return Response(200, {"content-type": "application/json"}, _json(value))


def _json(value: object) -> Iterator[bytes]:
    return iter([json.dumps(value).encode()])
