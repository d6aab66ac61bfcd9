"""Filters and sorts, with the same test cases as the server and the viewer."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from colonnade import ColonnadeError
from colonnade.columns import distinct_names
from colonnade.exact import exact_json
from colonnade.kernel_server import Arrangement
from colonnade.predicate import filter_mask
from colonnade.rows import Rows
from colonnade.sort import sort_indices
from colonnade.summary import summary

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


def test_columns_that_pyarrow_cannot_arrange() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", "b"]))
    narrow = pa.array([Decimal("1.5"), Decimal("-2.5"), None], pa.decimal32(5, 1))
    table = pa.table({"k": [3, 1, 2], "runs": runs, "narrow": narrow})
    wanted = Arrangement({"op": "gt", "column": "k", "value": 1}, [{"column": "narrow"}])
    rows = wanted.rows_of(Rows(table, "a snapshot")).table()
    assert rows.drop_columns("narrow").to_pydict() == {"k": [3, 2], "runs": ["a", "b"]}


def test_half_floats_are_compared_with_half_floats() -> None:
    table = pa.table({"half": pa.array([0.1, 0.2, 65504.0, float("nan")], pa.float16())})
    for op, value, expected in [
        ("eq", "0.1", [True, False, False, False]),
        ("lt", "1e300", [True, True, True, False]),
        ("in", ["0.2", "NaN"], [False, True, False, True]),
    ]:
        mask = filter_mask(table, {"op": op, "column": "half", "value": value})
        assert mask.to_pylist() == expected


def test_arrays_and_times_of_numpy_are_values_of_filters() -> None:
    numpy = pytest.importorskip("numpy")
    assert exact_json(numpy.array([1, 2**60])) == [1, str(2**60)]
    assert exact_json(numpy.float32(0.5)) == 0.5
    times = numpy.array(["2024-01-01T12:00:00.000000001"], "datetime64[ns]")
    assert exact_json(times) == ["2024-01-01T12:00:00.000000001"]
    with pytest.raises(TypeError):
        exact_json(numpy.longdouble(1))
    with pytest.raises(TypeError):
        exact_json(object())


def test_bins_of_floats_of_any_size() -> None:
    numbers = pa.table({"x": [1e308, -1e308, *[1.0] * 6]})
    histogram = summary(numbers, "x")["histogram"]
    edges = [float(edge) for edge in histogram["edges"]]
    assert edges == sorted(edges)
    assert edges[0] == -1e308
    assert edges[-1] == 1e308
    assert sum(histogram["counts"]) == 8
    assert histogram["counts"][0] == histogram["counts"][-1] == 1
