"""Prints the texts of rows of a Parquet file, made by pyarrow, as JSON by their numbers.

`parquet_rows.py FILE ROW…`
"""

import datetime
import json
import sys

import pyarrow.parquet as pq


def text(value):
    if isinstance(value, datetime.datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}.{value.microsecond // 1000:03}Z"
    return None if value is None else str(value)


def rows(path, numbers):
    file = pq.ParquetFile(path)
    first = 0
    found = {}
    for group in range(file.metadata.num_row_groups):
        end = first + file.metadata.row_group(group).num_rows
        wanted = [number for number in numbers if first <= number < end]
        if wanted:
            table = file.read_row_group(group)
            for number in wanted:
                [row] = table.slice(number - first, 1).to_pylist()
                found[number] = [text(value) for value in row.values()]
        first = end
    return {"columns": file.schema_arrow.names, "rows": found}


print(json.dumps(rows(sys.argv[1], [int(number) for number in sys.argv[2:]])))
