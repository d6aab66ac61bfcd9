"""Reads a result to its end-of-stream marker, over several connections if one breaks."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Iterator
from http.client import HTTPResponse, InvalidURL
from socket import gaierror
from typing import Any

import pyarrow as pa

from .errors import ColonnadeError
from .http import NOT_READY, Connection
from .progress import Progress

_MARKER = b"\xff\xff\xff\xff\0\0\0\0"

# How long the server keeps a result without a reader.
_LINGER_S = 60
# The longest time from a broken connection to the next row.
_MAX_OUTAGE_S = 60.0
_FIRST_WAIT_S = 0.25
_MAX_WAIT_S = 8.0

# No server is at this address, or a request cannot even be written, so retries would be useless.
_NO_SERVER = (ConnectionRefusedError, gaierror, InvalidURL, ValueError)

Open = Callable[[dict[str, Any]], HTTPResponse]
"""Sends the request for the rows with additional parameters."""


class ResultStream:
    """Reads the batches of one result in row order, each row once."""

    def __init__(
        self, connection: Connection, begin: Open, first_row: int, limit: int | None
    ) -> None:
        """Request the rows; returns once the schema is known.

        Args:
            connection: the server.
            begin: sends the first request.
            first_row: the number of the first requested row.
            limit: the maximum number of requested rows; None for all.

        Raises:
            ColonnadeError: the server's error, or ``network_error``.

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
        """Return the rows as a pyarrow reader; deleting it cancels the query."""
        batches = self._batches(progress)
        next(batches)
        return pa.RecordBatchReader.from_batches(self.schema, batches)

    def _batches(self, progress: Progress) -> Iterator[pa.RecordBatch]:
        """Yield None, then the batches. Only a started generator runs its ``finally``."""
        try:
            yield None
            while (batch := self._next()) is not None:
                if batch.num_rows > 0:
                    progress.advance(batch.num_rows)
                    yield batch
        finally:
            progress.close()
            self._delete()

    def _next(self) -> pa.RecordBatch | None:
        """Read the next batch, which may be empty; None after the end-of-stream marker."""
        while True:
            if self._reader is None:
                self._connect()
                continue
            try:
                batch, metadata = self._reader.read_next_batch_with_custom_metadata()
            except StopIteration:
                if self._body is not None and self._body.ended_with_marker:
                    return None
                self._wait_for_retry("the stream ended without its end-of-stream marker")
            except ColonnadeError as error:
                self._wait_for_retry(error.message)
            except (OSError, pa.ArrowException) as error:
                self._wait_for_retry(str(error))
            else:
                self._check(batch, dict(metadata) if metadata else {})
                self._deadline, self._attempt = None, 0
                return batch

    def _check(self, batch: pa.RecordBatch, metadata: dict[bytes, bytes]) -> None:
        snapshot = metadata.get(b"colonnade.snapshot", self._snapshot)
        if self._snapshot not in {None, snapshot} or batch.schema != self.schema:
            message = f"the source changed before row {self._row} was read."
            raise ColonnadeError("source_changed", message, "Read it again.", row=self._row)
        self._snapshot = snapshot
        first_row = _number(metadata.get(b"colonnade.first_row", b"-1"))
        if first_row != self._row:
            code = "row_overlap" if first_row < self._row else "row_gap"
            message = f"received row {first_row}, expected row {self._row}."
            raise ColonnadeError(code, message, row=self._row)
        self._row += batch.num_rows
        total = metadata.get(b"colonnade.total_rows")
        if total is not None and _number(total) != self._row:
            message = f"the stream ends at row {self._row}, expected row {_number(total)}."
            raise ColonnadeError("wrong_total", message, row=self._row)

    def _connect(self) -> None:
        """Request the rows from the next one on; wait if that fails temporarily."""
        parameters: dict[str, Any] = {"linger_s": _LINGER_S}
        try:
            if self._has_begun:
                self._raise_failure()
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
            if not self._has_begun and isinstance(error.__cause__, _NO_SERVER):
                raise
            self._wait_for_retry(error.message)
        except (OSError, pa.ArrowException) as error:
            self._wait_for_retry(str(error))

    def _raise_failure(self) -> None:
        """Raise the error of a result that has failed."""
        match self._connection.request_json("GET", f"query/{self._id}"):
            case {"error": None}:
                return
            case {"error": {"code": str(code), "message": str(message), "hint": str(hint)}}:
                raise ColonnadeError(code, message, hint, row=self._row)
        raise self._connection.unexpected()

    def _wait_for_retry(self, reason: str) -> None:
        """Close the connection and wait before the next one; the first retry has no wait."""
        self._close()
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + _MAX_OUTAGE_S
        self._attempt += 1
        wait_s = 0.0
        if self._attempt > 1:
            wait_s = min(_FIRST_WAIT_S * 2 ** (self._attempt - 2), _MAX_WAIT_S)
            # Random waits keep clients from reconnecting all at once after a restart.
            wait_s *= random.uniform(0.5, 1)  # noqa: S311 - no secret
        if now + wait_s > self._deadline:
            message = f"the connection was lost at row {self._row} and not restored within "
            message += f"{_MAX_OUTAGE_S:.0f} s: {reason.removesuffix('.')}."
            raise ColonnadeError("network_error", message, "Is the server running?", row=self._row)
        time.sleep(wait_s)

    def _close(self) -> None:
        self._reader = None
        if self._body is not None:
            self._body.close()
            self._body = None

    def _delete(self) -> None:
        """Delete the result at the server; ignores errors."""
        self._close()
        try:
            self._connection.request_json("DELETE", f"query/{self._id}")
        except ColonnadeError:
            return


class _Body:
    """A response as a file that records whether it ended with the end-of-stream marker."""

    def __init__(self, response: HTTPResponse) -> None:
        self._response = response
        self._last = b""
        self.closed = False

    @property
    def ended_with_marker(self) -> bool:
        return self._last == _MARKER

    def read(self, num_bytes: int = -1) -> bytes:
        data = self._response.read(num_bytes)
        # pyarrow reads the marker in one or two reads, and nothing behind it.
        self._last = (self._last + data)[-8:] if 0 < len(data) <= 8 else b""
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


def _number(text: bytes) -> int:
    """Parse a row number; -1 if it is none."""
    try:
        return int(text)
    except ValueError:
        return -1
