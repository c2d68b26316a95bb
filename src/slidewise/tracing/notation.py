"""How partials and values are written in the cells of a drawing: short, and as the papers write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slidewise.aggregations.base import Aggregation

#: the identity, and a slot that holds nothing
NOTHING = "·"
#: the longest text of a partial
LONGEST = 9

Show = Callable[[Any], str]


def write_value(value: Any, longest: int = 20) -> str:
    """Write a value on one line, in few characters.

    >>> write_value(2.5), write_value(1 / 3), write_value("abcdefgh"), write_value((4, 1.5)), write_value(None)
    ('2.5', '0.3333', 'ab…h', '4,1.5', '·')
    """
    if value is None:
        text = NOTHING
    elif isinstance(value, float):
        text = f"{value:.4g}"
    elif isinstance(value, str):
        text = value if len(value) <= 6 else f"{value[:2]}…{value[-1]}"
    elif isinstance(value, tuple | list):
        text = ",".join(write_value(part, longest) for part in value[:longest])
    else:
        text = str(value)
    return fit(text, longest)


def fit(text: str, longest: int) -> str:
    """Cut a text, and escape what is not seen in it: a new line would tear a drawing."""
    if not text.isprintable():
        text = repr(text)[1:-1]
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def choose_show(aggregation: Aggregation) -> Show:
    """Choose how the partials of an aggregation are written: as they are where that is short, else lowered."""
    if aggregation.name in ("max_count", "min_count"):
        return _write_counted

    def show(partial: Any) -> str:
        text = write_value(partial)
        if len(text) > LONGEST:
            text = write_value(_lower(aggregation, partial))
        return fit(text, LONGEST)

    return show


def _lower(aggregation: Aggregation, partial: Any) -> Any:
    try:
        return aggregation.lower(partial) if aggregation.defined(partial) else None
    except TypeError:  # a lower that needs an argument: the bits of a Bloom filter, before one asks for a value
        return partial


def _write_counted(partial: Any) -> str:
    """Write an extreme and how often it occurs, as the DABA paper does: 4×3."""
    return NOTHING if partial is None else f"{write_value(partial[1])}×{partial[0]}"
