r"""Any dimension: a field along a curve of laws, few neurons in every slab of time, one neuron after another.

In each of `n_t` slabs the velocity at its middle is fitted by m neurons (`_neurons`), whose sum is then split into
flows of single neurons (`_splitting`).
"""

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import jax
import numpy as np

from ...checks import whole
from ...errors import InputError, shown
from ...spaces import Count, Key, Numbers, draws
from ..schedules import Schedule
from ..schedules.checked import points
from ._condition import coordinates
from ._curve import Curve, Drawn
from ._neurons import fit
from ._splitting import SPLITTINGS, Pieces, joined, still

Method = Literal["strang", "lie"]
RIDGE = 1e-5
POINTS, NOISY_POINTS = 2500, 10_000  # that a field is fitted at: known there, or only on average
CANDIDATES = 400


def switching_flow(
    velocity: Callable[[float, np.ndarray], Numbers],
    sampler: Callable[..., Numbers],
    n_t: Count = 8,
    m: Count = 12,
    method: Method = "strang",
    *,
    condition: Sequence[int] = (),
    refine: Count = 2,
    key: Key | None = None,
) -> Schedule:
    r"""A schedule that follows the field `velocity(t, x (n, d)) -> (n, d)` along a curve of laws, $0 \le t \le 1$.

    **Arguments:**

    - `sampler(t, n, key=key)` draws points `(n, d)` of the law at time t; the field is fitted there.
    - `n_t` slabs of time, `m` neurons in each, as many as they are worth: where fewer fit the field, fewer are used.
    - `method`: `"strang"`, $n_t(2m - 1) - 1$ switches, of second order, or `"lie"`, $n_tm - 1$ switches, of first
      order.
    - `condition`: coordinates that stay the same, exactly.
    - `refine`: rounds, at most 2, in which neurons near the chosen ones are tried, too.
    - `key`: for points and candidates, by default the same at every call.

    The construction is ours, for the claim of Alvarez-Lopez, Geshkovski, Ruiz-Balet, arXiv:2412.19366, that piecewise
    constant weights reach a density; it is derived in docs/theory/relu-transport.md.
    """
    for name, function in (("velocity", velocity), ("sampler", sampler)):
        if not callable(function):
            raise InputError(f"{name} = {shown(function)} is no function.")

    def draw(t: float, n: int, rng: np.random.Generator) -> Drawn:
        drawn = np.asarray(sampler(t, n, key=jax.random.key(int(rng.integers(2**32)))))
        if drawn.ndim != 2 or len(drawn) != n:
            raise InputError(f"sampler gives the shape {drawn.shape} and should give {n} rows (n, d).")
        x = points("what sampler gives", drawn, drawn.shape[1])
        u = points("what velocity gives", velocity(t, x), x.shape[1])
        if u.shape != x.shape:
            raise InputError(f"velocity gives the shape {u.shape} for points {x.shape}; it should be the same.")
        return Drawn(x, u)

    rng = draws(key)
    d = draw(0.5, 1, rng.spawn(1)[0]).x.shape[1]
    curve, kept = Curve(draw, True, "the given field"), coordinates(condition, d)
    return followed(curve, n_t, m, method, condition=kept, refine=refine, rng=rng)


def followed(
    curve: Curve,
    n_t: Count,
    m: Count,
    method: str,
    *,
    condition: tuple[int, ...] = (),
    refine: Count = 2,
    rng: np.random.Generator,
) -> Schedule:
    """The schedule along a curve that knows its own velocities."""
    n_t, m, refine = whole("n_t", n_t), whole("m", m), whole("refine", refine, least=0, most=2)
    if not isinstance(method, str) or method not in get_args(Method):
        raise InputError(f"method = {shown(method)}; choose one of {', '.join(SPLITTINGS)}.")
    slabs = [_slab((i + 0.5) / n_t, 1 / n_t, curve, m, method, condition, refine, rng) for i in range(n_t)]
    return Schedule.from_arrays(*joined(slabs))


def _slab(
    t: float,
    duration: float,
    curve: Curve,
    m: int,
    method: str,
    condition: tuple[int, ...],
    refine: int,
    rng: np.random.Generator,
) -> Pieces:
    x, u = curve.draw(t, POINTS if curve.exact else NOISY_POINTS, rng)
    u[:, list(condition)] = 0.0
    if not u.any():
        return still(x.shape[1], duration)
    neurons = fit(x, u, m, rng, candidates=CANDIDATES, refine=refine, ridge=RIDGE)
    neurons.W[:, list(condition)] = 0.0  # exactly: the fit of zero may be a rounding
    return SPLITTINGS[method](neurons, duration, rng)
