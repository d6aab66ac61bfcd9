"""Connections that are cut, reset, stalled or refused, and responses that no server sends."""

import json
import random
import re
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from threading import Thread
from typing import Any, Literal
from urllib.parse import parse_qsl

import pyarrow as pa
import pytest

import colonnade
from colonnade import ColonnadeError, Server
from colonnade.wire import numbered_stream

ROWS = pa.table({"a": range(10)})
FIELDS = [{"name": "a", "type": "int64", "nullable": True}]
TABLE = {
    "name": "t", "format": "arrow", "rows": 10, "bytes": None, "version": "1", "fields": FIELDS,
}  # fmt: skip
PROBLEM = {"code": "query_timeout", "title": "Too slow", "detail": "slow", "hint": "ask less"}
FAILURE = {"code": "query_timeout", "message": "slow", "hint": "ask less"}


def response(head: str, body: bytes = b"") -> bytes:
    date = "date: Thu, 01 Jan 2026 00:00:00 GMT"
    return f"HTTP/1.1 {head}\r\n{date}\r\n\r\n".encode() + body


def in_json(value: object, status: str = "200 OK", kind: str = "json") -> bytes:
    """A response with a JSON body; bytes are sent as they are."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    head = f"{status}\r\ncontent-type: application/{kind}\r\ncontent-length: {len(body)}"
    return response(head, body)


def in_chunks(*chunks: bytes) -> bytes:
    """A response with a chunked body, as the server sends streams."""
    kind = "application/vnd.apache.arrow.stream"
    parts = [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in (*chunks, b"")]
    head = f"200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked"
    return response(head, b"".join(parts))


def numbered(rows: pa.Table, first_row: int, batch_rows: int = 4) -> list[bytes]:
    """The stream of rows from one of them on: a chunk for each batch, and one for the end."""
    batches = rows.slice(first_row).to_batches(max_chunksize=batch_rows)
    return [*numbered_stream(rows.schema, batches, first_row, "0" * 16)]


@cache
def rows_from(first_row: int) -> bytes:
    return in_chunks(*numbered(ROWS, first_row))


# Cut in the second of three batches.
BEGUN = rows_from(0)[:1000]

GOOD = {
    "GET tables": in_json({"tables": [TABLE]}),
    "GET tables/t": in_json(TABLE),
    "PUT tables/t": in_json(TABLE, "201 Created"),
    "DELETE tables/t": response("204 No Content"),
    "GET tables/t/rows": rows_from(0),
    "POST query": rows_from(0),
    "GET query/ID": in_json({"error": None}),
    "GET query/ID/rows": rows_from(4),
    "DELETE query/ID": response("204 No Content"),
}


class Scripted:
    """A server with the responses `GOOD`, except that the responses of `bad` come first."""

    def __init__(self) -> None:
        self.bad: dict[str, list[bytes]] = {}
        # How a connection ends after a bad response. "unread": before the request's body is read;
        # "refuse": so does every later connection.
        self.ending: Literal["close", "reset", "unread", "stall", "refuse"] = "close"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            # Closing alone would not wake the thread.
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                # A client may leave before the end of a response.
                with suppress(OSError), client, client.makefile("rb") as request:
                    self._respond(client, *_parse(request, self.ending != "unread"))

    def _respond(self, client: socket.socket, kind: str, offset: int) -> None:
        if not self.bad.get(kind):
            client.sendall(rows_from(offset) if kind == "GET query/ID/rows" else GOOD[kind])
            return
        client.sendall(self.bad[kind].pop(0))
        if self.ending in {"reset", "unread"}:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif self.ending == "stall":
            client.recv(1)
        elif self.ending == "refuse":
            self._listener.close()


def _parse(request: Any, is_whole: bool) -> tuple[str, int]:
    """Read a request; returns its method and path as in `GOOD`, and its first row."""
    method, target, _ = next(request).decode().split()
    head = dict(line.strip().lower().split(b": ") for line in iter(request.readline, b"\r\n"))
    request.read(int(head.get(b"content-length", 0)))
    if is_whole and b"transfer-encoding" in head:
        while size := int(next(request), 16):
            request.read(size + 2)
        next(request)
    path, _, query = target.removeprefix("/v1/").partition("?")
    first_row = int(dict(parse_qsl(query)).get("offset", 0))
    return f"{method} " + re.sub(r"[-0-9a-f]{36}", "ID", path), first_row


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    monkeypatch.setattr("colonnade.stream._FIRST_WAIT_S", 0.0)
    scripted = Scripted()
    yield scripted
    scripted.close()


def table_of(server: Server) -> colonnade.Table:
    return colonnade.Table("t", "arrow", 10, None, "1", tuple(FIELDS), server)


def query(server: Server) -> pa.Table:
    return server.query("select 1").read_all()


ASK: dict[str, Callable[[Server], object]] = {
    "GET tables": lambda server: server.tables() == [table_of(server)],
    "GET tables/t": lambda server: server.table("t") == table_of(server),
    "PUT tables/t": lambda server: server.upload("t", ROWS) == table_of(server),
    "DELETE tables/t": lambda server: table_of(server).delete() is None,
    "GET tables/t/rows": lambda server: table_of(server).rows(filter="true").read_all() == ROWS,
    "POST query": lambda server: query(server) == ROWS,
    "GET query/ID": lambda server: query(server) == ROWS,
    "GET query/ID/rows": lambda server: query(server) == ROWS,
    "DELETE query/ID": lambda server: query(server) == ROWS,
}


def ask(scripted: Scripted, kind: str, bad: bytes) -> object:
    """Send a request of a kind and those before it; returns whether its result is right."""
    scripted.bad = {kind: [bad]}
    if kind.startswith("GET query"):
        scripted.bad["POST query"] = [BEGUN]
    is_right = ASK[kind](colonnade.connect(scripted.url, progress=False))
    assert not any(scripted.bad.values()), "not all responses were requested"
    return is_right


def code_of(scripted: Scripted, kind: str, bad: bytes) -> str:
    """Return the code of the error that a request raises."""
    with pytest.raises(ColonnadeError) as caught:
        ask(scripted, kind, bad)
    assert caught.value.code != "network_error" or caught.value.hint == "Is the server running?"
    return caught.value.code


def check(scripted: Scripted, kind: str, bad: bytes, code: str = "network_error") -> None:
    """Check that requests for rows are sent again, and that others raise an error."""
    if "query" in kind or "rows" in kind:
        assert ask(scripted, kind, bad)
    else:
        assert code_of(scripted, kind, bad) == code


def samples(whole: bytes, seeded: random.Random) -> list[int]:
    """The edges of the lines of a response, and random positions in it."""
    edges = {line.end() + step for line in re.finditer(rb"\r\n", whole) for step in range(-5, 2)}
    drawn = seeded.choices(range(len(whole)), k=40)
    return sorted({0, *drawn, *edges} & {*range(len(whole))})


WHOLE = [
    *GOOD.items(),
    ("GET tables/t", in_json(PROBLEM, "404 Not Found", "problem+json")),
    ("POST query", in_json(PROBLEM, "504 Gateway Timeout", "problem+json")),
    ("GET query/ID", in_json({"error": FAILURE})),
    ("GET query/ID/rows", in_json(PROBLEM, "410 Gone", "problem+json")),
]


@pytest.mark.parametrize(("kind", "whole"), WHOLE)
def test_cut_anywhere(scripted: Scripted, kind: str, whole: bytes, seeded: random.Random) -> None:
    sampled = samples(whole, seeded)
    for cut in {*range(whole.index(b"\r\n\r\n") + 3), *sampled}:
        check(scripted, kind, whole[:cut])
    scripted.ending = "reset"
    for cut in sampled[::3]:
        check(scripted, kind, whole[:cut])


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("GET tables", json.dumps({"tables": [TABLE]}).encode()),
        ("POST query", b"".join(numbered(ROWS, 0))),
    ],
)
def test_cut_anywhere_without_a_length(
    scripted: Scripted, kind: str, body: bytes, seeded: random.Random
) -> None:
    whole = response("200 OK", body)
    for cut in samples(whole, seeded):
        is_head = cut < len(whole) - len(body)
        check(scripted, kind, whole[:cut], "network_error" if is_head else "http_error")


@pytest.mark.parametrize(("kind", "whole"), WHOLE)
def test_stalls(
    scripted: Scripted, kind: str, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("colonnade.http._READ_TIMEOUT_S", 0.05)
    scripted.ending = "stall"
    for cut in (0, 20, len(whole) // 2):
        check(scripted, kind, whole[:cut])


def test_an_upload_that_is_reset(scripted: Scripted) -> None:
    scripted.ending = "unread"
    scripted.bad = {"PUT tables/t": [b""]}
    with pytest.raises(ColonnadeError) as caught:
        colonnade.connect(scripted.url).upload("t", pa.table({"a": range(1_000_000)}))
    assert caught.value.code == "network_error"


def test_a_server_that_is_gone(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("colonnade.stream._MAX_OUTAGE_S", 0.0)
    scripted.ending = "refuse"
    with pytest.raises(ColonnadeError, match="lost at row 4 and not restored") as caught:
        ask(scripted, "POST query", BEGUN)
    assert (caught.value.code, caught.value.row) == ("network_error", 4)


def test_a_proxys_error_is_retried(scripted: Scripted) -> None:
    assert ask(scripted, "POST query", in_json(b"<html>", "502 Bad Gateway", "html"))
    assert ask(scripted, "GET query/ID", in_json(b"<html>", "503 Service Unavailable"))


CHUNKED = "200 OK\r\ntransfer-encoding: chunked"


@pytest.mark.parametrize(
    "bad",
    [
        b"no HTTP", b"\r\n", b"HTTP/2 200 OK\r\n\r\n", response("ten"), response("7"),
        response("200 OK" + 200 * "\r\na: b"), response("200 OK\r\n" + 70_000 * "a"),
        response(f"200 OK\r\ncontent-length: {10**30}"), response(CHUNKED, b"ten\r\n"),
        response(CHUNKED, b"-5\r\n"), response(CHUNKED, b"9" * 30 + b"\r\n"),
    ],
)  # fmt: skip
def test_what_is_not_http(scripted: Scripted, bad: bytes) -> None:
    assert code_of(scripted, "GET tables", bad) == "network_error"


def test_a_length_that_is_no_number(scripted: Scripted) -> None:
    body = json.dumps({"tables": [TABLE]}).encode()
    assert ask(scripted, "GET tables", response("200 OK\r\ncontent-length: ten", body))


NO_JSON = [b"", b"<html>", b"\xff", b"[" * 100_000, b"null", b"5", b"[]", b"{}"]


@pytest.mark.parametrize("body", [*NO_JSON, {"code": 5, "title": [], "detail": {}, "hint": 5}])
def test_errors_without_a_code(scripted: Scripted, body: object) -> None:
    with pytest.raises(ColonnadeError, match=r"http_error: the server returned 404") as caught:
        ask(scripted, "GET tables", in_json(body, "404 Not Found", "problem+json"))
    assert caught.value.status == 404


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *((kind, body) for body in NO_JSON for kind in ("GET tables", "GET query/ID")),
        ("GET tables", {"tables": 5}),
        ("GET tables", {"tables": [5]}),
        *(("GET tables/t", {**TABLE, member: {}}) for member in TABLE),
        ("DELETE tables/t", b"<html>"),
        ("GET query/ID", {"error": 5}),
        ("GET query/ID", {"error": {**FAILURE, "code": 5}}),
    ],
)
def test_json_of_another_shape(scripted: Scripted, kind: str, value: object) -> None:
    assert code_of(scripted, kind, in_json(value)) == "http_error"


def test_rows_of_another_shape(scripted: Scripted) -> None:
    def code(kind: str, rows: pa.Table, **metadata: str) -> str:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            entries = {f"colonnade.{name}": text for name, text in metadata.items()}
            writer.write_batch(rows.to_batches()[0], entries)
        return code_of(scripted, kind, in_chunks(sink.getvalue().to_pybytes()))

    assert code("POST query", ROWS, first_row="ten") == "row_overlap"
    assert code("POST query", ROWS, first_row="0", total_rows="ten") == "wrong_total"
    other = ROWS.rename_columns(["b"])
    assert code("GET query/ID/rows", other, first_row="4") == "source_changed"


def test_rows_that_look_like_the_marker(scripted: Scripted) -> None:
    rows = pa.table({"a": [0, 2**32 - 1, 0]})
    batches = numbered(rows, 0, batch_rows=1)
    assert batches[1].endswith(b"\xff\xff\xff\xff\0\0\0\0")
    scripted.bad = {
        "POST query": [response("200 OK", b"".join(batches[:2]))],
        "GET query/ID/rows": [in_chunks(*numbered(rows, 2))],
    }
    assert query(colonnade.connect(scripted.url, progress=False)) == rows


@pytest.mark.parametrize("url", ["http://a b", "http://.a", "http://127.0.0.1:9/ä"])
def test_addresses_that_no_server_has(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("colonnade.stream._MAX_OUTAGE_S", 0.0)
    server = colonnade.connect(url)
    for send in (server.tables, lambda: query(server)):
        with pytest.raises(ColonnadeError, match=r"^network_error: the request to"):
            send()


def test_the_text_of_a_token_file(scripted: Scripted) -> None:
    assert colonnade.connect(scripted.url, token="secret\n").tables()
