"""Searches rows for a text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .columns import distinct_names
from .rows import Rows
from .texts import holds_text

# The longest time of one search, so that the kernel stays responsive and progress is shown.
_MAX_S = 2.0
_STEP_ROWS = 20_000


def find(
    rows: Rows,
    text: str,
    first_row: int,
    limit: int,
    columns: Sequence[str] | None = None,
    *,
    match_case: bool = False,
) -> dict[str, Any]:
    """Find cells that contain a text, as ``GET /v1/query/{id}/find`` does.

    Args:
        rows: the rows to search.
        text: the text to find.
        first_row: the row to start at.
        limit: the maximum number of matching rows.
        columns: distinct names of the columns to search; None for all.
        match_case: whether case matters.

    Returns:
        ``{"matches": [{"row", "columns"}], "next", "searched"}``; ``next`` is None at the end.

    """
    names = distinct_names(rows.schema)
    wanted = [index for index, name in enumerate(names) if columns is None or name in columns]
    matches: list[dict[str, Any]] = []
    row, until = first_row, time.monotonic() + _MAX_S
    is_end = True
    for batch in _steps(rows, first_row):
        columns_of_batch = [pa.chunked_array([batch.column(index)]) for index in wanted]
        hits = [holds_text(column, text, match_case) for column in columns_of_batch]
        holds = reduce(pc.or_, hits) if hits else pa.nulls(batch.num_rows, pa.bool_())
        for at in pc.indices_nonzero(holds).to_pylist():
            if len(matches) == limit:
                last = matches[-1]["row"]
                return {"matches": matches, "next": last + 1, "searched": last + 1 - first_row}
            found = [
                names[index] for index, hit in zip(wanted, hits, strict=True) if hit[at].as_py()
            ]
            matches.append({"row": row + at, "columns": found})
        row += batch.num_rows
        if time.monotonic() > until:
            is_end = False
            break
    return {"matches": matches, "next": None if is_end else row, "searched": row - first_row}


def _steps(rows: Rows, first_row: int) -> Any:
    row = first_row
    while (batch := next(rows.batches(row, row + _STEP_ROWS), None)) is not None:
        yield batch
        row += batch.num_rows
