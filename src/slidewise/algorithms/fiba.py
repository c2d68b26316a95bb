"""FiBA: a finger B-tree aggregator (Optimal and General Out-of-Order Sliding-Window Aggregation, VLDB 2019; bulk
operations after Out-of-Order Sliding-Window Aggregation with Efficient Bulk Evictions and Insertions, VLDB 2023).

A B-tree of (time, partial) entries, in inner nodes too, with fingers at the left-most and the right-most leaf. What a
node aggregates depends on where it stands, so that work at the ends of the window never climbs to the root. Invariant,
with c0 e0 c1 e1 .. ek ck+1 the children and the entries of a node, and up(c) the product of the whole subtree c:

    INNER  up(c0) e0 up(c1) e1 .. ek up(ck+1)                       the whole subtree
    ROOT              e0 up(c1) e1 .. ek                            between the two spines
    LEFT              e0 up(c1) e1 .. ek up(ck+1) then the parent's, unless that is the root
    RIGHT  the parent's, unless that is the root, then up(c0) e0 up(c1) e1 .. ek

The window is the left finger's aggregate, the root's, and the right finger's, in this order: 2 combines. Every node but
the root has ARITY - 1 to 2 ARITY - 1 entries, and all leaves have one depth. An entry at distance d from the nearer end
climbs O(log d) levels, and splits and merges reach a level more rarely by a factor of ARITY: amortised O(log d) per
operation anywhere, O(1) at the ends.

Entries of equal time stay apart, in the order in which they came. Entry k of a node and the child after it stand at
node * WIDTH + k of the flat arrays; the child before all entries is first[node].
"""

import operator
from itertools import pairwise
from typing import Any, NamedTuple

from slidewise.algorithms._fiba_times import FibaTimes
from slidewise.errors import InvalidInput
from slidewise.templates.checking import agree
from slidewise.templates.names import Array, IntArray, combine, grow, identity

# Children of a node, at least; at most twice as many. The paper's is 4. With arity 4, 8, 12, 16 a compiled slide of a
# sum over 2^14 rows takes 54, 36, 31, 30 ns (always about 10 combines: what costs is to split and to merge, ever more
# rarely), and a value at distance 1000 costs 77, 114, 137, 170 combines.
ARITY = 12
WIDTH = 2 * ARITY  # entries of a node while it overflows
LAYOUT = (f"{WIDTH} entries per node",)  # saved state of another width must not be read
#: wider nodes only move more entries, and the option is no way to ask for all memory
LARGEST = 1024

NONE = -1
ROOT, INNER, LEFT, RIGHT = range(4)


class State(NamedTuple):
    root: int
    left: int
    right: int
    free: int  # nodes given back, linked through parents
    used: int  # nodes ever taken
    held: int
    next: int  # the position of the next value without a time
    timed: int
    skip: int  # slots at the start of the left finger's leaf whose entries have left
    suffixes: Array  # of the left finger's leaf: the product of its entries from each one on, then the parent's
    # per node
    parents: IntArray
    first: IntArray
    counts: IntArray
    kinds: IntArray
    stale: IntArray
    aggregates: Array
    # per entry
    times: IntArray
    values: Array
    after: IntArray


def constants(arity):
    """Compute the constants of another arity, which may be one of NumPy's integers."""
    try:
        least = operator.index(arity)
    except TypeError:
        least = 0
    if not 2 <= least <= LARGEST:
        raise InvalidInput(
            f"fiba: the arity is the fewest children of a node, an integer from 2 to {LARGEST}, got {arity!r}. "
            f"The default is {ARITY}, the paper's is 4"
        )
    return {"ARITY": least, "WIDTH": 2 * least, "LAYOUT": (f"{2 * least} entries per node",)}


def setup(s, arity=ARITY):
    s.free = NONE
    grow(s.suffixes, WIDTH)
    s.root = s.left = s.right = new_node(s)
    s.parents[s.root] = NONE
    s.kinds[s.root] = ROOT


def setup_compiled(s, identity, capacity):
    s.free = s.parents[0] = s.first[0] = NONE
    s.kinds[0] = ROOT
    s.used = 1
    s.aggregates[0] = identity


def sizes(capacity):
    nodes = capacity // (ARITY - 1) + 2
    per_node = dict.fromkeys(("parents", "first", "counts", "kinds", "stale", "aggregates"), nodes)
    return per_node | dict.fromkeys(("times", "values", "after"), nodes * WIDTH) | {"suffixes": WIDTH}


# ---- the window
def insert(s, v):
    """In order, after the youngest: amortised O(1), 1 combine where no node is split."""
    append_last(s, s.next, v)
    s.next += 1


def insert_timed(s, time, v):
    """Amortised O(log d), d the distance to the nearer end."""
    if s.held == 0 or not time < youngest(s):
        append_last(s, time, v)
    else:
        leaf, k = locate(s, time)
        s.held += 1
        top, left, right = place(s, leaf, k, time, v)
        settle(s, top, left, right)


def append_last(s, time, v):
    leaf = s.right
    k = s.counts[leaf]
    s.held += 1
    if k < WIDTH - 1:
        i = leaf * WIDTH + k
        s.times[i] = time
        s.values[i] = v
        s.after[i] = NONE
        s.counts[leaf] = k + 1
        s.aggregates[leaf] = combine(s.aggregates[leaf], v)
    else:
        append_and_split(s, leaf, k, time, v)


def append_and_split(s, leaf, k, time, v):
    top, left, right = place(s, leaf, k, time, v)
    if left:  # the root was split
        settle(s, top, left, right)
    else:  # the aggregate of a node on the right spine, or of the root, only gains at its end
        last = s.counts[top] - 1
        total = combine(s.aggregates[top], s.aggregates[child(s, top, last)])
        s.aggregates[top] = combine(total, s.values[top * WIDTH + last])
        refresh_right(s, s.after[top * WIDTH + last])


def evict(s):
    """Evict the oldest: amortised O(1), no combine where the leaf stays long enough."""
    leaf = s.left
    k = s.skip
    s.held -= 1
    s.skip = k + 1
    clear_entry(s, leaf * WIDTH + k)
    s.suffixes[k] = identity
    if s.counts[leaf] - k >= ARITY and leaf != s.root:
        s.aggregates[leaf] = s.suffixes[k + 1]
    else:
        tidy(s)
        lengthen(s, leaf)


def tidy(s):
    """Move the entries of the left finger's leaf to its start: evictions only skip them. For all that reads entries."""
    if s.skip > 0:
        skip, s.skip = s.skip, 0
        base = s.left * WIDTH
        n = s.counts[s.left] - skip
        s.counts[s.left] = n
        times, values, suffixes = s.times, s.values, s.suffixes
        for k in range(n):
            times[base + k] = times[base + k + skip]
            values[base + k] = values[base + k + skip]
            suffixes[k] = suffixes[k + skip]
        for k in range(n, n + skip):
            clear_entry(s, base + k)
            suffixes[k] = identity


def query(s):
    """2 combines."""
    if s.left == s.root:
        return s.aggregates[s.root]
    return combine(combine(s.aggregates[s.left], s.aggregates[s.root]), s.aggregates[s.right])


def size(s):
    return s.held


def oldest(s):
    return s.times[s.left * WIDTH + s.skip]


def youngest(s):
    return s.times[s.right * WIDTH + s.counts[s.right] - 1]


# ---- searching
def locate(s, time):
    """Find the leaf and the index behind every entry up to `time`, from the finger on its side: O(log d) steps."""
    tidy(s)
    if time < s.times[s.root * WIDTH]:
        node = s.left
        while s.kinds[node] != ROOT and not time < s.times[s.parents[node] * WIDTH]:
            node = s.parents[node]
    else:
        node = s.right
        while s.kinds[node] != ROOT and time < last_time(s, s.parents[node]):
            node = s.parents[node]
    k = entries_up_to(s, node, time)
    while s.first[node] != NONE:
        node = child(s, node, k)
        k = entries_up_to(s, node, time)
    return node, k


def find(s, time):
    """Find the node and the index of the oldest entry of this time; NONE where there is none. O(log n) steps."""
    tidy(s)
    found, index = NONE, 0
    node = s.root
    while node != NONE:
        k = entries_before(s, node, time)
        if k < s.counts[node] and not time < s.times[node * WIDTH + k]:
            found, index = node, k
        node = child(s, node, k)
    return found, index


def last_time(s, node):
    return s.times[node * WIDTH + s.counts[node] - 1]


def entries_up_to(s, node, time):
    # From the end: most late values are a little late. A node is too narrow for bisection to win.
    k = s.counts[node]
    while k > 0 and time < s.times[node * WIDTH + k - 1]:
        k -= 1
    return k


def entries_before(s, node, time):
    k = 0
    while k < s.counts[node] and s.times[node * WIDTH + k] < time:
        k += 1
    return k


def child(s, node, k):
    """Find the child before entry k."""
    return s.first[node] if k == 0 else s.after[node * WIDTH + k - 1]


def rank(s, parent, node):
    """Tell how many entries of the parent stand before the child."""
    if s.first[parent] == node:
        return 0
    k = s.counts[parent]
    while s.after[parent * WIDTH + k - 1] != node:
        k -= 1
    return k


# ---- ranges
def product(s, start, end):
    """Combine the entries of these times, both included: O(log n)."""
    tidy(s)
    node = s.root
    i = entries_before(s, node, start)
    j = entries_up_to(s, node, end)
    while i == j and s.first[node] != NONE:
        node = child(s, node, i)
        i = entries_before(s, node, start)
        j = entries_up_to(s, node, end)
    if i >= j:
        return identity
    # Here the two paths part: children between them are whole, and never on a spine.
    if s.first[node] == NONE:
        return fold(s, node, i, j, identity)
    total = combine(suffix(s, child(s, node, i), start), fold(s, node, i, j - 1, identity))
    total = combine(total, s.values[node * WIDTH + j - 1])
    return combine(total, prefix(s, child(s, node, j), end))


def suffix(s, node, start):
    total = identity
    while node != NONE:
        k = entries_before(s, node, start)
        total = combine(fold(s, node, k, s.counts[node], identity), total)
        node = child(s, node, k)
    return total


def prefix(s, node, end):
    total = identity
    while node != NONE:
        k = entries_up_to(s, node, end)
        if k > 0:
            if s.first[node] != NONE:
                total = combine(total, s.aggregates[s.first[node]])
            total = fold(s, node, 0, k - 1, total)
            total = combine(total, s.values[node * WIDTH + k - 1])
        node = child(s, node, k)
    return total


def fold(s, node, i, j, total):
    """`total`, then entries i to j - 1, each with the child after it."""
    inner = s.first[node] != NONE
    for k in range(node * WIDTH + i, node * WIDTH + j):
        total = combine(total, s.values[k])
        if inner:
            total = combine(total, s.aggregates[s.after[k]])
    return total


# ---- aggregates
def refresh(s, node):
    """Compute the aggregate of a node from its children, or on a spine also from its parent."""
    values, aggregates, after = s.values, s.aggregates, s.after
    kind = s.kinds[node]
    parent = s.parents[node]
    base = node * WIDTH
    inner = s.first[node] != NONE
    last = base + s.counts[node] - 1
    total = identity
    if kind == RIGHT and s.kinds[parent] == RIGHT:
        total = aggregates[parent]
    if inner and kind in (RIGHT, INNER):
        total = combine(total, aggregates[s.first[node]])
    if inner:
        for k in range(base, last):
            # In pairs, which do not wait for one another: half as long a chain for the processor.
            total = combine(total, combine(values[k], aggregates[after[k]]))
    else:
        for k in range(base, last):
            total = combine(total, values[k])
    if base <= last:
        total = combine(total, values[last])
    if inner and kind in (LEFT, INNER):
        total = combine(total, aggregates[after[last]])
    if kind == LEFT and s.kinds[parent] == LEFT:
        total = combine(total, aggregates[parent])
    aggregates[node] = total


def refresh_inner(s, node):
    if s.kinds[node] == INNER:
        refresh(s, node)


def settle(s, node, left, right):
    """Refresh what depends on a changed node: up to the first node that is not INNER, then down that spine.

    At the root, left and right tell which spines have changed too.
    """
    while s.kinds[node] == INNER:
        refresh(s, node)
        node = s.parents[node]
    if s.kinds[node] == ROOT:
        refresh(s, node)
        inner = s.first[node] != NONE
        if left and inner:
            refresh_left(s, s.first[node])
        if right and inner:
            refresh_right(s, child(s, node, s.counts[node]))
    elif s.kinds[node] == LEFT:
        refresh_left(s, node)
    else:
        refresh_right(s, node)


def refresh_left(s, node):
    while s.first[node] != NONE:
        refresh(s, node)
        node = s.first[node]
    tidy(s)
    values, suffixes = s.values, s.suffixes
    parent = s.parents[node]
    n = s.counts[node]
    total = identity
    if s.kinds[parent] == LEFT:
        total = s.aggregates[parent]
    for k in range(n - 1, -1, -1):
        total = combine(values[node * WIDTH + k], total)
        suffixes[k] = total
    for k in range(n, WIDTH):
        suffixes[k] = identity
    s.aggregates[node] = total


def refresh_right(s, node):
    while node != NONE:
        refresh(s, node)
        node = child(s, node, s.counts[node])


def clear_suffixes(s):
    for k in range(WIDTH):
        s.suffixes[k] = identity


# ---- nodes and entries
def new_node(s):
    node = s.free
    if node != NONE:
        s.free = s.parents[node]
    else:
        node = s.used
        s.used += 1
        if s.used > len(s.parents):
            grow_nodes(s)
    s.first[node] = NONE
    s.counts[node] = 0
    s.stale[node] = 0
    return node


def grow_nodes(s):
    grow(s.parents, s.used)
    grow(s.first, s.used)
    grow(s.counts, s.used)
    grow(s.kinds, s.used)
    grow(s.stale, s.used)
    grow(s.aggregates, s.used)
    grow(s.times, s.used * WIDTH)
    grow(s.values, s.used * WIDTH)
    grow(s.after, s.used * WIDTH)


def free_node(s, node):
    s.aggregates[node] = identity
    s.parents[node] = s.free
    s.free = node


def put_entry(s, node, k, time, v, below):
    """Put an entry, and the child after it, before entry k."""
    times, values, after = s.times, s.values, s.after
    base = node * WIDTH
    for i in range(base + s.counts[node], base + k, -1):
        times[i] = times[i - 1]
        values[i] = values[i - 1]
        after[i] = after[i - 1]
    times[base + k] = time
    values[base + k] = v
    after[base + k] = below
    s.counts[node] += 1
    if below != NONE:
        s.parents[below] = node


def drop_entry(s, node, k):
    """Forget entry k and the child after it."""
    times, values, after = s.times, s.values, s.after
    last = node * WIDTH + s.counts[node] - 1
    for i in range(node * WIDTH + k, last):
        times[i] = times[i + 1]
        values[i] = values[i + 1]
        after[i] = after[i + 1]
    clear_entry(s, last)
    s.counts[node] -= 1


def move_entries(s, source, target, n):
    """n entries to free slots of another node, which adopts their children."""
    times, values, after = s.times, s.values, s.after
    for k in range(n):
        times[target + k] = times[source + k]
        values[target + k] = values[source + k]
        after[target + k] = after[source + k]
        times[source + k] = 0
        values[source + k] = identity


def clear_entry(s, i):
    s.times[i] = 0
    s.values[i] = identity


# ---- growing
def place(s, node, k, time, v):
    """Put an entry before entry k of a leaf, and split nodes that overflow; returns the arguments of settle()."""
    put_entry(s, node, k, time, v, NONE)
    left = right = False
    while s.counts[node] == WIDTH:
        other = split_up(s, node)
        refresh_inner(s, node)
        refresh_inner(s, other)
        left = left or s.kinds[node] == LEFT
        right = right or s.kinds[other] == RIGHT
        node = s.parents[node]
    return node, left, right


def split_up(s, node):
    """Split a node that overflows, and put its middle entry into the parent. Returns the new node."""
    other = split(s, node)
    parent = s.parents[node]
    middle = node * WIDTH + ARITY - 1
    put_entry(s, parent, rank(s, parent, node), s.times[middle], s.values[middle], other)
    clear_entry(s, middle)
    return other


def split(s, node):
    """Move the entries behind the middle one to a new node, the next one on the right."""
    other = new_node(s)
    middle = node * WIDTH + ARITY - 1
    move_entries(s, middle + 1, other * WIDTH, ARITY)
    s.counts[node] = ARITY - 1
    s.counts[other] = ARITY
    s.first[other] = s.after[middle]
    adopt(s, other)
    s.kinds[other] = INNER
    if s.kinds[node] == RIGHT:
        s.kinds[node] = INNER
        s.kinds[other] = RIGHT
    elif s.kinds[node] == ROOT:
        s.kinds[node] = LEFT
        s.kinds[other] = RIGHT
        s.root = new_node(s)
        s.kinds[s.root] = ROOT
        s.parents[s.root] = NONE
        s.first[s.root] = node
        s.parents[node] = s.root
    if s.right == node:
        s.right = other
    return other


def adopt(s, node):
    """Be the parent of one's children."""
    if s.first[node] != NONE:
        s.parents[s.first[node]] = node
        for k in range(node * WIDTH, node * WIDTH + s.counts[node]):
            s.parents[s.after[k]] = node


# ---- shrinking
def remove(s, node, k):
    """Entry k of any node: amortised O(log d)."""
    leaf, index = node, k
    was_root = s.kinds[node] == ROOT
    if s.first[node] != NONE:
        # A neighbour in a leaf takes its place: the one that is not on the spine of the node.
        if s.kinds[node] == LEFT:
            leaf = s.after[node * WIDTH + k]
            while s.first[leaf] != NONE:
                leaf = s.first[leaf]
            index = 0
        else:
            leaf = child(s, node, k)
            while s.first[leaf] != NONE:
                leaf = child(s, leaf, s.counts[leaf])
            index = s.counts[leaf] - 1
        s.times[node * WIDTH + k] = s.times[leaf * WIDTH + index]
        s.values[node * WIDTH + k] = s.values[leaf * WIDTH + index]
    remove_from_leaf(s, leaf, index)
    if was_root:  # the leaf may be on a spine, and settle ends there
        refresh(s, s.root)


def remove_from_leaf(s, leaf, k):
    s.held -= 1
    drop_entry(s, leaf, k)
    lengthen(s, leaf)


def lengthen(s, leaf):
    """After a removal: entries for a leaf that is too short, and new aggregates for what depends on it."""
    top, left, right = rebalance(s, leaf)
    settle(s, top, left, right)


def rebalance(s, node):
    """Give a node that is too short entries of a neighbour, or merge the two; returns the arguments of settle()."""
    left = right = False
    while s.counts[node] < ARITY - 1 and s.kinds[node] != ROOT:
        parent = s.parents[node]
        k = rank(s, parent, node)
        if k > 0:
            k -= 1
        a = child(s, parent, k)
        b = child(s, parent, k + 1)
        left = left or s.kinds[a] == LEFT
        right = right or s.kinds[b] == RIGHT
        # A merged node must be able to take an entry without being split again: WIDTH - 2.
        join(s, parent, k, a, b, WIDTH - 2)
        node = parent
    if s.kinds[node] == ROOT and s.counts[node] == 0 and s.first[node] != NONE:
        left = right = True
        node = lower_root(s)
    return node, left, right


def lower_root(s):
    """Make the only child of the root the root."""
    old = s.root
    s.root = s.first[old]
    s.kinds[s.root] = ROOT
    s.parents[s.root] = NONE
    if s.first[s.root] == NONE:
        clear_suffixes(s)
    free_node(s, old)
    return s.root


def join(s, parent, k, a, b, most):
    """Merge the children before and after entry k where they fit into `most` entries, else share theirs evenly."""
    middle = parent * WIDTH + k
    if s.counts[a] + s.counts[b] < most:
        put_entry(s, a, s.counts[a], s.times[middle], s.values[middle], s.first[b])
        move_entries(s, b * WIDTH, a * WIDTH + s.counts[a], s.counts[b])
        s.counts[a] += s.counts[b]
        adopt(s, a)
        drop_entry(s, parent, k)
        if s.kinds[b] == RIGHT:
            s.kinds[a] = RIGHT  # or ROOT, as soon as the root has lost its last entry
        if s.right == b:
            s.right = a
        free_node(s, b)
    else:
        while s.counts[a] < s.counts[b]:
            put_entry(s, a, s.counts[a], s.times[middle], s.values[middle], s.first[b])
            s.times[middle] = s.times[b * WIDTH]
            s.values[middle] = s.values[b * WIDTH]
            s.first[b] = s.after[b * WIDTH]
            drop_entry(s, b, 0)
        while s.counts[b] + 1 < s.counts[a]:
            last = a * WIDTH + s.counts[a] - 1
            put_entry(s, b, 0, s.times[middle], s.values[middle], s.first[b])
            s.times[middle] = s.times[last]
            s.values[middle] = s.values[last]
            s.first[b] = s.after[last]
            adopt(s, b)
            drop_entry(s, a, s.counts[a] - 1)
        refresh_inner(s, b)
    refresh_inner(s, a)


# ---- many at once
def evict_up_to(s, time):
    """Every entry up to `time`, by one cut from a node on the left spine down to a leaf: O(log n) combines.

    The slots of the k values that leave are cleared, since none may stay alive: O(k), without a combine.
    """
    if s.held == 0 or time < oldest(s):
        return
    tidy(s)
    if not time < youngest(s):
        clear_suffixes(s)
        s.held -= free_below(s, s.root)
        s.root = s.left = s.right = new_node(s)
        s.kinds[s.root] = ROOT
        s.parents[s.root] = NONE
        return
    if time < last_time(s, s.left):
        while not time < oldest(s):
            evict(s)
        return
    top = s.left
    while s.kinds[top] != ROOT and not time < s.times[s.parents[top] * WIDTH]:
        top = s.parents[top]
    cut(s, top, time)
    right = False
    while s.counts[s.root] == 0 and s.first[s.root] != NONE:
        top = lower_root(s)
        right = True
    # Downwards, so that a short node always has a neighbour: it gets an entry to spare, for its child to take.
    node = top if s.kinds[top] == ROOT else s.parents[top]
    changed = node
    while s.first[node] != NONE:
        a, b = s.first[node], s.after[node * WIDTH]
        if s.counts[a] < (ARITY - 1 if s.first[a] == NONE else ARITY):
            right = right or s.kinds[b] == RIGHT
            join(s, node, 0, a, b, WIDTH - 1)
        node = a
    top, _, again = rebalance(s, changed)
    settle(s, top, True, right or again)


def cut(s, node, time):
    """Take entries up to `time` off a node of the left spine and its descendants; nodes may become too short."""
    while node != NONE:
        k = entries_up_to(s, node, time)
        for i in range(k):
            below = child(s, node, i)
            if below != NONE:
                s.held -= free_below(s, below)
        if k > 0:
            s.first[node] = child(s, node, k)
            for _ in range(k):
                drop_entry(s, node, 0)
            s.held -= k
        if s.kinds[node] != ROOT:
            s.kinds[node] = LEFT
        s.left = node
        node = s.first[node]


def free_below(s, node):
    """Give a subtree back; how many entries it had."""
    entries = s.counts[node]
    for k in range(s.counts[node]):
        clear_entry(s, node * WIDTH + k)
    if s.first[node] != NONE:
        for k in range(s.counts[node] + 1):
            entries += free_below(s, child(s, node, k))
    free_node(s, node)
    return entries


def insert_many(s, entries):
    """Insert m entries in the order of their times: O(log d + m (1 + log(d/m))) combines, d from the oldest of them to
    the nearer end.

    Each finds its place from the one before it. Then every node that has changed computes its aggregate once: nodes off
    the spines from the leaves up, those on a spine from the highest down. Of 10,000 values among the last 10,000 each
    costs 2 combines so, and 173 one by one.
    """
    tidy(s)
    changed: list[Any] = []  # nodes by their height; a leaf's is 0
    leaf = NONE
    for time, v in entries:
        if s.held == 0 or not time < youngest(s):
            leaf, k = s.right, s.counts[s.right]
            if k < WIDTH - 1 and not s.stale[leaf]:
                append_last(s, time, v)
                continue
        elif leaf == NONE:
            leaf, k = locate(s, time)
        else:
            leaf, k = locate_after(s, leaf, time)
        s.held += 1
        put_entry(s, leaf, k, time, v, NONE)
        mark_changed(s, changed, leaf, 0)
        node, height = leaf, 0
        while s.counts[node] == WIDTH:
            mark_changed(s, changed, split_up(s, node), height)
            node, height = s.parents[node], height + 1
            mark_changed(s, changed, node, height)
    highest = {}
    for nodes in changed:
        for node in nodes:
            s.stale[node] = 0
            if s.kinds[node] in (INNER, ROOT):
                refresh(s, node)
            else:
                highest[s.kinds[node]] = node
    if LEFT in highest:
        refresh_left(s, highest[LEFT])
    if RIGHT in highest:
        refresh_right(s, highest[RIGHT])


def locate_after(s, leaf, time):
    """Find the same as locate(), from a leaf with an older entry: O(log) steps of the distance to it."""
    node = leaf
    while s.kinds[node] != ROOT:
        parent = s.parents[node]
        k = rank(s, parent, node)
        if k < s.counts[parent] and time < s.times[parent * WIDTH + k]:
            break
        node = parent
    k = entries_up_to(s, node, time)
    while s.first[node] != NONE:
        node = child(s, node, k)
        k = entries_up_to(s, node, time)
    return node, k


def mark_changed(s, changed, node, height):
    """Note a changed node, and those above whose aggregates depend on it: up to the first that is not INNER."""
    while not s.stale[node]:
        s.stale[node] = 1
        if height == len(changed):
            changed.append([])
        changed[height].append(node)
        if s.kinds[node] == INNER:
            node, height = s.parents[node], height + 1


# ---- the invariant
def sound(s):
    """Tell whether the nodes are a tree of one depth with its entries in the order of time, and the rest is free."""
    per_node = (s.parents, s.first, s.counts, s.kinds, s.stale, s.aggregates)
    per_entry = (s.times, s.values, s.after)
    if not (
        s.used >= 1
        and all(len(array) >= s.used for array in per_node)
        and all(len(array) >= s.used * WIDTH for array in per_entry)
        and len(s.suffixes) == WIDTH
        and not {type(x) for array in (*per_node[:5], s.after) for x in array[: s.used * WIDTH]} - {int, type(None)}
    ):
        return False
    nodes, leaves, depths = set(), [], set()
    times: list[Any] = []
    waiting: list[Any] = [(s.root, NONE, ROOT, 0)]  # nodes to visit, and (time,) of entries between them
    while waiting:
        found = waiting.pop()
        if len(found) == 1:
            times.append(found)
            continue
        node, parent, kind, depth = found
        if not (type(node) is int and 0 <= node < s.used) or node in nodes or s.parents[node] != parent:
            return False
        base, n, inner = node * WIDTH, s.counts[node], s.first[node] != NONE
        skip = s.skip if node == s.left else 0
        least = ARITY - 1 if parent != NONE else 1 if inner else 0
        if s.kinds[node] != kind or s.stale[node] != 0 or not (type(n) is int and least + skip <= n < WIDTH):
            return False
        nodes.add(node)
        steps: list[Any] = []
        for k in range(n + 1):
            if inner:
                at_left, at_right = k == 0 and kind in (ROOT, LEFT), k == n and kind in (ROOT, RIGHT)
                steps.append((child(s, node, k), node, LEFT if at_left else RIGHT if at_right else INNER, depth + 1))
            if skip <= k < n:
                steps.append((s.times[base + k],))
        waiting += reversed(steps)
        if not inner:
            leaves.append(node)
            depths.add(depth)
    free = s.free
    while free != NONE:
        if not (type(free) is int and 0 <= free < s.used) or free in nodes:
            return False
        nodes.add(free)
        free = s.parents[free]
    return (
        len(nodes) == s.used
        and len(depths) == 1
        and (s.left, s.right) == (leaves[0], leaves[-1])
        and s.skip >= 0
        and (s.skip == 0 or s.left != s.root)
        and s.held == len(times)
        and not any(b[0] < a[0] for a, b in pairwise(times))
    )


def check(s, partials):
    assert sound(s)
    if s.skip:
        assert s.left != s.root and s.counts[s.left] - s.skip >= ARITY - 1
        hidden = s.values[s.left * WIDTH : s.left * WIDTH + s.skip] + s.suffixes[: s.skip]
        assert all(p is None for p in hidden), "a slot keeps a partial alive"
        tidy(s)
    suffixes = [None] * WIDTH
    if s.left != s.root:
        parent, base = s.parents[s.left], s.left * WIDTH
        total = s.aggregates[parent] if s.kinds[parent] == LEFT else None
        for k in range(s.counts[s.left] - 1, -1, -1):
            total = suffixes[k] = combine(s.values[base + k], total)
    assert s.suffixes == suffixes
    entries = []
    nodes = set()
    depths = set()

    def visit(node, parent, kind, depth):
        """Check one subtree; returns its product."""
        assert node not in nodes and s.parents[node] == parent and s.kinds[node] == kind and not s.stale[node]
        nodes.add(node)
        base, n, inner = node * WIDTH, s.counts[node], s.first[node] != NONE
        assert n < WIDTH
        assert n >= (ARITY - 1 if parent != NONE else 1 if inner else 0)
        assert all(p is None for p in s.values[base + n : base + WIDTH]), "a slot keeps a partial alive"
        assert all(t == 0 for t in s.times[base + n : base + WIDTH] if t is not None)
        if not inner:
            depths.add(depth)
        whole = middle = None
        for k in range(n + 1):
            at_left, at_right = k == 0 and kind in (ROOT, LEFT), k == n and kind in (ROOT, RIGHT)
            if inner:
                below = visit(child(s, node, k), node, LEFT if at_left else RIGHT if at_right else INNER, depth + 1)
                whole = combine(whole, below)
                if not at_left and not at_right:
                    middle = combine(middle, below)
            if k < n:
                entries.append((s.times[base + k], s.values[base + k]))
                whole = combine(whole, s.values[base + k])
                middle = combine(middle, s.values[base + k])
        spine = s.aggregates[parent] if kind in (LEFT, RIGHT) and s.kinds[parent] == kind else None
        expected = combine(middle, spine) if kind == LEFT else combine(spine, middle)
        assert agree(s.aggregates[node], expected), (node, kind, s.aggregates[node], expected)
        return whole

    total = visit(s.root, NONE, ROOT, 0)
    assert agree(query(s), total)
    assert len(depths) == 1
    leaf = s.root
    while s.first[leaf] != NONE:
        leaf = s.first[leaf]
    assert s.left == leaf
    leaf = s.root
    while s.first[leaf] != NONE:
        leaf = child(s, leaf, s.counts[leaf])
    assert s.right == leaf
    times = [time for time, _ in entries]
    assert times == sorted(times)
    assert s.held == len(entries)
    free = s.free
    while free != NONE:
        assert free not in nodes and s.aggregates[free] is None
        nodes.add(free)
        assert all(p is None for p in s.values[free * WIDTH : free * WIDTH + WIDTH])
        free = s.parents[free]
    assert nodes == set(range(s.used)), "a node is lost"
    if partials is not None:
        assert agree([p for _, p in entries], partials)


MIXINS = (FibaTimes,)
