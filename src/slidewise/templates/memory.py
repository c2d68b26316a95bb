"""The Python half of state that outlives a call: a structure of numbers in memory that compiled code reads and writes.

`CompiledStructure` takes over the partials of an interpreted structure, and gives them back: to the bit what that would
hold had it gone on itself, so that saved state tells nothing of it. A queue grows as interpreted ones do, by doubling
while it is short and by pages from then on, of which none is ever copied: the worst event stays constant.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import chain
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.trial import partial_dtype
from slidewise.registry.entries import AlgorithmEntry
from slidewise.templates import slide, storage
from slidewise.templates.compile import kernel
from slidewise.templates.interpret import Swag, state_fields
from slidewise.templates.names import Partial
from slidewise.templates.present import make_optional, optional_dtype

#: elements of a page, and the fewest that a queue has room for
PAGE, FEWEST = 1024, 64
_SHIFT = PAGE.bit_length() - 1
#: a position that is never reached
_NEVER = 1 << 62
_QUEUE = {"at": slide.at, "put": slide.put, "append": slide.put, "drop": slide.drop}


class Kernel(NamedTuple):
    """What runs for one event, and how its state is laid out."""

    #: takes the address of a block and a row; None with a reason in its first word
    run: Callable[..., Any]
    #: the type of optional partials, and whether they are tuples
    partial: np.dtype
    tuples: bool
    #: the fields by name: their kind, and the word at which they begin
    fields: dict[str, tuple[str, int]]
    words: int
    module: ModuleType
    #: of times, where it takes any: "i8" or "f8"
    moments: str | None


@functools.lru_cache(maxsize=256)
def compile_slide(entry: AlgorithmEntry, op: Aggregation, value: str, moment: str | None) -> Kernel | None:
    """Compile one slide of a window of rows, or of time, for values "f8" or "i8"; None where that cannot be.

    Seconds the first time, milliseconds where numba's cache has it.
    """
    column = np.ones(1, value)
    plain = op.compiled((column,), 1)
    if plain is None:
        return None
    number = partial_dtype(plain, (column,))
    partial = optional_dtype(number)
    kinds = {**_kinds(slide.Header), **_kinds(entry.module.State, state_fields(entry.module))}
    words = {"Partial": len(partial), "Queue": 4, "Moments": 4}
    fields, at = {}, 0
    for name, kind in kinds.items():
        fields[name] = (kind, at)
        at += words.get(kind, 1)
    layout = " ".join(f"{name}:{kind}" for name, kind in kinds.items())
    driver: Any = slide.slide_rows if moment is None else slide.slide_time
    args = (0, *(() if moment is None else (np.zeros(1, moment).item(0),)), 1, column.item(0))
    more = {**_QUEUE, "takes": _choose_takes(op, value)}
    run = kernel(driver, entry.module, make_optional(plain, number), partial, args, more, layout)
    if run is None:
        return None
    entry_point = run.overloads[run.signatures[0]].entry_point  # whose types are known: 0.1 us less
    return Kernel(entry_point, partial, bool(number.names), fields, at, entry.module, moment)


def _kinds(state: Any, hints: dict[str, Any] | None = None) -> dict[str, str]:
    return {name: kind if isinstance(kind, str) else kind.__name__ for name, kind in (hints or state.__annotations__).items()}


def _choose_takes(op: Aggregation, value: str) -> FunctionType:
    if op.selective:
        return slide.takes_any
    return slide.takes_finite if value == "f8" else slide.takes_small


class CompiledStructure:
    """An interpreted structure's partials as numbers in memory, from `take_over` to `give_back`."""

    __slots__ = ("address", "kernel", "pages", "ring", "run", "spare", "swag", "table", "words")

    def __init__(self, kernel: Kernel, swag: Swag) -> None:
        self.kernel, self.swag, self.run = kernel, swag, kernel.run
        self.words = np.zeros(kernel.words, np.int64)
        self.address: int = self.words.ctypes.data
        #: of each queue: the pages in use by their number, and one that is free
        self.pages: dict[int, list[np.ndarray]] = {}
        self.spare: list[list[np.ndarray]] = []
        self.table: list[np.ndarray] = []
        self.ring = 0

    # ---- from an interpreted structure and back
    @classmethod
    def take_over(
        cls, kernel: Kernel, swag: Swag, times: Sequence[Any] | None = None, **header: Any
    ) -> CompiledStructure | None:
        """Take the partials of a structure, and the times of its rows; None where one of them is no such number. O(n).

        The structure is not looked at again before `give_back`.
        """
        made = cls(kernel, swag)
        state: Any = swag
        front, end = state.front, state.end
        held = [storage.at(state.queue, i) for i in range(front, end)]
        single = [getattr(state, name) for name, (kind, _) in kernel.fields.items() if kind == "Partial"]
        encoded = made._encode(held + single)
        if encoded is None:
            return None
        moments = None
        if kernel.moments is not None:
            moments = _encode_numbers(list(times or ()), kernel.moments)
            header["reach"] = _encode_numbers([header["reach"]], kernel.moments)
            if moments is None or header["reach"] is None or len(moments) != len(held):
                return None
            header["reach"] = header["reach"].view(np.int64)[0]
        ints = {name for name in state_fields(kernel.module) if kernel.fields[name][0] == "int"}
        for name in ints:
            made[name] = getattr(state, name)
        for name, value in {"most": end - front, "room": 0, "limit": _NEVER, **header}.items():
            made[name] = value
        made["magnitude"] = _magnitude(encoded)
        places = [at for kind, at in kernel.fields.values() if kind == "Partial"]
        for at, record in zip(places, encoded[len(held) :], strict=True):
            made.words[at : at + len(kernel.partial)] = np.array(record).reshape(1).view(np.int64)
        made._fill(front, [encoded[: len(held)].view(np.int64)] + ([] if moments is None else [moments.view(np.int64)]))
        return made

    def give_back(self) -> list[Any] | None:
        """Let the interpreted structure go on from here; returns the times of its rows. O(n)."""
        state: Any = self.swag
        table = not storage.is_ring(state.queue)
        ring = len(state.queue) - 1
        for name, kind in state_fields(self.kernel.module).items():
            if self.kernel.fields[name][0] == "int":
                setattr(state, name, int(self[name]))
            elif kind is Partial:
                at = self.kernel.fields[name][1]
                words = self.words[at : at + len(self.kernel.partial)]
                setattr(state, name, self._decode(words.copy().view(self.kernel.partial))[0])
        front, end = state.front, state.end
        values = self._decode(self._list(0, front, end).view(self.kernel.partial))
        most = int(self["most"])
        state.queue = storage.lay_out(front, values, None if table or most > storage.MOST else max(ring, most))
        if self.kernel.moments is None:
            return None
        moments: list[Any] = self._list(1, front, end).view(self.kernel.moments).tolist()
        return moments

    def __getitem__(self, name: str) -> Any:
        return self.words[self.kernel.fields[name][1]]

    def __setitem__(self, name: str, value: Any) -> None:
        self.words[self.kernel.fields[name][1]] = value

    def __len__(self) -> int:
        return int(self["end"] - self["front"])

    def _encode(self, partials: list[Any]) -> np.ndarray | None:
        """Write optional partials as records; None where one has other types than their fields."""
        dtype = self.kernel.partial
        found = np.zeros(len(partials), dtype)
        there = np.array([p is not None for p in partials], bool)
        values = [p for p in partials if p is not None]
        found["f0"] = there
        columns = list(zip(*values, strict=True)) if self.kernel.tuples else [values]
        if not values:
            return found
        for name, column in zip((dtype.names or ())[1:], columns, strict=True):
            numbers = _encode_numbers(column, dtype[name].str[1:])
            if numbers is None:
                return None
            found[name][there] = numbers
        return found

    def _decode(self, records: np.ndarray) -> list[Any]:
        names = (records.dtype.names or ())[1:]
        columns = [records[name].tolist() for name in names]
        values = list(zip(*columns, strict=True)) if self.kernel.tuples else columns[0]
        there = records["f0"]
        if there.all():
            return values
        return [value if is_there else None for value, is_there in zip(values, there.tolist(), strict=True)]

    # ---- room
    def grow(self) -> None:
        """Make room for one row more. O(1): at most PAGE rows move, whatever the structure comes to hold.

        Of the table of pages, a word for each, all move where it doubles: of a million rows a thousand.
        """
        front, end = int(self["front"]), int(self["end"])
        if self.ring:
            columns = [self._list(k, front, end) for k in range(len(self.table))]
            self._fill(front, columns)
            return
        for number in [n for n in self.pages if n < front >> _SHIFT]:
            self.spare.append(self.pages.pop(number))
        self._add_page(end >> _SHIFT)
        del self.spare[1:]

    def _widths(self) -> list[int]:
        return [8 * len(self.kernel.partial), *([8] if self.kernel.moments is not None else [])]

    def _places(self) -> list[int]:
        names = ["queue", *(["moments"] if self.kernel.moments is not None else [])]
        return [self.kernel.fields[name][1] for name in names]

    def _fill(self, front: int, columns: list[np.ndarray]) -> None:
        """Hold these rows, from position `front` on, in a ring with room for more or in pages."""
        widths = self._widths()
        count = len(columns[0]) * 8 // widths[0]
        end = front + count
        self.pages, self.spare = {}, []
        if 2 * count < PAGE:
            self.ring = max(FEWEST, 1 << (4 * count - 1).bit_length() if count else 0)
            self.ring = min(self.ring, PAGE)
            self.pages[0] = [np.zeros(self.ring * width // 8, np.int64) for width in widths]
            shift, turns = self.ring.bit_length() - 1, 0
            self.table = [np.array([page.ctypes.data]) for page in self.pages[0]]
            self["room"], self["limit"] = self.ring, _NEVER
            for page, column, width in zip(self.pages[0], columns, widths, strict=True):
                slots = page.view(f"V{width}")
                slots[np.arange(front, end) & (self.ring - 1)] = column.view(f"V{width}")
        else:
            self.ring, shift, turns = 0, _SHIFT, 15
            self.table = [np.zeros(turns + 1, np.int64) for _ in widths]
            self["room"] = _NEVER
            for number in range(front >> _SHIFT, (end >> _SHIFT) + 1):
                self._add_page(number)
                first = max(front, number << _SHIFT)
                last = min(end, number + 1 << _SHIFT)
                for page, column, width in zip(self.pages[number], columns, widths, strict=True):
                    low = first - (number << _SHIFT)
                    slots = page.view(f"V{width}")
                    slots[low : low + last - first] = column.view(f"V{width}")[first - front : last - front]
            turns = len(self.table[0]) - 1
        self._tell(shift, turns)

    def _tell(self, shift: int, turns: int) -> None:
        """Tell compiled code where the pages are."""
        size = self.ring or PAGE
        for at, table in zip(self._places(), self.table, strict=True):
            self.words[at : at + 4] = table.ctypes.data, shift, size - 1, turns

    def _add_page(self, number: int) -> None:
        size = len(self.table[0])
        if len(self.pages) == size:  # a table for twice as many
            self.table = [np.zeros(2 * size, np.int64) for _ in self.table]
            for n, pages in self.pages.items():
                for table, page in zip(self.table, pages, strict=True):
                    table[n & 2 * size - 1] = page.ctypes.data
            size *= 2
            self._tell(_SHIFT, size - 1)
        self.pages[number] = self.spare.pop() if self.spare else [np.empty(PAGE * w // 8, np.int64) for w in self._widths()]
        for table, page in zip(self.table, self.pages[number], strict=True):
            table[number & size - 1] = page.ctypes.data
        self["limit"] = number + 1 << _SHIFT

    def _list(self, queue: int, front: int, end: int) -> np.ndarray:
        """List the elements of a queue, as words. O(n)."""
        width = self._widths()[queue]
        if self.ring:
            slots = self.pages[0][queue].view(f"V{width}")
            return slots[np.arange(front, end) & (self.ring - 1)].view(np.int64)
        numbers = range(front >> _SHIFT, (end - 1 >> _SHIFT) + 1)
        parts = [
            self.pages[n][queue].view(f"V{width}")[max(front - (n << _SHIFT), 0) : min(end - (n << _SHIFT), PAGE)]
            for n in numbers
        ]
        return np.concatenate(parts).view(np.int64) if parts else np.zeros(0, np.int64)


def _encode_numbers(values: Sequence[Any], kind: str) -> np.ndarray | None:
    """Write floats, or integers of 64 bits, as they are; None where one is something else."""
    if set(map(type, values)) - {float if kind == "f8" else int}:
        return None
    try:
        return np.array(values, kind)
    except OverflowError:
        return None


def _magnitude(records: np.ndarray) -> int:
    """Find the largest integer that is held, without its sign, of those that may be added to."""
    numbers = chain.from_iterable(
        (int(records[name].min()), int(records[name].max()))
        for name in (records.dtype.names or ())[1:]
        if records.dtype[name].kind == "i" and len(records)
    )
    return min(max(map(abs, numbers), default=0), _NEVER)
