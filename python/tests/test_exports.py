"""Every export holds what the result holds, for readers that are not ours."""

import csv
import io
import json
import os
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.json as json_reader
import pyarrow.parquet as pq
import pytest
from conftest import served
from drawn_tables import Kind, Literal, kinds, times
from exact_values import PER_S, exact
from json_values import rows, value

DEFAULT_SECONDS = "600" if "COLONNADE_FULL" in os.environ else "10"
SECONDS = int(os.environ.get("COLONNADE_EXPORTS_SECONDS", DEFAULT_SECONDS))
"""How long tables are exported."""


def ticks(name: str, kind: pa.DataType) -> Kind:
    """Times of a day and durations."""
    per_s = PER_S[kind.unit]
    drawn = times(name, kind, kind.bit_width, Fraction(per_s))
    most = 86_400 * per_s - 1 if pa.types.is_time(kind) else 2**62

    def draw(random: Random) -> int:
        return random.choice([0, 1, most, random.randrange(most)])

    return Kind(name, kind, draw, drawn.key, drawn.literal, drawn.array)


def interval(random: Random) -> tuple[int, ...]:
    return tuple(random.choice([0, 1, -1, 2**31 - 1]) for _ in range(3))


INTERVAL = pa.month_day_nano_interval()

KINDS = [
    *kinds(),
    Kind("interval", INTERVAL, interval, tuple, lambda *_: Literal("", None, None)),
    *(ticks(f"time_{unit}", pa.time32(unit)) for unit in ("s", "ms")),
    *(ticks(f"time_{unit}", pa.time64(unit)) for unit in ("us", "ns")),
    *(ticks(f"span_{unit}", pa.duration(unit)) for unit in PER_S),
    *(
        times(f"zoned_{unit}", pa.timestamp(unit, zone), 64, Fraction(per_s))
        for unit, per_s in PER_S.items()
        for zone in ("UTC", "+05:30")
    ),
]


def wrapped(random: Random, values: pa.Array) -> pa.Array:
    """The values as they are, in a dictionary, in runs, or nested."""
    size = len(values)
    is_plain = not pa.types.is_dictionary(values.type) and not pa.types.is_struct(values.type)
    forms = ["plain", "plain", "list", "fixed", "struct", "map", "union"]
    form = random.choice([*forms, "dictionary", "dictionary", "runs"] if is_plain else forms)
    if form == "dictionary":
        indices = [random.choice([None, *range(size)]) for _ in range(size)]
        index = random.choice([pa.int8(), pa.int32(), pa.uint16()])
        return pa.DictionaryArray.from_arrays(pa.array(indices, index), values)
    if form == "runs":
        return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, size + 1), pa.int32()), values)
    ends = sorted(random.randrange(size + 1) for _ in range(size - 1))
    offsets = [0, *ends, size]
    if form == "list":
        kind = random.choice([pa.ListArray, pa.LargeListArray])
        return kind.from_arrays(offsets, values)
    if form == "fixed":
        return pa.FixedSizeListArray.from_arrays(pa.concat_arrays([values, values]), 2)
    if form == "struct":
        mask = pa.array([random.random() < 0.2 for _ in range(size)], pa.bool_())
        return pa.StructArray.from_arrays([values, pa.array(range(size))], ["a", "b"], mask=mask)
    if form == "union":
        codes = pa.array([random.randrange(2) for _ in range(size)], pa.int8())
        return pa.UnionArray.from_sparse(codes, [values, pa.array(range(size))], ["a", "b"])
    if form == "map":
        keys = pa.array([f"k{n}" for n in range(size)])
        return pa.MapArray.from_arrays(offsets, keys, values)
    return values


def drawn_table(random: Random) -> tuple[pa.Table, dict[str, Kind]]:
    """Columns, and the kinds of their values."""
    num_rows = random.randrange(1, 30)
    nulls = random.choice([0.0, 0.2, 0.9])
    chosen = {kind.name: kind for kind in random.sample(KINDS, random.randrange(2, 7))}
    columns = {}
    for name, kind in chosen.items():
        values = [None if random.random() < nulls else kind.draw(random) for _ in range(num_rows)]
        columns[name] = wrapped(random, kind.array(values, kind.type))
    return pa.table(columns), chosen


@dataclass
class Exports:
    """Exports of one server."""

    url: str
    wrong: list[str] = field(default_factory=list)
    num_compared: int = 0
    num_refused: int = 0

    def compare(self, what: str, found: Any, expected: Any) -> None:
        self.num_compared += 1
        if found != expected:
            self.wrong.append(f"{what}\n  {found!s:.300}\n  not\n  {expected!s:.300}")

    def _ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> bytes:
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            content: bytes = response.read()
            return content

    def upload(self, table: pa.Table) -> str:
        """The id of a result that is the table."""
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        self._ask("PUT", "/v1/tables/t", sink.getvalue())
        name = str(uuid.uuid4())
        body = json.dumps({"table": "t", "id": name}).encode()
        self._ask("POST", "/v1/query", body, **{"content-type": "application/json"})
        return name

    def export(self, name: str, form: str) -> bytes | str:
        """The file, or why it is refused."""
        try:
            return self._ask("GET", f"/v1/query/{name}/export?format={form}")
        except urllib.error.HTTPError as error:
            problem = json.loads(error.read())
            if error.code == 422 and problem["code"] == "not_exportable":
                self.num_refused += 1
                return str(problem["detail"])
            raise ValueError(problem) from error


def duckdb_column(path: Path, name: str) -> pa.Table:
    with duckdb.connect() as db:
        return db.sql(f"select \"{name}\" from read_parquet('{path}')").to_arrow_table()


READERS: dict[str, Callable[[Path, str], pa.Table]] = {
    "pyarrow": lambda path, name: pq.ParquetFile(path).read([name]),
    "DuckDB": duckdb_column,
    "polars": lambda path, name: polars.read_parquet(path, columns=[name]).to_arrow(),
}
MOST_S = Fraction(2**63 - 1, 10**6)
"""DuckDB's timestamps and polars' durations of a file with another unit go no further."""


def has_type(reader: str, kind: pa.DataType) -> bool:
    """Whether the reader has the type.

    DuckDB has no durations; DuckDB and polars have no decimals of more than 38 digits.
    """
    if kind.num_fields > 0:
        fields = (kind.field(at) for at in range(kind.num_fields))
        return all(has_type(reader, field.type) for field in fields)
    if pa.types.is_dictionary(kind):
        return has_type(reader, kind.value_type)
    is_span = pa.types.is_duration(kind)
    return not (is_span and reader == "DuckDB") and not pa.types.is_decimal256(kind)


def is_far(value: Any) -> bool:
    """Whether a time is beyond what the readers have."""
    if isinstance(value, tuple):
        return any(is_far(part) for part in value)
    return isinstance(value, Fraction) and abs(value) > MOST_S


def check_parquet(exports: Exports, table: pa.Table, file: bytes, path: Path) -> None:
    path.write_bytes(file)
    for column in table.schema:
        expected = exact(table.column(column.name))
        is_decimal = "decimal" in str(column.type)
        for reader, read in READERS.items():
            is_limited = reader != "pyarrow" and (
                not has_type(reader, column.type) or (not is_decimal and any(map(is_far, expected)))
            )
            if not is_limited:
                found = answer(partial(read, path, column.name), column.name)
                exports.compare(f"{reader}, {column}", found, expected)


def json_type(kind: pa.DataType) -> pa.DataType | None:
    """The type that readers can find in NDJSON; None if they have none for it."""
    if pa.types.is_run_end_encoded(kind) or pa.types.is_dictionary(kind):
        return json_type(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        items = json_type(kind.value_type)
        return items and pa.list_(items)
    if pa.types.is_struct(kind):
        types = [json_type(field.type) for field in kind]
        return None if None in types else pa.struct(list(zip(kind.names, types, strict=True)))
    if kind in (pa.string(), pa.large_string(), pa.string_view()):
        return pa.string()
    if pa.types.is_integer(kind):
        # The JSON reader of polars has no integers of 8 and 16 bits.
        return pa.uint64() if kind == pa.uint64() else pa.int64()
    return kind if pa.types.is_boolean(kind) else None


def json_by_pyarrow(path: Path, field: pa.Field) -> pa.Table:
    options = json_reader.ParseOptions(
        explicit_schema=pa.schema([field]), unexpected_field_behavior="ignore"
    )
    return json_reader.read_json(path, parse_options=options)


def json_by_duckdb(path: Path, field: pa.Field) -> pa.Table:
    with duckdb.connect() as db:
        db.register("typed", field_table(field))
        kind = db.sql("select column_type from (describe typed)").fetchall()[0][0]
        columns = f"columns = {{'{field.name}': '{kind}'}}"
        query = f"select * from read_json('{path}', format = 'newline_delimited', {columns})"
        return db.sql(query).to_arrow_table()


def field_table(field: pa.Field) -> pa.Table:
    return pa.table({field.name: pa.array([], field.type)})


def json_by_polars(path: Path, field: pa.Field) -> pa.Table:
    schema = polars.from_arrow(field_table(field)).schema
    return polars.read_ndjson(path, schema=schema).to_arrow()


JSON_READERS: dict[str, Callable[[Path, pa.Field], pa.Table]] = {
    "pyarrow": json_by_pyarrow,
    "DuckDB": json_by_duckdb,
    "polars": json_by_polars,
}


def check_ndjson(exports: Exports, table: pa.Table, file: bytes, path: Path) -> None:
    path.write_bytes(file)
    lines = rows(file)
    names = [list(line) for line in lines]
    exports.compare("members of NDJSON", names, [table.column_names] * table.num_rows)
    for name, column in zip(table.column_names, table.combine_chunks().columns, strict=True):
        values = column.combine_chunks()
        kinds = [values.type] * len(values)
        if pa.types.is_union(values.type):
            kinds = [values.type.field(code).type for code in values.type_codes.to_pylist()]
        found = [value(kind, line[name]) for kind, line in zip(kinds, lines, strict=True)]
        exports.compare(f"NDJSON, {name}: {values.type}", found, exact(values))
        if kind := json_type(values.type):
            typed = pa.field(name, kind)
            for reader, read in JSON_READERS.items():
                found = answer(partial(read, path, typed), name)
                exports.compare(f"NDJSON by {reader}, {name}: {values.type}", found, exact(values))


def answer(read: Callable[[], pa.Table], name: str) -> Any:
    """The values that are read, or the error, which of polars can be a panic."""
    try:
        return exact(read().column(name))
    except BaseException as error:
        return repr(error)


def check_arrow(exports: Exports, table: pa.Table, file: bytes) -> None:
    read = pa.ipc.open_file(pa.BufferReader(file)).read_all()
    for name in table.column_names:
        exports.compare(f"Arrow, {name}", exact(read.column(name)), exact(table.column(name)))


def check_csv(
    exports: Exports, table: pa.Table, kinds: dict[str, Kind], file: bytes, path: Path
) -> None:
    path.write_bytes(file)
    names = table.column_names
    with duckdb.connect() as db:
        options = "all_varchar = true, allow_quoted_nulls = false, nullstr = ''"
        by_duckdb = db.sql(f"select * from read_csv('{path}', header = true, {options})").fetchall()
    by_polars = [
        tuple(cell or "" for cell in row)
        for row in polars.read_csv(path, infer_schema=False).rows()
    ]
    by_python = [tuple(row) for row in csv.reader(io.StringIO(file.decode(), newline=""))][1:]
    as_empty = [tuple("" if cell is None else cell for cell in row) for row in by_duckdb]
    exports.compare(f"CSV by DuckDB, {table.schema}", as_empty, by_python)
    exports.compare(f"CSV by polars, {table.schema}", by_polars, by_python)
    for at, name in enumerate(names):
        text = kinds[name].text
        if text is not None and table.schema.field(name).type == kinds[name].type:
            values = exact(table.column(name))
            nulls = [value is None for value in values]
            found = [row[at] is None for row in by_duckdb]
            exports.compare(f"nulls in CSV, {name}", found, nulls)


def test_exports_hold_what_results_hold(
    seeded: Random, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Else polars panics at a zone such as +05:30.
    monkeypatch.setenv("POLARS_IGNORE_TIMEZONE_PARSE_ERROR", "1")
    end = time.monotonic() + SECONDS
    num_tables = 0
    with served("--writable") as url:
        exports = Exports(url)
        while time.monotonic() < end and len(exports.wrong) < 20:
            num_tables += 1
            table, kinds = drawn_table(seeded)
            name = exports.upload(table)
            parquet = exports.export(name, "parquet")
            if isinstance(parquet, str):
                # Seconds that milliseconds cannot hold, or a type that Parquet does not have.
                is_far = '_s"' in parquet and "overflow" in parquet
                has_no_type = "union" in parquet or "interval" in parquet
                exports.compare(parquet, is_far or has_no_type, True)
            else:
                check_parquet(exports, table, parquet, tmp_path / "t.parquet")
            arrow, text, lines = (exports.export(name, form) for form in ("arrow", "csv", "ndjson"))
            assert isinstance(arrow, bytes), arrow
            assert isinstance(text, bytes), text
            assert isinstance(lines, bytes), lines
            check_arrow(exports, table, arrow)
            check_csv(exports, table, kinds, text, tmp_path / "t.csv")
            check_ndjson(exports, table, lines, tmp_path / "t.ndjson")
    print(f"{num_tables} tables, {exports.num_compared} compared, {exports.num_refused} refused")
    assert not exports.wrong, "\n".join(exports.wrong)
