"""Compares streams of random types with what pyarrow reads: `python replay.py FOLDER`.

The tests in core/tests/drawn_types.rs and the fuzz target drawn_types write the folder: NAME.arrows
is a stream of one column, NAME.jsonl has its rows as the decoder reads them, one JSON value a line.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa


def is_dense_union(data_type: pa.DataType) -> bool:
    """Whether the type is a union with offsets."""
    return bool(pa.types.is_union(data_type) and data_type.mode == "dense")


def is_same(ours: Any, theirs: Any) -> bool:
    """Whether two values are equal and have the same type, at every level."""
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(is_same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(is_same, ours, theirs))
    return bool(ours == theirs)


def types_in(data_type: pa.DataType) -> Iterator[pa.DataType]:
    """The type and those inside it."""
    yield data_type
    if pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type):
        yield from types_in(data_type.value_type)
    else:
        for index in range(data_type.num_fields):
            yield from types_in(data_type.field(index).type)


def why_unreadable(data_type: pa.DataType, has_deltas: bool) -> str | None:
    """Why pyarrow cannot read a stream of this column; None if it can."""
    inner = [one for one in types_in(data_type) if pa.types.is_dictionary(one)]
    if pa.types.is_dictionary(data_type):
        inner = inner[1:]
    if has_deltas and inner:
        return "a delta of a dictionary with dictionaries inside (NotImplemented)"
    if any(pa.types.is_run_end_encoded(one.value_type) for one in inner):
        return "an inner dictionary of run-end-encoded values (aborts: no builder)"
    return None


def check(stream: Path, reader: pa.RecordBatchStreamReader, data_type: pa.DataType) -> None:
    """Raises ValueError unless pyarrow accepts the stream and reads the same rows."""
    # Offsets of a dense union ascend in the format, and in pyarrow's full validation. Neither
    # arrow-rs nor our decoder needs that, and drawn offsets do not.
    is_full = not any(map(is_dense_union, types_in(data_type)))
    rows = []
    for batch in reader:
        batch.validate(full=is_full)
        rows += batch.column(0).to_pylist()
    lines = stream.with_suffix(".jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    if len(lines) != len(rows):
        raise ValueError(f"pyarrow reads {len(rows)} rows, not {len(lines)}")
    for row, (line, theirs) in enumerate(zip(lines, rows, strict=True)):
        # Decimals have a point, integers have none.
        ours = json.loads(line, parse_float=Decimal)
        if not is_same(ours, theirs):
            raise ValueError(f"row {row} is {line}, but pyarrow reads {theirs!r}")


def main(folder: Path) -> int:
    """Compares the streams of a folder; returns the exit code."""
    streams = sorted(folder.glob("*.arrows"))
    num_same, unreadable, faults = 0, Counter[str](), []
    for stream in streams:
        try:
            with pa.ipc.open_stream(stream) as reader:
                data_type = reader.schema.field(0).type
                reason = why_unreadable(data_type, stream.name.startswith("dictionary-"))
                if reason is None:
                    check(stream, reader, data_type)
                    num_same += 1
                else:
                    unreadable[reason] += 1
        except (ValueError, NotImplementedError) as error:
            if "non-monotonic offset" in str(error):
                unreadable["a delta of lists of dense unions, whose offsets do not ascend"] += 1
                continue
            faults.append(f"{stream.name}: {type(error).__name__}: {error}")
    num_streams = len(streams)
    print(f"pyarrow {pa.__version__} reads {num_same} of {num_streams} streams as our decoder does")
    for reason, count in unreadable.items():
        print(f"it cannot read {count}: {reason}")
    for fault in faults:
        print(fault[:300])
    return 1 if faults or not streams else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
