"""The tables and queries of a Colonnade server as pyarrow readers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Any

import pyarrow as pa

from .exact import exact_json
from .http import Connection, in_path
from .progress import Progress
from .rows import Source, bytes_of
from .sort import sort_key
from .stream import ResultStream
from .wire import MEDIA_TYPE, plain_stream

_BATCH_BYTES = 4 * 2**20


def connect(url: str, *, token: str | None = None, progress: bool = True) -> Server:
    """Connect to a Colonnade server.

    Args:
        url: the server's URL, e.g. ``http://127.0.0.1:7878``.
        token: the text of the server's ``--token-file``.
        progress: whether reads of more than a second show a bar, if tqdm is installed.

    Raises:
        ColonnadeError: ``bad_url``. The first request shows whether the server responds.

    """
    return Server(Connection(url, token), progress=progress)


class Server:
    """A Colonnade server; made by `connect`."""

    def __init__(self, connection: Connection, *, progress: bool) -> None:
        """Use `connect` instead."""
        self._connection = connection
        self._progress = progress

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"colonnade.connect({self._connection.url!r})"

    def tables(self) -> list[Table]:
        """All tables, in the server's order.

        Raises:
            ColonnadeError: the server's error, or ``network_error``.

        """
        match self._connection.request_json("GET", "tables"):
            case {"tables": list(records)}:
                return [_table(self, record) for record in records]
        raise self._connection.unexpected()

    def table(self, name: str) -> Table:
        """Return a table by its name.

        Raises:
            ColonnadeError: ``unknown_table``; as `tables`.

        """
        return _table(self, self._connection.request_json("GET", f"tables/{in_path(name)}"))

    def query(self, sql: str) -> pa.RecordBatchReader:
        """Run an SQL query; its rows arrive while they are read.

        A broken connection is restored, and reading continues at exactly the next row. Deleting the
        reader (``del``) cancels the query.

        Args:
            sql: a query in DataFusion's SQL.

        Returns:
            A reader of the rows in order, with the query's columns. Reading a batch raises
            `ColonnadeError` if the query fails after its first row.

        Raises:
            ColonnadeError: the server's error (``bad_sql``, …), or ``network_error``.

        """
        return self._read({"sql": sql}, None, 0, None)

    def upload(self, name: str, data: Any) -> Table:
        """Upload data as a table, or replace an uploaded table, atomically.

        Args:
            name: the name of the table.
            data: an object with the Arrow PyCapsule interface, read while it is sent.

        Raises:
            ColonnadeError: ``not_writable``, ``name_in_use``, ``body_too_large``, …;
                ``bad_source`` and ``source_failed`` for the data.

        """
        path = f"tables/{in_path(name)}"
        source = Source(data)
        body = plain_stream(source.schema, _batches(source))
        self._connection.request_json("PUT", path, body=body, content_type=MEDIA_TYPE)
        return self.table(name)

    def _read(
        self, request: dict[str, Any], total_rows: int | None, offset: int, limit: int | None
    ) -> pa.RecordBatchReader:
        def begin(parameters: dict[str, Any]) -> HTTPResponse:
            body = json.dumps({**request, **parameters}).encode()
            return self._connection.open(
                "POST", "query", body=body, content_type="application/json"
            )

        return self._stream(begin, total_rows, offset, limit)

    def _stream(
        self, begin: Any, total_rows: int | None, offset: int, limit: int | None
    ) -> pa.RecordBatchReader:
        stream = ResultStream(self._connection, begin, offset, limit)
        return stream.reader(Progress(total_rows, is_wanted=self._progress))


@dataclass(frozen=True)
class Table:
    """A table of a server; made by `Server.tables` and `Server.table`.

    Attributes:
        name: its name at the server.
        format: the format of its files, e.g. ``parquet``.
        num_rows: None if the rows can only be counted by reading them all.
        num_bytes: the size of its files; None if unknown.
        version: a text that changes when its files change.
        fields: its columns, ``{"name", "type", "nullable"}`` with pyarrow's name of the type.

    """

    name: str
    format: str
    num_rows: int | None
    num_bytes: int | None
    version: str
    fields: tuple[Mapping[str, Any], ...]
    _server: Server

    def rows(
        self,
        *,
        columns: Sequence[str] | None = None,
        filter: str | Mapping[str, Any] | None = None,
        sort: str | Sequence[str] | None = None,
        offset: int = 0,
        limit: int | None = None,
    ) -> pa.RecordBatchReader:
        """Read rows, as `Server.query` does.

        Args:
            columns: the names of the columns in the order to read; None for all.
            filter: an SQL expression, ``"price > 10 and name = 'ant'"``, or a predicate,
                ``{"op": "gt", "column": "price", "value": 10}``.
            sort: column names, descending with a ``-`` in front: ``["-price", "name"]``. Nulls
                come last.
            offset: the first row to read in that order, counted from 0.
            limit: the maximum number of rows to read.

        Raises:
            ColonnadeError: ``bad_filter``, ``unknown_column``, …; as `Server.query`.

        """
        keys = [sort] if isinstance(sort, str) else sort
        is_whole = filter is None and limit is None
        total_rows = self.num_rows - offset if is_whole and self.num_rows is not None else limit
        row_range: dict[str, Any] = {"offset": offset} | ({} if limit is None else {"limit": limit})
        if not isinstance(filter, str):
            request = {"table": self.name, **row_range}
            request |= {} if columns is None else {"columns": list(columns)}
            request |= {} if keys is None else {"sort": [sort_key(key) for key in keys]}
            request |= {} if filter is None else {"filter": exact_json(filter)}
            return self._server._read(request, total_rows, offset, limit)
        query = {**row_range, "filter": filter}
        query |= {} if columns is None else {"columns": ",".join(map(_quoted, columns))}
        query |= {} if keys is None else {"sort": ",".join(map(_quoted_key, keys))}

        def begin(parameters: dict[str, Any]) -> HTTPResponse:
            path = f"tables/{in_path(self.name)}/rows"
            return self._server._connection.open("GET", path, query={**query, **parameters})

        return self._server._stream(begin, total_rows, offset, limit)

    def delete(self) -> None:
        """Delete an uploaded table.

        Raises:
            ColonnadeError: if it was not uploaded, or no longer exists.

        """
        self._server._connection.request_json("DELETE", f"tables/{in_path(self.name)}")


def _table(server: Server, record: Any) -> Table:
    match record:
        case {
            "name": str(name),
            "format": str(kind),
            "rows": int() | None as num_rows,
            "bytes": int() | None as num_bytes,
            "version": str(version),
            "fields": list(fields),
        }:
            return Table(name, kind, num_rows, num_bytes, version, tuple(fields), server)
    raise server._connection.unexpected()


def _quoted(name: str) -> str:
    """Quote a name as in SQL, so that it may contain a comma."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _quoted_key(key: str) -> str:
    return f"-{_quoted(key[1:])}" if key.startswith("-") else _quoted(key)


def _batches(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield all rows in batches of some MB."""
    while (batch := source.read()) is not None:
        num_rows = max(1, _BATCH_BYTES * batch.num_rows // bytes_of(batch))
        for start in range(0, batch.num_rows, num_rows):
            yield batch.slice(start, num_rows)
