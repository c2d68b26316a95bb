"""Expiry: when the results of a key change although no row of it comes, since rows leave its windows with time.

With `emit="changes", empty=True` the results of a key are a function of time, which is empty before its first row, and
what goes out are its changes. The rules of which windows have such results are the same in every engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slidewise.errors import InvalidInput
from slidewise.windows.definitions import WindowDefinition
from slidewise.windows.durations import sign


def leaves_with_time(window: WindowDefinition) -> bool:
    """Tell whether rows leave a window, one result per row, as time passes; else its last result stays.

    >>> import slidewise as sw
    >>> leaves_with_time(sw.time("1h")), leaves_with_time(sw.rows(10))
    (True, False)
    """
    reach = window.reach
    return window.every is None and reach is not None and reach.unit == "range" and reach.fixed


def require_expiry(
    windows: Mapping[str, WindowDefinition], emit: str | None, empty: Any, what: str, forgets: bool = False
) -> None:
    """Refuse empty=True where results do not become empty with time; `forgets`: keys are forgotten, with all rows."""
    if empty not in (None, True, False):
        raise InvalidInput(f"{what}: empty is True or False, got {empty!r}")
    if not empty:
        return
    if emit != "changes":
        raise InvalidInput(
            f"{what}: empty=True gives results again when rows have left their windows, where that changes them: it "
            f'goes with emit="changes", got emit={emit!r}'
        )
    for name, window in windows.items():
        _require_window(f"{what}: {name}" if name else what, window)
    if not forgets and not any(window.gives_windows or leaves_with_time(window) for window in windows.values()):
        first = next(iter(windows.values()))
        raise InvalidInput(
            f"{what}: empty=True gives results again when rows leave with time, and none leaves {first!r} by it. "
            'Add a window by time, as in sw.time("1h"), or leave out empty=True'
        )


def _require_window(what: str, window: WindowDefinition) -> None:
    if window.size_kind == "session":
        raise InvalidInput(
            f"{what}: a session is made of its rows, and is never empty: {window!r} does not go with empty=True. Use "
            'sw.time("30m"), or leave out empty=True'
        )
    if window.every is not None:
        if not window.gives_windows:
            raise InvalidInput(
                f"{what}: empty=True is for a result per row, and for windows [start, end) such as "
                f'sw.time("1h", every="1m"): {window!r} gives results where rows have come, and none without'
            )
        if window.by_calendar:
            raise InvalidInput(
                f"{what}: empty=True is for windows that are all of one length, and {window!r} goes by the calendar. "
                "Slide by hours or days without a zone, or leave out empty=True"
            )
        return
    reach = window.reach
    if reach is None:
        return
    if reach.waits and not reach.offset_columns:
        raise InvalidInput(
            f"{what}: the frame {window!r} reaches beyond its own row, and so the results of a key as of now are not "
            "known yet when rows leave. With empty=True use frames that end with their row"
        )
    wrong = None
    if reach.offset_columns:
        wrong = "is as long as a column of its row says, and when rows leave no row is there to say it"
    elif reach.by_calendar and not reach.from_first_row:
        wrong = "counts months, which differ, so that rows would leave out of order. Use days"
    elif reach.exclude is not None:
        wrong = f"leaves out {reach.exclude!r}, and when rows leave no row is there that it could be"
    elif reach.unit == "range" and reach.from_first_row and (reach.open_end or sign(reach.end) < 0):  # type: ignore[arg-type]
        wrong = "has all rows of its key but the newest, which enter later. Let it end with its row"
    if wrong:
        raise InvalidInput(f"{what}: empty=True cannot be had here: the frame {window!r} {wrong}")
