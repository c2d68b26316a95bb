"""Which results are not null: an array of booleans, or one True that stands for all of them."""

from __future__ import annotations

import numpy as np


def all_valid(count: int) -> np.ndarray:
    """No result is null; not to be written to."""
    return np.broadcast_to(True, count)


def every(valid: np.ndarray) -> bool:
    """Whether no result is null: at once where one value stands for all."""
    return valid.strides == (0,) or bool(valid.all())
