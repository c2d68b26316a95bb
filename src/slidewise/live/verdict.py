"""The verdict: how a run is doing, in words, from its records and the clock."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from slidewise.live.words import clock, count, seconds_of, span
from slidewise.pipeline.run_log import BatchRecord, End, Start

#: micro-batches that tell what is going on now, and those that tell where it goes
RECENT, TREND = 12, 5
#: a stream is silent after so many of its usual pauses, and not before so many seconds
_PAUSES, _PATIENCE = 3, 30.0

Kind = Literal[
    "none", "starting", "keeping up", "catching up", "falling behind", "waiting", "idle", "silent", "gone", "stopped",
    "finished", "failed",
]  # fmt: skip
#: What a page colours: good, attention, bad, and neither.
Level = Literal["good", "warn", "bad", "quiet"]
_LEVELS: dict[Kind, Level] = {
    "none": "quiet", "starting": "quiet", "keeping up": "good", "catching up": "warn", "falling behind": "bad",
    "waiting": "warn", "idle": "good", "silent": "warn", "gone": "bad", "stopped": "quiet", "finished": "good",
    "failed": "bad",
}  # fmt: skip
KINDS: tuple[Kind, ...] = tuple(_LEVELS)


@dataclass(frozen=True)
class Verdict:
    """How a run is doing: one or two words, a sentence, and what it follows from."""

    kind: Kind
    word: str
    text: str
    reasons: tuple[str, ...] = ()

    @property
    def level(self) -> Level:
        """How it is coloured."""
        return _LEVELS[self.kind]


@dataclass(frozen=True)
class RunSituation:
    """What a verdict is made from: the newest run of a log, and the clock."""

    now: float
    start: Start | None = None
    #: of this run, the oldest first
    batches: Sequence[BatchRecord] = ()
    end: End | None = None
    #: when the last record of any kind was written
    heard: float | None = None
    #: when the stream last said that its source has nothing new, if that is its last word
    idle: float | None = None
    #: whether the process is there; None where this cannot be told
    alive: bool | None = None


def judge(situation: RunSituation) -> Verdict:
    """Tell how a run is doing."""
    start = situation.start
    if start is None:
        return Verdict("none", "Nothing yet", "No run has written here yet: this page fills as soon as one does.")
    if situation.end is not None:
        return _judge_end(situation, situation.end)
    if situation.alive is False:
        return _judge_gone(situation, start)
    silent = _judge_silence(situation, start)
    if silent is not None:
        return silent
    if not situation.batches:
        return _judge_beginning(situation, start)
    pace = _Pace.of(situation.batches[-RECENT:], start)
    return (
        _judge_backlog(pace)
        or _judge_duration(pace)
        or _judge_waiting(situation, start)
        or _judge_idle(situation)
        or _keeping_up(situation, start, pace)
    )


def is_alive(start: Start) -> bool | None:
    """Tell whether the process of a run is there; None where it runs, or ran, on another machine."""
    # On Windows, a signal of 0 is Ctrl-C.
    if os.name != "posix" or start.get("host") != socket.gethostname():
        return None
    try:
        os.kill(start["pid"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is there, and another user's
        return True
    return True


# ---- beginning, over, or out of sight
def _judge_beginning(situation: RunSituation, start: Start) -> Verdict:
    began = f"The run began at {_heard(situation)}"
    if start["mode"] in ("batch", "backfill"):
        return Verdict("starting", "Running", f"{began}; it tells more when it is done.")
    return Verdict("starting", "Starting", f"{began}, and no micro-batch is done yet.")


def _judge_end(situation: RunSituation, end: End) -> Verdict:
    at = _heard(situation)
    done = f"{_many(len(situation.batches), 'micro-batch', 'micro-batches')} seen"
    if end["why"] == "failed":
        return Verdict("failed", "Failed", f"The run failed at {at}.", (end["error"] or "It left no error.",))
    if end["why"] == "finished":
        rows = sum(batch["rows_in"] for batch in situation.batches)
        return Verdict("finished", "Finished", f"All rows were read by {at}.", (done, f"{count(rows)} rows in"))
    return Verdict("stopped", "Stopped", f"The run was stopped at {at}, and can be started again.", (done,))


def _judge_gone(situation: RunSituation, start: Start) -> Verdict:
    text = f"The process {start['pid']} is gone since its last word at {_heard(situation)}: it crashed or was killed."
    return Verdict("gone", "Gone", text, ("Started again with the same checkpoint, it goes on where it was.",))


def _judge_silence(situation: RunSituation, start: Start) -> Verdict | None:
    first = not situation.batches and situation.alive  # Spark starts, kernels are compiled: that may take its time
    if situation.heard is None or first:
        return None
    recent = situation.batches[-RECENT:]
    pause = max([start["trigger"] or 0.0, *(batch["seconds"] for batch in recent)])
    quiet = situation.now - situation.heard
    if quiet <= max(_PATIENCE, _PAUSES * pause):
        return None
    reason = f"It usually writes every {span(pause)}." if pause else "It has not written since it began."
    if situation.alive:
        text = f"No micro-batch is done since {_heard(situation)}: the source has nothing new, or one takes long."
        return Verdict("silent", "No news", text, (f"The process {start['pid']} is there.", reason))
    return Verdict(
        "silent", "No news", f"No news since {_heard(situation)}: the process cannot be seen from here.", (reason,)
    )


# ---- the pace
@dataclass(frozen=True)
class _Pace:
    """How the last micro-batches went."""

    #: rows per second, in; seconds of a micro-batch; seconds between two that are due
    rate: float
    seconds: float
    trigger: float | None
    #: how much longer each micro-batch takes than the one before
    slowing: float
    backlog: float | None
    unit: str
    #: by how much the backlog changes per second, and over all of the last micro-batches
    growth: float
    change: float
    #: a backlog up to this is what comes in anyway between two micro-batches
    usual: float

    @classmethod
    def of(cls, batches: Sequence[BatchRecord], start: Start) -> _Pace:
        last = batches[-1]
        times = [seconds_of(batch.get("at")) or 0.0 for batch in batches]
        unit = last.get("backlog_unit", "rows")
        backlogs = [(t, b["backlog"]) for t, b in zip(times, batches, strict=True)][-TREND:]
        known = [(t, backlog) for t, backlog in backlogs if backlog is not None]
        growth = _slope([t for t, _ in known], [b for _, b in known])
        duration = sum(span_of(batch) for batch in batches)
        return cls(
            rate=sum(batch["rows_in"] for batch in batches) / duration if duration else 0.0,
            seconds=median(batch["seconds"] for batch in batches[-TREND:]),
            trigger=start["trigger"],
            slowing=_slope(list(range(len(batches))), [batch["seconds"] for batch in batches]),
            backlog=last["backlog"],
            unit=unit,
            growth=growth,
            change=growth * (known[-1][0] - known[0][0]) if known else 0.0,
            usual=2 * median(batch["rows_in"] for batch in batches) if unit == "rows" else 2.0,
        )

    @property
    def durations(self) -> str:
        """How long a micro-batch takes, beside the trigger."""
        beside = f", and one is due every {span(self.trigger)}" if self.trigger else ""
        return f"A micro-batch takes {span(self.seconds)}{beside}."


def span_of(batch: BatchRecord) -> float:
    """Measure the time in which the rows of a micro-batch came, in seconds."""
    rate = batch["in_rate"]
    if isinstance(rate, int | float) and rate > 0 and batch["rows_in"] > 0:
        return batch["rows_in"] / rate
    return max(batch["seconds"], batch["trigger"] or 0.0)


def _judge_backlog(pace: _Pace) -> Verdict | None:
    if pace.backlog is None or pace.backlog <= pace.usual:
        return None
    behind = f"{count(pace.backlog)} {pace.unit} are still to be read"
    if pace.change > 0.05 * pace.backlog:
        text = f"{behind}, and {count(pace.growth)} more each second: at this rate it never catches up."
        return Verdict("falling behind", "Falling behind", text, (_capacity(pace), pace.durations))
    if pace.change < -0.02 * pace.backlog:
        text = f"{behind}: caught up in about {span(pace.backlog / -pace.growth)} at this rate."
        fewer = f"{count(-pace.growth)} {pace.unit} fewer each second."
        return Verdict("catching up", "Catching up", text, (fewer, _capacity(pace), pace.durations))
    text = f"{behind}, and that stays as it is: at this rate it never catches up."
    return Verdict("falling behind", "Falling behind", text, (_capacity(pace), pace.durations))


def _judge_duration(pace: _Pace) -> Verdict | None:
    """Judge a source that does not tell its backlog: what comes while a micro-batch runs makes the next one longer."""
    if pace.backlog is not None or pace.trigger is None or pace.seconds <= pace.trigger:
        return None
    late = f"Micro-batches take {span(pace.seconds)}, and one is due every {span(pace.trigger)}"
    if pace.slowing > 0.02 * pace.seconds:
        text = f"{late}: each takes longer than the one before, so that at this rate it never catches up."
    else:
        text = f"{late}: results come that much later, and more rows than now would not be caught up."
    return Verdict("falling behind", "Falling behind", text, (_capacity(pace),))


def _capacity(pace: _Pace) -> str:
    return f"It reads {count(pace.rate)} rows/s."


# ---- waiting, and all is well
def _judge_waiting(situation: RunSituation, start: Start) -> Verdict | None:
    """Judge whether rows come in, and none is emitted."""
    last = situation.batches[-1]
    waiting = last["waiting"]
    if waiting == 0:
        return None
    recent = [batch for batch in situation.batches[-RECENT:] if batch["rows_in"]][-3:]
    stuck = bool(recent) and not any(batch["rows_out"] for batch in recent)
    if not stuck and not (situation.idle and waiting):
        return None
    who = f"{count(waiting)} rows wait" if waiting else "Rows wait"
    watermark, newest, delay = seconds_of(last["watermark"]), seconds_of(last["newest"]), start["max_delay"]
    if watermark is None:
        text = f"{who} for the first watermark, which each micro-batch sets for the next one."
        return Verdict("waiting", "Waiting for the watermark", text)
    text = f"{who} for the watermark, which is at {clock(watermark, situation.now)}."
    reasons = []
    if newest is not None:
        kept = f", and the watermark stays {span(delay)} (max_delay) before it" if delay else ""
        reasons.append(f"The newest row is of {clock(newest, situation.now)}{kept}.")
    if situation.idle:
        since = clock(_last_rows(situation), situation.now)
        reasons.append(f"The source has had nothing new since {since}, and only newer rows move it.")
    else:
        reasons.append("Results come once newer rows have moved it past the ends of their windows.")
    return Verdict("waiting", "Waiting for the watermark", text, tuple(reasons))


def _judge_idle(situation: RunSituation) -> Verdict | None:
    if not situation.idle:
        return None
    text = f"All rows are done; the source has had nothing new since {clock(_last_rows(situation), situation.now)}."
    return Verdict("idle", "Up to date", text)


def _keeping_up(situation: RunSituation, start: Start, pace: _Pace) -> Verdict:
    last = situation.batches[-1]
    of = f" of the {span(pace.trigger)} between two" if pace.trigger else ""
    text = f"{count(pace.rate)} rows/s; a micro-batch takes {span(pace.seconds)}{of}."
    reasons = []
    watermark, newest, delay = seconds_of(last["watermark"]), seconds_of(last["newest"]), start["max_delay"]
    if watermark is not None and newest is not None:
        lag = max(0.0, newest - watermark)
        told = ""
        if delay:
            told = ", as max_delay says" if abs(lag - delay) < 1 else f"; max_delay is {span(delay)}"
        reasons.append(f"The watermark is {span(lag)} behind the newest row{told}.")
    return Verdict("keeping up", "Keeping up", text, tuple(reasons))


def _last_rows(situation: RunSituation) -> float:
    """When the last micro-batch with rows was done."""
    for batch in reversed(situation.batches):
        if batch["rows_in"]:
            return seconds_of(batch.get("at")) or situation.now
    return situation.idle or situation.now


def _heard(situation: RunSituation) -> str:
    return clock(situation.heard if situation.heard is not None else situation.now, situation.now)


def _many(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Fit a line by least squares, and give its slope; 0 for fewer than three points."""
    if len(x) < 3:
        return 0.0
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread if spread else 0.0
