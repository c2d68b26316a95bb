"""Queues of a key, of which there are many: an empty one takes nothing, and a short one little.

A deque of one element takes 620 bytes, a list 72. What both can do is enough here: `queue[0]`, `queue[-1]`, `len`, and
`del queue[0]`, which is O(1) for a deque and a move of a few pointers for a short list.
"""

from __future__ import annotations

from collections import deque
from typing import Any

#: a queue of so many elements becomes a deque
SHORT = 16

#: (), a list or a deque
SmallQueue = Any


def enqueue(queue: SmallQueue, element: Any) -> SmallQueue:
    """Add an element at the end; the queue that is returned takes the place of the given one. O(1)."""
    if not queue:
        return [element]
    if type(queue) is list and len(queue) == SHORT:
        queue = deque(queue)
    queue.append(element)
    return queue
