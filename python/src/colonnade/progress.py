"""A bar while many rows are read."""

from __future__ import annotations

from typing import Any

# A read that is over sooner needs no bar.
_DELAY_S = 1.0


class Progress:
    """Shows how many rows have come, where tqdm is installed and it is wanted."""

    def __init__(self, total_rows: int | None, *, is_wanted: bool) -> None:
        """Begin; the bar is seen after a second."""
        self._bar: Any = None
        if not is_wanted:
            return
        try:
            from tqdm.auto import tqdm  # noqa: PLC0415 - it may be missing, and takes its time
        except ImportError:
            return
        self._bar = tqdm(total=total_rows, unit=" rows", unit_scale=True, delay=_DELAY_S)

    def advance(self, num_rows: int) -> None:
        """So many more rows have come."""
        if self._bar is not None:
            self._bar.update(num_rows)

    def close(self) -> None:
        """No more rows come."""
        if self._bar is not None:
            self._bar.close()
