"""Columns by their distinct names, and their values in comparable types."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from .errors import ColonnadeError


def distinct_names(schema: pa.Schema) -> list[str]:
    """Return a distinct name for each column: a second ``a`` becomes ``a (n)``, n from 2."""
    taken = set(schema.names)
    names: list[str] = []
    for name in schema.names:
        distinct, number = name, 2
        while distinct in names or (distinct != name and distinct in taken):
            distinct = f"{name} ({number})"
            number += 1
        names.append(distinct)
    return names


def column_index(schema: pa.Schema, name: object) -> int:
    """Return the index of a column by its distinct name.

    Raises:
        ColonnadeError: ``unknown_column``.

    """
    names = distinct_names(schema)
    if not isinstance(name, str) or name not in names:
        shown = ", ".join(names[:10])
        raise ColonnadeError(
            "unknown_column", f"there is no column {name!r}.", f"The columns are {shown}."
        )
    return names.index(name)


def plain_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert dictionaries, run-end encoding, extension types and half floats to plain values."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        storage = [chunk.storage for chunk in column.chunks]
        return plain_values(pa.chunked_array(storage, kind.storage_type))
    if pa.types.is_dictionary(kind):
        return plain_values(column.cast(kind.value_type))
    if pa.types.is_run_end_encoded(kind):
        return plain_values(pc.run_end_decode(column))
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    return column
