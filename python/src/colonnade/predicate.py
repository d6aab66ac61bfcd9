"""Evaluates the predicates of the viewer and the server over pyarrow's columns.

As in ``docs/http.md``, a comparison with null is neither true nor false, NaN is greater than every
number and equals itself, −0 equals 0, and text is compared by its UTF-8 bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .columns import column_index, distinct_names, plain_values, stored_type
from .errors import ColonnadeError
from .literal import Literal, is_comparable, is_text, read_literal
from .texts import holds_text

Mask = Any
"""A boolean Array or ChunkedArray with one value a row; null if neither true nor false."""

_MAX_DEPTH = 32
_OF_MATCHES = {"op", "value", "columns", "match_case"}
_SHAPE = '{"op": …, "column": …, "value": …}, {"and": […]}, {"or": […]} or {"not": …}'


def filter_mask(table: pa.Table, predicate: object) -> Mask:
    """Return for each row whether a predicate is true.

    Args:
        table: the rows.
        predicate: as ``docs/http.md`` describes it, parsed from JSON.

    Raises:
        ColonnadeError: ``bad_filter``, ``unknown_column``.

    """
    return _mask(table, predicate, 0)


def _mask(table: pa.Table, predicate: object, depth: int) -> Mask:
    if depth > _MAX_DEPTH or not isinstance(predicate, dict):
        raise _bad(f"{predicate!r} is not a predicate")
    match predicate:
        case {"and": list(parts), **others} if not others:
            masks = (_mask(table, part, depth + 1) for part in parts)
            return reduce(pc.and_kleene, masks, _all(table, True))
        case {"or": list(parts), **others} if not others:
            masks = (_mask(table, part, depth + 1) for part in parts)
            return reduce(pc.or_kleene, masks, _all(table, False))
        case {"not": part, **others} if not others:
            return pc.invert(_mask(table, part, depth + 1))
        case {"op": str(op), "column": str(name)} if predicate.keys() <= {"op", "column", "value"}:
            column = table.column(column_index(table.schema, name))
            return _test(column, name, op, predicate.get("value"))
        case {"op": "matches", "value": str(text), **others} if (
            text and others.keys() <= _OF_MATCHES
        ):
            return _matches(table, text, others)
    raise _bad(f"{predicate!r} is not a predicate")


def _matches(table: pa.Table, text: str, options: dict[str, object]) -> Mask:
    names = options.get("columns")
    match_case = options.get("match_case") or False
    if names is None:
        names = distinct_names(table.schema)
    if not isinstance(names, list) or not names or not isinstance(match_case, bool):
        raise _bad(f"{options!r} has no list of columns, or no boolean match_case")
    columns = (table.column(column_index(table.schema, name)) for name in names)
    masks = (holds_text(column, text, match_case) for column in columns)
    return reduce(pc.or_, masks, _all(table, False))


def _test(column: pa.ChunkedArray, name: str, op: str, value: object) -> Mask:
    if op in {"is_null", "not_null"}:
        if value is not None:
            raise _bad(f"{op} of column {name!r} takes no value")
        nulls = pc.is_null(plain_values(column))
        return nulls if op == "is_null" else pc.invert(nulls)
    values = plain_values(column)
    if value is None:
        raise _bad(f"the filter on {name!r} has no value")
    if op in {"contains", "starts_with"}:
        return _text_test(values, name, op, value)
    if not is_comparable(values.type):
        raise _bad(f"column {name!r} is {column.type}, which only is_null and not_null can test")
    stored = stored_type(column.type)
    if op == "in":
        if not isinstance(value, list):
            raise _bad(f"the filter on {name!r} needs a list of values for in")
        tests = (_compare(values, stored, name, "eq", item) for item in value)
        first = next(tests, _all(values, False))
        return reduce(pc.or_kleene, tests, first)
    return _compare(values, stored, name, op, value)


def _text_test(values: pa.ChunkedArray, name: str, op: str, value: object) -> Mask:
    kind = values.type
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        raise _bad(f"column {name!r} is {kind}, but {op} needs text, integers or booleans")
    if not isinstance(value, str):
        raise _bad(f"the filter on {name!r} needs a text for {op}, not {value!r}")
    texts = values if is_text(kind) else values.cast(pa.string())
    test = pc.match_substring if op == "contains" else pc.starts_with
    return test(texts, value)


def _compare(
    values: pa.ChunkedArray, stored: pa.DataType, name: str, op: str, value: object
) -> Mask:
    try:
        literal = read_literal(value, stored)
    except ValueError as error:
        raise _bad(f"{value!r} is not a value of column {name!r}, {stored}; {error}") from None
    order = _Order(values, literal)
    tests: dict[str, Callable[[], Mask]] = {
        "eq": order.is_equal,
        "ne": lambda: pc.invert(order.is_equal()),
        "lt": order.is_less,
        "le": order.is_not_greater,
        "gt": lambda: pc.invert(order.is_not_greater()),
        "ge": lambda: pc.invert(order.is_less()),
    }
    if op not in tests:
        raise _bad(f"there is no op {op!r} (on column {name!r})")
    return tests[op]()


class _Order:
    """Compares values with a literal; the result for a null is null."""

    def __init__(self, values: pa.ChunkedArray, literal: Literal) -> None:
        self._literal = literal
        self._is_float = pa.types.is_floating(values.type)
        self._values = values
        kind = values.type
        value = literal.value
        self._limit: Mask | None = None
        if pa.types.is_temporal(kind):
            stored = pa.int32() if kind.bit_width == 32 else pa.int64()
            self._values = values.cast(stored)
            bound = 2 ** (stored.bit_width - 1)
            if not -bound <= value < bound:
                self._limit = _like(values, value > 0)
                return
            kind = stored
        elif pa.types.is_decimal(kind):
            # The literal is below the smallest value, so no value is less than it.
            if value <= -(10**kind.precision):
                self._limit = _like(values, False)
                return
            # Python's default context would round to 28 digits.
            value = Decimal(value).scaleb(-kind.scale, Context(prec=100))
        self._scalar = pa.scalar(value, kind)
        self._is_nan = self._is_float and value != value  # noqa: PLR0124 - only NaN differs from itself

    def is_equal(self) -> Mask:
        if not self._literal.is_exact or self._limit is not None:
            return _like(self._values, False)
        if self._is_nan:
            return pc.is_nan(self._values)
        return pc.equal(self._values, self._scalar)

    def is_less(self) -> Mask:
        if self._limit is not None:
            return self._limit
        if self._is_nan:
            return pc.invert(pc.is_nan(self._values))
        test = pc.less if self._literal.is_exact else pc.less_equal
        return test(self._values, self._scalar)

    def is_not_greater(self) -> Mask:
        if self._limit is not None:
            return self._limit
        if self._is_nan:
            return _like(self._values, True)
        return pc.less_equal(self._values, self._scalar)


def _all(rows: pa.Table | pa.ChunkedArray, is_true: bool) -> Mask:
    """Return one value for all rows, including nulls."""
    return pc.equal(pa.repeat(is_true, len(rows)), True)


def _like(values: pa.ChunkedArray, is_true: bool) -> Mask:
    """Return one value for all rows that are not null, and null for the others."""
    return pc.if_else(pc.is_valid(values), is_true, pa.scalar(None, pa.bool_()))


def _bad(what: str) -> ColonnadeError:
    return ColonnadeError("bad_filter", f"{what}.", f"A filter is {_SHAPE}.")
