"""PBA: the parallel boundary aggregator (Efficient Incremental Computation of Aggregations over Sliding
Windows, section 4).

SBA's slices, chunks and invariant (see sba.py), with the left-cumulative pass over a complete chunk on a
second thread. No window ever needs both the left-cumulative and the running partials of one chunk, so the two
passes do not touch each other; the main thread does at most 3 combines per slide, and with the paper's chunk
size the other one is ready before its partials are asked for. Where it is not, the main thread waits: the
answer never depends on timing.

Event by event and interpreted, Python's global lock lets only one thread run at a time: there PBA takes the
left-cumulative pass out of the way of the one operation that completes a chunk, and is not faster than SBA in
all. Over columns the kernels run without the lock, on two cores, for every kind of frame that SBA takes; and
_pba_steps.py is the form that takes one slide at a time without the lock.
"""

import threading
import weakref
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

import numpy as np

from slidewise.algorithms import sba
from slidewise.algorithms.sba import FixedWindow, State, cumulate_slots, emit
from slidewise.templates.compile import kernel
from slidewise.templates.interpret import Swag
from slidewise.templates.names import combine, defined, identity, lift, lower, zip_columns

__all__ = ["MIXINS", "USES", "State", "compute_frames", "compute_rows", "run_frames"]

USES = (sba,)

#: Rows in one job of the second thread, or more. Handing a job over and waiting for it takes 12 to 35 us (median 22
#: on a busy machine), as long as 20,000 rows.
JOB_ROWS = 1 << 17


class Worker:
    """One daemon thread that does jobs in their order; it ends at close(), or with the last reference to
    this."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Any] = SimpleQueue()
        self._thread = threading.Thread(target=_work, args=(self._jobs,), name="slidewise-pba", daemon=True)
        self._stop = weakref.finalize(self, self._jobs.put, None)
        self._thread.start()

    def submit(self, function: Any, *args: Any) -> Future[Any]:
        """Give the job to the thread; what it returns or raises comes out of the future's result()."""
        future: Future[Any] = Future()
        self._jobs.put((future, function, args))
        return future

    def close(self) -> None:
        """Finish all jobs and end the thread."""
        self._stop()
        self._thread.join()


def _work(jobs: Any) -> None:
    while (job := jobs.get()) is not None:
        future, function, args = job
        try:
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)
        del job, future, function, args  # an idle thread keeps nothing alive


# ---- event by event: SBA's functions, but for these two
def cumulate(s, first, end):
    s._hand_over(cumulate_slots, first, end)


def settle(s, slot):
    if s._job is not None and slot in s._pending:
        s._wait()


class Threaded(Swag):
    """The second thread of one structure: started when a first chunk is complete, stopped by close(), at the
    end of a `with` block, or when the structure is garbage."""

    __slots__ = ("_job", "_pending", "_worker")

    def __init__(self, **options: Any) -> None:
        self._worker: Worker | None = None
        self._job: Future[Any] | None = None
        self._pending = range(0)
        super().__init__(**options)

    def close(self) -> None:
        """Stop the second thread. The structure stays usable: the next complete chunk starts another one."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def __enter__(self) -> "Threaded":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _hand_over(self, cumulate: Any, first: int, end: int) -> None:
        self._wait()  # one job at a time: the last one's slots may be among those written next
        if end - first > 1:
            self._worker = self._worker or Worker()
            self._pending = range(first, end)
            self._job = self._worker.submit(cumulate, self.slices, first, end)

    def _wait(self) -> None:
        if self._job is not None:
            self._job.result()  # raises what the job has raised, again and again: its partials are missing
            self._job = None

    def _save(self) -> Any:
        self._wait()
        return super()._save()


MIXINS = (Threaded, FixedWindow)


# ---- over columns: two drivers and who calls them. Each takes two chunks at once: one alone waits for its
# own last result. For a sum and n = 2^20, CPU time per row of left and merge: 0.6 and 0.7 ns, against 0.9 and
# 1.1.
def run_left(left, values, n, first, last):
    """Compute the left-cumulative partials of chunks first to last - 1, n rows each, and the identity after each
    chunk.

    left: n + 1 partials for each of the chunks, rounded up to an even number of them. 1 combine per row.
    """
    values = zip_columns(values)
    left = zip_columns(left)
    for chunk in range(first, last, 2):
        row = chunk * n
        row2 = row + n if chunk + 1 < last else row  # an odd chunk out is done twice, side by side
        at = (chunk - first) * (n + 1)
        at2 = at + n + 1
        left[at + n] = identity
        left[at2 + n] = identity
        back = identity
        back2 = identity
        for k in range(n - 1, -1, -1):
            back = combine(lift(*values[np.uintp(row + k)]), back)
            left[np.uintp(at + k)] = back
            back2 = combine(lift(*values[np.uintp(row2 + k)]), back2)
            left[np.uintp(at2 + k)] = back2


def run_merge(left, values, n, first, last, out, valid):
    """Compute the results of chunks first to last - 1, with `left` as run_left makes it of chunks first - 1 to last -
    2.

    2 combines per row. The first chunk of all merges nothing, and the last one may have fewer rows.
    """
    values = zip_columns(values)
    left = zip_columns(left)
    results = zip_columns(out)
    rows = len(values)
    right = identity
    if first == 0:
        for k in range(min(n, rows)):
            right = combine(right, lift(*values[k]))
            emit(results, valid, k, right)
        first = 1
    for chunk in range(first, last, 2):
        row = chunk * n
        row2 = row + n
        at = (chunk - first) * (n + 1) + 1
        at2 = at + n + 1
        both = min(n, rows - row2) if chunk + 1 < last else 0
        right = identity
        right2 = identity
        for j in range(both):
            i = np.uintp(row + j)
            right = combine(right, lift(*values[i]))
            emit(results, valid, i, combine(left[np.uintp(at + j)], right))
            i2 = np.uintp(row2 + j)
            right2 = combine(right2, lift(*values[i2]))
            emit(results, valid, i2, combine(left[np.uintp(at2 + j)], right2))
        for j in range(both, min(n, rows - row)):
            i = np.uintp(row + j)
            right = combine(right, lift(*values[i]))
            emit(results, valid, i, combine(left[np.uintp(at + j)], right))


def compute_rows(op, partial, values, n, out, valid):
    """out[i] is the result of row i and the n - 1 rows before it, where valid[i]; sba.run_rows on two
    threads.

    False where numba cannot compile the aggregation; nothing is written then. 4 n partials of memory, or 4
    JOB_ROWS.
    """
    rows = len(values[0])
    n = max(1, min(n, rows))
    chunks = -(-rows // n)
    per_job = 2 * max(1, JOB_ROWS // (2 * n))
    size = min(per_job, chunks + chunks % 2) * (n + 1)
    buffers = (np.empty(size, partial), np.empty(size, partial))
    left = kernel(run_left, None, op, partial, (buffers[0], values, n, 0, 0))
    merge = kernel(run_merge, sba, op, partial, (buffers[0], values, n, 0, 0, out, valid))
    if left is None or merge is None:
        return False
    valid[:] = True

    def prepare(buffer, chunk):
        last = min(chunk + per_job, chunks)
        left(buffer, values, n, chunk - 1, last - 1)
        return last

    def finish(buffer, chunk, last):
        merge(buffer, values, n, chunk, last, out, valid)

    work_ahead(prepare, finish, buffers, 1, chunks, lambda: finish(buffers[0], 0, 1))
    return True


def work_ahead(prepare, finish, buffers, begin, end, meanwhile=lambda: None):
    """Call finish(buffer, a, b) from `begin` to `end` on this thread, where b = prepare(buffer, a) is called on a
    second one, a job ahead. `meanwhile` is what this thread does during the first job."""
    worker = Worker()
    try:
        job = worker.submit(prepare, buffers[0], begin) if begin < end else None
        meanwhile()
        while job is not None:
            stop = job.result()
            # into the buffer that the last round has read
            job = worker.submit(prepare, buffers[1], stop) if stop < end else None
            finish(buffers[0], begin, stop)
            begin, buffers = stop, buffers[::-1]
    finally:
        worker.close()


# ---- frames of any kind whose bounds never move back: by rows, by time, one per slide, of many keys
def run_left_frames(left, values, start, end, first):
    """Compute the left-cumulative partials of the chunks from frame `first` on, as many as `left` has room for; return
    the frame at which the next chunk begins.

    Chunks are those of sba.run_frames: the rows of a frame that has left the last boundary behind, and its end is the
    next one. 1 combine per row.
    """
    values = zip_columns(values)
    left = zip_columns(left)
    at = 0  # where the partials of this chunk begin
    i = first
    while i < len(start):
        lo = start[i]
        hi = max(lo, end[i])
        if at + hi - lo > len(left):
            return i
        back = identity
        for k in range(hi - 1, lo - 1, -1):
            back = combine(lift(*values[np.uintp(k)]), back)
            left[np.uintp(at + k - lo)] = back
        at += hi - lo
        i += 1
        while i < len(start) and start[i] < hi:
            i += 1
    return i


def run_merge_frames(left, values, start, end, first, last, out, valid):
    """Compute the results of frames first to last - 1, with `left` as run_left_frames makes it from frame `first` on.

    1 combine per row and one per frame, in the order of sba.run_frames: results are the same bit for bit.
    """
    values = zip_columns(values)
    left = zip_columns(left)
    results = zip_columns(out)
    at = 0  # where the partials of the next chunk begin
    base = 0  # left[base + k] is the product of rows k to boundary - 1
    boundary = -1
    row = 0
    right = identity  # the product of rows boundary to row - 1
    for i in range(first, last):
        lo = start[i]
        hi = end[i]
        if lo >= boundary:
            base = at - lo
            boundary = row = max(lo, hi)
            at += boundary - lo
            right = identity
            total = left[np.uintp(base + lo)] if lo < hi else identity
        else:
            while row < hi:
                right = combine(right, lift(*values[np.uintp(row)]))
                row += 1
            total = combine(left[np.uintp(base + lo)], right)
        valid[i] = lo < hi and defined(total)
        if valid[i]:
            results[i] = lower(total)


def compute_frames(op, partial, values, start, end, longest, out, valid):
    """out[i] is the result of rows start[i] to end[i] - 1, where valid[i]; sba.run_frames on two threads.

    False where numba cannot compile the aggregation; nothing is written then. 2 partials of memory for each row of the
    longest frame, or 2 JOB_ROWS.
    """
    buffers = tuple(np.empty(max(longest, min(JOB_ROWS, len(values[0])), 1), partial) for _ in range(2))
    left = kernel(run_left_frames, None, op, partial, (buffers[0], values, start, end, 0))
    merge = kernel(run_merge_frames, None, op, partial, (buffers[0], values, start, end, 0, 0, out, valid))
    if left is None or merge is None:
        return False
    frames_ahead(left, merge, buffers, values, start, end, out, valid)
    return True


def run_frames(work, values, start, end, out, valid):
    """Do the same over Python objects; work: the two buffers."""
    frames_ahead(run_left_frames, run_merge_frames, work, values, start, end, out, valid)


def frames_ahead(left, merge, buffers, values, start, end, out, valid):
    """Run the two passes over frames, each on its thread."""
    work_ahead(
        lambda buffer, first: left(buffer, values, start, end, first),
        lambda buffer, first, last: merge(buffer, values, start, end, first, last, out, valid),
        buffers,
        0,
        len(start),
    )
