"""Encodes record batches as an Arrow IPC stream whose messages have row numbers.

Row numbers are in ``Message.custom_metadata``, as ``docs/http.md`` describes. pyarrow can write
that for record batches only, but dictionaries need it too, so this module adds it in front of each
message's header.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

MEDIA_TYPE = "application/vnd.apache.arrow.stream"
"""The media type of an Arrow IPC stream."""

_CONTINUATION = b"\xff\xff\xff\xff"
_MESSAGE_VTABLE = struct.pack("<7H", 14, 24, 20, 22, 4, 8, 16)
_MESSAGE = 24
_KEY_VALUE_VTABLE = struct.pack("<4H", 8, 12, 4, 8)
_KEY_VALUE = 48
_ENTRIES = 56
# A multiple of this keeps the alignment of the header and the body after it.
_FRONT_ALIGNMENT_BYTES = 64

_SCHEMA, _DICTIONARY_BATCH, _RECORD_BATCH = 1, 2, 3


def numbered_stream(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], first_row: int, snapshot: str
) -> Iterator[bytes]:
    """Encode batches as one stream.

    Args:
        schema: the schema of all batches.
        batches: in row order.
        first_row: the row number of their first row in the result.
        snapshot: 16 hexadecimal digits, the same for all streams of the same rows.

    Yields:
        The messages of each batch, for the first one with the schema; then an empty batch with the
        totals, and the end-of-stream marker.

    """
    sink = _Sink()
    numbers = _Numbers(first_row, snapshot)
    with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), schema) as writer:
        batch = _empty(schema)
        for batch in batches:
            writer.write_batch(batch)
            yield b"".join(numbers.messages(sink.take(), batch.num_rows))
        writer.write_batch(_no_rows(batch))
        numbers.is_end = True
        last = sink.take()
    yield b"".join(numbers.messages(last, 0)) + sink.take()


def plain_stream(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Encode batches as one stream, as pyarrow writes it; yields a chunk for each batch."""
    sink = _Sink()
    with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield sink.take()
    yield sink.take()


class _Sink:
    """A file for pyarrow to write to; it keeps only the bytes since the last `take`."""

    closed = False

    def __init__(self) -> None:
        self._chunks: list[Any] = []

    def write(self, chunk: object) -> None:
        self._chunks.append(chunk)

    def take(self) -> bytes:
        """Return and forget the bytes written since the last call."""
        chunks, self._chunks = self._chunks, []
        return b"".join(chunks)

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


class _Numbers:
    """Adds row numbers to the messages of one stream."""

    def __init__(self, first_row: int, snapshot: str) -> None:
        self._row = first_row
        self._snapshot = snapshot
        self._seq = 0
        self._num_batches = 0
        self.is_end = False

    def messages(self, written: bytes, num_rows: int) -> Iterator[bytes | memoryview]:
        """Split the bytes of one batch into messages, and put entries in front of each header."""
        view = memoryview(written)
        start = 0
        while start < len(view):
            (header_bytes,) = struct.unpack_from("<i", view, start + 4)
            header = view[start + 8 : start + 8 + header_bytes]
            message = _Message(header)
            end = start + 8 + header_bytes + message.body_bytes
            if message.kind == _SCHEMA:
                yield view[start:end]
            else:
                front = message.front(self._entries(message.kind))
                yield _CONTINUATION + struct.pack("<i", len(front) + header_bytes) + front
                yield view[start + 8 : end]
                self._seq += 1
                self._num_batches += message.kind == _RECORD_BATCH
            start = end
        self._row += num_rows

    def _entries(self, kind: int) -> dict[str, str]:
        entries = {"colonnade.first_row": str(self._row), "colonnade.seq": str(self._seq)}
        if self._seq == 0:
            entries["colonnade.snapshot"] = self._snapshot
        if self.is_end and kind == _RECORD_BATCH:
            entries["colonnade.total_rows"] = str(self._row)
            entries["colonnade.total_batches"] = str(self._num_batches)
        return entries


class _Message:
    """The header of a message, a FlatBuffer (``format/Message.fbs``)."""

    def __init__(self, header: memoryview) -> None:
        self._header = header
        (self._table,) = struct.unpack_from("<I", header, 0)
        (vtable,) = struct.unpack_from("<i", header, self._table)
        self._vtable = self._table - vtable
        self.kind = self._scalar("<B", 1)
        self.body_bytes = self._scalar("<q", 3)

    def _field(self, index: int) -> int | None:
        (size,) = struct.unpack_from("<H", self._header, self._vtable)
        if 4 + 2 * index >= size:
            return None
        (offset,) = struct.unpack_from("<H", self._header, self._vtable + 4 + 2 * index)
        return self._table + int(offset) if offset else None

    def _scalar(self, form: str, index: int) -> int:
        at = self._field(index)
        return 0 if at is None else int(struct.unpack_from(form, self._header, at)[0])

    def front(self, entries: dict[str, str]) -> bytes:
        """Return bytes that add entries to the message when put in front of its header.

        Offsets in a FlatBuffer are relative and point forward, so the header needs no change: the
        front holds a new root and Message, which refer to the header in the old bytes.
        """
        header_at = self._field(2)
        assert header_at is not None, "a message has a header"  # noqa: S101 - pyarrow wrote it
        (old_header,) = struct.unpack_from("<I", self._header, header_at)
        texts = [text.encode() for entry in entries.items() for text in entry]
        key_values = _ENTRIES + 4 + 4 * len(entries)
        strings = key_values + 12 * len(entries)
        end = strings + sum(_string_bytes(text) for text in texts)
        front = bytearray(-(-end // _FRONT_ALIGNMENT_BYTES) * _FRONT_ALIGNMENT_BYTES)

        def point(slot: int, target: int) -> None:
            struct.pack_into("<I", front, slot, target - slot)

        point(0, _MESSAGE)
        front[4 : 4 + len(_MESSAGE_VTABLE)] = _MESSAGE_VTABLE
        struct.pack_into("<I", front, _MESSAGE, _MESSAGE - 4)
        point(_MESSAGE + 4, len(front) + header_at + old_header)
        struct.pack_into("<q", front, _MESSAGE + 8, self.body_bytes)
        point(_MESSAGE + 16, _ENTRIES)
        struct.pack_into("<HB", front, _MESSAGE + 20, self._scalar("<H", 0), self.kind)
        front[_KEY_VALUE : _KEY_VALUE + len(_KEY_VALUE_VTABLE)] = _KEY_VALUE_VTABLE
        struct.pack_into("<I", front, _ENTRIES, len(entries))
        string_at = strings
        for index in range(len(entries)):
            at = key_values + 12 * index
            point(_ENTRIES + 4 + 4 * index, at)
            struct.pack_into("<I", front, at, at - _KEY_VALUE)
            for slot, text in zip((at + 4, at + 8), texts[2 * index :], strict=False):
                point(slot, string_at)
                struct.pack_into("<I", front, string_at, len(text))
                front[string_at + 4 : string_at + 4 + len(text)] = text
                string_at += _string_bytes(text)
        return bytes(front)


def _string_bytes(text: bytes) -> int:
    """Return the size of a FlatBuffer string: length, text and a zero, padded to four bytes."""
    return (4 + len(text) + 1 + 3) // 4 * 4


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.nulls(0, field.type) for field in schema], schema=schema)


def _no_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch without rows, with the dictionaries of `batch`.

    Only dictionary columns are sliced, because pyarrow writes all offsets of an empty slice.
    """
    columns = [
        column.slice(0, 0) if pa.types.is_dictionary(column.type) else pa.nulls(0, column.type)
        for column in batch.columns
    ]
    return pa.record_batch(columns, schema=batch.schema)
