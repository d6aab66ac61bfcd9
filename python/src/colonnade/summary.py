"""Column summaries, as ``GET /v1/query/{id}/summary`` returns them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .columns import column_index, plain_values
from .literal import is_comparable, is_text
from .texts import texts_of

_MAX_BINS = 32
_MAX_TOP = 10


def summary(table: pa.Table, name: str, top: int = _MAX_TOP) -> dict[str, Any]:
    """Summarise a column.

    Args:
        table: all rows.
        name: the column's distinct name.
        top: how many of the most frequent values are wanted.

    Raises:
        ColonnadeError: ``unknown_column``.

    """
    column = table.column(column_index(table.schema, name))
    values = plain_values(column)
    known = pc.drop_null(values)
    kind = values.type
    answer: dict[str, Any] = {
        "column": name,
        "type": str(column.type),
        "rows": len(values),
        "nulls": len(values) - len(known),
        "distinct": pc.count_distinct(known).as_py() if is_comparable(kind) else None,
        "distinct_is_approximate": False,
        "min": None,
        "max": None,
        "mean": None,
    }
    if pa.types.is_floating(kind):
        finite = known.filter(pc.is_finite(known))
        answer["nan"] = pc.sum(pc.is_nan(known)).as_py() or 0
        answer["infinite"] = pc.sum(pc.is_inf(known)).as_py() or 0
        known = finite
    if len(known) == 0 or not is_comparable(kind):
        return answer
    if is_text(kind) or pa.types.is_boolean(kind):
        counted = pc.value_counts(known).sort(order="descending", by="counts").slice(0, top)
        tops = pa.chunked_array([counted.field("values")])
        counts = counted.field("counts").to_pylist()
        answer["top"] = [
            {"value": value, "count": count}
            for value, count in zip(texts_of(tops).to_pylist(), counts, strict=True)
        ]
    if is_text(kind):
        lengths = pc.utf8_length(known)
        answer["empties"] = pc.sum(pc.equal(lengths, 0)).as_py()
        ends = pc.min_max(lengths).as_py()
        answer["lengths"] = _named(_quartiles(lengths).to_pylist()) | ends
    extremes = pc.min_max(known)
    # Not converted to Python, whose times have no nanoseconds and end with the year 9999.
    ends = pa.chunked_array([pa.array([extremes["min"], extremes["max"]], kind)])
    answer["min"], answer["max"] = texts_of(ends).to_pylist()
    if pa.types.is_temporal(kind) or _is_number(kind):
        answer["quartiles"] = _named(texts_of(_quartiles(known)).to_pylist())
    if pa.types.is_temporal(kind) or pa.types.is_integer(kind):
        answer |= _of_integers(known)
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        answer |= _of_floats(known)
    return answer


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _quartiles(known: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the least values that are not smaller than 1, 2 and 3 quarters of all."""
    ascending = pc.array_sort_indices(known.combine_chunks())
    places = [-(-len(known) * quarters // 4) - 1 for quarters in (1, 2, 3)]
    return known.take(ascending.take(pa.array(places)))


def _named(quartiles: list[Any]) -> dict[str, Any]:
    return dict(zip(("lower", "median", "upper"), quartiles, strict=True), is_approximate=False)


def _of_integers(known: pa.ChunkedArray) -> dict[str, Any]:
    """Return mean and histogram of integers and times; the width of a bin is a whole number."""
    kind = known.type
    stored = (
        kind if pa.types.is_integer(kind) else pa.int32() if kind.bit_width == 32 else pa.int64()
    )
    numbers = known.cast(stored)
    extremes = pc.min_max(numbers)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    width = max(1, -(-(high - low) // _MAX_BINS))
    num_bins = max(1, -(-(high - low) // width))
    edges = [low + index * width for index in range(num_bins)] + [high]
    starts = pa.array(edges[1:-1], stored)
    counts = _counts(numbers, starts)
    mean = pc.mean(numbers).as_py()
    texts = texts_of(pa.chunked_array([pa.array(edges, stored).cast(kind)])).to_pylist()
    if pa.types.is_temporal(kind):
        (text,) = texts_of(
            pa.chunked_array([pa.array([round(mean)], stored).cast(kind)])
        ).to_pylist()
    else:
        text = str(mean)
    return {"mean": text, "histogram": {"edges": texts, "counts": counts}}


def _of_floats(known: pa.ChunkedArray) -> dict[str, Any]:
    """Return mean and histogram of floats and decimals."""
    numbers = known.cast(pa.float64())
    extremes = pc.min_max(numbers)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    num_bins = _MAX_BINS if high > low else 1
    # Not by the width, which may be greater than every float.
    parts = [index / num_bins for index in range(num_bins)]
    edges = [low * (1 - part) + high * part for part in parts] + [high]
    counts = _counts(numbers, pa.array(edges[1:-1], pa.float64()))
    texts = [str(edge) for edge in edges]
    return {"mean": str(pc.mean(numbers).as_py()), "histogram": {"edges": texts, "counts": counts}}


def _counts(numbers: pa.ChunkedArray, starts: pa.Array) -> list[int]:
    """Count the numbers of each bin; `starts` are the starts of all bins but the first."""
    before = [pc.sum(pc.less(numbers, start)).as_py() or 0 for start in starts]
    bounds = [0, *before, len(numbers)]
    return [end - start for start, end in pairwise(bounds)]
