"""Views: one per algorithm, by families."""

from __future__ import annotations

from slidewise.tracing.views import any_state, chunks, holistic, queues, trees
from slidewise.tracing.views.view import Look, View

__all__ = ["VIEWS", "Look", "find_view"]

VIEWS: dict[str, View] = {**queues.VIEWS, **trees.VIEWS, **chunks.VIEWS, **holistic.VIEWS}


def find_view(algorithm: str) -> View:
    """Find the view of an algorithm; one without its own shows the fields of its state."""
    return VIEWS.get(algorithm, any_state.VIEW)
