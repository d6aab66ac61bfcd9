"""The kernel's responses to a viewer; ``e2e/tests/jupyter.spec.ts`` tests the page's side."""

import gc
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import colonnade
from colonnade import ColonnadeError
from colonnade.kernel_server import KernelServer, Response
from colonnade.rows import Rows

FIXTURES = Path(__file__).parents[2] / "fixtures"
FRAME = {"n": [3, 1, 2, None], "name": ["cat", "ant", "bee", "Ant"]}


def ask(answers: KernelServer, method: str, path: str, body: object = None) -> Response:
    data = b"" if body is None else json.dumps(body).encode()
    return answers.respond(method, f"https://x.kernel.invalid/v1/{path}", data)


def table_of(answer: Response) -> pa.Table:
    assert answer.status == 200, b"".join(answer.body)
    return pa.ipc.open_stream(b"".join(answer.body)).read_all()


def json_of(answer: Response) -> Any:
    return json.loads(b"".join(answer.body))


@pytest.mark.parametrize("name", ["every_type", "every_type_zstd"])
def test_every_type_arrives_as_it_is(name: str) -> None:
    table = pa.ipc.open_stream(FIXTURES / f"{name}.arrows").read_all()
    read = table_of(ask(KernelServer(Rows(table)), "GET", "tables/data/rows?id=a"))
    read.validate(full=True)
    columns = zip(read.schema.names, read.columns, table.columns, strict=True)
    for column_name, column, expected in columns:
        plain = expected if column.type == expected.type else expected.cast(column.type)
        assert texts(column) == texts(plain), column_name


def texts(column: pa.ChunkedArray) -> list[str]:
    return [chunk.to_string(window=1000) for chunk in column.chunks if len(chunk) > 0]


def test_any_rows_by_number() -> None:
    table = pa.table({"a": range(100_000), "d": pa.array(["x", "y"] * 50_000).dictionary_encode()})
    answers = KernelServer(Rows(table.to_reader(max_chunksize=777)))
    whole = table_of(ask(answers, "GET", "tables/data/rows?id=a&linger_s=60"))
    assert whole == table
    part = ask(answers, "GET", "query/a/rows?offset=99990&limit=100")
    reader = pa.ipc.open_stream(b"".join(part.body))
    batch, said = reader.read_next_batch_with_custom_metadata()
    assert (batch.num_rows, batch["a"][0].as_py()) == (10, 99_990)
    # The dictionary before the batch is a message with seq 0 and the same first_row.
    assert dict(said) == {b"colonnade.first_row": b"99990", b"colonnade.seq": b"1"}
    batch, said = reader.read_next_batch_with_custom_metadata()
    assert (batch.num_rows, said[b"colonnade.total_rows"]) == (0, b"100000")
    record = json_of(ask(answers, "GET", "query/a"))
    assert (record["rows"], record["rows_ready"], record["state"]) == (100_000, 100_000, "done")


def test_nothing_is_read_before_it_is_asked_for() -> None:
    num_read = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal num_read
        while True:
            num_read += 1
            yield pa.record_batch({"a": range(1000)})

    reader = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), batches())
    answers = KernelServer(Rows(reader))
    body = ask(answers, "GET", "tables/data/rows?id=a").body
    assert num_read == 0
    for _ in range(10):
        next(body)
    assert 10 <= num_read < 20
    record = json_of(ask(answers, "GET", "query/a"))
    assert (record["rows"], record["state"]) == (None, "running")


def test_filter_and_order() -> None:
    answers = KernelServer(Rows(pa.table(FRAME)))
    body = {
        "table": "data",
        "filter": {"op": "not_null", "column": "n"},
        "sort": [{"column": "n", "descending": True}],
        "id": "b",
    }
    table = table_of(ask(answers, "POST", "query", body))
    assert table.to_pydict() == {"n": [3, 2, 1], "name": ["cat", "bee", "ant"]}
    again = {"query": "b", "sort": [{"column": "n", "descending": False}], "id": "c"}
    assert table_of(ask(answers, "POST", "query", again))["n"].to_pylist() == [1, 2, 3]
    refused = ask(answers, "POST", "query", {"table": "data", "filter": {"op": "eq"}, "id": "d"})
    assert (refused.status, json_of(refused)["code"]) == (400, "bad_filter")


def test_results_are_forgotten() -> None:
    answers = KernelServer(Rows(pa.table(FRAME)))
    ask(answers, "GET", "tables/data/rows?id=a")
    assert ask(answers, "GET", "query/a").status == 200
    assert ask(answers, "DELETE", "query/a").status == 204
    assert json_of(ask(answers, "GET", "query/a"))["code"] == "unknown_query"
    for index in range(9):
        ask(answers, "GET", f"tables/data/rows?id=r{index}")
    assert ask(answers, "GET", "query/r0").status == 404
    assert ask(answers, "GET", "query/r8/rows").status == 200
    assert ask(answers, "GET", "nothing").status == 400


def test_find() -> None:
    answers = KernelServer(Rows(pa.table(FRAME)))
    ask(answers, "GET", "tables/data/rows?id=a")
    found = json_of(ask(answers, "GET", "query/a/find?text=AN&from=0"))
    matches = [{"row": 1, "columns": ["name"]}, {"row": 3, "columns": ["name"]}]
    assert found == {"matches": matches, "next": None, "searched": 4}
    found = json_of(ask(answers, "GET", "query/a/find?text=an&from=0&limit=1"))
    assert found == {"matches": matches[:1], "next": 2, "searched": 2}
    found = json_of(ask(answers, "GET", "query/a/find?text=Ant&case=exact&columns=%22name%22"))
    assert [match["row"] for match in found["matches"]] == [3]
    assert json_of(ask(answers, "GET", "query/a/find?text=3"))["matches"][0]["columns"] == ["n"]


def test_summary() -> None:
    numbers = [float("nan"), float("inf"), 0.5, -0.5, None]
    times = pa.array([0, 1_000_000, None, 500_000, 7], pa.timestamp("us", "UTC"))
    table = pa.table({"f": numbers, "t": times, "s": list("aabbc"), "i": [1, 2, 3, 4, 65]})
    answers = KernelServer(Rows(table))
    ask(answers, "GET", "tables/data/rows?id=a")

    def told(column: str) -> Any:
        return json_of(ask(answers, "GET", f"query/a/summary?column={column}"))

    floats = told("f")
    assert (floats["nulls"], floats["nan"], floats["infinite"]) == (1, 1, 1)
    assert (floats["min"], floats["max"], floats["mean"]) == ("-0.5", "0.5", "0.0")
    assert sum(floats["histogram"]["counts"]) == 2
    integers = told("i")
    assert (integers["min"], integers["max"], integers["distinct"]) == ("1", "65", 5)
    edges, counts = integers["histogram"]["edges"], integers["histogram"]["counts"]
    assert (edges[:2], edges[-1], counts[:2], counts[-1]) == (["1", "3"], "65", [2, 2], 1)
    assert len(edges) == len(counts) + 1 == 33
    assert told("t")["max"] == "1970-01-01 00:00:01.000000Z"
    assert told("s")["top"][:2] == [{"value": "a", "count": 2}, {"value": "b", "count": 2}]
    assert told("nope")["code"] == "unknown_column"


def test_summary_of_times_that_python_has_not() -> None:
    times = pa.array([1, 86_399_999_999_999], pa.time64("ns"))
    days = pa.array([-800_000, 0], pa.int32()).cast(pa.date32())
    answers = KernelServer(Rows(pa.table({"t": times, "d": days})))
    ask(answers, "GET", "tables/data/rows?id=a")
    told = json_of(ask(answers, "GET", "query/a/summary?column=t"))
    assert (told["min"], told["max"]) == ("00:00:00.000000001", "23:59:59.999999999")
    told = json_of(ask(answers, "GET", "query/a/summary?column=d"))
    assert (told["max"], told["histogram"]["counts"][-1]) == ("1970-01-01", 1)


@pytest.mark.parametrize(
    "make",
    [pa.table, pd.DataFrame, pl.DataFrame, lambda frame: duckdb.from_arrow(pa.table(frame)),
     lambda frame: pa.table(frame).to_reader(), pa.record_batch],
    ids=["table", "pandas", "polars", "duckdb", "reader", "batch"],
)  # fmt: skip
def test_anything_with_the_capsule_interface(make: Callable[[Any], object]) -> None:
    viewer = colonnade.show(make(FRAME))
    shown = viewer.shown().to_pandas()
    pd.testing.assert_frame_equal(shown, pd.DataFrame(FRAME), check_dtype=False)


def test_what_cannot_be_shown() -> None:
    for data in [5, "text", pd.DataFrame({"a": [1, "x", []]})]:
        with pytest.raises(ColonnadeError) as caught:
            colonnade.show(data)
        assert (caught.value.code, bool(caught.value.hint)) == ("bad_source", True)


def test_text_views_are_sent_compactly() -> None:
    frame = pl.DataFrame({"text": [f"a text that is rather long {n}" for n in range(100_000)]})
    answers = KernelServer(Rows(frame))
    ask(answers, "GET", "tables/data/rows?id=a")
    part = b"".join(ask(answers, "GET", "query/a/rows?offset=500&limit=10").body)
    assert len(part) < 4000


class Page:
    """The page's end of a viewer's messages."""

    def __init__(self, viewer: colonnade.Viewer) -> None:
        self.viewer = viewer
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []
        viewer.send = lambda content, buffers=None: self.sent.append((content, buffers or []))

    def say(self, message: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        self.viewer._handle_custom_msg(message, [])
        return self.sent[-1]


def test_pieces_come_when_they_are_asked_for() -> None:
    table = pa.table({"a": range(2_000_000)})
    page = Page(colonnade.show(table))
    url = "https://x.kernel.invalid/v1/tables/data/rows?id=a"
    head, buffers = page.say({"id": "1", "do": "ask", "method": "GET", "url": url})
    assert (head["status"], len(page.sent), len(buffers)) == (200, 1, 1)
    assert len(buffers[0]) < 20_000, "the first chunk is small, so that rows are shown at once"
    pieces = [bytes(buffers[0])]
    while buffers:
        content, buffers = page.say({"id": "1", "do": "next"})
        assert content == {"id": "1"}
        pieces += buffers
    assert max(map(len, pieces)) < 2**23
    assert pa.ipc.open_stream(b"".join(pieces)).read_all() == table
    assert "error" in page.say({"id": "1", "do": "next"})[0], "the stream has ended"


def test_a_stream_that_nobody_reads_is_let_go() -> None:
    page = Page(colonnade.show(pa.table(FRAME)))
    url = "https://x.kernel.invalid/v1/tables/data/rows?id=a"
    page.say({"id": "1", "do": "ask", "method": "GET", "url": url})
    page.viewer._handle_custom_msg({"id": "1", "do": "cancel"}, [])
    assert page.viewer._streams == {}
    for index in range(40):
        page.say({"id": f"s{index}", "do": "ask", "method": "GET", "url": url})
    assert len(page.viewer._streams) == 16
    page.viewer.close()
    assert page.viewer._streams == {}


def test_a_viewer_that_is_closed_has_no_rows() -> None:
    gc.collect()
    before = pa.total_allocated_bytes()
    viewer = colonnade.show(pa.table({"a": pa.array(range(1_000_000))}))
    viewer.sort = ["-a"]
    assert viewer.shown().num_rows == 1_000_000
    # The rows and their sorted copy.
    assert pa.total_allocated_bytes() - before > 15_000_000
    viewer.close()
    assert pa.total_allocated_bytes() - before < 1_000_000
    with pytest.raises(ColonnadeError) as caught:
        viewer.shown()
    assert caught.value.code == "closed"


def test_a_source_that_fails() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"a": range(1000)})
        yield pa.record_batch({"a": range(1000)})
        raise OSError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), batches())
    page = Page(colonnade.show(reader))
    url = "https://x.kernel.invalid/v1/tables/data/rows?id=a"
    content, buffers = page.say({"id": "1", "do": "ask", "method": "GET", "url": url})
    while buffers:
        content, buffers = page.say({"id": "1", "do": "next"})
    assert "the disk is gone" in content["error"]
    # The record has the error, and the rows before it can still be read.
    record = json_of(ask(page.viewer._server, "GET", "query/a"))
    assert (record["error"]["code"], record["rows_ready"]) == ("source_failed", 2000)
    rows = ask(page.viewer._server, "GET", "query/a/rows?offset=1990&limit=10")
    assert table_of(rows).num_rows == 10


def test_requests_that_cannot_be_answered_are_refused() -> None:
    answers = KernelServer(Rows(pa.table(FRAME)))
    ask(answers, "GET", "tables/data/rows?id=a")
    for method, path, body in [
        ("POST", "query", None),
        ("POST", "query", {"query": 5}),
        ("POST", "query", {"table": "data", "sort": 5}),
        ("GET", "query/a/rows?offset=x", None),
        ("GET", "query/a/find?limit=x", None),
    ]:
        answer = ask(answers, method, path, body)
        assert answer.status >= 400
        assert json_of(answer)["code"]


def test_state_is_read_and_set() -> None:
    viewer = colonnade.show(pl.DataFrame(FRAME), state={"row": 2})
    assert viewer.state == {"row": 2}
    viewer.filter = {"op": "gt", "column": "n", "value": 2**60}
    assert viewer.filter == {"op": "gt", "column": "n", "value": str(2**60)}
    assert viewer.shown().num_rows == 0
    viewer.filter = {"op": "not_null", "column": "n"}
    viewer.sort = ["-n"]
    assert viewer.sort == [{"column": "n", "descending": True}]
    viewer.state = {**viewer.state, "columns": {"shown": ["name"]}}
    assert viewer.shown().to_pydict() == {"name": ["cat", "bee", "ant"]}
    assert viewer.selected().num_rows == 0
    viewer.selection = {
        "kind": "cells", "rows": {"start": 1, "end": 3}, "columns": {"start": 0, "end": 1},
    }  # fmt: skip
    assert viewer.selected().to_pydict() == {"name": ["bee", "ant"]}
    viewer.selection = {**viewer.selection, "rows": {"start": 0, "end": None}}
    assert viewer.selected().num_rows == 3
    viewer.filter = {"op": "eq", "column": "nope", "value": 1}
    with pytest.raises(ColonnadeError, match="unknown_column"):
        viewer.shown()
