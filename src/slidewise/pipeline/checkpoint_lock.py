"""A lock on a checkpoint: two runs on one would write over each other's state."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

from slidewise.errors import StateError


class CheckpointLock:
    """Held for as long as a run lasts; the system lets go of it where the process is killed.

    It is a file in the folder of the run log, and so on this machine: runs on other machines are not seen.
    """

    def __init__(self, folder: Path, checkpoint: str) -> None:
        self._path = folder / "lock"
        self._checkpoint = checkpoint
        self._file: int | None = None

    def __enter__(self) -> CheckpointLock:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(file, 20).decode() or "another process"
            os.close(file)
            raise StateError(
                f"the checkpoint {self._checkpoint} is in use by process {holder.strip()}: two runs would write over "
                "each other's state. Stop that one first"
            ) from None
        os.truncate(file, 0)
        os.write(file, str(os.getpid()).encode())
        self._file = file
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            os.close(self._file)  # and unlocks; the file stays, for whoever waits for it
            self._file = None
