"""A progress bar for long reads."""

from __future__ import annotations

from typing import Any

# Shorter reads show no bar.
_DELAY_S = 1.0


class Progress:
    """Shows the number of rows read so far, if tqdm is installed and the bar is wanted."""

    def __init__(self, total_rows: int | None, *, is_wanted: bool) -> None:
        """Start; the bar appears after a second."""
        self._bar: Any = None
        if not is_wanted:
            return
        try:
            from tqdm.auto import tqdm  # noqa: PLC0415 - optional, and slow to import
        except ImportError:
            return
        self._bar = tqdm(total=total_rows, unit=" rows", unit_scale=True, delay=_DELAY_S)

    def advance(self, num_rows: int) -> None:
        """Count more rows."""
        if self._bar is not None:
            self._bar.update(num_rows)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
