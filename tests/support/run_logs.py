"""Run logs of a stream that never ran: believable records, played into a log with a clock of their own.

The machines of a plant send a temperature every half minute or so. The features are computed from their rows, rows come
out when the watermark has passed them, and a backlog grows where more rows come than are read.
"""

import math
import os
import random
import socket
from collections import deque
from datetime import UTC, datetime
from statistics import median

from slidewise.pipeline.run_log import RunLog, utc_text

DEFINITION = """\
# Temperatures of a plant's machines, and what is usual for each of them.
name: plant
source:
  format: kafka
  options: {subscribe: machines, kafka.bootstrap.servers: "***"}
  schema: machine string, ts timestamp, temperature double, operator string
prepare: SELECT * FROM source WHERE temperature BETWEEN -50 AND 400
keys: [machine]
time: {column: ts, max_delay: 2m}
features:
  peak:      {max: temperature, over: 5m}
  usual:     {median: temperature, over: 20m}
  high:      {percentile: temperature, p: 0.95, over: 20m}
  operators: {count_distinct: operator, over: 1h}
sink: {format: parquet, path: "./features"}
run: {checkpoint: "./_checkpoint", trigger: 10s}
"""
FEATURES = [
    {"name": "peak_5m", "text": "max(temperature) over 5m", "of": ["temperature"], "back": 300.0},
    {"name": "usual_20m", "text": "median(temperature) over 20m", "of": ["temperature"], "back": 1200.0},
    {"name": "high_20m", "text": "percentile(temperature, 0.95) over 20m", "of": ["temperature"], "back": 1200.0},
    {"name": "operators_1h", "text": "count_distinct(operator) over 1h", "of": ["operator"], "back": 3600.0},
]
PASSED = "when the watermark has passed its time"
EXPLAIN = {
    "columns": ["column", "computes", "algorithm", "kept per key", "emitted"],
    "rows": [
        ["peak_5m", "max('temperature') over time(\"5m\")", "slick_deque", "the rows of the last 5m", PASSED],
        ["usual_20m", "median('temperature') over time(\"20m\")", "ranks", "the rows of the last 20m", PASSED],
        ["high_20m", "percentile('temperature', 0.95) over time(\"20m\")", "ranks", "as usual_20m", PASSED],
        ["operators_1h", "count_distinct('operator') over time(\"1h\")", "counts", "the rows of the last 1h", PASSED],
    ],
}
OPERATORS = ["ada", "grace", "edsger", "barbara", "donald", "leslie"]
#: when a played run begins; a page whose clock stands there takes all of it for news
AFTERNOON = datetime(2026, 3, 12, 14, 5, tzinfo=UTC).timestamp()


class PlayedRun:
    """A stream as its log tells it. Its clock goes on by a trigger with each micro-batch."""

    def __init__(
        self, folder, at=AFTERNOON, machines=12, trigger=10.0, max_delay=120.0, seed=7, pid=None, scale=4_300, **options
    ):
        self.log = RunLog(folder, **options)
        self.now = at
        self.trigger = trigger
        self.max_delay = max_delay
        self.pid = os.getpid() if pid is None else pid
        self.names = [f"press-{k:02}" for k in range(1, machines + 1)]
        #: rows of the whole plant for one that is shown
        self.scale = scale
        self.backlog = 0.0
        self.number = 0
        self.runs = 0
        self._random = random.Random(seed)
        self._state = 0.0
        #: rows of the micro-batches that the watermark has not passed
        self._waiting = []
        self._rows = {name: deque(maxlen=400) for name in self.names}
        self._pending = {name: [] for name in self.names}
        self._newest = None
        self._watermark = None

    def start(self, **changes):
        """Begin a run, or the next one after a kill."""
        self.runs += 1
        record = {
            "kind": "start", "at": self.at, "run": f"run-{self.runs}", "query_id": "8c1d7f0e-plant", "name": "plant",
            "mode": "stream", "pid": self.pid, "host": socket.gethostname(), "definition": DEFINITION,
            "features": [{"unit": "time", "ahead": 0.0, **feature} for feature in FEATURES], "keys": ["machine"],
            "time": "ts", "max_delay": self.max_delay, "trigger": self.trigger, "explain": EXPLAIN,
        }  # fmt: skip
        self.log.append({**record, **changes})
        return self

    def batches(self, number, load=1.0, seconds=None, rows=True, **changes):
        """Play micro-batches; of a `load` above 1, only a part is read, and the rest is backlog."""
        for _ in range(number):
            self.batch(load, seconds, rows, **changes)
        return self

    def batch(self, load=1.0, seconds=None, rows=True, **changes):
        """Play one micro-batch."""
        random_ = self._random
        self.now += self.trigger
        usual = len(self.names) * self.scale * self.trigger / 30
        coming = usual * load * (0.95 + 0.1 * random_.random()) if rows else 0
        rows_in = round(min(coming + self.backlog, 1.25 * usual))
        self.backlog += coming - rows_in
        keys = self._play_rows() if rows else []
        rows_out = round(self._waiting.pop(0) * (0.97 + 0.03 * random_.random())) if rows and self._is_flowing() else 0
        if rows:
            self._waiting.append(rows_in)
        self._state += 0.06 * (usual * 33 * load - self._state)
        took = seconds or 0.8 + rows_in / usual * self.trigger * 0.5 + 0.8 * random_.random()
        record = {
            "kind": "batch", "at": self.at, "batch": self.number, "rows_in": rows_in, "rows_out": rows_out,
            "seconds": round(took, 3), "trigger": self.trigger, "in_rate": rows_in / max(self.trigger, took),
            "watermark": text(self._watermark), "newest": text(self._newest),
            "state_rows": round(self._state), "state_bytes": round(self._state * 48 + usual * 280),
            "late": round(random_.expovariate(1 / 9)) if random_.random() < 0.3 else 0,
            "ahead": 1 if random_.random() < 0.02 else 0, "untimed": 0,
            "unparsed": round(random_.expovariate(1 / 3)) if random_.random() < 0.05 else 0,
            "backlog": round(self.backlog), "waiting": sum(self._waiting),
        }  # fmt: skip
        self.log.append({**record, **changes})
        if keys:
            self.log.append({"kind": "values", "at": self.at, "batch": self.number, "keys": keys})
        self.number += 1
        return self

    def idle(self, seconds=10.0):
        """Let time pass without rows."""
        self.now += seconds
        self.log.append({"kind": "idle", "at": self.at})
        return self

    def end(self, why="stopped", error=None):
        """End the run."""
        self.log.append({"kind": "end", "at": self.at, "why": why, "error": error})
        return self

    @property
    def at(self):
        """The time of its clock."""
        return text(self.now)

    def _is_flowing(self):
        return len(self._waiting) * self.trigger >= self.max_delay

    # ---- the machines
    def _play_rows(self):
        """Let some machines send a row, and emit what the watermark of the micro-batch before has passed."""
        for place, name in enumerate(self.names):
            if self._random.random() < self.trigger / 30:
                time = self.now - self._random.uniform(0, self.trigger)
                row = {
                    "time": time,
                    "temperature": self._temperature(place, time),
                    "operator": self._operator(place, time),
                }
                self._pending[name].append(row)
                self._newest = max(self._newest or time, time)
        keys = []
        for name in self.names:
            due = [row for row in self._pending[name] if self._watermark is not None and row["time"] <= self._watermark]
            self._pending[name] = [row for row in self._pending[name] if row not in due]
            rows = []
            for row in sorted(due, key=lambda row: row["time"]):
                self._rows[name].append(row)
                rows.append(
                    {"time": text(row["time"]), "inputs": _inputs(row), "results": self._results(name, row["time"])}
                )
            pending = [
                {"time": text(row["time"]), "inputs": _inputs(row), "due": text(row["time"])}
                for row in self._pending[name]
            ]
            if rows or pending:
                keys.append({"key": [name], "rows": rows, "pending": pending})
        if self._newest is not None:
            self._watermark = self._newest - self.max_delay
        return keys

    def _temperature(self, place, time):
        base = 168 + 9 * (place * 7 % 5) + 14 * math.sin(time / 1900 + place) + 4 * math.sin(time / 410 + 2 * place)
        spike = 34 if math.sin(time / 733 + 1.7 * place) > 0.985 else 0
        return round(base + spike * self._random.random() + self._random.gauss(0, 2.1), 1)

    def _operator(self, place, time):
        return OPERATORS[(place + int(time // 1500) + (self._random.random() < 0.1)) % len(OPERATORS)]

    def _results(self, name, time):
        def within(seconds):
            return [row for row in self._rows[name] if time - seconds < row["time"] <= time]

        temperatures = sorted(row["temperature"] for row in within(1200))
        return {
            "peak_5m": max(row["temperature"] for row in within(300)),
            "usual_20m": median(temperatures),
            "high_20m": temperatures[math.ceil(0.95 * len(temperatures)) - 1],
            "operators_1h": len({row["operator"] for row in within(3600)}),
        }


def text(time):
    """Write a time as the log does."""
    return None if time is None else utc_text(datetime.fromtimestamp(round(time, 3), UTC))


def _inputs(row):
    return {"temperature": row["temperature"], "operator": row["operator"]}
