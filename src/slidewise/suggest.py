"""Suggestions for names that are not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggest(name: object, known: Iterable[object]) -> str:
    """Write the end of an error about an unknown name: the nearest one that there is, or all of them.

    >>> suggest("prise", ["price", "size"])
    "Did you mean 'price'?"
    >>> suggest("x", ["price", "size"])
    'There are: price, size'
    """
    names = [str(n) for n in known]
    near = difflib.get_close_matches(str(name), names, 1)
    return f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(names)}"
