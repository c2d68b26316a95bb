"""Upgrades: what becomes of a checkpoint's state where the definition has changed since. Nothing is touched."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from slidewise.errors import SlidewiseError, StateError
from slidewise.pipeline.history import open_empty_history
from slidewise.pipeline.pipeline import Pipeline
from slidewise.pipeline.sinks.hadoop_folder import HadoopFolder
from slidewise.pipeline.source import resolve
from slidewise.spark.streams.checkpoint import check

#: the definition that a checkpoint was begun with, or upgraded to, in its folder
FILE = "slidewise.json"
#: With another source or other cleaning, rows to come would not be those of the same stream.
ROWS = ("source", "prepare")
#: The state itself says whether it can go on with others of these.
STATE = ("history", "keys", "time", "window")


@dataclass(frozen=True)
class Upgrade:
    """A checkpoint's definition beside the file's: what is kept, added, changed and removed, and what is refused."""

    checkpoint: str
    #: whether the checkpoint has been begun
    found: bool
    kept: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    #: other parts of the definition that have changed: before, and now
    parts: tuple[tuple[str, str, str], ...] = ()
    #: why the stream cannot go on from here
    refused: str | None = None

    @property
    def changes(self) -> bool:
        """Whether anything differs."""
        return bool(self.added or self.changed or self.removed or self.parts)

    def __str__(self) -> str:
        if not self.found:
            return f"{self.checkpoint} is new: the stream starts there"
        lines = [f"the checkpoint {self.checkpoint}"]
        features = {"kept": self.kept, "added": self.added, "changed": self.changed, "removed": self.removed}
        lines += [f"  {what:8} {', '.join(names)}" for what, names in features.items() if names]
        lines += [f"  changed  {name}: {before} -> {now}" for name, before, now in self.parts]
        if self.refused is not None:
            lines.append(f"  refused  {self.refused}")
        elif not self.changes:
            lines.append("  nothing has changed")
        return "\n".join(lines)


def plan_upgrade(spark: Any, pipeline: Pipeline, rows: Any) -> Upgrade:
    """Compare a pipeline with its checkpoint. `rows` is a stream of the source, which is not started."""
    path = require_checkpoint(pipeline)
    folder = HadoopFolder(spark, path)
    if not folder.names():
        return Upgrade(path, found=False)
    now = pipeline.describe()
    before = _read(folder, pipeline)
    features = {name: set(each["features"]) for name, each in (("now", now), ("before", before))}
    both = features["now"] & features["before"]
    changed = {name for name in both if now["features"][name] != before["features"][name]}
    parts = [part for part in (*ROWS, *STATE, "sink") if now.get(part) != before.get(part)]
    refused = next((_refuse_rows(part) for part in parts if part in ROWS), None)
    return Upgrade(
        path,
        found=True,
        kept=tuple(sorted(both - changed)),
        added=tuple(sorted(features["now"] - features["before"])),
        changed=tuple(sorted(changed)),
        removed=tuple(sorted(features["before"] - features["now"])),
        parts=tuple((part, _show(before.get(part)), _show(now.get(part))) for part in parts),
        refused=refused or _ask_state(pipeline, rows, path),
    )


def has_begun(spark: Any, pipeline: Pipeline) -> bool:
    """Tell whether a stream has come to the end of its first micro-batch, which is the one that reads its history."""
    return any(name.isdigit() for name in HadoopFolder(spark, require_checkpoint(pipeline)).names("commits"))


def remember_definition(spark: Any, pipeline: Pipeline) -> None:
    """Write the definition into its checkpoint, for the next start."""
    HadoopFolder(spark, require_checkpoint(pipeline)).write(FILE, json.dumps(pipeline.describe(), indent=1))


def require_checkpoint(pipeline: Pipeline) -> str:
    """Give the checkpoint's path, which streams need."""
    given = pipeline.definition.run.checkpoint
    if given is None:
        from slidewise.pipeline.mistakes import Mistake

        raise pipeline.refuse([Mistake("a stream needs run: {checkpoint: ...}, the folder of its state", ("run",))])
    return resolve(given, pipeline.folder)


def _read(folder: HadoopFolder, pipeline: Pipeline) -> dict[str, Any]:
    if not folder.exists(FILE):
        raise StateError(
            f"{folder.path} is the checkpoint of another query, which no pipeline began: give {pipeline.name!r} its own"
        )
    found = json.loads(folder.read(FILE))
    if found.get("name") != pipeline.name:
        raise StateError(
            f"{folder.path} is the checkpoint of the pipeline {found.get('name')!r}: give {pipeline.name!r} its own"
        )
    return found


def _refuse_rows(part: str) -> str:
    return (
        f"with another {part}: the rows to come are not those of the stream that the state is of. Start with a new "
        f"checkpoint, and fill in the past by `slidewise backfill`; or put {part}: back"
    )


def _ask_state(pipeline: Pipeline, rows: Any, path: str) -> str | None:
    try:
        options = pipeline.stream_options(open_empty_history(pipeline, rows))
        out = pipeline.compute(pipeline.prepare(rows), pipeline.features, options)
        return check(out, path).refused
    except SlidewiseError as error:
        return str(error)


def _show(part: Any) -> str:
    return "nothing" if part is None else part if isinstance(part, str) else json.dumps(part)
