"""The moment sketch: quantiles estimated from sums of powers (Gan et al., as in the PBA paper).

A partial is (n, min, max, sum of x, ..., sum of x^k, sum of log x, ..., sum of (log x)^k): a flat tuple that
merges by additions. A quantile is that of the distribution of greatest entropy which has these moments, in
the logarithms where all values are positive and spread over orders of magnitude.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from slidewise.aggregations.arguments import collect_columns, whole
from slidewise.aggregations.arguments import fraction as checked_fraction
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.extremes import larger, smaller
from slidewise.aggregations.values import as_float, numeric

if TYPE_CHECKING:
    import numpy as np

#: values spread wider than this are described by their logarithms
WIDE = 50.0
GRID = 512


class MomentSketch(Aggregation):
    """The means of x, x^2, ..., x^order. `query(q)` estimates the quantile q from them.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.moment_sketch())
    >>> for x in range(1001): s.insert(x)
    >>> s.query()[0], round(s.query(0.5)), round(s.query(0.9))
    (500.0, 500, 900)
    """

    name = "moment_sketch"
    accepts = ("number",)
    commutative = True
    unary_lower = False

    def __init__(self, column: str | None = None, order: int = 10, *, where: str | None = None) -> None:
        order = whole("moment_sketch", "order", order, least=2, most=20)
        super().__init__(*collect_columns(column), order=order)
        self.identity = (0, math.nan, -math.inf) + (0.0,) * (2 * order)
        self.result_fields = tuple(f"moment_{k}" for k in range(1, order + 1))
        functions = _written_out(order)
        moments = functions["lower"]
        lift_float = functions["lift"]

        def lift(x: Any) -> tuple[Any, ...]:
            return tuple(lift_float(as_float(x, "moment_sketch")))

        def lower(s: tuple[Any, ...], *q: float) -> Any:
            return quantile(s, checked_fraction("moment_sketch", q[0])) if q else moments(s)

        self.lift, self.combine, self.lower = lift, functions["combine"], lower

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return self.variant(**_written_out(self.parameters["order"])) if numeric(columns) else None


def _log(x: Any) -> Any:
    return math.log(x) if x > 0.0 else math.nan


@lru_cache(maxsize=32)
def _written_out(order: int) -> dict[str, Any]:
    """lift, combine and lower for this order, power by power: kernels take tuples of fixed shape only."""
    powers = range(1, order + 1)
    source = ["def lift(x):", "    x1 = x * 1.0", "    y1 = log(x1)"]
    source += [f"    x{k} = x{k - 1} * x1; y{k} = y{k - 1} * y1" for k in powers if k > 1]
    source += [f"    return (1, x1, x1, {', '.join(f'x{k}' for k in powers)}, {', '.join(f'y{k}' for k in powers)})"]
    sums = ", ".join(f"a[{i}] + b[{i}]" for i in range(3, 3 + 2 * order))
    source += ["def combine(a, b):"]
    source += [f"    return (a[0] + b[0], smaller(a[1], b[1]), larger(a[2], b[2]), {sums})"]
    source += ["def lower(s):", f"    return ({', '.join(f's[{2 + k}] / s[0]' for k in powers)})"]
    names: dict[str, Any] = {"log": _log, "smaller": smaller, "larger": larger}
    exec("\n".join(source), names)
    return {name: names[name] for name in ("lift", "combine", "lower")}


def quantile(partial: tuple[Any, ...], q: float) -> float:
    """Estimate the quantile q of the distribution of greatest entropy with these moments; NaN for infinite values."""
    n, low, high = partial[:3]
    order = (len(partial) - 3) // 2
    if not (math.isfinite(low) and math.isfinite(high)):
        return math.nan
    if q == 0.0 or low == high:
        return float(low)
    if q == 1.0:
        return float(high)
    if low > 0.0 and high / low > WIDE:
        sums = partial[3 + order :]
        return min(high, max(low, math.exp(_solve(n, math.log(low), math.log(high), sums, q))))
    return _solve(n, low, high, partial[3 : 3 + order], q)


def _solve(n: int, low: float, high: float, sums: tuple[float, ...], q: float) -> float:
    """Estimate the quantile from sums of powers of values between low and high."""
    import numpy as np

    centre, half = low / 2.0 + high / 2.0, high / 2.0 - low / 2.0
    moments = _chebyshev_moments([1.0, *(s / n for s in sums)], centre, half)
    x = np.linspace(-1.0, 1.0, GRID + 1)
    while True:
        density = _greatest_entropy(moments, x)
        if density is not None:
            break
        moments = moments[:-1]  # too many moments for their precision: fewer determine it still
    share = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2.0)))
    return float(centre + half * np.interp(q * share[-1], share, x))


def _chebyshev_moments(means: list[float], centre: float, half: float) -> np.ndarray:
    """Compute the means of the Chebyshev polynomials of (x - centre) / half, as many as double precision gives.

    Shifting powers cancels digits, the more the further the values are from zero beside their spread.
    """
    import numpy as np

    usable = max(1, int(13.06 / (0.78 + math.log10(abs(centre) / half + 1.0))))
    scaled, scale = [1.0], 1.0
    for m in means[1 : usable + 1]:
        scale *= half
        if not (math.isfinite(m) and 0.0 < scale < math.inf):
            break  # powers beyond the range of floats
        scaled.append(m / scale)
    order = len(scaled) - 1
    shifted = [
        math.fsum(math.comb(k, j) * scaled[j] * (-centre / half) ** (k - j) for j in range(k + 1))
        for k in range(order + 1)
    ]
    polynomials = [np.polynomial.chebyshev.cheb2poly([0.0] * k + [1.0]) for k in range(order + 1)]
    found = [float(np.dot(p, shifted[: len(p)])) for p in polynomials]
    sound = next((k for k, m in enumerate(found) if not abs(m) <= 1.0 + 1e-9), len(found))
    return np.array(found[: max(2, sound)])


def _greatest_entropy(moments: np.ndarray, x: np.ndarray) -> np.ndarray | None:
    """exp(sum of c_k T_k(x)) with these moments, by Newton's method; None where it does not converge."""
    import numpy as np

    basis = np.polynomial.chebyshev.chebvander(x, len(moments) - 1)
    weights = np.full(len(x), 2.0 / (len(x) - 1))
    weights[[0, -1]] /= 2.0
    if len(moments) <= 2:
        moments = np.clip(moments, -0.999, 0.999)
    c = np.zeros(len(moments))
    c[0] = math.log(0.5)

    def potential(c: np.ndarray) -> tuple[float, np.ndarray]:
        with np.errstate(over="ignore"):
            density = np.exp(basis @ c)
        return float(weights @ density - c @ moments), density

    value, density = potential(c)
    for _ in range(200):
        weighted = basis * (weights * density)[:, None]
        gradient = weighted.sum(axis=0) - moments
        if np.abs(gradient).max() < 1e-9:
            return density
        hessian = basis.T @ weighted
        try:
            step = np.linalg.solve(hessian + 1e-13 * np.trace(hessian) * np.eye(len(c)), gradient)
        except np.linalg.LinAlgError:
            return None
        scale = 1.0
        while scale > 1e-8:  # halve the step until it descends: Newton overshoots far from the solution
            next_value, next_density = potential(c - scale * step)
            if next_value <= value - 1e-4 * scale * float(gradient @ step):
                break
            scale /= 2.0
        else:
            return density if np.abs(gradient).max() < 1e-5 or len(moments) <= 2 else None
        c, value, density = c - scale * step, next_value, next_density
    return density if len(moments) <= 2 else None
