"""What holds the rows of one key, whatever the window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from slidewise.events.row_reader import Row
from slidewise.events.watermark import Deadline, Mark

if TYPE_CHECKING:
    from slidewise.events.shared_partials import Stores
    from slidewise.events.window_plan import Due


class Engine:
    """Takes the rows of one key in the order of time, and gives the results that are due."""

    __slots__ = ()
    #: whether it keeps rows themselves, and notes in them what is true of its own window only
    keeps_rows: ClassVar[bool] = True

    def __init__(self, plan: Any, key: Any) -> None:
        raise NotImplementedError

    def share(self, stores: Stores) -> None:
        """Hold no partials of measures that have a store, but ask that; only engines that hold rows one by one can."""
        raise NotImplementedError

    def insert(self, row: Row, mark: Mark, out: list[Due]) -> None:
        """Take the next row; add the results that are due to `out`."""
        raise NotImplementedError

    def revise(self, row: Row, mark: Mark, out: list[Due]) -> None:
        """Take a late row; only engines that keep their rows can."""
        raise NotImplementedError

    def insert_late(self, row: Row, mark: Mark) -> None:
        """Take a late row into windows that are still open; only engines of windows [start, end) can."""
        raise NotImplementedError

    def release(self, mark: Mark, out: list[Due]) -> None:
        """Add the results that are due to `out`, now that the watermark is `mark`."""

    def deadline(self) -> Deadline | None:
        """Return when the next result is due; None where that depends on rows to come. O(1)."""
        return None

    def newest(self) -> Any:
        """Return the time of the newest row that is held; None where there is none. O(1).

        Only of windows that let go of keys: see `WindowPlan.releases_keys`.
        """
        raise NotImplementedError

    def resume(self, seen: int) -> None:
        """Begin with a key of which so many rows have been, and all have left. O(1)."""
        raise NotImplementedError

    def partials(self) -> int:
        """Count the partials that stand for the rows held."""
        raise NotImplementedError

    @property
    def idle(self) -> bool:
        """Whether nothing is held, so that the key can be forgotten."""
        return False
