r"""Modes: the local maxima of the density that tokens climb,

$$ \text{line:}\quad \sum_j w_j\, e^{-\beta(t - x_j)^2/2}, \qquad
   \text{circle:}\quad Z(\theta) = \sum_j w_j\, e^{\beta\cos(\theta - \theta_j)} . $$

On the line it is a Gaussian kernel density estimate of bandwidth $h = \beta^{-1/2}$. On the circle softmax attention
with $Q = K = V = I$ moves every token along $\frac1\beta\nabla\log Z$: modes are the attractors of the field frozen at
this instant. The count is certified: cells of the line or the circle are cut until each is proved to hold one mode or
none, with bounds of all derivatives, of rounding and of what is left out of a sum. Where rounding hides the answer (two
tokens at the distance at which their modes merge, a grid of tokens finer than the bandwidth) it says so.
Derivation: docs/theory/modes.md, Counting modes. Reference: arXiv:2412.09080.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import jax
import numpy as np

from ..errors import AttnflowWarning, InputError, shown
from ..spaces import AbstractSpace, Count, Number, Numbers, is_concrete
from ._clouds import Clouds, Tokens, clouds
from ._modes_search import search

Where = Literal["line", "circle"]
FARTHEST = 1e12  # of a token from the origin, in bandwidths: beyond, neighbouring numbers are too coarse a grid
CHUNK = 1 << 22  # tokens and cells that are looked at together


@dataclass(frozen=True, eq=False, repr=False)
class Modes:
    """Modes of one cloud, or of many (arrays then have their leading axes).

    - `count`: how many there are.
    - `locations (most, d)`: where, in the order of the coordinate or the angle; NaN fills up what other clouds have
      more. On the circle these are unit vectors.
    - `certified`: whether the count is proved. Where it is not, signs are below rounding, and `count` is what rounding
      left of them.

    Printed, it is a sentence that says all this.
    """

    count: int | np.ndarray
    locations: np.ndarray
    certified: bool | np.ndarray

    def __repr__(self) -> str:
        count, sure = np.asarray(self.count), np.asarray(self.certified)
        if not count.ndim:
            return f"{count} mode{'' if count == 1 else 's'}, {'certified' if sure else 'not certified'}."
        return f"{count.min()} to {count.max()} modes in {count.size} clouds, {sure.sum()} of them certified."


def modes(
    tokens: Tokens,
    beta: Number | None = None,
    *,
    at: Count | None = None,
    weights: Numbers | None = None,
    space: AbstractSpace | None = None,
) -> Modes:
    """The modes of tokens on the line, `(..., n, 1)`, or on the circle, unit vectors `(..., n, 2)`.

    **Arguments:**

    - `tokens`, `at`, `weights`: a run (all saved times, or the one of index `at`), or an array with its weights.
    - `beta`: the inverse temperature, one number; for a run by default that of its attention.
    - `space`: to say that tokens are where they must be; an array of pairs is taken for points of the circle.

    64 bits are needed. Work grows like the number of tokens times that of bandwidths between them: 1000 draws of 1000
    tokens at beta = 100 take about two seconds on two cores.

    >>> modes(np.array([[-1.0], [1.0]]), beta=4.0)  # doctest: +SKIP
    2 modes, certified.
    """
    return _modes(clouds(tokens, at, weights), beta, space, exact_places=True)


def count_modes(
    tokens: Tokens,
    beta: Number | None = None,
    *,
    at: Count | None = None,
    weights: Numbers | None = None,
    space: AbstractSpace | None = None,
) -> int | np.ndarray:
    """The number of modes, see `modes`: a number, or an array of them with the leading axes of the tokens.

    A warning names how many clouds have a number that cannot be proved; `modes(...).certified` says which they are.
    """
    result = _modes(clouds(tokens, at, weights), beta, space, exact_places=False)
    sure = np.asarray(result.certified)
    if not sure.all():
        warnings.warn(
            f"the number of modes of {np.sum(~sure)} of {sure.size} clouds is not certain: signs are below rounding.",
            AttnflowWarning,
            stacklevel=2,
        )
    return result.count


def _modes(cloud: Clouds, beta: Any, space: Any, *, exact_places: bool) -> Modes:
    where, beta = _where(cloud, space), _number(cloud, beta)
    xs = np.asarray(cloud.true("their modes"), np.float64)
    n, batch = xs.shape[-2], xs.shape[:-2]
    w = np.full(n, 1 / n) if cloud.w is None else np.asarray(cloud.w, np.float64)
    xs, w = xs[..., w > 0, :].reshape(-1, int(np.sum(w > 0)), xs.shape[-1]), w[w > 0]
    place = np.arctan2(xs[..., 1], xs[..., 0]) % (2 * np.pi) if where == "circle" else xs[..., 0]
    if where == "line" and (farthest := np.abs(place).max() * np.sqrt(beta)) > FARTHEST:
        raise InputError(f"a token is {farthest:.2g} bandwidths from zero, too far for 64 bits; shift or scale tokens.")
    cells = 2 * np.pi if where == "circle" else np.ptp(place, axis=1).max()
    cells = min(10 * np.sqrt(beta) * cells, 128 * place.shape[1]) + 64
    parts = np.array_split(np.arange(len(place)), max(1, int(len(place) * (n + cells) / CHUNK)))
    searches = [search(place[part], w, beta, circle=where == "circle", exact_places=exact_places) for part in parts]
    draw = np.concatenate([part[s.draw] for part, s in zip(parts, searches, strict=True)])
    at = np.concatenate([s.place for s in searches])
    count, certified = np.bincount(draw, minlength=len(place)), np.concatenate([s.certified for s in searches])
    locations = np.full((len(place), int(count.max(initial=0))), np.nan)
    locations[draw, np.arange(draw.size) - np.searchsorted(draw, draw)] = at
    if where == "circle":
        points = np.stack([np.cos(locations), np.sin(locations)], axis=-1)
    else:
        points = locations[..., None]
    return Modes(
        count=count.reshape(batch) if batch else int(count[0]),
        locations=points.reshape(*batch, *points.shape[1:]),
        certified=certified.reshape(batch) if batch else bool(certified[0]),
    )


def _where(cloud: Clouds, space: Any) -> Where:
    """Line or circle, by the tokens."""
    if not is_concrete(cloud.xs, cloud.w):
        raise InputError("modes are looked for on the host and cannot be compiled; call this outside jit and vmap.")
    if not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        raise InputError('counting modes needs 64 bits; call af.precision("float64") first.')
    if space is not None and not isinstance(space, AbstractSpace):
        raise InputError(f"space = {shown(space)} is no space; give af.Sphere() or af.Euclidean().")
    if cloud.run is not None and cloud.run.model is not None:
        space = cloud.run.model.space
    xs = np.asarray(cloud.xs)
    if not xs.size:
        raise InputError(f"tokens have shape {xs.shape}: there is no cloud; give at least one.")
    on_sphere, d = (space.unit if space is not None else xs.shape[-1] == 2), xs.shape[-1]
    if d != (2 if on_sphere else 1):
        raise InputError(
            f"tokens have {d} coordinates {'on the sphere' if on_sphere else 'in R^d'}; modes are counted on the line, "
            "tokens (..., n, 1), and on the circle, unit vectors (..., n, 2)."
        )
    if not np.isfinite(xs).all():
        raise InputError("some tokens are not finite; remove them, or choose a time that the run has reached.")
    if on_sphere:
        norms = np.linalg.norm(xs, axis=-1)
        worst = norms.flat[np.abs(norms - 1).argmax()]
        if abs(worst - 1) > 1e-4:
            raise InputError(
                f"a token has norm {worst:.6g}, not 1; normalise the tokens (pairs are taken for a circle)."
            )
    return "circle" if on_sphere else "line"


def _number(cloud: Clouds, beta: Any) -> float:
    if beta is None:
        beta = getattr(getattr(getattr(cloud.run, "model", None), "attention", None), "beta", None)
        if beta is None:
            raise InputError("give beta, the inverse temperature: these tokens do not know one.")
    try:
        if np.ndim(beta) != 0:
            raise InputError(f"beta has shape {np.shape(beta)}; give one number, and call this for each beta.")
        if isinstance(beta, str | bytes | bool):
            raise TypeError
        number = float(np.asarray(beta))
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"beta = {shown(beta)} is not one number (it may change with time); give beta=.") from None
    if not (np.isfinite(number) and number > 0):
        raise InputError(f"beta = {number:g} gives no density with modes; take a finite beta > 0.")
    return number
