"""The drawings that are kept as files: `python tests/tracing/golden.py` writes them anew; look at what has changed."""

from pathlib import Path

import slidewise as sw

GOLDEN = Path(__file__).parent / "golden"


def draw():
    """Each trace that is kept, by its name."""
    paper = "insert 4 5 3 4 0 4 4, evict, evict, insert 2 6, query"
    slides = "insert 5 4 6 3 0 0 1 0 2 3, query, evict, evict, insert 1 2, query"
    yield "daba_lite", sw.trace("daba_lite", sw.max_count(), paper)
    yield "monoid_fifo", sw.trace("monoid_fifo", sw.max_count(), paper)
    yield "two_stacks", sw.trace("two_stacks", sw.max_count(), paper)[6:]
    yield "flat_fit", sw.trace("flat_fit", sw.max(), "insert 4 7 3 2, query, evict, insert 9, query")
    yield "slick_deque", sw.trace("slick_deque", sw.max(), "insert 4 7 3 2, evict, insert 5, query")
    yield "flat_fat", sw.trace("flat_fat", sw.sum(), "insert 4 7 3 2, evict, insert 9, query", capacity=4)
    entries = [("insert", k * 7 % 31, 2 * k) for k in range(26)]
    yield "fiba", sw.trace("fiba", sw.max(), [*entries, "insert 40 at 7, evict, query 6 to 9, query"])[22:]
    yield "pba", sw.trace("pba", sw.max(), slides, range=10, slide=2, chunk=5)[8:]
    yield (
        "order_statistic_tree",
        sw.trace("order_statistic_tree", sw.median(), "insert 5 4 6 3 0 7 1, evict, query")[4:],
    )
    yield "incremental_mode", sw.trace("incremental_mode", sw.mode(), "insert 5 4 5 3 3, evict, query")[3:]
    yield (
        "incremental_quantile",
        sw.trace("incremental_quantile", sw.median(), "insert 5 4 9 3 7, query, evict, query")[4:],
    )
    yield "long_window", sw.trace("daba_lite", sw.max(), [("insert", k % 17) for k in range(60)])[57:]


if __name__ == "__main__":
    for name, made in draw():
        (GOLDEN / f"{name}.txt").write_text(f"{made}\n", encoding="utf-8")
