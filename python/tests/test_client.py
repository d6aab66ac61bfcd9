"""Reads from a real server."""

import gc
import time

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import demo_file

import colonnade
from colonnade import ColonnadeError, Server


def test_tables(server: Server) -> None:
    tables = {table.name: table for table in server.tables()}
    assert {"lineitem", "flights", "every_type"} <= tables.keys()
    flights = server.table("flights")
    assert flights == tables["flights"]
    assert (flights.num_rows, flights.format) == (3_000_000, "parquet")
    assert flights.fields[0] == {"name": "date", "type": "timestamp[us]", "nullable": True}


def test_query_equals_the_file(server: Server) -> None:
    read = server.query("select * from lineitem").read_all()
    assert read.equals(pq.read_table(demo_file("lineitem.parquet")))


def test_rows(server: Server) -> None:
    flights = server.table("flights")
    whole = pq.read_table(demo_file("flights.parquet"))
    assert flights.rows(offset=2_999_990).read_all().equals(whole.slice(2_999_990))
    columns = ["origin", "distance"]
    by_text = flights.rows(
        columns=columns, filter="distance > 4000", sort=["-distance", "origin"], limit=100
    )
    predicate = {"op": "gt", "column": "distance", "value": 4000}
    by_json = flights.rows(
        columns=columns, filter=predicate, sort=["-distance", "origin"], limit=100
    ).read_all()
    order = [("distance", "descending"), ("origin", "ascending")]
    expected = whole.select(columns).filter(pa.compute.field("distance") > 4000).sort_by(order)
    assert by_json.num_rows == 100
    assert by_text.read_all().equals(by_json)
    assert by_json.equals(expected.slice(0, 100).combine_chunks())


def test_no_rows(server: Server) -> None:
    reader = server.query("select * from flights where distance < 0")
    assert reader.schema.names == ["date", "delay", "distance", "origin", "destination"]
    assert reader.read_all().num_rows == 0


FRAME = {"a": [1, None, 3], 'b, "c"': ["x", None, "é"]}


@pytest.mark.parametrize(
    "data",
    [pa.table(FRAME), pd.DataFrame(FRAME), pl.DataFrame(FRAME), duckdb.from_arrow(pa.table(FRAME))],
    ids=["pyarrow", "pandas", "polars", "duckdb"],
)
def test_upload(server: Server, data: object) -> None:
    table = server.upload("up ä?", data)
    assert table.num_rows == 3
    read = table.rows(columns=['b, "c"'], filter="a is not null", sort='-b, "c"').read_all()
    assert read.to_pydict() == {'b, "c"': ["é", "x"]}
    table.delete()
    with pytest.raises(ColonnadeError) as caught:
        table.rows()
    assert caught.value.code == "unknown_table"


def test_upload_of_many_rows(server: Server) -> None:
    whole = pq.read_table(demo_file("flights.parquet"))
    table = server.upload("many", whole.combine_chunks())
    assert table.rows().read_all().equals(whole)
    table.delete()


def test_errors_have_code_and_hint(server: Server) -> None:
    for ask, code in [
        (lambda: server.query("selec 1"), "sql_error"),
        (lambda: server.table("lineitm"), "unknown_table"),
        (lambda: server.table("flights").rows(filter="1 = "), "bad_filter"),
        (lambda: server.upload("flights", pa.table(FRAME)), "name_in_use"),
        (lambda: server.upload("x", 5), "bad_source"),
        (lambda: colonnade.connect("ftp://x"), "bad_url"),
        (lambda: colonnade.connect("http://host:99999"), "bad_url"),
        (lambda: colonnade.connect("http://[host"), "bad_url"),
        (lambda: colonnade.connect("http://127.0.0.1:9").tables(), "network_error"),
        (lambda: colonnade.connect("http://127.0.0.1:9").query("select 1"), "network_error"),
    ]:
        with pytest.raises(ColonnadeError) as caught:
            ask()
        assert caught.value.code == code
        assert caught.value.hint


def test_a_failure_behind_the_first_row(server: Server) -> None:
    reader = server.query("select 1 / (l_orderkey - 5000000) as x from lineitem")
    assert reader.read_next_batch().num_rows > 0
    with pytest.raises(ColonnadeError) as caught:
        reader.read_all()
    assert (caught.value.code, caught.value.row is not None) == ("execution_error", True)


@pytest.mark.parametrize("num_batches", [0, 1])
def test_letting_go_cancels(server: Server, num_batches: int) -> None:
    sql = f"select *, {num_batches} as n from lineitem order by l_comment"

    def states() -> list[str]:
        queries = server._connection.request_json("GET", "query")["queries"]
        return [query["state"] for query in queries if query["request"].get("sql") == sql]

    reader = server.query(sql)
    for _ in range(num_batches):
        reader.read_next_batch()
    assert states() == ["running"]
    del reader
    gc.collect()
    deadline = time.monotonic() + 30
    while states():
        assert time.monotonic() < deadline


def test_the_bar_is_seen_after_a_second(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("colonnade.progress._DELAY_S", 0.0)
    colonnade.connect(url).table("flights").rows().read_all()
    assert "3.00M/3.00M" in capsys.readouterr().err
    colonnade.connect(url, progress=False).table("flights").rows().read_all()
    assert capsys.readouterr().err == ""
