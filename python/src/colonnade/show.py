"""Shows a table in a notebook's output."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any, Literal

import anywidget
import pyarrow as pa
import traitlets

from ._version import __version__
from .columns import column_index
from .errors import ColonnadeError
from .exact import exact_json
from .kernel_server import Arrangement, KernelServer
from .rows import Rows
from .sort import sort_key

_HERE = Path(__file__).parent

# The maximum number of open streams; a closed page leaves its streams open.
_MAX_STREAMS = 16

DEFAULT_MEMORY_BYTES = 256 * 2**20
"""The default memory budget for rows in the browser."""


def show(
    data: Any,
    *,
    height: int = 480,
    theme: Literal["auto", "light", "dark"] = "auto",
    state: Mapping[str, Any] | None = None,
    memory_bytes: int = DEFAULT_MEMORY_BYTES,
) -> Viewer:
    """Show a table in the output of a cell, in Jupyter, VS Code and marimo.

    The page requests rows from the kernel. A table larger than the page's memory budget stays in
    the kernel, which then sends rows on demand, sorts and filters.

    Args:
        data: an object with the Arrow PyCapsule interface: a frame of pandas or Polars, a relation
            of DuckDB, a Table, RecordBatch or RecordBatchReader of pyarrow, of any number of rows.
        height: the viewer's height in CSS pixels.
        theme: ``auto`` follows the notebook.
        state: a value of `Viewer.state`, or a part of it.
        memory_bytes: the memory budget for rows in the browser.

    Returns:
        The viewer, which a notebook shows as the last expression of a cell.

    Raises:
        ColonnadeError: ``bad_source`` if the data cannot be read as Arrow.

    """
    return Viewer(data, height=height, theme=theme, state=state, memory_bytes=memory_bytes)


class Viewer(anywidget.AnyWidget):  # type: ignore[misc]
    """A table in a notebook; made by `show`.

    `state` and `selection` follow the user's actions; both can be set.

    Attributes:
        height: the height in CSS pixels.
        theme: ``auto``, ``light`` or ``dark``.
        state: the view as JSON: ``sort``, ``filter``, ``columns`` (``shown``, ``pinned``,
            ``widthsPx``), ``row`` (the first visible one) and ``summaries``. Setting some members
            changes only those. Empty until the viewer is on a page.
        selection: the selected cells, ``{"kind", "rows": {"start", "end"}, "columns": {"start",
            "end"}}``: positions on the screen, counted from 0, ends excluded; ``end`` is None for
            all rows. None if nothing is selected.

    """

    _esm = _HERE / "widget.js"
    _css = """.colonnade-notice:not(:empty) {
        margin-top: 4px; padding: 4px 8px; border: 1px solid #b45309; border-radius: 4px;
        color: #b45309; font: 13px/1.4 system-ui, sans-serif; }"""

    height = traitlets.Int(480, min=100).tag(sync=True)
    theme = traitlets.Enum(["auto", "light", "dark"], "auto").tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    selection = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)
    _memory_bytes = traitlets.Int(DEFAULT_MEMORY_BYTES).tag(sync=True)
    _version = traitlets.Unicode(__version__).tag(sync=True)

    def __init__(
        self,
        data: Any,
        *,
        height: int = 480,
        theme: str = "auto",
        state: Mapping[str, Any] | None = None,
        memory_bytes: int = DEFAULT_MEMORY_BYTES,
    ) -> None:
        """Make a viewer; see `show`."""
        self._rows = Rows(data)
        self._server = KernelServer(self._rows)
        self._streams: OrderedDict[str, Iterator[bytes]] = OrderedDict()
        # Front ends may handle messages in another thread while a cell runs.
        self._lock = RLock()
        self._arranged: tuple[Arrangement, Rows] | None = None
        super().__init__(height=height, theme=theme, state=exact_json(state or {}))
        self._memory_bytes = memory_bytes
        self.on_msg(self._on_message)

    @property
    def filter(self) -> dict[str, Any] | None:
        """The predicate of the shown rows (``docs/http.md``); None for all rows. Can be set."""
        predicate: dict[str, Any] | None = self.state.get("filter")
        return predicate

    @filter.setter
    def filter(self, predicate: Mapping[str, Any] | None) -> None:
        self._arrange(filter=exact_json(predicate))

    @property
    def sort(self) -> list[dict[str, Any]]:
        """The sort keys, ``[{"column", "descending"}]``, the most important first. Can be set, also
        as names with ``-`` for descending: ``["-price", "name"]``.
        """  # noqa: D205
        keys: list[dict[str, Any]] = self.state.get("sort", [])
        return keys

    @sort.setter
    def sort(self, keys: Sequence[str | Mapping[str, Any]]) -> None:
        self._arrange(sort=[sort_key(key) for key in keys])

    def shown(self) -> pa.Table:
        """Return the rows that the viewer shows: filtered and sorted, with the shown columns.

        Raises:
            ColonnadeError: if the filter or the sort order is invalid.

        """
        return self._arranged_rows().table().select(self._shown_columns())

    def selected(self) -> pa.Table:
        """Return the selected cells; no rows if nothing is selected. Raises as `shown` does."""
        selection = self.selection
        table = self.shown()
        if selection is None:
            return table.slice(0, 0)
        rows, columns = selection["rows"], selection["columns"]
        start, end = rows["start"], rows["end"]
        cut = table.slice(start, None if end is None else end - start)
        return cut.select(range(columns["start"], min(columns["end"], table.num_columns)))

    def close(self) -> None:
        """Remove the viewer from the page and release its rows, which ``Out`` would keep."""
        if "_lock" not in self.__dict__:  # its data could not be read, so __init__ failed
            return
        with self._lock:
            self._streams.clear()
            self._rows.close()
            self._server = KernelServer(self._rows)
            self._arranged = None
        super().close()

    def _arrange(self, **change: Any) -> None:
        """Change the sort order or the filter; the viewer then shows the first row."""
        kept = {name: value for name, value in self.state.items() if name != "row"}
        self.state = {**kept, **change}

    def _arranged_rows(self) -> Rows:
        arrangement = Arrangement(self.filter, self.sort)
        with self._lock:
            if self._arranged is None or self._arranged[0] != arrangement:
                self._arranged = (arrangement, arrangement.rows_of(self._rows))
            return self._arranged[1]

    def _shown_columns(self) -> list[int]:
        schema = self._rows.schema
        names = self.state.get("columns", {}).get("shown")
        if names is None:
            return list(range(len(schema)))
        return [column_index(schema, name) for name in names]

    def _on_message(self, _: object, content: dict[str, Any], buffers: list[Any]) -> None:
        message_id = content.get("id")
        with self._lock:
            match content:
                case {"do": "module"}:
                    self.send({"id": message_id}, [_viewer_module()])
                case {"do": "ask", "method": str(method), "url": str(url)}:
                    body = bytes(buffers[0]) if buffers else b""
                    response = self._server.respond(method, url, body)
                    head = {"status": response.status, "headers": response.headers}
                    self._streams[str(message_id)] = response.body
                    while len(self._streams) > _MAX_STREAMS:
                        self._streams.popitem(last=False)
                    self._send_chunk(str(message_id), head)
                case {"do": "next"}:
                    self._send_chunk(str(message_id), {})
                case {"do": "cancel"}:
                    self._streams.pop(str(message_id), None)

    def _send_chunk(self, stream_id: str, head: dict[str, Any]) -> None:
        """Send the next bytes of a stream, with `head` (status and headers) for the first ones."""
        stream = self._streams.get(stream_id)
        answer = {"id": stream_id, **head}
        if stream is None:
            self.send({**answer, "error": "the kernel has closed this stream"})
            return
        try:
            chunk = next(stream, None)
        except Exception as error:  # without a response, the page would wait forever
            self._streams.pop(stream_id)
            self.send({**answer, "error": str(error) or type(error).__name__})
            return
        if chunk is None:
            self._streams.pop(stream_id)
        self.send(answer, [] if chunk is None else [chunk])


@cache
def _viewer_module() -> bytes:
    """Return the viewer's JavaScript, which is built from ``web/``."""
    try:
        return (_HERE / "inline.js").read_bytes()
    except FileNotFoundError:
        message = f"{_HERE / 'inline.js'} is missing"
        hint = "In a checkout, `npm run build:python` makes it."
        raise ColonnadeError("viewer_missing", message, hint) from None
