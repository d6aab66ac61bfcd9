"""Shows tables of any size in a notebook, and reads tables from a Colonnade server.

import colonnade
colonnade.show(frame)
colonnade.connect("http://127.0.0.1:7878").query("select * from lineitem").read_all()
"""

from ._version import __version__
from .client import Server, Table, connect
from .errors import ColonnadeError
from .show import DEFAULT_MEMORY_BYTES, Viewer, show

__all__ = [
    "DEFAULT_MEMORY_BYTES",
    "ColonnadeError",
    "Server",
    "Table",
    "Viewer",
    "__version__",
    "connect",
    "show",
]
