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


def without_runs(table: pa.Table) -> pa.Table:
    """Decode run-end encoded columns, whose rows pyarrow cannot select."""
    for index, field in enumerate(table.schema):
        if pa.types.is_run_end_encoded(field.type):
            values = pc.run_end_decode(table.column(index))
            table = table.set_column(index, field.with_type(values.type), values)
    return table


def stored_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values in dictionaries, runs and extension types."""
    if isinstance(kind, pa.BaseExtensionType):
        return stored_type(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return stored_type(kind.value_type)
    return kind


def plain_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert dictionaries, runs, extension types, half floats and narrow decimals."""
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
    if pa.types.is_decimal(kind) and kind.bit_width < 128:  # which pyarrow cannot sort
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    return column
