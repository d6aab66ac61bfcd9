"""Converts Python values to JSON without loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

_MAX_SAFE_INTEGER = 2**53 - 1


def exact_json(value: Any) -> Any:
    """Convert a value to JSON without loss: times in ISO 8601, bytes as hex, large numbers as text.

    Raises:
        TypeError: the value cannot be converted.

    """
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= _MAX_SAFE_INTEGER else str(value)
        case float():
            if math.isfinite(value):
                return value
            return "NaN" if math.isnan(value) else str(value)
        case Decimal():
            return format(value, "f") if value.is_finite() else str(value)
        case datetime():
            return value.isoformat(" ")
        case date() | time():
            return value.isoformat()
        case bytes():
            return value.hex()
        case Mapping():
            return {str(key): exact_json(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [exact_json(item) for item in value]
    return exact_json(_of_numpy(value))


def _of_numpy(value: Any) -> Any:
    """Return the plain values of an array or a scalar of NumPy.

    Raises:
        TypeError: it has none.

    """
    if getattr(value, "ndim", 0) > 0:
        return list(value)
    if type(value).__name__ == "datetime64":  # of which item() loses the type below microseconds
        return str(value)
    item = value.item() if hasattr(value, "item") else value
    if type(item) is type(value):
        raise TypeError(f"{type(value).__name__} cannot be converted to JSON: {value!r}")
    return item
