r"""Correlations of tokens: the order parameter, pairs that have met, the law of inner products."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import flag, number
from ..errors import InputError, shown
from ..pairsums import Full, Inner, check_kernel, pair_sums
from ..spaces import Count, Numbers, Sphere, is_concrete, log_weights, safe_norm
from ._clouds import Clouds, Tokens, along, clouds, masses

TILE = 256  # rows of inner products in memory at once


def order_parameter(tokens: Tokens, *, at: Count | None = None, weights: Numbers | None = None) -> Float[Array, "*T"]:
    r"""$\rho = \big|\sum_i w_i x_i\big|$: on the sphere 1 if all tokens coincide, 0 if they balance.

    **Arguments:** a run (at every saved time, or at the one of index `at`), or tokens `(..., n, d)` with `weights`.
    """
    batch = clouds(tokens, at, weights)
    return along(mean_length, batch.true("their mean"), batch.w)


def pair_fraction(
    tokens: Tokens,
    delta: Numbers = 1e-3,
    *,
    at: Count | None = None,
    weights: Numbers | None = None,
    kernel: str = "auto",
) -> Float[Array, "*T"]:
    r"""The fraction of pairs on the sphere that have met,

    $$ \sum_{i\ne j} w_iw_j\, 1\{\langle x_i, x_j\rangle \ge 1 - \delta\} \Big/ \sum_{i\ne j} w_iw_j. $$

    Its mean over random initial tokens estimates $P(\langle x_1, x_2\rangle \ge 1 - \delta)$, the colour of figure 3
    of arXiv:2312.10794. A single token has no pair: NaN; so have clouds with tokens that are not finite. `kernel` is
    the engine of the sum over pairs.
    """
    batch = clouds(tokens, at, weights)
    if _space(batch) not in (None, "sphere"):
        raise InputError("pair_fraction is for tokens on the sphere; in R^d see clusters, or inner_products.")
    delta = number("delta", delta) if is_concrete(delta) else delta
    return along(_fraction, batch.xs, batch.w, jnp.asarray(delta, batch.xs.dtype), check_kernel(kernel))


class InnerProducts(NamedTuple):
    """Histograms of inner products: `edges (bins + 1,)` and `density (..., bins)`, whose integral is one."""

    edges: Float[Array, " bins_plus_1"]
    density: Float[Array, "*T bins"]

    @property
    def fraction(self) -> Float[Array, "*T bins"]:
        """The fraction of all pairs in each bin."""
        return self.density * jnp.broadcast_to(jnp.diff(self.edges), self.density.shape)


def inner_products(
    tokens: Tokens,
    *,
    at: Count | None = None,
    bins: Numbers = 80,
    normalized: bool = False,
    weights: Numbers | None = None,
) -> InnerProducts:
    r"""The law of $\langle x_i, x_j\rangle$ over pairs $i \ne j$, each counted with $w_iw_j$, as histograms.

    **Arguments:**

    - `tokens`, `at`, `weights`: a run (all saved times, or the one of index `at`), or tokens `(..., n, d)`.
    - `bins`: their number, between -1 and 1 on the sphere and between the extremes of all the clouds otherwise; or
      their edges. Values outside are left out, and the density refers to all pairs.
    - `normalized=True`: cosines $\langle x_i, x_j\rangle / |x_i||x_j|$ instead, as for hidden states of real models.

    Memory is linear in the number of tokens. Clouds that are not finite have the density NaN.
    """
    batch = clouds(tokens, at, weights)
    xs = Sphere().nearest(batch.xs) if flag("normalized", normalized) else batch.true("their inner products")
    if xs.shape[-2] < 2:
        raise InputError("a single token has no pair; inner products need two tokens or more.")
    edges = _edges(bins, xs, bounded=normalized or _space(batch) == "sphere")
    # Round-off may carry the product of a unit vector with itself past one.
    unit = jnp.asarray(1.0 if normalized or _space(batch) == "sphere" else jnp.inf, xs.dtype)
    counts = along(product_histogram, xs, batch.w, edges, unit)
    return InnerProducts(edges, counts / jnp.broadcast_to(jnp.diff(edges), counts.shape))


def _space(batch: Clouds) -> str | None:
    """The name of the space of a run with a model; `None` if nothing is known."""
    return None if batch.run is None or batch.run.model is None else batch.run.model.space.name


def mean_length(x: Float[Array, "n d"], w: Float[Array, " n"] | None) -> Float[Array, ""]:
    """`order_parameter` of one cloud."""
    return jnp.where(jnp.all(jnp.isfinite(x)), safe_norm(masses(x, w) @ x), jnp.nan)


def wave_amplitude(x: Float[Array, "n 2"], w: Float[Array, " n"] | None, k: Float[Array, ""]) -> Float[Array, ""]:
    r"""$|\sum_j w_je^{ik\theta_j}|$ of one cloud on the circle."""
    angle, w = k * jnp.arctan2(x[:, 1], x[:, 0]), masses(x, w)
    return jnp.hypot(jnp.sum(w * jnp.cos(angle)), jnp.sum(w * jnp.sin(angle)))


def _fraction(
    x: Float[Array, "n d"], w: Float[Array, " n"] | None, delta: Float[Array, ""], kernel: str
) -> Float[Array, ""]:
    n = x.shape[0]
    met = pair_sums(
        Inner(jnp.ones((), x.dtype)),
        x,
        x,
        1.0,
        log_w=log_weights(w),
        pairs=Full(skip=jnp.arange(n)),
        reduce=lambda s: (s >= 1 - delta).astype(s.dtype),
        kernel=kernel,
    )[0][:, 0]
    w = masses(x, w)
    return jnp.sum(jnp.where(w > 0, w * met, 0)) / (jnp.sum(w) ** 2 - jnp.sum(w * w))


def product_histogram(
    x: Float[Array, "n d"], w: Float[Array, " n"] | None, edges: Float[Array, " e"], unit: Float[Array, ""]
) -> Float[Array, " b"]:
    """The share of all pairs of one cloud in each bin, a tile of rows after the other; products are cut at `unit`."""
    n, bins = x.shape[0], edges.size - 1
    tile = min(TILE, n)
    w = masses(x, w)
    rows = jnp.arange(-(-n // tile) * tile).reshape(-1, tile)

    def add(counts: Array, i: Array) -> tuple[Array, None]:
        inside = jnp.minimum(i, n - 1)  # the last tile repeats the last token, with weight zero
        s = jnp.clip(x[inside] @ x.T, -unit, unit)
        pair = jnp.where(i < n, w[inside], 0)[:, None] * w[None, :]
        pair = jnp.where(inside[:, None] == jnp.arange(n)[None, :], 0, pair)
        place = jnp.searchsorted(edges, s, side="right") - 1
        place = jnp.where(s == edges[-1], bins - 1, place)  # the last edge belongs to the last bin, as in NumPy
        place = jnp.where((place < 0) | (place >= bins), bins, place)
        return counts.at[place].add(pair, mode="drop"), None

    counts, _ = jax.lax.scan(add, jnp.zeros(bins, x.dtype), rows)
    known = jnp.all(jnp.where(w[:, None] > 0, jnp.isfinite(x), True))
    return jnp.where(known, counts, jnp.nan) / (jnp.sum(w) ** 2 - jnp.sum(w * w))


def _edges(bins: Any, xs: Float[Array, "*T n d"], bounded: bool) -> Float[Array, " e"]:
    try:
        raw = np.asarray(bins) if is_concrete(bins) else None
    except ValueError:  # rows of different lengths
        raise InputError(f"bins = {shown(bins)} are no edges of a histogram; give increasing numbers.") from None
    if raw is not None and raw.ndim == 0:
        if not np.issubdtype(raw.dtype, np.integer) or raw < 1:
            raise InputError(f"bins = {shown(bins)} is no number of bins; take 1 or more, or give their edges.")
        low, high = (-1.0, 1.0) if bounded else _extremes(xs)
        return jnp.linspace(low, high, int(raw) + 1, dtype=xs.dtype)
    if raw is not None:
        numbers = raw.ndim == 1 and raw.size > 1 and raw.dtype.kind in "fiu"
        if not numbers or not (np.diff(raw) > 0).all() or not np.isfinite(raw).all():
            raise InputError(f"bins = {shown(bins)} are no edges of a histogram; give two or more increasing numbers.")
    return jnp.asarray(bins, xs.dtype)


def _extremes(xs: Float[Array, "*T n d"]) -> tuple[float, float]:
    """The least and the largest inner product of all the clouds."""
    low, high = (np.asarray(a) for a in along(_range, xs))
    finite = np.isfinite(low) & np.isfinite(high)
    clouds_finite = np.isfinite(np.asarray(xs)).all(axis=(-1, -2))
    if (clouds_finite & ~finite).any():
        most = float(np.max(np.abs(np.asarray(xs)[clouds_finite])))
        raise InputError(
            f"coordinates reach {most:.3g}, and their inner products leave the numbers of {xs.dtype}; give scaled "
            "tokens, or normalized=True for cosines."
        )
    if not finite.any():  # their histograms are NaN, whatever the edges
        return -1.0, 1.0
    low, high = float(np.min(low[finite])), float(np.max(high[finite]))
    if not high > low:
        return low - 0.5, high + 0.5
    slack = 16 * float(jnp.finfo(xs.dtype).eps) * max(abs(low), abs(high))  # a product may round differently elsewhere
    return low - slack, high + slack


def _range(x: Float[Array, "n d"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    def of_row(i: Array) -> tuple[Array, Array]:
        s = x @ x[i]
        other = jnp.arange(x.shape[0]) != i
        return jnp.min(jnp.where(other, s, jnp.inf)), jnp.max(jnp.where(other, s, -jnp.inf))

    low, high = jax.lax.map(of_row, jnp.arange(x.shape[0]))
    return jnp.min(low), jnp.max(high)
