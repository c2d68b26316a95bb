"""The order statistics tree (Sliding-Window Aggregation Algorithms, section 4.3): a balanced search tree
whose nodes know the size of their subtree, and a queue that says which value leaves next.

Invariant: in order, the tree's values are the window's values sorted, equal ones by age; and no subtree
weighs more than DELTA times its sibling, a weight being a size + 1 (Hirai, Yamamoto: Balancing
weight-balanced trees, which proves that DELTA = 3 and RATIO = 2 restore it by one rotation). A child has at
most 3/4 of its parent's weight: the depth is at most log(n + 1) / log(4/3), in the worst case and not only
on average, which is why this is not a treap or a skip list.

Insert, evict, select and rank: O(log n). Space: n nodes, and the queue. Values need `<` only.
"""

from collections import deque
from typing import Any, NamedTuple

from slidewise.algorithms.raw_values import OfRawValues, to_key, to_value
from slidewise.errors import InvalidInput

DELTA = 3
RATIO = 2


class Node:
    """A subtree. An empty one is NIL, which spares the code every test for None."""

    __slots__ = ("left", "right", "size", "value")
    size: int

    def __init__(self, value: Any) -> None:
        self.value = value
        self.left = self.right = NIL
        self.size = 1

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Have one empty subtree, in copies as well: by its name in this module."""
        return "NIL" if self is NIL else super().__reduce_ex__(protocol)


NIL = object.__new__(Node)
NIL.size = 0


class State(NamedTuple):
    queue: deque[Any]
    root: Node


class Ranked:
    """The tree's own operations, beside those of every structure."""

    __slots__ = ()

    def select(self: Any, i: Any) -> Any:
        """Find the i-th smallest value, counted from 0; nulls have no rank. O(log n)."""
        if not 0 <= i < self.root.size:
            raise InvalidInput(f"select: there are {self.root.size} values, counted from 0, got {i!r}")
        return to_value(at_rank(self.root, i))

    def rank(self: Any, value: Any) -> Any:
        """Tell how many values held are less than this one. O(log n)."""
        return count_below(self.root, to_key(value))


MIXINS = (Ranked, OfRawValues)


def setup(s: Any) -> None:
    s.queue = deque()
    s.root = NIL


def insert(s: Any, key: Any) -> None:
    """O(log n)."""
    if key is not None:
        s.root = with_value(s.root, key)
    s.queue.append(key)


def evict(s: Any) -> None:
    """O(log n). The oldest value is the first of its equals: just it is removed, and not an equal one."""
    key = s.queue.popleft()
    if key is not None:
        s.root = without_rank(s.root, count_below(s.root, key))


def query(s: Any, *argument: Any) -> Any:
    """O(log n)."""
    return s.aggregation.select(s.root.size, lambda k: to_value(at_rank(s.root, k)), *argument)


def size(s: Any) -> Any:
    return len(s.queue)


def count_held(s: Any) -> Any:
    return s.root.size


def hold(s: Any, keys: list[Any]) -> None:
    """Hold just these keys, the oldest first. O(n log n), of which a tree of them is O(n)."""
    s.queue = deque(keys)
    values = sorted(key for key in keys if key is not None)
    s.root = tree_of(values, 0, len(values))


# ---- the tree
def tree_of(values: Any, start: Any, end: Any) -> Any:
    """Build the tree of sorted values start to end - 1."""
    if start == end:
        return NIL
    middle = (start + end) // 2
    node = Node(values[middle])
    node.left, node.right = tree_of(values, start, middle), tree_of(values, middle + 1, end)
    node.size = end - start
    return node


def with_value(node: Any, value: Any) -> Any:
    """Add a value to a subtree, right of its equals."""
    if node is NIL:
        return Node(value)
    if value < node.value:
        node.left = with_value(node.left, value)
    else:
        node.right = with_value(node.right, value)
    return balance(node)


def without_rank(node: Any, i: Any) -> Any:
    """Remove the i-th value of a subtree."""
    before = node.left.size
    if i < before:
        node.left = without_rank(node.left, i)
    elif i > before:
        node.right = without_rank(node.right, i - before - 1)
    elif node.left is NIL:
        return node.right
    elif node.right is NIL:
        return node.left
    else:
        node.value = at_rank(node.right, 0)
        node.right = without_rank(node.right, 0)
    return balance(node)


def at_rank(node: Any, i: Any) -> Any:
    """Find the i-th value of a subtree."""
    while True:
        before = node.left.size
        if i == before:
            return node.value
        if i < before:
            node = node.left
        else:
            node = node.right
            i -= before + 1


def count_below(node: Any, value: Any) -> Any:
    """Tell how many values of a subtree are less."""
    count = 0
    while node is not NIL:
        if node.value < value:
            count += node.left.size + 1
            node = node.right
        else:
            node = node.left
    return count


def balance(node: Any) -> Any:
    """Balance a subtree after a change in one child: size it, and rotate it where one side has become too heavy."""
    left, right = node.left, node.right
    if left.size + 1 > DELTA * (right.size + 1):
        if left.right.size + 1 >= RATIO * (left.left.size + 1):
            node.left = rotated_left(left)
        return rotated_right(node)
    if right.size + 1 > DELTA * (left.size + 1):
        if right.left.size + 1 >= RATIO * (right.right.size + 1):
            node.right = rotated_right(right)
        return rotated_left(node)
    node.size = left.size + right.size + 1
    return node


def rotated_left(node: Any) -> Any:
    top = node.right
    node.right, top.left = top.left, node
    node.size = node.left.size + node.right.size + 1
    top.size = node.size + top.right.size + 1
    return top


def rotated_right(node: Any) -> Any:
    top = node.left
    node.left, top.right = top.right, node
    node.size = node.left.size + node.right.size + 1
    top.size = top.left.size + node.size + 1
    return top


def check(s: Any, keys: Any) -> None:
    def in_order(node: Any) -> Any:
        if node is NIL:
            return []
        a, b = node.left.size + 1, node.right.size + 1
        assert node.size == a + b - 1
        assert a <= DELTA * b and b <= DELTA * a, (a, b)
        return [*in_order(node.left), node.value, *in_order(node.right)]

    assert NIL.size == 0
    values = in_order(s.root)
    # identity, not equality: sorting is stable, and so equal keys stand by age in both
    assert len(values) == len(keys) and all(a is b for a, b in zip(values, sorted(keys), strict=True))
