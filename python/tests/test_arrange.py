"""Filters and sorts, with the same test cases as the server and the viewer."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from colonnade import ColonnadeError
from colonnade.columns import distinct_names
from colonnade.predicate import filter_mask
from colonnade.sort import sort_indices

FIXTURES = Path(__file__).parents[2] / "fixtures"
TABLE = pa.ipc.open_stream(FIXTURES / "predicates.arrows").read_all()


def cases(name: str) -> list[Any]:
    return json.loads((FIXTURES / name).read_text(), parse_float=Decimal)


def cut(table: pa.Table) -> pa.Table:
    """The same rows in batches of three."""
    return pa.Table.from_batches(table.to_batches(max_chunksize=3), table.schema)


@pytest.mark.parametrize("case", cases("distinct_names.json"), ids=lambda case: str(case["names"]))
def test_distinct_names(case: dict[str, list[str]]) -> None:
    schema = pa.schema([pa.field(name, pa.null()) for name in case["names"]])
    assert distinct_names(schema) == case["distinct"]


@pytest.mark.parametrize("case", cases("predicates.json"), ids=lambda case: str(case["filter"]))
@pytest.mark.parametrize("table", [TABLE, cut(TABLE)], ids=["whole", "cut"])
def test_filter(table: pa.Table, case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(ColonnadeError) as caught:
            filter_mask(table, case["filter"])
        assert caught.value.code == case["error"]
        return
    rows = table.filter(filter_mask(table, case["filter"]))["row"].to_pylist()
    assert rows == case["rows"]


@pytest.mark.parametrize("case", cases("sorts.json"), ids=lambda case: ",".join(case["sort"]))
@pytest.mark.parametrize("table", [TABLE, cut(TABLE)], ids=["whole", "cut"])
def test_sort(table: pa.Table, case: dict[str, Any]) -> None:
    keys = [
        {"column": name.lstrip("-"), "descending": name.startswith("-")} for name in case["sort"]
    ]
    assert sort_indices(table, keys).to_pylist() == case["rows"]


@pytest.mark.parametrize("keys", [{}, [1], [{"column": "list"}], [{"column": "nope"}]])
def test_no_sort(keys: object) -> None:
    with pytest.raises(ColonnadeError):
        sort_indices(TABLE, keys)
