r"""Results of a Gaussian flow: covariances, the rank of the limit, how it ended."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...checks import finite_array, number
from ...errors import InputError
from ...flows import Outcome, Run
from ...spaces import Number, Numbers
from ._ending import STILL
from ._existence import exists_for_all_times
from ._limits import of_the_closure, of_the_end

OUTCOMES = {
    "horizon": "The final time was reached and the covariance still moves.",
    "converged": "The covariance has come to rest: at its last speed it would move by less than "
    f"{STILL:.0%} of its trace in as long a time again.",
    "exponential": "The covariance grows exponentially, or the mean beyond all bounds.",
    "blow_up": "The covariance, or the mean, becomes infinite at a finite time.",
    "unbounded": "The covariance, or the mean, grew beyond the ceiling, neither exponentially nor towards a blow-up.",
}
"""Every way a Gaussian flow can end, with its sentence."""


def covariance(run: Run) -> Float[Array, "*batch T d d"]:
    r"""$\Sigma(t) = L(t)L(t)^\top$ at every saved time; NaN after the flow ended."""
    L = _factor(run, "L")
    return L @ jnp.swapaxes(L, -1, -2)


def final_covariance(run: Run) -> Float[Array, "*batch d d"]:
    r"""$\Sigma$ at the last time that was reached, `run.info["t_last"]`: just before a blow-up, or the end."""
    L = _factor(run, "L_last")
    return L @ jnp.swapaxes(L, -1, -2)


def limit_rank(run: Run, tol: Number = 1e-8) -> int | np.ndarray:
    r"""How many eigenvalues of the last covariance exceed `tol` times the largest.

    The rank is that of $\Sigma_0$ at all finite times. Eigenvalues that vanish do so like $1/t$, so that the run must
    be as long as $1/$`tol`, in units of its first time scale, to show it: such long runs are cheap, since steps
    grow with $t$. An absolute tolerance would count small limits as zero.
    """
    if not 0 < number("tol", tol) < 1:
        raise InputError(f"tol = {tol:g} is no relative tolerance; take a number between 0 and 1.")
    values = np.linalg.svd(np.asarray(_factor(run, "L_last"), float), compute_uv=False) ** 2
    count = np.sum(values > tol * values[..., :1], axis=-1)
    return count if count.ndim else int(count)


def outcome(run: Run) -> str | np.ndarray:
    """One of `converged`, `blow_up`, `exponential`, `unbounded`, `horizon`; of a batch an array of these words."""
    words = np.array(list(OUTCOMES))[np.asarray(_info(run, "outcome"))]
    return words if words.ndim else str(words)


def limits(run: Run) -> tuple[str, ...]:
    """What is approximate, extrapolated or not certain about a single flow, in sentences; empty if there is none."""
    width = _factor(run, "L_last").shape[-1]
    run.single()
    closure = () if run.model is None else of_the_closure(run.model.attention, width)  # pyright: ignore[reportAttributeAccessIssue]
    return (*closure, *of_the_end(run))


def describe(run: Run) -> str:
    """How a single flow ended, in sentences, with its numbers; whether it exists for all times; and its limits."""
    return " ".join([*_ended(run), *limits(run)])


def _ended(run: Run) -> list[str]:
    word, L = str(outcome(run)), _factor(run, "L_last")
    run.single()
    if run.result not in (Outcome.SUCCESSFUL, Outcome.UNBOUNDED):
        return [run.result.value]
    sentence = OUTCOMES[word][:-1]
    if word == "blow_up":
        t, p = float(_info(run, "t_star")), float(_info(run, "pole_order"))
        return [f"{sentence}, t* = {t:.6g}, with a pole of order {p:.3g}."]
    ended = f"{sentence} (t = {float(_info(run, 't_last')):.6g}, rank {limit_rank(run)} to one in 1e8)."
    theorem = exists_for_all_times(run.model, L.shape[-2])
    if theorem:
        return [ended, f"The law exists for all times: {theorem}."]
    followed = float(_info(run, "t_followed" if "t_followed" in run.info else "t_last"))
    return [ended, f"There is no blow-up before t = {followed:.6g}."]


def cone_coordinates(Sigma: Numbers) -> Float[np.ndarray, "*batch 3"]:
    r"""$(s_{11} - s_{22},\ 2s_{12},\ s_{11} + s_{22})$ of covariances in the plane, whose cone is $z \ge |(x, y)|$."""
    S = finite_array("Sigma", Sigma)
    if S.shape[-2:] != (2, 2):
        raise InputError(f"Sigma has shape {S.shape}; give covariances in the plane, (..., 2, 2).")
    return np.stack([S[..., 0, 0] - S[..., 1, 1], 2 * S[..., 0, 1], S[..., 0, 0] + S[..., 1, 1]], axis=-1)


def _info(run: Any, name: str) -> Any:
    if not isinstance(run, Run) or "L_last" not in run.info:
        raise InputError("this run is no Gaussian flow; take one of gaussian.flow.")
    return run.info[name]


def _factor(run: Any, name: str) -> Array:
    return jnp.asarray(_info(run, name))
