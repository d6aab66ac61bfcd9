"""The exception of this package."""

from __future__ import annotations


class ColonnadeError(Exception):
    """An error of the server, a broken stream, or data that cannot be shown.

    Attributes:
        code: stable, in snake_case, to test for: a server's code (``unknown_table``), or one of
            this package's (``network_error``, ``row_gap``, ``wrong_total``, …).
        message: what was wrong, and where.
        hint: what would be right, in one sentence; None where there is nothing to say.
        row: the first row that could not be read, counted from 0; None where it is not about rows.
        status: the HTTP status where a server refused; else None.

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
        """Make one; the class describes the arguments."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.row = row
        self.status = status

    def __str__(self) -> str:
        """Code, message and hint, as a traceback shows them."""
        text = f"{self.code}: {self.message.removesuffix('.')}"
        return f"{text}; {self.hint}" if self.hint else text
