"""Rows by their number, from any object with the Arrow PyCapsule interface."""

from __future__ import annotations

import secrets
from bisect import bisect_right
from collections.abc import Iterator
from threading import RLock
from typing import Any

import pyarrow as pa

from .errors import ColonnadeError


class Source:
    """The batches of an object with the Arrow PyCapsule interface, read once.

    Text and binary views are read as large text and binary, because a slice of a view keeps all
    buffers of the whole.
    """

    def __init__(self, data: Any) -> None:
        """Open the object; see `Rows`."""
        self._reader = _reader(data)
        self._row = 0
        self.schema: pa.Schema = pa.schema(
            [field.with_type(_plain(field.type)) for field in self._reader.schema],
            self._reader.schema.metadata,
        )

    def read(self) -> pa.RecordBatch | None:
        """Read the next batch that has rows; None after the last one.

        Raises:
            ColonnadeError: ``source_failed``.

        """
        try:
            for batch in self._reader:
                if batch.num_rows > 0:
                    columns = [
                        column if column.type == field.type else column.cast(field.type)
                        for column, field in zip(batch.columns, self.schema, strict=True)
                    ]
                    self._row += batch.num_rows
                    return pa.RecordBatch.from_arrays(columns, schema=self.schema)
        except ColonnadeError:
            raise
        except Exception as error:  # a reader may raise anything
            message = f"the source failed after row {self._row}: {error or type(error).__name__}"
            raise ColonnadeError("source_failed", message, row=self._row) from error
        return None


class Rows:
    """The batches of a source, read on demand and kept.

    Safe to use from several threads.
    """

    def __init__(self, data: Any, snapshot: str | None = None) -> None:
        """Open the object; rows are read on demand.

        Args:
            data: a pyarrow Table, RecordBatch or RecordBatchReader, a frame of pandas or Polars, a
                relation of DuckDB: any object with ``__arrow_c_stream__`` or ``__arrow_c_array__``.
            snapshot: 16 hexadecimal digits that identify the rows; None for random ones.

        Raises:
            ColonnadeError: ``bad_source``.

        """
        source = Source(data)
        self._source: Source | None = source
        self.schema = source.schema
        self._next: pa.RecordBatch | None = None
        self._batches: list[pa.RecordBatch] = []
        self._starts = [0]
        self._lock = RLock()
        self.is_whole = False
        self.error: ColonnadeError | None = None
        self.snapshot = snapshot or secrets.token_hex(8)

    @property
    def num_rows(self) -> int:
        """The number of rows read so far; the total once `is_whole`."""
        return self._starts[-1]

    def batches(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Yield the existing rows of ``[start, end)`` in slices of the source's batches.

        Raises:
            ColonnadeError: ``source_failed`` if reading the source fails.

        """
        while start < end and (batch := self._slice(start, end)) is not None:
            yield batch
            start += batch.num_rows

    def table(self) -> pa.Table:
        """Return all rows; reads the rest of the source. Raises as `batches` does."""
        while not self.is_whole:
            self._read()
        return pa.Table.from_batches(self._batches, self.schema)

    def close(self) -> None:
        """Release the rows and their source; reading then raises ``closed``."""
        with self._lock:
            self.error = ColonnadeError("closed", "these rows were released.", "Show them again.")
            self._source, self._next, self.is_whole = None, None, False
            self._batches, self._starts = [], [0]

    def _slice(self, start: int, end: int) -> pa.RecordBatch | None:
        """Return the rows of ``[start, end)`` that are in one batch; None after the last row."""
        with self._lock:
            while self.num_rows <= start:
                if self.is_whole:
                    return None
                self._read()
            index = bisect_right(self._starts, start) - 1
            batch, batch_start = self._batches[index], self._starts[index]
        return batch.slice(start - batch_start, min(end, self._starts[index + 1]) - start)

    def _read(self) -> None:
        """Read the next batch and one ahead, so that the last batch is known to be the last."""
        with self._lock:
            if self.is_whole:
                return
            if self.error is not None:
                raise self.error
            batch, self._next = self._next or self._read_source(), None
            if batch is not None and self.error is None:
                self._next = self._read_source(is_ahead=True)
            if batch is not None:
                self._batches.append(batch)
                self._starts.append(self.num_rows + batch.num_rows)
            self.is_whole = self._next is None and self.error is None

    def _read_source(self, *, is_ahead: bool = False) -> pa.RecordBatch | None:
        try:
            return None if self._source is None else self._source.read()
        except ColonnadeError as error:
            self.error = error
            if is_ahead:
                return None
            raise


def bytes_of(batch: pa.RecordBatch) -> int:
    """Return the approximate size of a batch in bytes, at least 1."""
    try:
        return max(1, int(batch.nbytes))
    except pa.ArrowException:  # older versions of pyarrow do not support list views
        return max(1, int(batch.get_total_buffer_size()))


def _reader(data: Any) -> pa.RecordBatchReader:
    if isinstance(data, pa.RecordBatchReader):
        return data
    try:
        if hasattr(data, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(data)
        if hasattr(data, "__arrow_c_array__"):
            return pa.table(pa.record_batch(data)).to_reader()
    except (pa.ArrowException, OSError) as error:
        message = f"the {type(data).__name__} cannot be converted to Arrow: {error}"
        hint = "Check for columns with values of several types."
        raise ColonnadeError("bad_source", message, hint) from error
    raise ColonnadeError(
        "bad_source",
        f"{type(data).__module__}.{type(data).__qualname__} has no Arrow PyCapsule interface.",
        "Pass a frame of pandas or Polars, a relation of DuckDB, a Table or reader of pyarrow.",
    )


def _plain(kind: pa.DataType) -> pa.DataType:
    """Replace text and binary views in a type and its nested types."""
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_list(kind):
        return pa.list_(_plain_field(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(_plain_field(kind.value_field))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field), kind.list_size)
    if pa.types.is_struct(kind):
        return pa.struct([_plain_field(kind.field(index)) for index in range(kind.num_fields)])
    return kind


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(_plain(field.type))
