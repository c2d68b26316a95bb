"""An algebraic classifier (Izbicki): training is a fold of rows, so that a window can be fed and can forget.

A partial of naive Bayes is, for every class, (rows, mean and squared deviations of each feature): a flat tuple of
fixed size, since classes and features are declared. It merges as the variance does, without subtraction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from slidewise.aggregations.arguments import collect_columns
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.partial_results import PartialResult
from slidewise.aggregations.questions import Questions, require_value
from slidewise.aggregations.values import as_float, numeric, plain
from slidewise.errors import InvalidInput
from slidewise.windows.reach import OffsetColumn

if TYPE_CHECKING:
    import numpy as np


class NaiveBayes(Aggregation):
    """The probability of each class, by Gaussian naive Bayes: the label's column, and those of the features.

    `predict=` is the point to classify: a number for each feature, or a column for each, of the row that a result is
    for. Without it the result is the share of each class. `query(x, y)` classifies another point. `classes` are the
    labels, and 0 and 1 unless told; a dict gives them other names.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.naive_bayes("kind", "height", "weight", classes=["cat", "dog"]))
    >>> for row in (("cat", 24, 4), ("cat", 26, 5), ("dog", 55, 30), ("dog", 60, 25), ("dog", 50, 28)): s.insert(row)
    >>> s.query()
    {'cat': 0.4, 'dog': 0.6}
    >>> {name: round(p, 6) for name, p in s.query(25, 4).items()}
    {'cat': 1.0, 'dog': 0.0}

    Rows of other classes are left out; a frame without a row of these gives null. `smoothing` times the largest
    variance of a feature is added to all variances, as in scikit-learn, so that a class of one row has a width.
    """

    name = "naive_bayes"
    accepts = ("any", "number")
    commutative = True
    unary_lower = False

    def __init__(
        self,
        label: str | None = None,
        *features: str,
        classes: Any = (0, 1),
        predict: Sequence[float] | Sequence[OffsetColumn] | None = None,
        smoothing: float = 1e-9,
        where: str | None = None,
    ) -> None:
        if label is not None and not features:
            raise InvalidInput(
                f"naive_bayes: {label!r} is the label: name the columns of the features too, as in "
                f'naive_bayes({label!r}, "height", "weight", classes=["cat", "dog"])'
            )
        # Of plain values, the point tells how many features there are.
        count = len(features) or (len(predict) if isinstance(predict, list | tuple) and predict else 1)
        if not isinstance(classes, list | tuple | dict) or len(classes) < 2:
            raise InvalidInput(f"naive_bayes: classes lists two labels or more, got {classes!r}")
        if isinstance(smoothing, bool) or not isinstance(smoothing, int | float) or not 0.0 < smoothing < math.inf:
            raise InvalidInput(f"naive_bayes: smoothing is a number above 0, got {smoothing!r}")
        asked = Questions("naive_bayes", "classes", classes, partial(require_value, "naive_bayes", "classes"))
        point = _read_point(predict, count)
        functions = _written_out(len(asked.values), count)
        place = {value: k for k, value in enumerate(asked.values)}
        if len(place) < len(asked.values):
            raise InvalidInput(f"naive_bayes: classes are different from each other, got {classes!r}")

        def lift(label: Any, *values: Any) -> Any:
            k = place.get(plain(label), -1)
            return functions["lift"](k, *(as_float(x, "naive_bayes") for x in values))

        def classify(sums: Any, values: Sequence[Any]) -> dict[str, float]:
            import numpy as np

            given = [as_float(x, "naive_bayes") for x in values if x is not None]
            if given and len(given) < count:
                raise InvalidInput(f"naive_bayes: a point has {count} features, got {given!r}")
            at = given or point
            found = posterior([np.array([x], np.float64) for x in sums], count, at, smoothing)
            return dict(zip(asked.names, found[:, 0].tolist(), strict=True))

        names: dict[str, Any] = {"classify": classify}
        arguments = ", ".join(f"x{k}" for k in range(count))
        exec(_LIFT_AND_LOWER.format(arguments=arguments, optional=arguments.replace(",", "=None,") + "=None"), names)
        names["lift_row"] = lift
        self.lift, self.lower = names["lift"], names["lower"]
        self.combine, self.defined = functions["combine"], functions["defined"]
        self.identity = (0, *(0.0,) * (2 * count)) * len(asked.values)
        self.result_fields = asked.names
        self.values, self.point, self.functions, self.smoothing = asked.values, point, functions, smoothing
        if predict is not None and point is None:
            self.asks = tuple(column.name for column in predict)  # type: ignore[union-attr]
        at: tuple[Any, ...] = point or tuple(OffsetColumn(column) for column in self.asks)
        more: dict[str, Any] = {"predict": list(at)} if at else {}
        more |= {} if smoothing == 1e-9 else {"smoothing": smoothing}
        super().__init__(*collect_columns(label, *features), classes=asked.parameter, **more)

    def read_question(self, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return None if any(x is None for x in values) else tuple(as_float(x, "naive_bayes") for x in values)

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return None  # see by_columns

    def by_columns(
        self, columns: tuple[np.ndarray, ...]
    ) -> tuple[Aggregation, tuple[np.ndarray, ...], Callable[..., np.ndarray]] | None:
        """Aggregate the classes by number, where labels are numbers, and classify the points of all frames at once."""
        import numpy as np

        label, *features = columns
        known = [isinstance(value, int | float) for value in self.values]
        if not all(known) or not numeric((label,), "biuf") or not numeric(tuple(features)):
            return None
        place = np.full(len(label), -1)
        for k, value in enumerate(self.values):
            place[label == value] = k
        base = PartialResult(self, self.variant(lift=self.functions["lift"]))
        base.defined = self.functions["defined"]

        def finish(partials: np.ndarray, *asked: np.ndarray) -> np.ndarray:
            sums = [partials[name].astype(np.float64) for name in partials.dtype.names or ()]
            found = posterior(sums, len(features), asked or self.point, self.smoothing)
            return np.ascontiguousarray(found.T).view([(f"f{k}", np.float64) for k in range(len(found))])[:, 0]

        return base, (place, *features), finish


_LIFT_AND_LOWER = """
def lift(label, {arguments}):
    return lift_row(label, {arguments})

def lower(s, {optional}):
    return classify(s, ({arguments},))
"""


def _read_point(predict: Any, features: int) -> tuple[float, ...] | None:
    """Read a point of numbers; None where there is none, or columns have it."""
    if predict is None:
        return None
    if not isinstance(predict, list | tuple) or len(predict) != features:
        raise InvalidInput(
            f"naive_bayes: predict has a value, or a column, for each of the {features} features, got {predict!r}"
        )
    if all(isinstance(x, OffsetColumn) for x in predict):
        return None
    if any(isinstance(x, OffsetColumn) for x in predict):
        raise InvalidInput(f"naive_bayes: predict has numbers or columns, and not both, got {predict!r}")
    return tuple(as_float(x, "naive_bayes") for x in predict)


def posterior(sums: Sequence[np.ndarray], features: int, point: Sequence[Any] | None, smoothing: float) -> np.ndarray:
    """Compute the probability of each class (a row) at the point of each frame (a column), or its share of the rows.

    `sums` are the fields of partials, an array each.
    """
    import numpy as np

    width = 1 + 2 * features
    rows = np.stack(sums[::width])
    total = rows.sum(axis=0)
    with np.errstate(all="ignore"):
        shares = rows / total
        if point is None:
            return shares
        means = [np.stack(sums[1 + 2 * f :: width]) for f in range(features)]
        squares = [np.stack(sums[2 + 2 * f :: width]) for f in range(features)]
        spread = np.zeros_like(total)
        for mean, deviations in zip(means, squares, strict=True):
            centre = (shares * mean).sum(axis=0)
            spread = np.maximum(spread, (deviations + rows * (mean - centre) ** 2).sum(axis=0) / total)
        least = smoothing * np.where(spread == 0.0, 1.0, spread)
        logs = np.log(shares)
        for x, mean, deviations in zip(point, means, squares, strict=True):
            variance = deviations / rows + least
            likelihood = -0.5 * (np.log(2.0 * math.pi * variance) + (x - mean) ** 2 / variance)
            logs = logs + np.where(rows > 0.0, likelihood, 0.0)
        scaled = np.exp(logs - logs.max(axis=0))
        return scaled / scaled.sum(axis=0)


@lru_cache(maxsize=32)
def _written_out(classes: int, features: int) -> dict[str, Any]:
    """lift of the number of a class, combine and defined, class by class: kernels take tuples of fixed shape only."""
    numbers, width = range(features), 1 + 2 * features
    arguments = ", ".join(f"x{f}" for f in numbers)
    source = [f"def lift(k, {arguments}):", *(f"    x{f} = x{f} * 1.0" for f in numbers)]
    fields = [
        f"1 if k == {c} else 0, " + ", ".join(f"x{f} if k == {c} else 0.0, 0.0" for f in numbers)
        for c in range(classes)
    ]
    source += [f"    return ({', '.join(fields)})", "def combine(a, b):"]
    merged = []
    for c in range(classes):
        at = c * width
        # The share of b among the rows of both: 0 of none, so that empty classes stay as they are.
        source += [f"    n{c} = a[{at}] + b[{at}]", f"    w{c} = b[{at}] / n{c} if n{c} > 0 else 0.0"]
        merged += [f"n{c}"]
        for f in numbers:
            mean, squares = at + 1 + 2 * f, at + 2 + 2 * f
            source += [f"    d{c}_{f} = b[{mean}] - a[{mean}]"]
            merged += [
                f"a[{mean}] + d{c}_{f} * w{c}",
                f"a[{squares}] + b[{squares}] + d{c}_{f} * d{c}_{f} * a[{at}] * w{c}",
            ]
    source += [f"    return ({', '.join(merged)})"]
    source += ["def defined(s):", f"    return {' + '.join(f's[{c * width}]' for c in range(classes))} > 0"]
    names: dict[str, Any] = {}
    exec("\n".join(source), names)
    return {name: names[name] for name in ("lift", "combine", "defined")}
