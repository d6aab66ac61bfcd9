"""A result of a server, read to its end-of-stream marker over as many connections as it takes."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from socket import gaierror
from typing import Any

import pyarrow as pa

from .errors import ColonnadeError
from .http import NOT_READY, Connection
from .progress import Progress

_MARKER = b"\xff\xff\xff\xff\0\0\0\0"

# How long the server holds a result whose reader has gone.
_LINGER_S = 60
# From a break to the next row.
_GIVE_UP_S = 60.0
_FIRST_WAIT_S = 0.25
_MAX_WAIT_S = 8.0

# There is no server at all, so waiting for it is of no use.
_NOBODY = (ConnectionRefusedError, gaierror)

Open = Callable[[dict[str, Any]], HTTPResponse]
"""Asks for the rows with these further parameters."""


class ResultStream:
    """Reads the batches of one result in row order, each row once."""

    def __init__(
        self, connection: Connection, begin: Open, first_row: int, limit: int | None
    ) -> None:
        """Ask for the rows; returns once the schema is known.

        Args:
            connection: the server.
            begin: makes the request.
            first_row: the number of the first row that it asks for.
            limit: the most rows that it asks for.

        Raises:
            ColonnadeError: what the server refuses; ``network_error``.

        """
        self._connection = connection
        self._id = str(uuid.uuid4())
        self._row = first_row
        self._end = None if limit is None else first_row + limit
        self._begin = begin
        self._deadline: float | None = None
        self._attempt = 0
        self._body: _Body | None = None
        self._reader: pa.RecordBatchReader | None = None
        self._has_begun = False
        self._snapshot: bytes | None = None
        while self._reader is None:
            self._connect()
        self.schema: pa.Schema = self._reader.schema

    def reader(self, progress: Progress) -> pa.RecordBatchReader:
        """The rows as pyarrow reads them; letting go of it cancels the query."""
        batches = self._batches(progress)
        next(batches)
        return pa.RecordBatchReader.from_batches(self.schema, batches)

    def _batches(self, progress: Progress) -> Iterator[pa.RecordBatch]:
        """The batches, behind a None: a generator that has not begun would not end either."""
        try:
            yield None
            while (batch := self._next()) is not None:
                if batch.num_rows > 0:
                    progress.advance(batch.num_rows)
                    yield batch
        finally:
            progress.close()
            self._forget()

    def _next(self) -> pa.RecordBatch | None:
        """The next batch, maybe without rows; None behind the marker."""
        while True:
            if self._reader is None:
                self._connect()
                continue
            try:
                batch, said = self._reader.read_next_batch_with_custom_metadata()
            except StopIteration:
                if self._body is not None and self._body.ended_with_marker:
                    return None
                self._break("the stream ended without its end-of-stream marker")
            except (OSError, HTTPException, pa.ArrowException) as error:
                self._break(str(error) or type(error).__name__)
            else:
                self._check(batch, dict(said) if said else {})
                self._deadline, self._attempt = None, 0
                return batch

    def _check(self, batch: pa.RecordBatch, said: dict[bytes, bytes]) -> None:
        snapshot = said.get(b"colonnade.snapshot", self._snapshot)
        if self._snapshot not in {None, snapshot}:
            message = f"the rows from {self._row} on are of another state of their source."
            raise ColonnadeError("source_changed", message, "Read it again.", row=self._row)
        self._snapshot = snapshot
        first_row = int(said.get(b"colonnade.first_row", b"-1"))
        if first_row != self._row:
            code = "row_overlap" if first_row < self._row else "row_gap"
            message = f"row {first_row} came where row {self._row} was expected."
            raise ColonnadeError(code, message, row=self._row)
        self._row += batch.num_rows
        total = said.get(b"colonnade.total_rows")
        if total is not None and int(total) != self._row:
            message = f"the stream ends at row {self._row}, expected {total.decode()}."
            raise ColonnadeError("wrong_total", message, row=self._row)

    def _connect(self) -> None:
        """Ask for the rows from the next one on; where that fails for now, wait."""
        parameters: dict[str, Any] = {"linger_s": _LINGER_S}
        try:
            if self._has_begun:
                self._look()
                parameters["offset"] = self._row
                if self._end is not None:
                    parameters["limit"] = self._end - self._row
                path = f"query/{self._id}/rows"
                response = self._connection.open("GET", path, query=parameters)
            else:
                response = self._begin({**parameters, "id": self._id})
                self._has_begun = True
            self._body = _Body(response)
            self._reader = pa.ipc.open_stream(pa.PythonFile(self._body, mode="r"))
        except ColonnadeError as error:
            if error.code != "network_error" and error.status not in NOT_READY:
                raise
            if not self._has_begun and isinstance(error.__cause__, _NOBODY):
                raise
            self._break(error.message)
        except (OSError, HTTPException, pa.ArrowException) as error:
            self._break(str(error) or type(error).__name__)

    def _look(self) -> None:
        """Raise the error of a result that has failed."""
        record = self._connection.ask("GET", f"query/{self._id}")
        if record["error"] is not None:
            error = record["error"]
            raise ColonnadeError(error["code"], error["message"], error["hint"], row=self._row)

    def _break(self, reason: str) -> None:
        """Leave the connection and wait before the next one; the first try is made at once."""
        self._close()
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + _GIVE_UP_S
        self._attempt += 1
        wait_s = 0.0
        if self._attempt > 1:
            wait_s = min(_FIRST_WAIT_S * 2 ** (self._attempt - 2), _MAX_WAIT_S)
            # Clients of a server that restarts do not come all at once.
            wait_s *= random.uniform(0.5, 1)  # noqa: S311 - no secret
        if now + wait_s > self._deadline:
            message = f"the connection was lost at row {self._row} and not restored within "
            message += f"{_GIVE_UP_S:.0f} s: {reason}."
            raise ColonnadeError("network_error", message, "Is the server running?", row=self._row)
        time.sleep(wait_s)

    def _close(self) -> None:
        self._reader = None
        if self._body is not None:
            self._body.close()
            self._body = None

    def _forget(self) -> None:
        """Let the server drop the result; one that cannot be reached has nobody to serve."""
        self._close()
        try:
            self._connection.ask("DELETE", f"query/{self._id}")
        except ColonnadeError:
            return


class _Body:
    """A response as a file, which knows whether the last bytes were the end-of-stream marker."""

    def __init__(self, response: HTTPResponse) -> None:
        self._response = response
        self._last = b""
        self.closed = False

    @property
    def ended_with_marker(self) -> bool:
        return self._last == _MARKER

    def read(self, num_bytes: int = -1) -> bytes:
        data = self._response.read(num_bytes)
        # pyarrow reads what it needs, so the marker is read as itself, or as its halves.
        self._last = (self._last + data)[-8:] if len(data) <= 8 else b""
        return data

    def close(self) -> None:
        self.closed = True
        self._response.close()

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False
