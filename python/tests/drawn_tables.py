"""Tables and questions, drawn; each question with its answer over Python's own numbers.

The answers are slow and obvious: no type of Arrow takes part in them.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from random import Random
from typing import Any, TypeAlias

import pyarrow as pa

# What values of a column are compared by; values of one column have keys that Python compares.
Key: TypeAlias = Any
Predicate: TypeAlias = dict[str, Any]

NAN = (3, Fraction(0))
"""The key of NaN, which is greater than every number."""

SYMBOLS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@dataclass(frozen=True)
class Literal:
    """A value in a question."""

    sql: str
    json: Any
    """None if JSON cannot write it: a column refuses a value that its type does not have."""
    key: Key


@dataclass(frozen=True)
class Kind:
    """A type of column."""

    name: str
    type: pa.DataType
    draw: Callable[[Random], Any]
    """A value of the column, as `array` takes it."""
    key: Callable[[Any], Key]
    literal: Callable[[Random, Any], Literal]
    """A literal at or near a value of the column."""
    array: Callable[[list[Any], pa.DataType], pa.Array] = pa.array
    text: Callable[[Any], str] | None = None
    """What a cell shows, if it is easy to say."""
    in_parquet: pa.DataType | None = None
    """The type in Parquet, if it is another."""
    is_in_parquet: bool = True
    has_json: bool = True
    family: str = ""
    """Columns of one family are compared with each other."""


@dataclass(frozen=True)
class Question:
    """A filter in three forms, and the rows for which it is true."""

    sql: str
    json: Predicate | None
    """None if JSON cannot ask it."""
    rows: list[int]


def finite(number: Fraction | int) -> Key:
    return (1, Fraction(number))


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def power_of_ten(random: Random, max_digits: int) -> int:
    """A number of any size, often near a power of two or ten."""
    size = random.randrange(1, max_digits + 1)
    near = random.choice([2 ** random.randrange(1, max_digits * 3 + 1), 10**size, 0])
    number = random.choice([near + random.randrange(-2, 3), random.randrange(10**size)])
    return random.choice([-1, 1]) * number


def number_literal(random: Random, number: Fraction) -> Literal:
    """The number with at most 25 more digits than needed, as SQL and JSON write it."""
    digits = 0
    while (number * 10**digits).denominator != 1:
        digits += 1
    unscaled = number * 10**digits
    sign = "-" if unscaled < 0 else ""
    text = str(abs(unscaled.numerator)).rjust(digits + 1, "0")
    text = text[: len(text) - digits] + ("." + text[len(text) - digits :] if digits else "")
    is_short = digits == 0 and abs(number) < 2**53
    json = int(number) if is_short and random.random() < 0.5 else sign + text
    return Literal(sign + text, json, finite(number))


def integers(name: str, kind: pa.DataType, bits: int, *, is_signed: bool = True) -> Kind:
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)

    def draw(random: Random) -> int:
        near = random.choice([least, most, 0, 2**53, power_of_ten(random, bits // 4)])
        return min(max(near + random.randrange(-2, 3), least), most)

    def literal(random: Random, value: int) -> Literal:
        number = Fraction(random.choice([value, value, value, least - 1, most + 1]))
        number += random.choice([0, 0, 0, Fraction(1, 2)])
        literal = number_literal(random, number)
        is_value = number.denominator == 1 and least <= number <= most
        return literal if is_value else replace(literal, json=None)

    return Kind(name, kind, draw, finite, literal, text=str, family="exact")


def decimals(name: str, kind: pa.DataType, *, is_in_parquet: bool = True) -> Kind:
    precision, scale = kind.precision, kind.scale
    unit = Fraction(10) ** -scale

    def draw(random: Random) -> int:
        most = 10**precision - 1
        return min(max(power_of_ten(random, precision), -most), most)

    def literal(random: Random, value: int) -> Literal:
        least_step = Fraction(1, 10 ** (max(scale, 0) + 1))
        more = random.choice([Fraction(0), Fraction(0), least_step, -least_step])
        return number_literal(random, value * unit + more)

    def array(values: list[int | None], kind: pa.DataType) -> pa.Array:
        width = kind.bit_width // 8
        raw = b"".join((value or 0).to_bytes(width, "little", signed=True) for value in values)
        return from_bytes(values, kind, raw)

    def text(value: int) -> str:
        digits = str(abs(value)).rjust(scale + 1, "0")
        point = "." if scale else ""
        whole = digits[: len(digits) - scale] + point + digits[len(digits) - scale :]
        return "-" * (value < 0) + whole

    def key(value: int) -> Key:
        return finite(value * unit)

    shown = text if scale >= 0 else None
    return Kind(
        name, kind, draw, key, literal, array, shown, is_in_parquet=is_in_parquet, family="exact"
    )


def from_bytes(values: list[Any], kind: pa.DataType, raw: bytes) -> pa.Array:
    """An array of these bytes, null where a value is None."""
    mask = pa.array([value is not None for value in values], pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(kind, len(values), [mask, pa.py_buffer(raw)])


def floats(name: str, kind: pa.DataType, code: str) -> Kind:
    """`code` is that of the module `struct`."""
    width = struct.calcsize(code)

    def rounded(number: float) -> float:
        try:
            return float(struct.unpack("<" + code, struct.pack("<" + code, number))[0])
        except OverflowError:
            return float("inf") if number > 0 else float("-inf")

    def bits(random: Random) -> bytes:
        special = ["nan", "-nan", "inf", "-inf", "0", "-0", "1.3", "1.5", "0.1", "1e30", "-7"]
        if random.random() < 0.7:
            return struct.pack("<" + code, rounded(float(random.choice(special))))
        return random.randbytes(width)

    def number(raw: bytes) -> float:
        return float(struct.unpack("<" + code, raw)[0])

    def key(raw: bytes) -> Key:
        return float_key(number(raw))

    def literal(random: Random, raw: bytes) -> Literal:
        value = number(raw)
        if value != value or abs(value) == float("inf"):
            word = "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
            return Literal(quoted(word), word, float_key(value))
        text = random.choice(["1.3", "1e300", "-0.0", *3 * [repr(value)], f"{value:.9g}"])
        return Literal(text, text, float_key(rounded(float(text))))

    def array(values: list[bytes | None], kind: pa.DataType) -> pa.Array:
        return from_bytes(values, kind, b"".join(value or bytes(width) for value in values))

    return Kind(name, kind, bits, key, literal, array, family="float")


def float_key(value: float) -> Key:
    if value != value:
        return NAN
    if abs(value) == float("inf"):
        return (2 if value > 0 else 0, Fraction(0))
    return finite(Fraction(value))


WORDS = ["", "a", "A", "b", "ab", "a'b", "100%", "a_b", "ÄÖ", "ä", "null", "€", "🜚", "12", "a\\b"]


def word(random: Random) -> str:
    return "".join(random.choice(WORDS) for _ in range(random.randrange(1, 3)))


def texts(name: str, kind: pa.DataType, array: Any = None, **options: Any) -> Kind:
    def literal(_: Random, text: str) -> Literal:
        return Literal(quoted(text), text, text.encode())

    make = array or pa.array
    return Kind(name, kind, word, str.encode, literal, make, text=str, family="text", **options)


def dictionary(values: list[str | None], kind: pa.DataType) -> pa.Array:
    """A dictionary in which one value is null, and one is there twice."""
    distinct = [None, *dict.fromkeys(value for value in values if value is not None), "twice"]
    indices = [distinct.index(value) if value is not None else 0 for value in values]
    keys = [None if index == 0 and k % 2 else index for k, index in enumerate(indices)]
    return pa.DictionaryArray.from_arrays(
        pa.array(keys, kind.index_type), pa.array(distinct, kind.value_type)
    )


def binary(name: str, kind: pa.DataType, size: int | None = None) -> Kind:
    def draw(random: Random) -> bytes:
        return random.randbytes(random.randrange(3) if size is None else size)

    def literal(_: Random, value: bytes) -> Literal:
        return Literal(f"x'{value.hex()}'", value.hex(), value)

    return Kind(name, kind, draw, bytes, literal)


def booleans() -> Kind:
    def literal(_: Random, value: bool) -> Literal:
        return Literal(str(value).lower(), value, value)

    return Kind("bool", pa.bool_(), lambda random: random.random() < 0.5, bool, literal)


DAY_S = 86_400
FIRST_DAY = -719_162
"""0001-01-01, in days since 1970."""
LAST_DAY = 2_932_896


def times(name: str, kind: pa.DataType, bits: int, per_s: Fraction, zone: str = "") -> Kind:
    """Dates and timestamps; `per_s` is the number of units in a second."""
    per_day = per_s * DAY_S
    most = 2 ** (bits - 1) - 1

    def in_calendar(random: Random) -> int:
        day = random.choice([0, FIRST_DAY, LAST_DAY, random.randrange(FIRST_DAY, LAST_DAY)])
        near = int(day * per_day) + random.randrange(int(max(per_day, 2)))
        whole = near if kind != pa.date64() else near // int(per_day) * int(per_day)
        highest = int(min(most, (LAST_DAY + 1) * per_day - 1))
        return min(max(whole, -min(most, int(-FIRST_DAY * per_day))), highest)

    def draw(random: Random) -> int:
        is_extreme = random.random() < 0.1 and kind != pa.date64()
        return random.choice([-most, most]) if is_extreme else in_calendar(random)

    def key(ticks: int) -> Key:
        return Fraction(ticks) / per_s

    def literal(random: Random, ticks: int) -> Literal:
        is_shown = FIRST_DAY * per_day <= ticks < (LAST_DAY + 1) * per_day
        seconds = key(ticks if is_shown else in_calendar(random))
        seconds += random.choice([Fraction(0), Fraction(0), Fraction(1, 10**9)]) * (per_day > 1)
        text = time_text(seconds, is_day=per_day == 1 or (not zone and random.random() < 0.2))
        if " " not in text:
            seconds = seconds // DAY_S * DAY_S
        return Literal(quoted(text + zone), text + zone, seconds)

    def array(values: list[int | None], _: pa.DataType) -> pa.Array:
        width = bits // 8
        raw = b"".join((value or 0).to_bytes(width, "little", signed=True) for value in values)
        return from_bytes(values, kind, raw)

    return Kind(name, kind, draw, key, literal, array)


def time_text(seconds: Fraction, *, is_day: bool) -> str:
    days, rest = divmod(seconds, DAY_S)
    day = date.fromordinal(int(days) + date(1970, 1, 1).toordinal()).isoformat()
    if is_day:
        return day
    whole, fraction = divmod(rest, 1)
    clock = f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
    return f"{day} {clock}.{int(fraction * 10**9):09}" if fraction else f"{day} {clock}"


def nested(values: list[int | None], kind: pa.DataType) -> pa.Array:
    """Structs whose field is never null; where a value is None, the struct is."""
    child = pa.array([77 if value is None else value for value in values], pa.int32())
    mask = pa.array([value is None for value in values], pa.bool_())
    return pa.StructArray.from_arrays([child], fields=list(kind), mask=mask)


STRUCT = pa.struct([pa.field("a", pa.int32(), nullable=False)])


def kinds() -> list[Kind]:
    ints = integers("", pa.int32(), 32)
    return [
        integers("i8", pa.int8(), 8),
        integers("i16", pa.int16(), 16),
        integers("i32", pa.int32(), 32),
        integers("i64", pa.int64(), 64),
        integers("u8", pa.uint8(), 8, is_signed=False),
        integers("u16", pa.uint16(), 16, is_signed=False),
        integers("u32", pa.uint32(), 32, is_signed=False),
        integers("u64", pa.uint64(), 64, is_signed=False),
        floats("f16", pa.float16(), "e"),
        floats("f32", pa.float32(), "f"),
        floats("f64", pa.float64(), "d"),
        decimals("d32", pa.decimal32(7, 2)),
        decimals("d64", pa.decimal64(17, 3)),
        decimals("d128", pa.decimal128(15, 2)),
        decimals("d128w", pa.decimal128(38, 10)),
        decimals("d128n", pa.decimal128(10, -3), is_in_parquet=False),
        decimals("d256", pa.decimal256(60, 5)),
        booleans(),
        texts("s", pa.utf8()),
        texts("ls", pa.large_utf8()),
        texts("sv", pa.string_view()),
        texts("dict", pa.dictionary(pa.int8(), pa.utf8()), dictionary, in_parquet=pa.utf8()),
        binary("bin", pa.binary()),
        binary("fixed", pa.binary(3), 3),
        times("day", pa.date32(), 32, Fraction(1, DAY_S)),
        times("day64", pa.date64(), 64, Fraction(1000)),
        replace(times("ts_s", pa.timestamp("s"), 64, Fraction(1)), is_in_parquet=False),
        times("ts_ms", pa.timestamp("ms"), 64, Fraction(10**3)),
        times("ts_us", pa.timestamp("us"), 64, Fraction(10**6)),
        times("ts_ns", pa.timestamp("ns"), 64, Fraction(10**9)),
        times("ts_utc", pa.timestamp("us", "UTC"), 64, Fraction(10**6), "Z"),
        times("ts_ny", pa.timestamp("ms", "America/New_York"), 64, Fraction(10**3), "Z"),
        Kind("st", STRUCT, ints.draw, ints.key, ints.literal, nested, has_json=False),
    ]


@dataclass
class DrawnTable:
    """Columns of drawn values after a column `row` with their numbers."""

    kinds: list[Kind]
    values: dict[str, list[Any]]

    @classmethod
    def draw(cls, random: Random) -> "DrawnTable":
        chosen = random.sample(kinds(), random.randrange(4, 9))
        num_rows = random.randrange(1, 40)
        nulls = random.choice([0.0, 0.2, 0.9])
        values = {
            kind.name: [
                None if random.random() < nulls else kind.draw(random) for _ in range(num_rows)
            ]
            for kind in chosen
        }
        return cls(chosen, values)

    @property
    def num_rows(self) -> int:
        return len(next(iter(self.values.values())))

    def arrow(self) -> pa.Table:
        columns = {kind.name: kind.array(self.values[kind.name], kind.type) for kind in self.kinds}
        return pa.table({"row": pa.array(range(self.num_rows), pa.int64()), **columns})

    def parquet(self) -> pa.Table:
        """The columns that Parquet can hold."""
        table = self.arrow()
        for kind in self.kinds:
            if not kind.is_in_parquet:
                table = table.drop_columns([kind.name])
            elif kind.in_parquet is not None:
                index = table.schema.get_field_index(kind.name)
                column = pa.array(self.values[kind.name], kind.in_parquet)
                table = table.set_column(index, kind.name, column)
        return table

    def kinds_in_parquet(self) -> list[Kind]:
        return [kind for kind in self.kinds if kind.is_in_parquet]

    def keys(self, kind: Kind) -> list[Key | None]:
        return [None if value is None else kind.key(value) for value in self.values[kind.name]]

    def filter(self, random: Random, kinds: list[Kind]) -> Question:
        sql, json, truths = self._condition(random, kinds, random.choice([0, 0, 1, 2]))
        return Question(sql, json, [row for row, truth in enumerate(truths) if truth])

    def _condition(
        self, random: Random, kinds: list[Kind], depth: int
    ) -> tuple[str, Predicate | None, list[bool | None]]:
        if depth == 0:
            kind = random.choice(kinds)
            others = [other for other in kinds if other.family and other.family == kind.family]
            choices = [self._comparison]
            if kind.family == "text":
                choices.append(self._pattern)
            if len(others) > 1 and random.random() < 0.3:
                return self._columns(random, kind, random.choice(others))
            return random.choice(choices)(random, kind)
        sql, json, truths = self._condition(random, kinds, depth - 1)
        word = random.choice(["not", "and", "or"])
        if word == "not":
            negated = None if json is None else {"not": json}
            return f"not ({sql})", negated, [None if t is None else not t for t in truths]
        other_sql, other_json, other_truths = self._condition(random, kinds, depth - 1)
        both = list(zip(truths, other_truths, strict=True))
        joined = [(conjunction if word == "and" else disjunction)(*pair) for pair in both]
        has_json = json is not None and other_json is not None
        return (
            f"({sql}) {word} ({other_sql})",
            {word: [json, other_json]} if has_json else None,
            joined,
        )

    def _comparison(
        self, random: Random, kind: Kind
    ) -> tuple[str, Predicate | None, list[bool | None]]:
        keys = self.keys(kind)
        name = kind.name if kind.has_json else f"{kind.name}['a']"
        form = random.choice([*SYMBOLS, "in", "between", "is_null", "not_null"])

        def where(test: Callable[[Key], bool]) -> list[bool | None]:
            return [None if key is None else test(key) for key in keys]

        plain = {"op": form, "column": kind.name} if kind.has_json else None
        if form == "is_null":
            return f"{name} is null", plain, [key is None for key in keys]
        if form == "not_null":
            return f"{name} is not null", plain, [key is not None for key in keys]
        values = [value for value in self.values[kind.name] if value is not None]

        def near() -> Any:
            return random.choice(values) if values and random.random() < 0.7 else kind.draw(random)

        literals = [kind.literal(random, near()) for _ in range(random.randrange(1, 4))]
        has_json = kind.has_json and all(literal.json is not None for literal in literals)

        def asked(predicate: Predicate) -> Predicate | None:
            return predicate if has_json else None

        if form == "in":
            sql = f"{name} in ({', '.join(literal.sql for literal in literals)})"
            wanted = [literal.key for literal in literals]
            listed = [literal.json for literal in literals]
            predicate = {"op": "in", "column": kind.name, "value": listed}
            return sql, asked(predicate), where(lambda key: key in wanted)
        low, high = literals[0], literals[-1]
        if form == "between":
            bounds = [("ge", low), ("le", high)]
            parts = [{"op": op, "column": kind.name, "value": bound.json} for op, bound in bounds]
            truths = where(lambda key: low.key <= key <= high.key)
            return f"{name} between {low.sql} and {high.sql}", asked({"and": parts}), truths
        symbol = SYMBOLS[form]
        sql = f"{name} {symbol} {low.sql}"
        if random.random() < 0.2:
            swapped = symbol.translate(str.maketrans("<>", "><")) if form != "ne" else symbol
            sql = f"{low.sql} {swapped} {name}"
        predicate = {"op": form, "column": kind.name, "value": low.json}
        return sql, asked(predicate), where(lambda key: holds(form, key, low.key))

    def _columns(
        self, random: Random, kind: Kind, other: Kind
    ) -> tuple[str, None, list[bool | None]]:
        """Two columns, which JSON cannot compare."""
        form = random.choice([*SYMBOLS])
        pairs = zip(self.keys(kind), self.keys(other), strict=True)
        truths = [None if a is None or b is None else holds(form, a, b) for a, b in pairs]
        return f"{kind.name} {SYMBOLS[form]} {other.name}", None, truths

    def _pattern(
        self, random: Random, kind: Kind
    ) -> tuple[str, Predicate | None, list[bool | None]]:
        form = random.choice(["contains", "starts_with"])
        part = word(random)
        truths = [
            None
            if text is None
            else (part in text if form == "contains" else text.startswith(part))
            for text in self.values[kind.name]
        ]
        predicate = {"op": form, "column": kind.name, "value": part}
        return f"{form}({kind.name}, {quoted(part)})", predicate, truths

    def sorted(self, random: Random, kinds: list[Kind]) -> tuple[list[tuple[str, bool]], list[int]]:
        """Names of columns, each with whether it descends, and the rows in that order."""
        chosen = random.sample(kinds, min(len(kinds), random.randrange(1, 3)))
        sort = [(kind, random.random() < 0.5) for kind in chosen]
        rows = list(range(self.num_rows))
        for kind, descends in reversed(sort):
            keys = self.keys(kind)
            # In both directions: numbers, NaN, null.
            values = sorted({key for key in keys if key not in (None, NAN)}, reverse=descends)
            order = {key: place for place, key in enumerate([*values, NAN, None])}
            rows.sort(key=[order[key] for key in keys].__getitem__)
        return [(kind.name, descends) for kind, descends in sort], rows

    def found(self, text: str, kinds: list[Kind]) -> list[tuple[int, list[str]]]:
        """The rows with cells that contain a text, and the names of their columns."""
        found = []
        for row in range(self.num_rows):
            cells = [(kind, self.values[kind.name][row]) for kind in kinds]
            names = [
                kind.name
                for kind, value in cells
                if kind.text is not None
                and value is not None
                and text.lower() in kind.text(value).lower()
            ]
            if names:
                found.append((row, names))
        return found

    def summary(self, kind: Kind) -> dict[str, Any]:
        """The members of a summary that are easy to say."""
        values = [value for value in self.values[kind.name] if value is not None]
        summary: dict[str, Any] = {"rows": self.num_rows, "nulls": self.num_rows - len(values)}
        if kind.text is not None:
            ordered = sorted(values, key=kind.key)
            summary["min"] = kind.text(ordered[0]) if ordered else None
            summary["max"] = kind.text(ordered[-1]) if ordered else None
            summary |= self._quartiles(kind, [kind.text(value) for value in ordered])
        if pa.types.is_floating(kind.type):
            keys = [kind.key(value) for value in values]
            summary["nan"] = keys.count(NAN)
            summary["infinite"] = sum(key[0] in (0, 2) for key in keys)
        return summary

    @staticmethod
    def _quartiles(kind: Kind, ordered: list[str]) -> dict[str, Any]:
        """The quartiles of numbers and times, or of the lengths of texts."""

        def of(ordered: list[Any]) -> dict[str, Any]:
            places = [-(-len(ordered) * quarters // 4) - 1 for quarters in (1, 2, 3)]
            values = [ordered[place] for place in places]
            names = ("lower", "median", "upper")
            return dict(zip(names, values, strict=True), is_approximate=False)

        is_string = pa.types.is_string(kind.type) or pa.types.is_large_string(kind.type)
        is_number = pa.types.is_integer(kind.type) or pa.types.is_decimal128(kind.type)
        if not ordered:
            return {}
        if is_number or pa.types.is_temporal(kind.type):
            return {"quartiles": of(ordered)}
        if not is_string:
            return {}
        lengths = sorted(map(len, ordered))
        extremes = {"min": lengths[0], "max": lengths[-1]}
        empties = lengths.count(0)
        return {
            "empties": empties,
            "lengths": of(lengths) | extremes,
            "distinct": len(set(ordered)),
        }


def conjunction(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def disjunction(one: bool | None, other: bool | None) -> bool | None:
    if one or other:
        return True
    return None if one is None or other is None else False


def holds(form: str, key: Key, literal: Key) -> bool:
    return {
        "eq": key == literal,
        "ne": key != literal,
        "lt": key < literal,
        "le": key <= literal,
        "gt": key > literal,
        "ge": key >= literal,
    }[form]
