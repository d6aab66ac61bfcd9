"""Prints the texts of the first and last rows of an Arrow stream, made by pyarrow, as JSON.

`cells.py STREAM NUM_ROWS`
"""

import json
import sys

import pyarrow as pa

path, num_rows = sys.argv[1], int(sys.argv[2])
table = pa.ipc.open_stream(pa.memory_map(path)).read_all()


def texts(rows):
    return [[None if value is None else str(value) for value in row.values()] for row in rows.to_pylist()]


print(
    json.dumps(
        {
            "columns": table.column_names,
            "first": texts(table.slice(0, num_rows)),
            "last": texts(table.slice(table.num_rows - num_rows)),
        }
    )
)
