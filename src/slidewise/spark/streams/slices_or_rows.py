"""Whether the state of hopping windows is rows, or partials of slices."""

from __future__ import annotations

from typing import Any

from slidewise.errors import InvalidInput
from slidewise.spark.streams.grid import grid_of
from slidewise.spark.streams.stream_task import StreamTask

#: Up to so many slices to a window, a key has more rows than slices in all likelihood. A slice is wider than a row
#: where there are several results.
FEW = 64


def keeps_slices(task: StreamTask, wanted: Any) -> bool:
    """What is kept, as the caller wants it; None: slices where they can be, and are few."""
    if wanted not in (None, True, False):
        raise InvalidInput(f"aggregate: slices= is True or False, or None to choose by the window, got {wanted!r}")
    why = _why_rows(task)
    if wanted and why is not None:
        raise InvalidInput(f"aggregate: slices=True keeps partials of slices, and {why}. Leave it out to keep rows")
    if wanted is None:
        return why is None and grid_of(task).slices <= FEW
    return bool(wanted)


def _why_rows(task: StreamTask) -> str | None:
    """Why rows must be kept; None where slices can be."""
    [window] = task.windows
    if not window.hopping:
        return f"{window!r} is not a hopping window"
    if task.keep is not None:
        return 'late="revise" takes late rows into account'
    for name, over in task.expressions.items():
        if over.algorithm != "auto":
            return f"algorithm={over.algorithm!r} is one for rows"
        if name not in task.divisions:
            return f"{name}: {over.aggregation!r} has no partials that can be kept in place of its rows"
    return None
