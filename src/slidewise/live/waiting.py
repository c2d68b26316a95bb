"""Waiting: why rows of a stream have come, and have no results yet, in words."""

from __future__ import annotations

from slidewise.live.verdict import RunSituation
from slidewise.live.words import clock, count, seconds_of, span
from slidewise.pipeline.run_log import BatchRecord, FeatureText, Start


def explain_waiting(situation: RunSituation) -> tuple[str, ...]:
    """Explain why rows wait, as far as the log tells; nothing where none does."""
    start = situation.start
    if start is None or start["mode"] in ("batch", "backfill") or start.get("emit") == "arrival":
        return ()
    if not situation.batches:
        return ()
    last = situation.batches[-1]
    if last["waiting"] == 0:
        return ()
    told = [*_explain_watermark(situation, start, last), *_explain_frames(start)]
    if last["waiting"] is not None:
        told.append(f"Rows that wait, of all keys: {count(last['waiting'])}.")
    if situation.end is not None or situation.alive is False:
        told.append("The run is over: they are in the checkpoint, and go on when it is started again.")
    elif situation.idle:
        told.append("The source has nothing new now, and only newer rows move the watermark.")
    return tuple(told)


def _explain_watermark(situation: RunSituation, start: Start, last: BatchRecord) -> list[str]:
    """Explain where the watermark is, and which rows, or windows, it has not passed."""
    watermark, newest, delay = seconds_of(last["watermark"]), seconds_of(last["newest"]), start["max_delay"]
    if watermark is None or watermark <= 0:  # Spark's first is 1970
        return ["There is no watermark yet: the first micro-batch sets it for the next, and rows wait for it."]
    at = clock(watermark, situation.now)
    later = f"at least {span(delay)} later" if delay else "its time or later"
    told = [f"The watermark is at {at}."]
    if newest is not None and delay:
        of = clock(newest, situation.now)
        told.append(f"It stays {span(delay)} (max_delay) before the newest row, which is of {of}.")
    if start.get("slides"):
        told.append(
            f"A window is emitted when the watermark has passed its end: one that ends after {at} waits until a row of "
            f"{later} has come, of any key."
        )
    else:
        told.append(f"A row of after {at} waits until one of {later} has come, of any key.")
    return told


def _explain_frames(start: Start) -> list[str]:
    """Explain the frames that reach beyond their row."""
    told = []
    by_time = _find_farthest(start, "time")
    if by_time is not None:
        name, ahead = by_time
        told.append(f"{name} looks {span(ahead)} ahead of its row: a row waits that much longer.")
    by_rows = _find_farthest(start, "rows")
    if by_rows is not None:
        name, ahead = by_rows
        rows = "the next row" if ahead == 1 else f"the next {ahead:.0f} rows"
        told.append(f"{name} looks ahead of its row by rows: a row waits for {rows} of its key besides.")
    return told


def _find_farthest(start: Start, unit: str) -> tuple[str, float] | None:
    """Find the feature that reaches the farthest ahead, counted in a unit."""
    ahead = [(feature["name"], _read_ahead(feature)) for feature in start["features"] if feature.get("unit") == unit]
    farthest = max(ahead, key=lambda found: found[1], default=None)
    return farthest if farthest is not None and farthest[1] > 0 else None


def _read_ahead(feature: FeatureText) -> float:
    ahead = feature.get("ahead")
    return float(ahead) if isinstance(ahead, int | float) else 0.0
