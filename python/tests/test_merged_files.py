"""Folders of files that differ in columns and types: no row is lost without a word."""

import csv
import gzip
import io
import json
import os
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from conftest import served
from exact_values import exact, plain

DEFAULT_SECONDS = "600" if "COLONNADE_FULL" in os.environ else "10"
SECONDS = int(os.environ.get("COLONNADE_FOLDERS_SECONDS", DEFAULT_SECONDS))
"""How long folders are drawn."""

NUM_SERVED = 40
"""Folders of one server."""

Draw: TypeAlias = Callable[[Random, pa.DataType], Any]


def integer(random: Random, kind: pa.DataType) -> int:
    is_signed = pa.types.is_signed_integer(kind)
    most = 2 ** (kind.bit_width - is_signed) - 1
    least = -most - 1 if is_signed else 0
    return random.choice([least, most, 0, random.randrange(least, most + 1)])


def moment(random: Random, _: pa.DataType) -> int:
    """Seconds that each unit holds."""
    return random.randrange(-(2**32), 2**32)


def word(random: Random, _: pa.DataType) -> str:
    return random.choice(["ä", "w\n", "x" * 20, f"w{random.randrange(10**6)}"])


def decimal_of(random: Random, kind: pa.DataType) -> Any:
    digits = tuple(map(int, str(random.randrange(10**kind.precision))))
    return Decimal((random.randrange(2), digits, -kind.scale))


UNITS = ["s", "ms", "us", "ns"]
WHOLE = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()]
FAMILIES: dict[str, tuple[list[pa.DataType], Draw]] = {
    "integers": ([*WHOLE, pa.uint64(), pa.null()], integer),
    "exact": ([pa.decimal128(9, 2), pa.decimal128(38, 0), pa.decimal256(50, 20)], decimal_of),
    "floats": ([pa.float16(), pa.float32(), pa.float64()], lambda r, _: r.randrange(-2048, 2048)),
    "moments": ([pa.timestamp(unit) for unit in UNITS], moment),
    "zoned": ([pa.timestamp(unit, "UTC") for unit in UNITS], moment),
    "spans": ([pa.duration(unit) for unit in UNITS], moment),
    "texts": (
        [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.null()],
        word,
    ),
    "bytes": ([pa.binary(), pa.large_binary(), pa.binary(4)], lambda r, _: r.randbytes(4)),
    "truth": ([pa.bool_()], lambda r, _: r.random() < 0.5),
}


def values_of(random: Random, kind: pa.DataType, draw: Draw, num_rows: int) -> pa.Array:
    if pa.types.is_null(kind):
        return pa.nulls(num_rows)
    nulls = random.choice([0.0, 0.3])
    drawn = [None if random.random() < nulls else draw(random, kind) for _ in range(num_rows)]
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        per_s = 10 ** (3 * UNITS.index(kind.unit))
        return pa.array([None if s is None else s * per_s for s in drawn], pa.int64()).cast(kind)
    if pa.types.is_dictionary(kind):
        return pa.array(drawn, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(drawn, kind)


def nested(random: Random, form: str, values: list[pa.Array]) -> pa.Array:
    """Lists of the first values, or structs of some of them."""
    if form == "list":
        size = len(values[0])
        ends = sorted(random.randrange(size + 1) for _ in range(size))
        return pa.ListArray.from_arrays([0, *ends], values[0])
    names = ["x", *random.sample(["y", "z"], random.randrange(3))]
    chosen = dict(zip(["x", "y", "z"], values, strict=True))
    names.sort(key=lambda _: random.random())
    mask = pa.array([random.random() < 0.2 for _ in range(len(values[0]))])
    return pa.StructArray.from_arrays([chosen[name] for name in names], names, mask=mask)


def drawn_file(random: Random, columns: dict[str, tuple[str, list[str]]]) -> pa.Table:
    """A file with `id` and some of the columns, in any order."""
    num_rows = random.randrange(1, 9)
    names = ["id", *random.sample(sorted(columns), random.randrange(len(columns) + 1))]
    names.sort(key=lambda _: random.random())

    def column(name: str) -> pa.Array:
        if name == "id":
            return pa.array(range(num_rows), random.choice([pa.int32(), pa.int64()]))
        form, families = columns[name]
        parts = [FAMILIES[family] for family in families]
        values = [values_of(random, random.choice(types), draw, num_rows) for types, draw in parts]
        return values[0] if form == "plain" else nested(random, form, values)

    return pa.table({name: column(name) for name in names})


def shaped(value: Any, kind: pa.DataType, to: pa.DataType) -> Any:
    """An exact value of a file's type as one of the table's type."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        parts = dict(zip([part.name for part in kind], zip(value, kind, strict=True), strict=True))
        return tuple(
            shaped(parts[part.name][0], parts[part.name][1].type, part.type)
            if part.name in parts
            else None
            for part in to
        )
    if pa.types.is_list(kind):
        return tuple(shaped(item, kind.value_type, to.value_type) for item in value)
    return plain(float(value)) if pa.types.is_floating(to) and isinstance(value, int) else value


def as_text(table: pa.Table) -> bytes:
    """CSV of a table of integers and words."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_MINIMAL)
    writer.writerow(table.column_names)
    writer.writerows(zip(*[column.to_pylist() for column in table.columns], strict=True))
    return text.getvalue().encode()


def as_lines(table: pa.Table) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in table.to_pylist()).encode()


def as_parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=3)
    return sink.getvalue()


def as_arrow(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as file:
        for batch in table.to_batches(max_chunksize=3):
            file.write(batch)
    return sink.getvalue()


FORMATS: dict[str, Callable[[pa.Table], bytes]] = {
    "parquet": as_parquet,
    "arrow": as_arrow,
    "csv": as_text,
    "csv.gz": lambda table: gzip.compress(as_text(table)),
    "ndjson": as_lines,
    "ndjson.gz": lambda table: gzip.compress(as_lines(table)),
}


@dataclass
class Folder:
    """A drawn folder: its readable files by their paths, and those that cannot be read."""

    source: str
    files: list[tuple[str, pa.Table]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    has_values: bool = False


def drawn_folder(random: Random, path: Path) -> Folder:
    form = random.choice(list(FORMATS))
    is_text = form not in ("parquet", "arrow")
    families = ["integers", "texts"] if is_text else list(FAMILIES)
    forms = ["plain"] if is_text else ["plain", "plain", "list", "struct"]
    columns = {
        name: (random.choice(forms), [random.choice(families) for _ in range(3)])
        for name in random.sample("abcdef", random.randrange(1, 5))
    }
    has_values = random.random() < 0.4
    folder = Folder(str(path) if has_values else f"{path}/*.{form}", has_values=has_values)
    names = sorted(
        f"k={random.randrange(3)}/{n}.{form}" if has_values else f"{n}.{form}"
        for n in range(random.randrange(1, 7))
    )
    for name in names:
        table = drawn_file(random, columns)
        content = FORMATS[form](table)
        can_be_cut = form not in ("csv", "ndjson") and folder.files
        if can_be_cut and random.random() < 0.25:
            content = content[: random.randrange(len(content))]
            folder.left_out.append(name)
        else:
            folder.files.append((name, table))
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder


def get(url: str) -> tuple[bytes, Any]:
    with urllib.request.urlopen(url, timeout=60) as response:
        return response.read(), response.headers


def post(url: str, body: dict[str, str]) -> bytes:
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        content: bytes = response.read()
        return content


def check(random: Random, url: str, name: str, folder: Folder) -> str | None:
    """What is wrong with the table of a folder."""
    about = json.loads(get(f"{url}/v1/tables/{name}")[0])
    body, headers = get(f"{url}/v1/tables/{name}/rows")
    found = pa.ipc.open_stream(body).read_all()
    left_out = [file["path"] for file in about["left_out"]]
    if left_out != folder.left_out or int(headers.get("x-left-out", 0)) != len(left_out):
        return f"left out {about['left_out']}, not {folder.left_out}"
    for column in found.schema:
        got = exact(found.column(column.name))
        expected: list[Any] = []
        for path, table in folder.files:
            if folder.has_values and column.name == "k":
                expected += [int(path[2])] * table.num_rows
            elif column.name in table.column_names:
                values = table.column(column.name)
                expected += [shaped(v, values.type, column.type) for v in exact(values)]
            else:
                expected += [None] * table.num_rows
        if got != expected:
            return f"{column}\n  {got!s:.600}\n  not\n  {expected!s:.600}"
    first = random.randrange(found.num_rows)
    part = get(f"{url}/v1/tables/{name}/rows?offset={first}&limit=3")[0]
    if pa.ipc.open_stream(part).read_all() != found.slice(first, 3):
        return f"the rows from {first} on"
    for column in found.schema:
        values = [value for value in exact(found.column(column.name)) if value is not None]
        if values and all(type(value) is int for value in values):
            least = random.choice(values)
            sql = f'select count(*) from {name} where "{column.name}" >= {least}'
            count = pa.ipc.open_stream(post(f"{url}/v1/query", {"sql": sql})).read_all()[0][0]
            if count.as_py() != sum(value >= least for value in values):
                return f"{sql}: {count}"
    names = {name for _, table in folder.files for name in table.column_names}
    if set(found.column_names) - {"k"} != names:
        return f"columns {found.column_names}, not {names}"
    return None


def test_no_row_of_a_folder_is_lost_in_silence(seeded: Random, tmp_path: Path) -> None:
    end = time.monotonic() + SECONDS
    wrong: list[str] = []
    num_folders, num_files, num_left_out = 0, 0, 0
    while time.monotonic() < end and len(wrong) < 20:
        drawn = {
            f"t{n}": drawn_folder(seeded, tmp_path / str(num_folders + n) / f"t{n}")
            for n in range(NUM_SERVED)
        }
        num_folders += len(drawn)
        sources = [
            folder.source if folder.has_values else f"{name}={folder.source}"
            for name, folder in drawn.items()
        ]
        with served(*sources) as url:
            for name, folder in drawn.items():
                num_files += len(folder.files)
                num_left_out += len(folder.left_out)
                try:
                    problem = check(seeded, url, name, folder)
                except Exception as error:
                    answer = error.read() if hasattr(error, "read") else b""
                    problem = f"{error!r} {answer!s:.600}"
                if problem is not None:
                    wrong.append(f"{folder.source}: {problem}")
    print(f"{num_folders} folders, {num_files} files read, {num_left_out} left out")
    assert not wrong, "\n".join(wrong)
