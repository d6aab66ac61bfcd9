"""Sorts a pyarrow table as the viewer and the server do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .columns import column_index, plain_values
from .errors import ColonnadeError
from .literal import is_comparable


def sort_indices(table: pa.Table, keys: object) -> pa.Array:
    """Return the row indices in the order of the keys, the most important key first.

    In both directions nulls come last, and NaN before them. Text is sorted by its UTF-8 bytes. The
    sort is stable.

    Args:
        table: the rows.
        keys: ``[{"column": …, "descending": …}]``.

    Raises:
        ColonnadeError: ``bad_sort``, ``unknown_column``.

    """
    if not isinstance(keys, list):
        raise _bad(f"{keys!r} is not a list of sort keys")
    columns: dict[str, pa.ChunkedArray] = {}
    orders = []
    for key in keys:
        if not isinstance(key, dict) or not isinstance(key.get("descending", False), bool):
            raise _bad(f"{key!r} is not a sort key")
        column = table.column(column_index(table.schema, key.get("column")))
        values = plain_values(column)
        if not is_comparable(values.type) and not pa.types.is_duration(values.type):
            raise _bad(f"column {key['column']!r} is {column.type}, which has no order")
        name = str(len(columns))
        columns[name] = values
        orders.append((name, "descending" if key.get("descending") else "ascending"))
    return pc.sort_indices(pa.table(columns), sort_keys=orders)


def sort_key(key: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return a sort key as JSON; a name with a leading ``-`` sorts descending."""
    if not isinstance(key, str):
        return {"column": key["column"], "descending": bool(key.get("descending"))}
    return {"column": key.removeprefix("-"), "descending": key.startswith("-")}


def _bad(what: str) -> ColonnadeError:
    hint = 'Sort keys are [{"column": …, "descending": false}].'
    return ColonnadeError("bad_sort", f"{what}.", hint)
