"""Converts values to texts similar to those of the viewer."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from .columns import plain_values
from .literal import is_text


def texts_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert each value to a text; null stays null.

    Texts are those of pyarrow's cast to string; binary is hex, nested values are Python's ``str``.
    """
    values = plain_values(column)
    kind = values.type
    if is_text(kind):
        return values
    types = pa.types
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        texts = [None if value is None else value.hex() for value in values.to_pylist()]
        return pa.chunked_array([texts], pa.string())
    try:
        return pc.cast(values, pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        texts = [None if value is None else str(value) for value in values.to_pylist()]
        return pa.chunked_array([texts], pa.string())


def holds_text(column: pa.ChunkedArray, text: str, match_case: bool) -> pa.ChunkedArray:
    """Return for each value whether its text contains another one; false for null."""
    holds = pc.match_substring(texts_of(column), text, ignore_case=not match_case)
    return pc.fill_null(holds, False)
