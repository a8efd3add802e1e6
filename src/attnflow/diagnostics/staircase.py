r"""The staircase of the energy: $\widehat E$ against a time that shows its plateaus (arXiv:2410.06833, section 6).

Clusters wait for times of the order $e^{\beta(1 - \cos u)}$ and then merge at once. Three clocks $\tau$ show every
wait:

- `"log"`: $\tau = \log_{10} t$;
- `"arclength"`: $dt/d\tau = \log\beta\,/\,|\dot x|$, so that $\tau$ is the length of the path of all tokens,
  $\int (\sum_i |\dot x_i|^2)^{1/2} dt$, over $\log\beta$. The paper proposes it with $|\nabla E|$, which for USA is
  $|\dot x|$ up to a constant; the program of its figure takes steps of one length in all tokens together, as here;
- `"paper"`: $dt/d\tau = \log\beta\; e^{\beta(1 - \cos u)}$ with $u$ the least of the angles above
  $1/\sqrt{\beta\log\beta}$: the time of the proof, in which a merge of clusters of masses $W_a, W_b$ under shifted USA
  takes $\frac1{2(W_a + W_b)}$ as $\beta \to \infty$.

Plateaus lie between changes of the partition into clusters; masses $W_k$ predict the height $\sum_k W_k^2$.
Derivations: docs/theory/metastability.md, Three clocks.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import InputError, shown
from ..flows import Run
from ..spaces import Number
from ._clouds import along
from .clusters import clusters
from .energy import energy

StaircaseClock = Literal["log", "arclength", "paper"]
LABELS = {
    "log": r"$\log_{10} t$",
    "arclength": r"length of the path $/\log\beta$",
    "paper": r"rescaled time $\tau$",
}
FLAT = 0.01  # how far, of its height, the energy of a plateau may be from the predicted one
PARTS = 8  # of a step, in the clock of the proof: its quadrature is then finer than the steps at any tolerance


@dataclass(frozen=True)
class Plateau:
    r"""The time between two changes of the partition into clusters.

    - `start`, `end`: in the clock of the staircase; `log_start`, `log_end`: natural logarithms of the model's time.
    - `masses`: of the clusters, descending; `predicted`: $\sum_k W_k^2$; `measured`: $\widehat E$ halfway in $\log t$.
    - `flat`: whether the energy stays within 1 % of the predicted one in the middle half of $\log t$.
    """

    start: float
    end: float
    log_start: float
    log_end: float
    masses: tuple[float, ...]
    predicted: float
    measured: float
    flat: bool

    @property
    def clusters(self) -> int:
        """How many there are."""
        return len(self.masses)

    @property
    def duration(self) -> float:
        """In the clock of the staircase."""
        return self.end - self.start


@dataclass(frozen=True, eq=False, repr=False)
class Staircase:
    """`tau (S,)`, a clock; `energy (S,)` along it; `log_ts (S,)`, the model's time; `plateaus` from first to last.

    Times before the first one after the start are left out of the clock `"log"`.
    """

    clock: str
    tau: np.ndarray
    energy: np.ndarray
    log_ts: np.ndarray
    plateaus: tuple[Plateau, ...]
    model_clock: str

    @property
    def label(self) -> str:
        """The label of the axis of `tau`."""
        unit = f" ({self.model_clock})" if self.model_clock else ""
        return LABELS[self.clock] + unit

    @property
    def flat(self) -> tuple[Plateau, ...]:
        """The flat plateaus, and the last state."""
        return tuple(p for p in self.plateaus if p.flat)

    def __repr__(self) -> str:
        """One sentence."""
        heights = ", ".join(f"{p.predicted:.6g}" for p in self.flat)
        return f"Staircase({len(self.plateaus)} intervals, plateaus at {heights}, clock {self.clock!r})"


def staircase(run: Run, clock: StaircaseClock = "log", *, eps: Number | None = None) -> Staircase:
    r"""The energy $\widehat E$ of a run against a clock that shows its plateaus, and these as data.

    **Arguments:**

    - `run`: of `long_time`, whose merges are exact; or of `simulate`, where `eps` is the distance of `clusters`.
    - `clock`: `"log"`, `"arclength"` or `"paper"`, see this module's text. The last two need $\beta > 1$.
    """
    return staircases(run, [clock], eps=eps)[0]


def staircases(run: Run, clocks: Sequence[StaircaseClock], *, eps: Number | None = None) -> list[Staircase]:
    """One staircase against several clocks; its energy and its clusters are computed once."""
    if not isinstance(run, Run):
        raise InputError(f"a {type(run).__name__} has no staircase; give a run, which carries times and its model.")
    run.single()
    if not np.isfinite(np.asarray(run.xs)).all():
        last = int(np.isfinite(np.asarray(run.xs)).all(axis=(1, 2)).sum()) - 1
        raise InputError(f"this run is finite up to saved time {last} alone; give one that reaches its end.")
    if "log_scale" in run.info:
        raise InputError("the growth of these tokens is stored apart (log_scale): no plateau lasts; end it earlier.")
    for clock in clocks:
        if not isinstance(clock, str) or clock not in LABELS:
            raise InputError(f"clock {shown(clock)} is unknown; choose one of {', '.join(LABELS)}.")
    if eps is not None and run.labels is not None:
        raise InputError(f"eps = {shown(eps)}: this run carries its clusters, whose merges are exact; leave eps= out.")
    run = before_merges(run)
    labels = np.asarray(clusters(run, eps=eps).labels if run.labels is None else run.labels)
    with np.errstate(divide="ignore"):
        log_ts = np.log(np.asarray(run.ts, float)) if run.log_ts is None else np.asarray(run.log_ts, float)
    rows = energy_of_rows(run), log_ts, labels
    return [_against(clock, run, *rows) for clock in clocks]


def _against(clock: str, run: Run, heights: np.ndarray, log_ts: np.ndarray, labels: np.ndarray) -> Staircase:
    tau = {"log": _decades, "arclength": _lengths, "paper": _proof}[clock](run, log_ts)
    known = np.isfinite(tau) & np.isfinite(heights)
    if known.sum() < 2:
        raise InputError("a staircase needs at least two saved times after the start; save more of them.")
    tau, heights, log_ts, labels = tau[known], heights[known], log_ts[known], labels[known]
    w = np.asarray(run.masses, float)
    return Staircase(clock, tau, heights, log_ts, _plateaus(tau, heights, log_ts, labels, w), run.clock)


def energy_of_rows(run: Run) -> np.ndarray:
    r"""$\widehat E$ at every saved time `(T,)`, by one compiled program for runs of many lengths."""
    xs = _padded(run.xs)
    whole = dataclasses.replace(run, ts=jnp.zeros(xs.shape[0], run.ts.dtype), xs=xs, log_ts=None, labels=None)
    return np.asarray(energy(whole, scale="Ehat"), float)[: run.xs.shape[0]]


def before_merges(run: Run) -> Run:
    """A long run with one more row for each merge: the clusters that are about to be joined, at the merge distance.

    A run of `long_time` goes from its last step to the merged state. In between the clusters move straight towards the
    place where they meet. Other runs are returned as they are, and so is one whose merges are rows already.
    """
    reach = (run.provenance.get("options") or {}).get("merge_distance")
    if run.labels is None or run.log_ts is None or reach is None or not run.events:
        return run
    xs, labels = np.array(run.xs, float), np.asarray(run.labels)
    after = np.flatnonzero((labels[1:] != labels[:-1]).any(axis=1)) + 1
    last, place = xs[after - 1], xs[after]
    joined = labels[after, :, None] == labels[after, None, :]
    apart = np.linalg.norm(last[:, :, None, :] - last[:, None, :, :], axis=-1)
    width = np.where(joined, apart, 0).max(axis=2)  # how far a token is from what it will be joined with
    share = np.where(width > reach, reach / np.where(width > 0, width, 1), 1.0)[:, :, None]
    alone = (labels[after] == labels[after - 1]) & ~(joined & (labels[after - 1] != labels[after])[:, None, :]).any(
        axis=2
    )
    landed = np.where(alone[:, :, None], place, place + share * (last - place))
    landed /= np.linalg.norm(landed, axis=-1, keepdims=True)
    log_ts = np.insert(np.asarray(run.log_ts), after, np.asarray(run.log_ts)[after])
    return dataclasses.replace(
        run,
        ts=jnp.asarray(np.insert(np.asarray(run.ts), after, np.asarray(run.ts)[after])),
        log_ts=jnp.asarray(log_ts),
        xs=jnp.asarray(np.insert(xs, after, landed, axis=0)),
        labels=jnp.asarray(np.insert(labels, after, labels[after - 1], axis=0)),
        info={},
        events=(),  # whose rows are no longer these
    )


def _plateaus(
    tau: np.ndarray, heights: np.ndarray, log_ts: np.ndarray, labels: np.ndarray, w: np.ndarray
) -> tuple[Plateau, ...]:
    new = np.flatnonzero((labels[1:] != labels[:-1]).any(axis=1)) + 1
    starts, ends = np.concatenate([[0], new]), np.concatenate([new, [len(tau) - 1]])
    plateaus = []
    for first, last in zip(starts, ends, strict=True):
        mass = np.bincount(labels[first] - labels[first].min(), w)
        mass = np.sort(mass[mass > 0])[::-1]
        predicted = float(np.sum(mass**2))
        rows = slice(first, max(last, first + 1))  # the last row belongs to the next plateau
        early = first + int(np.isneginf(log_ts[first]) and last > first)
        quarters = log_ts[early] + (log_ts[last] - log_ts[early]) * np.array([0.25, 0.5, 0.75])
        values = np.interp(quarters, log_ts[rows], heights[rows])
        plateaus.append(
            Plateau(
                start=float(tau[first]),
                end=float(tau[last]),
                log_start=float(log_ts[first]),
                log_end=float(log_ts[last]),
                masses=tuple(mass.tolist()),
                predicted=predicted,
                measured=float(values[1]),
                flat=bool((abs(values - predicted) <= FLAT * predicted).all()),
            )
        )
    return tuple(plateaus)


def _decades(run: Run, log_ts: np.ndarray) -> np.ndarray:
    return log_ts / np.log(10)


def _lengths(run: Run, log_ts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(_steps(run))]) / _log_beta(run)


def _proof(run: Run, log_ts: np.ndarray) -> np.ndarray:
    r"""$\tau = \int ds\,/\,(\log\beta\,|\dot x|\,e^{\beta(1 - \cos u)})$ along the path of length $s$.

    Not as an integral over $t$, in which the last part of a merge is lost to rounding. The speed in this clock is
    nearly linear in $u$, and for a linear one the mean of its inverse over a step is that of the logarithmic mean.
    Steps are as long as the solver could make them: each is divided into `PARTS`, tokens moving along great circles.
    """
    model: Any = run.model
    log_beta = _log_beta(run)
    zonal = model.attention.zonal
    if zonal is None or not model.pairs.complete:
        raise InputError(
            "the clock 'paper' is for SA and USA with B = V = I, every token seeing all; take 'log' or 'arclength'."
        )
    beta = zonal.beta.astype(run.xs.dtype)
    normalised = jnp.asarray(zonal.normalized)
    near = 1 / np.sqrt(float(beta) * log_beta)
    w = run.masses
    path = _divided(np.asarray(run.xs), PARTS)
    slow = along(_log_speed, _padded(path), w, beta, normalised, jnp.asarray(near, run.xs.dtype))
    slow = np.asarray(slow, float)[: len(path)]
    slow = slow + float(zonal.log_speed)
    before, after = slow[:-1], slow[1:]
    # log of the logarithmic mean of e^before and e^after
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(after - before)
        mean = np.maximum(before, after) + np.where(apart > 1e-6, np.log(-np.expm1(-apart) / apart), -apart / 2)
        inverse = np.where(np.isfinite(mean), np.exp(-mean), 0.0)  # nothing moves: no time passes
    step = _steps(run) * inverse.reshape(-1, PARTS).mean(axis=1)
    return np.concatenate([[0.0], np.cumsum(step)]) / log_beta


def _divided(xs: np.ndarray, parts: int) -> np.ndarray:
    """The path `(T, n, d)` with `parts - 1` states between two rows, along chords drawn out to the sphere."""
    share = (np.arange(parts) / parts)[None, :, None, None]
    between = xs[:-1, None] + share * np.diff(xs, axis=0)[:, None]
    between = between.reshape(-1, *xs.shape[1:])
    between /= np.linalg.norm(between, axis=-1, keepdims=True)
    return np.concatenate([between, xs[-1:]])


def _log_speed(
    x: Float[Array, "n d"], w: Float[Array, " n"], beta: Float[Array, ""], normalised: Array, near: Float[Array, ""]
) -> Float[Array, ""]:
    r"""$\log(|\dot x|\, e^{\beta(1 - \cos u)})$, from differences of tokens: no digit is lost when it is small."""
    apart = x[None, :, :] - x[:, None, :]
    square = jnp.sum(apart**2, axis=-1)
    exponent = -beta * square / 2
    moving = square > 0
    most = jnp.max(jnp.where(moving, exponent, -jnp.inf))
    pull = jnp.where(moving, w[None, :] * jnp.exp(jnp.where(moving, exponent - most, 0.0)), 0.0)
    force = jnp.sum(pull[:, :, None] * apart, axis=1)
    force = force - jnp.sum(force * x, axis=-1, keepdims=True) * x
    total = jnp.sum(w[None, :] * jnp.exp(exponent), axis=1)
    velocity = jnp.where(normalised, force / total[:, None], force)
    # A pair that was merged by force at `near` stands at that distance up to the tolerance of the event.
    far = square > (0.999 * near) ** 2
    return most + jnp.log(jnp.linalg.norm(velocity)) - jnp.max(jnp.where(far, exponent, -jnp.inf))


def _padded(xs: Float[Array | np.ndarray, "T n d"]) -> Float[Array, "S n d"]:
    """The last row repeated up to a power of two, so that runs of many lengths share a compiled program."""
    rows = 1 << max(xs.shape[0] - 1, 63).bit_length()
    known = np.asarray(xs)  # JAX would compile a concatenation for every length
    return jnp.asarray(np.concatenate([known, np.repeat(known[-1:], rows - len(known), axis=0)]))


def _steps(run: Run) -> np.ndarray:
    """Lengths `(T - 1,)` of the steps of all tokens together, along great circles; a merge by hand has none."""
    chords = np.linalg.norm(np.diff(np.asarray(run.xs, float), axis=0), axis=-1)
    lengths = np.linalg.norm(2 * np.arcsin(np.minimum(chords / 2, 1.0)), axis=-1)
    if run.labels is None:
        return lengths
    return np.where((np.diff(np.asarray(run.labels), axis=0) != 0).any(axis=1), 0.0, lengths)


def _log_beta(run: Run) -> float:
    model: Any = run.model
    if not model.space.unit:
        raise InputError("this clock is for tokens on the sphere; take clock='log'.")
    beta = float(model.attention.score.zonal[0] if model.attention.score.zonal else model.attention.score.beta)
    if beta <= 1:
        raise InputError(f"this clock divides by log(beta), and beta = {beta:g} is not above 1; take clock='log'.")
    return float(np.log(beta))
