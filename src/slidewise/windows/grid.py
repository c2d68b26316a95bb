"""Grid: the boundaries of a slide by time, and the windows that begin or end there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Grid:
    """Boundary k is offset + k * every. With a size, windows begin there and are so long; without one they end there.

    All lengths and times are numbers along one axis: of any kind one by one, and 64-bit integers as arrays.

    >>> grid = Grid(every=10, offset=0, size=25)
    >>> grid.step(42), grid.at(4), grid.first_window(42)
    (4, 40, 2)
    """

    every: Any
    offset: Any = 0
    size: Any = None
    #: of cumulative windows, how many begin together: on multiples of the size, and one ends with every step
    steps: Any = None

    # ---- one by one
    def at(self, k: Any) -> Any:
        """Compute boundary number k. Steps are counted, so that floats do not drift. O(1)."""
        return k * self.every + self.offset

    def step(self, x: Any) -> int:
        """Find the number of the last boundary at or before x. O(1)."""
        k = int((x - self.offset) // self.every)
        while self.at(k) > x:  # a rounded quotient may be one off
            k -= 1
        while self.at(k + 1) <= x:
            k += 1
        return k

    def first_window(self, x: Any) -> int:
        """Find the number of the first window that has x: the first that ends after it. O(1)."""
        k = self.step(x - self.size)
        while self.at(k) + self.size > x:
            k -= 1
        while self.at(k) + self.size <= x:
            k += 1
        return k

    def last_window(self, x: Any) -> int:
        """Find the number of the last window that has x, where that has a window; of cumulative ones, of all steps."""
        step = self.step(x)
        return step if self.steps is None else step // self.steps * self.steps

    def end_of(self, k: int) -> Any:
        """Return where window k ends. O(1)."""
        return self.at(k) + self.size

    def last_end(self, times: Any) -> Any:
        """Return where the last window ends that has each time. O(1) each."""
        apart = self.every if self.steps is None else self.size
        return times - (times - self.offset) % apart + self.size

    @property
    def has_gaps(self) -> bool:
        """Whether a row may be in no window."""
        return bool(self.size < self.every)

    @property
    def far(self) -> Any:
        """Further than any window of a time begins before it, or ends after it."""
        return (self.size or 0) + 2 * self.every + abs(self.offset)

    def is_inside(self, times: Any) -> Any:
        """Tell which times are in a window. O(1) each."""
        return (times - self.offset) % self.every < self.size

    def next_end(self, times: Any, after: int) -> tuple[Any, Any]:
        """Find where the first window ends that has each time and ends after `after`, and whether there is one."""
        import numpy as np

        start = self.at_or_after(np.maximum(times, after) - self.size + 1)
        return start + self.size, start <= times

    # ---- slices
    @property
    def slices(self) -> int | None:
        """How many slices a window has: two to a slide where windows do not end where others begin."""
        whole, rest = divmod(self.size, self.every)
        return whole if not rest else 2 * whole + 1

    def slice_of(self, times: Any) -> Any:
        """Find where the slice of each time begins: the last boundary at which a window begins or ends. O(1) each."""
        within, rest = (times - self.offset) % self.every, self.size % self.every
        return times - within + rest * (within >= rest)

    # ---- when windows are complete
    def at_or_after(self, times: Any) -> Any:
        """Return the first boundary at or after each time. O(1) each."""
        return times + (self.offset - times) % self.every
