"""Sends requests to a Colonnade server with the standard library."""

from __future__ import annotations

import http.client
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from .errors import ColonnadeError
from .wire import MEDIA_TYPE

# The server sends at least one byte every 15 s.
_READ_TIMEOUT_S = 40.0

NOT_READY = frozenset({429, 502, 503, 504})
"""The statuses of a busy server, or of a proxy that cannot reach the server."""


class Connection:
    """The URL of a server, and the token for its requests."""

    def __init__(self, url: str, token: str | None) -> None:
        """Parse a URL such as ``http://127.0.0.1:7878``; a path before ``/v1`` is kept.

        Raises:
            ColonnadeError: ``bad_url``.

        """
        hint = "Give the URL of a server, e.g. http://127.0.0.1:7878."
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ColonnadeError("bad_url", f"{url!r} is not a URL: {error}.", hint) from error
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ColonnadeError("bad_url", f"{url!r} is not an http or https URL.", hint)
        self._is_secure = parts.scheme == "https"
        self._address = (parts.hostname, port)
        self._prefix = parts.path.rstrip("/").removesuffix("/v1")
        self.url = f"{parts.scheme}://{parts.netloc}{self._prefix}"
        self._headers = {} if token is None else {"Authorization": f"Bearer {token.strip()}"}

    def open(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: bytes | Iterable[bytes] | None = None,
        content_type: str | None = None,
    ) -> http.client.HTTPResponse:
        """Send a request on a new connection; closing the response closes the connection.

        Args:
            method: the HTTP method.
            path: the path after ``/v1/``.
            query: the query parameters.
            body: the body, or an iterable of its chunks.
            content_type: the media type of the body.

        Raises:
            ColonnadeError: the server's error, or ``network_error``.

        """
        host, port = self._address
        kind = http.client.HTTPSConnection if self._is_secure else http.client.HTTPConnection
        target = f"{self._prefix}/v1/{path}" + (f"?{urlencode(query)}" if query else "")
        headers = {**self._headers, "Accept": MEDIA_TYPE, "Connection": "close"}
        if content_type is not None:
            headers["Content-Type"] = content_type
        with _own_errors(f"the request to {self.url} failed"):
            connection = kind(host, port, timeout=_READ_TIMEOUT_S)
            connection.response_class = _Response
            try:
                try:
                    connection.request(method, target, body, headers)
                except (BrokenPipeError, ConnectionResetError):
                    # A server may refuse a body before reading all of it; its response can be read.
                    if body is None:
                        raise
                response = connection.getresponse()
                if response.status >= 300:
                    raise _error_of(response)
            except BaseException:
                connection.close()
                raise
        return response

    def request_json(self, method: str, path: str, **options: Any) -> Any:
        """As `open`, but returns the JSON of the response; None for an empty body."""
        with self.open(method, path, **options) as response:
            text = response.read()
        try:
            return json.loads(text) if text else None
        except (ValueError, RecursionError) as error:
            raise self.unexpected() from error

    def unexpected(self) -> ColonnadeError:
        """Return the error of a response that no Colonnade server sends."""
        message = f"the response of {self.url} is not that of a Colonnade server."
        return ColonnadeError("http_error", message, "Check the URL.")


class _Response(http.client.HTTPResponse):
    """A response whose head is whole; reading it raises only ``network_error``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fp = _Lines(self.fp.detach())

    def read(self, amt: int | None = None) -> bytes:
        with _own_errors("the response broke off"):
            return super().read(amt)


class _Lines(io.BufferedReader):
    """The bytes of a connection, which may not end inside a head or a chunk size.

    `http.client` accepts that, and reads a cut head as a whole one.
    """

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        if not line.endswith(b"\n") and len(line) != size:
            raise ConnectionError("the server closed the connection")
        return line


@contextmanager
def _own_errors(what: str) -> Iterator[None]:
    """Raise errors of other modules as ``network_error``."""
    try:
        yield
    except ColonnadeError:
        raise
    except Exception as error:  # `http.client` may raise nearly anything
        message = f"{what}: {str(error) or type(error).__name__}."
        raise ColonnadeError("network_error", message, "Is the server running?") from error


def in_path(name: str) -> str:
    """Quote a name as one segment of a path."""
    return quote(name, safe="")


def _error_of(response: http.client.HTTPResponse) -> ColonnadeError:
    """Return the error that the RFC 9457 problem details of a response describe."""
    status = response.status
    problem: Any = None
    with response, suppress(ValueError, RecursionError):  # a proxy may send a page
        problem = json.loads(response.read())
    members = problem.items() if isinstance(problem, dict) else ()
    texts = {name: value for name, value in members if isinstance(value, str)}
    code = texts.get("code", "http_error")
    message = texts.get("detail") or texts.get("title") or f"the server returned {status}."
    # Redirects are not followed, because the token is only for the given server.
    location = response.headers.get("location")
    hint = texts.get("hint") or (location and f"The server redirects to {location}.")
    return ColonnadeError(code, message, hint, status=status)
