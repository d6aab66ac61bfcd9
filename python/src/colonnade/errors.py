"""The exception of this package."""

from __future__ import annotations


class ColonnadeError(Exception):
    """An error of the server, a broken stream, or data that cannot be shown.

    Attributes:
        code: a stable code in snake_case: one of the server (``unknown_table``), or one of this
            package (``network_error``, ``row_gap``, ``wrong_total``, …).
        message: what was wrong, and where.
        hint: what would be right, in one sentence; None if there is no hint.
        row: the first row that could not be read, counted from 0; None if no row is concerned.
        status: the HTTP status if a server refused the request, otherwise None.

    """

    def __init__(
        self,
        code: str,
        message: str,
        hint: str | None = None,
        *,
        row: int | None = None,
        status: int | None = None,
    ) -> None:
        """Set the attributes; see the class."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.row = row
        self.status = status

    def __str__(self) -> str:
        """Return code, message and hint, as a traceback shows them."""
        text = f"{self.code}: {self.message.removesuffix('.')}"
        return f"{text}; {self.hint}" if self.hint else text
