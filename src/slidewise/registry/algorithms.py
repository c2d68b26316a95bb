"""The algorithms, as data: costs in calls of combine, space in partials, n = values in the window.

The planner, explain(), the tables in the documentation and the conformance suite read these rows.
"""

from __future__ import annotations

from slidewise.registry.entries import AlgorithmEntry

DABA = "Tangwongsan, Hirzel, Schneider: In-Order Sliding-Window Aggregation in Worst-Case Constant Time"
MONOID_FIFO = "Khuong: Monoid-augmented FIFOs, deamortised"
REACTIVE = "Tangwongsan, Hirzel, Schneider, Wu: General Incremental Sliding-Window Aggregation"
TUTORIAL = "Hirzel, Schneider, Tangwongsan: Sliding-Window Aggregation Algorithms"
PBA = "Zhang, Akbarinia, Toumani: Efficient Incremental Computation of Aggregations over Sliding Windows"
HOLISTIC = "Wesley, Xu: Incremental Computation of Common Windowed Holistic Aggregates"
FLAT_FIT = "Shein, Chrysanthis, Labrinidis: FlatFIT: Accelerated Incremental Sliding-Window Aggregation"
SLICK_DEQUE = (
    "Shein, Chrysanthis, Labrinidis: SlickDeque: High Throughput and Low Latency Incremental Sliding-Window Aggregation"
)
FIBA = "Tangwongsan, Hirzel, Schneider: Optimal and General Out-of-Order Sliding-Window Aggregation"
MERGE_SORT_TREE = (
    "Vogelsgesang, Neumann, Leis, Kemper: "
    "Efficient Evaluation of Arbitrarily-Framed Holistic SQL Aggregates and Window Functions"
)
B_INT = "Arasu, Widom: Resource Sharing in Continuous Sliding-Window Aggregates"

SUOMELA = "Suomela: Median Filtering is Equivalent to Sorting (the idea of sorting chunks)"

ASSOCIATIVE = frozenset({"associative"})

ALGORITHMS = (
    AlgorithmEntry(
        "recalculate",
        "folds the whole window at every query; needs nothing, and is the oracle of all others",
        insert="0", evict="0", query="n", space="n",
        needs=frozenset(), paper=TUTORIAL, prefers_size_preserving=False,
    ),
    AlgorithmEntry(
        "subtract_on_evict",
        "one running total; an eviction takes the oldest value out again",
        insert="1", evict="1 inverse", query="0", space="n + 1",
        needs=frozenset({"invertible"}), paper=TUTORIAL, prefers_size_preserving=False,
    ),
    AlgorithmEntry(
        "two_stacks",
        "two aggregating stacks; the back is flipped onto the front when that is empty",
        insert="1", evict="<= n, 1 on average", query="1", space="2n",
        needs=ASSOCIATIVE, paper=DABA,
    ),
    AlgorithmEntry(
        "two_stacks_lite",
        "two stacks in one queue, with one partial per value",
        insert="1", evict="<= n, 1 on average", query="1", space="n + 1",
        needs=ASSOCIATIVE, paper=DABA, compiled_events=True,
    ),
    AlgorithmEntry(
        "daba",
        "two stacks whose flip is spread over all operations: constant time in the worst case",
        insert="<= 4, 2.5 on average", evict="<= 3, 1.5 on average", query="1", space="2n",
        needs=ASSOCIATIVE, paper=DABA,
    ),
    AlgorithmEntry(
        "daba_lite",
        "DABA with one partial per value: constant time in the worst case, with the least space",
        insert="<= 3, 2 on average", evict="<= 2, 1 on average", query="1", space="n + 2",
        needs=ASSOCIATIVE, paper=DABA, compiled_events=True,
    ),
    AlgorithmEntry(
        "monoid_fifo",
        "two stacks whose flip is spread out and put off: constant time in the worst case, with the fewest combines",
        insert="<= 2", evict="<= 1, and 2 with an insert on average", query="<= 2", space="n + 3",
        needs=ASSOCIATIVE, paper=MONOID_FIFO,
    ),
    AlgorithmEntry(
        "flat_fit",
        "reuses the partials of earlier queries along chains of indices",
        insert="0", evict="0", query="<= n, about 3 on average", space="n, n indices, an index stack",
        needs=ASSOCIATIVE, paper=FLAT_FIT, suffixes=True,
    ),
    AlgorithmEntry(
        "slick_deque",
        "keeps only the values that can still win, or subtracts where there is an inverse",
        insert="< 2 per slide on average, <= n", evict="0", query="0", space="<= n, and their positions",
        needs=frozenset({"selective or invertible"}), paper=SLICK_DEQUE, suffixes="selective",
    ),
    AlgorithmEntry(
        "slick_deque_parts",
        "SlickDeque of a partial in parts: sums by subtraction, the minimum and the maximum by a deque each",
        insert="1, and < 2 comparisons per deque on average, <= n", evict="1 subtraction", query="0",
        space="n + 1, and positions", needs=frozenset({"in_parts"}), paper=SLICK_DEQUE,
    ),
    AlgorithmEntry(
        "flat_fat",
        "a perfect binary tree of partials in one flat array, over a fixed number of slots",
        insert="m leaves: <= m (1 + ceil(log2(cap/m)))", evict="as insert",
        query="0; prefix, suffix <= log2 cap", space="2 cap - 1",
        needs=ASSOCIATIVE, paper=REACTIVE, fifo=False, options=("capacity",), required=("capacity",),
    ),
    AlgorithmEntry(
        "reactive",
        "FlatFAT as a circular buffer that grows, shrinks and compacts; values may leave from the middle",
        insert="as flat_fat, amortised; O(n) at a resize", evict="anywhere in the window",
        query="<= 2 log2 cap - 1 when inverted, else 0", space="< 8n; 2 cap with a capacity",
        needs=ASSOCIATIVE, paper=REACTIVE, fifo=False, out_of_order=True, ranges=True,
        options=("capacity",), constants=("capacity",),
    ),
    AlgorithmEntry(
        "b_int",
        "partials of all dyadic intervals of a long window, from which every shorter one is answered",
        insert="< 1 amortised, <= log2 n_max", evict="0", query="O(log of the queried length)", space="2 n_max",
        needs=ASSOCIATIVE, paper=B_INT, ranges=True, suffixes=True, options=("capacity",), required=("capacity",),
    ),
    AlgorithmEntry(
        "fiba",
        "a B-tree with fingers at both ends: values in any order, ranges, and bulk operations",
        insert="amortised O(log d), d to the nearer end; O(1) in order; m at once O(log d + m (1 + log(d/m)))",
        evict="amortised O(1); bulk O(log n)", query="O(1); a range O(log n)", space="fewer than 2n",
        needs=ASSOCIATIVE, paper=FIBA, fifo=False, out_of_order=True, ranges=True,
        options=("arity",), constants=("arity",),
    ),
    AlgorithmEntry(
        "sba",
        "boundaries every chunk of slices: left-cumulative partials before, a running one after",
        insert="<= 3 per slide; c - 2 more at a boundary", evict="0", query="with insert", space="3c + 2",
        needs=ASSOCIATIVE, paper=PBA, options=("range", "slide", "chunk"), required=("range",),
    ),
    AlgorithmEntry(
        "pba",
        "the boundary aggregator with the left-cumulative pass on a second thread",
        insert="<= 3 per slide; c - 2 on the second thread", evict="0", query="with insert", space="3c + 2",
        needs=ASSOCIATIVE, paper=PBA, options=("range", "slide", "chunk"), required=("range",),
    ),
    AlgorithmEntry(
        "order_statistic_tree",
        "a balanced search tree with subtree sizes, and a queue",
        insert="O(log n)", evict="O(log n)", query="O(log n)", space="n, and a queue",
        needs=frozenset({"order_statistic"}), paper=TUTORIAL, prefers_size_preserving=False, compiled=False,
        compiled_events=True,
    ),
    AlgorithmEntry(
        "incremental_count_distinct",
        "a table of counts that is kept from frame to frame, and flushed when mostly empty",
        insert="O(1) amortised", evict="O(1) amortised", query="O(1)", space="live values / tau, or + floor",
        needs=frozenset({"distinct_values"}), paper=HOLISTIC, prefers_size_preserving=False, compiled=False,
        options=("tau", "floor"),
    ),
    AlgorithmEntry(
        "incremental_mode",
        "a table of counts under a tournament of (count, value)",
        insert="O(log distinct)", evict="O(log distinct)", query="O(1)", space="distinct values",
        needs=frozenset({"most_frequent"}), paper=HOLISTIC, prefers_size_preserving=False, compiled=False,
        options=("variant", "tau", "floor"),
    ),
    AlgorithmEntry(
        "incremental_quantile",
        "the index of the last frame, partially ordered, is reused or replaced",
        insert="O(1)", evict="O(1)", query="O(n)", space="n",
        needs=frozenset({"order_statistic"}), paper=HOLISTIC, prefers_size_preserving=False, compiled=False,
        options=("variant", "start_over"),
    ),
)  # fmt: skip

#: Kernels over whole columns, without a form that takes one value at a time (slidewise.columns.holistic).
COLUMN_KERNELS = (
    AlgorithmEntry(
        "chunk_ranks",
        "the window is a bitset over the ranks of a chunk, with a cursor; a wavelet matrix where frames jump",
        insert="O(1)", evict="O(1)", query="O(1); O(log n) where frames jump", space="ranks of 16 n rows",
        needs=frozenset({"order_statistic"}), paper=SUOMELA, prefers_size_preserving=False, events=False,
    ),
    AlgorithmEntry(
        "last_occurrence",
        "a value is new if its last row is outside the window; where frames jump, bits of latest rows are counted",
        insert="O(1)", evict="O(1)", query="O(1)", space="distinct values",
        needs=frozenset({"distinct_values"}), paper=HOLISTIC, prefers_size_preserving=False, events=False,
    ),
    AlgorithmEntry(
        "count_histogram",
        "counts, how many values have each count, and the best; a search only when the best leaves a tie",
        insert="O(1)", evict="O(1) amortised", query="O(1); O(sqrt n) where frames jump", space="distinct values",
        needs=frozenset({"most_frequent"}), paper=HOLISTIC, prefers_size_preserving=False, events=False,
    ),
    AlgorithmEntry(
        "merge_sort_tree",
        "every step of a merge sort is kept: any frame is a few sorted runs, or a path from the top down",
        insert="log2 n, all at once", evict="0", query="2 log2 n; O(log^2 n) comparisons", space="n log2 n",
        needs=frozenset({"order_statistic or distinct_values or of_distinct_values"}),
        paper=MERGE_SORT_TREE, fifo=False, prefers_size_preserving=False, events=False,
    ),
)  # fmt: skip
