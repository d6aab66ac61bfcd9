"""Broken connections and faulty servers."""

import random
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import demo_file
from proxy import Proxy

import colonnade
from colonnade import ColonnadeError
from colonnade.wire import numbered_stream, plain_stream


def test_cut_at_a_hundred_bytes(url: str, seeded: random.Random) -> None:
    cuts = seeded.sample(range(1_000_000_000), 100)
    proxy = Proxy(url, cuts)
    read = colonnade.connect(proxy.url, progress=False).query("select * from lineitem").read_all()
    proxy.close()
    assert proxy.num_cuts == 100
    assert read.equals(pq.read_table(demo_file("lineitem.parquet")))


def test_cut_anywhere_in_a_small_answer(url: str, seeded: random.Random) -> None:
    sql = "select * from flights where distance > 4900"
    expected = colonnade.connect(url, progress=False).query(sql).read_all()
    for cut in seeded.sample(range(20_000), 40):
        proxy = Proxy(url, [cut])
        read = colonnade.connect(proxy.url, progress=False).query(sql).read_all()
        proxy.close()
        assert read.equals(expected), f"cut at byte {cut}"


ROWS = pa.table({"a": range(10)})


class Fake(BaseHTTPRequestHandler):
    """Responds to requests for rows with the next of `bodies`, and to others without an error."""

    bodies: ClassVar[list[bytes]] = []
    record: ClassVar[str] = '{"error": null}'
    status: ClassVar[int] = 200

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send(self.bodies.pop(0))

    def do_GET(self) -> None:
        self._send(self.bodies.pop(0) if "/rows" in self.path else self.record.encode())

    def do_DELETE(self) -> None:
        self._send(b"")

    def _send(self, body: bytes) -> None:
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def fake() -> Iterator[str]:
    Fake.record = '{"error": null}'
    with ThreadingHTTPServer(("127.0.0.1", 0), Fake) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def numbered(first_row: int, snapshot: str = "0" * 16) -> bytes:
    batches = ROWS.slice(first_row).to_batches(max_chunksize=4)
    return b"".join(numbered_stream(ROWS.schema, batches, first_row, snapshot))


def read(url: str) -> pa.Table:
    return colonnade.connect(url, progress=False).query("select 1").read_all()


def test_only_the_marker_is_the_end(fake: str) -> None:
    whole = numbered(0)
    # To pyarrow, each of these ends looks like the end of a complete stream.
    batches = list(numbered_stream(ROWS.schema, ROWS.to_batches(max_chunksize=4), 0, "0" * 16))
    Fake.bodies = [batches[0], numbered(4)[:-8], numbered(10)]
    assert read(fake) == ROWS
    Fake.bodies = [whole]
    assert read(fake) == ROWS


def test_rows_that_are_missing_or_doubled(fake: str) -> None:
    half = numbered(0)[: len(numbered(0)) // 2]
    for other, code in [(numbered(9), "row_gap"), (numbered(0)[:-8], "row_overlap")]:
        Fake.bodies = [half, other, other]
        with pytest.raises(ColonnadeError) as caught:
            read(fake)
        assert caught.value.code == code


def test_rows_of_another_state(fake: str) -> None:
    begun = next(numbered_stream(ROWS.schema, ROWS.to_batches(max_chunksize=4), 0, "0" * 16))
    Fake.bodies = [begun, numbered(4, "1" * 16)]
    with pytest.raises(ColonnadeError) as caught:
        read(fake)
    assert (caught.value.code, caught.value.row) == ("source_changed", 4)


def test_rows_without_numbers(fake: str) -> None:
    Fake.bodies = [b"".join(plain_stream(ROWS.schema, ROWS.to_batches()))]
    with pytest.raises(ColonnadeError, match=r"row_(overlap|gap)"):
        read(fake)


def test_the_servers_own_error_is_told(fake: str) -> None:
    Fake.bodies = [numbered(0)[:-8]]
    Fake.record = '{"error": {"code": "query_timeout", "message": "too slow", "hint": "ask less"}}'
    with pytest.raises(ColonnadeError) as caught:
        read(fake)
    error = caught.value
    assert (error.code, error.message, error.hint) == ("query_timeout", "too slow", "ask less")


def test_a_redirect_is_no_answer(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fake, "status", 308)
    Fake.bodies = [b"moved"]
    with pytest.raises(ColonnadeError) as caught:
        read(fake)
    assert (caught.value.code, caught.value.status) == ("http_error", 308)


def test_giving_up(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("colonnade.stream._MAX_OUTAGE_S", 0.5)
    Fake.bodies = [numbered(0)[:-8], *[b""] * 50]
    with pytest.raises(ColonnadeError) as caught:
        read(fake)
    assert caught.value.code == "network_error"
    assert "not restored" in caught.value.message
