"""Compares the time of reading a table with `colonnade.connect` and with `pyarrow.ipc.open_stream`.

    python bench/throughput.py http://127.0.0.1:7878 [TABLE] [ROUNDS]

Both read the same response of the same server into memory, alternately. Prints the medians.
"""

import statistics
import sys
import time
import urllib.request
from pathlib import Path

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
import colonnade


def seconds(read: object) -> tuple[float, int]:
    """Return the time of one read, and the bytes read."""
    start = time.perf_counter()
    num_bytes = read().nbytes  # type: ignore[operator]
    return time.perf_counter() - start, num_bytes


def main(url: str, table: str = "lineitem", rounds: str = "7") -> None:
    """Print both medians and their ratio."""
    server = colonnade.connect(url, progress=False)

    def ours() -> pa.Table:
        return server.table(table).rows().read_all()

    def alone() -> pa.Table:
        with urllib.request.urlopen(f"{url}/v1/tables/{table}/rows") as body:
            return pa.ipc.open_stream(body).read_all()

    assert ours().equals(alone())
    times: dict[str, list[float]] = {"colonnade": [], "pyarrow": []}
    for index in range(int(rounds)):
        turn = [("colonnade", ours), ("pyarrow", alone)]
        for name, read in turn if index % 2 else reversed(turn):
            time_s, num_bytes = seconds(read)
            times[name].append(time_s)
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, median in medians.items():
        print(f"{name:10} {median:6.2f} s {num_bytes / median / 1e6:7.0f} MB/s")
    print(f"ratio      {medians['pyarrow'] / medians['colonnade']:6.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
