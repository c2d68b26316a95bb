"""PBA one slide at a time, compiled: _sba_steps.py with the left-cumulative pass on a second thread, and no lock of the
interpreter between the two.

The thread runs a kernel of its own, `serve`, beside the one that takes the slides. They share the state's arrays: a job
is two slots in `signals`, and a counter there says how many were posted, another how many are done. Each is written by
one thread alone, after what it stands for, and read by the other before (`publish`, `observe`). Jobs are done one at a
time: where the last one is not done when the next is posted, or when one of its partials is asked for, the main thread
waits, so that no answer depends on timing. Both wait in a loop that keeps their core busy, for a slide takes less time
than waking up a thread.
"""

from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np

from slidewise.aggregations.base import Aggregation
from slidewise.algorithms import _sba_steps
from slidewise.algorithms._sba_steps import allocate, begin
from slidewise.algorithms.pba import Worker
from slidewise.algorithms.sba import cumulate_slots
from slidewise.errors import Refused
from slidewise.templates.compile import kernel
from slidewise.templates.names import Array, IntArray, Partial, observe, open_state, publish, relax

USES = (_sba_steps,)

#: where `signals` holds what: a line of the cache for each writer
POSTED, FIRST, END, STOP = 0, 1, 2, 3
DONE, FAILED = 16, 17
SIGNALS = 32


class State(NamedTuple):
    #: as in _sba_steps
    window: int
    chunk: int
    held: int
    first: int
    turn: int
    at: int
    edge: int
    #: how many jobs were posted, and the slots of the last one while it may not be done
    posted: int
    pending: int
    until: int
    #: how often the main thread has waited for it
    waits: int
    running: Partial
    slices: Array
    signals: IntArray


def setup_compiled(s, identity, capacity, slices=None, chunk=None):
    begin(s, slices, chunk)
    s.slices = allocate(s)
    s.signals = np.zeros(SIGNALS, np.int64)


def cumulate(s, first, end):
    wait(s)  # one job at a time
    if end - first > 1:
        s.signals[FIRST] = first
        s.signals[END] = end
        s.pending = first
        s.until = end
        s.posted += 1
        publish(s.signals, POSTED, s.posted)


def settle(s, slot):
    if s.pending <= slot and slot < s.until:
        wait(s)


def wait(s):
    """Wait for the job that was posted last."""
    spins = 0
    if observe(s.signals, DONE) != s.posted:
        s.waits += 1
    while observe(s.signals, DONE) != s.posted:
        if observe(s.signals, FAILED):
            raise Refused("the second thread has failed, and partials are missing")
        relax(spins)
        spins += 1
    s.pending = s.until = 0


def serve(state):
    """Do the jobs that are posted, until told to stop; return how many were done. The second thread's kernel."""
    s = open_state(state)
    before = done = observe(s.signals, DONE)
    spins = 0
    while True:
        if observe(s.signals, POSTED) != done:
            cumulate_slots(s.slices, s.signals[FIRST], s.signals[END])
            done += 1
            publish(s.signals, DONE, done)
            spins = 0
        elif observe(s.signals, STOP):
            return done - before
        else:
            relax(spins)
            spins += 1


class SecondThread:
    """The second thread of one compiled state; it is there within a `with` block.

    `jobs` is how many it has done, once it has ended.
    """

    def __init__(self, op: Aggregation, partial: np.dtype[Any], state: Any) -> None:
        from slidewise.algorithms import _pba_steps

        self.jobs = 0
        self._state = state
        self._serve = kernel(serve, _pba_steps, op, partial, (state,))
        if self._serve is None:
            raise Refused(f"numba cannot compile {op.name}: a second thread would wait for the interpreter's lock")
        self._worker: Worker | None = None
        self._served: Future[Any] | None = None

    def __enter__(self) -> "SecondThread":
        self._state.signals[[STOP, FAILED]] = 0
        self._worker = Worker()
        self._served = self._worker.submit(self._run)
        return self

    def _run(self) -> Any:
        try:
            return self._serve(self._state)
        except BaseException:
            self._state.signals[FAILED] = 1
            raise

    def __exit__(self, kind: Any, *error: object) -> None:
        assert self._worker is not None and self._served is not None
        self._state.signals[STOP] = 1
        self._worker.close()
        self._worker = None
        if (failure := self._served.exception()) is not None:
            raise failure  # the cause of what the main thread may have raised
        self.jobs += self._served.result()
