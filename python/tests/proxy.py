"""A proxy that cuts connections at given bytes of the server's responses."""

import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import urlsplit


class Proxy:
    """Forwards connections to a server, and cuts them."""

    def __init__(self, upstream: str, cuts: Iterable[int]) -> None:
        """Cut a connection when the bytes sent to all clients together reach the next of `cuts`."""
        parts = urlsplit(upstream)
        self._upstream = (parts.hostname, parts.port)
        self._cuts = sorted(cuts)
        self._lock = threading.Lock()
        self._sent = 0
        self.num_cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._upstream)
                threading.Thread(target=self._up, args=(client, server), daemon=True).start()
                threading.Thread(target=self._down, args=(server, client), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _down(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 18):
                with self._lock:
                    left = self._cuts[0] - self._sent if self._cuts else len(data)
                    is_cut = left < len(data)
                    part = data[:left] if is_cut else data
                    self._sent += len(part)
                    if is_cut:
                        self._cuts.pop(0)
                        self.num_cuts += 1
                client.sendall(part)
                if is_cut:
                    break
        # Another thread waits in recv; a shutdown wakes it, but closing the socket would not.
        for end in (server, client):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
