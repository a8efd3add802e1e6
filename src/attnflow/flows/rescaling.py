r"""Rescaled tokens: what is left of a run in $\mathbb R^d$ when the growth of the linear part is taken out.

$$ z_i(t) = e^{-tV}x_i(t), \qquad\qquad z_i^k = R^{-k}x_i^k, \quad R = I + hV, $$

the first for a flow, the second for explicit steps of length $h$ (solvers `euler` and `layers`): a discrete run
rescaled by $e^{-tV}$ would shrink, since $R < e^{hV}$. The convex hull of $z$ never grows if $V = I$, and its clusters
are those of the theory.

Reference: arXiv:2305.05465; docs/theory/euclidean.md.
"""

import dataclasses
import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Float

from ..errors import AttnflowWarning, InputError, shown
from ..models import MovingFrame, Rescaled
from ..spaces import is_concrete
from .run import Info, Run

DISCRETE = ("euler", "euler-retract", "layers")
# An eigenbasis that loses more digits than this is not used; the exponential of the matrix is, then.
CONDITION = 1e7
# A component of z with a larger relative error raises a warning.
DIGITS = 1e-3


def rescaled(run: Run) -> Run:
    r"""The run with $z = e^{-tV}x$ in place of its tokens $x$; of explicit steps, $z^k = R^{-k}x^k$ with $R = I + hV$.

    Each component is multiplied by its own factor, in the basis of eigenvectors of $V$. Time is counted from zero, so a
    run that was restarted goes on. Components along eigenvalues with negative real part diverge; that is no error.
    Tokens are rounded relative to their largest component, so that $z_k$ is known to
    $2\cdot10^{-16}\,e^{(\lambda_1 - \lambda_k)t}$ unless $V$ is diagonal; you are warned when no digit of it is left.

    The result's model is that of $z$, for clusters and their speed; its attention is that of the run it came from.
    """
    if not isinstance(run, Run):
        raise InputError(f"{shown(run)} is no run; give one of simulate.")
    run.single()
    model: Any = run.model
    if not is_concrete(run.xs, run.ts):
        raise InputError("rescaled reads values and cannot be compiled; call it on the run outside of jit.")
    if model is None or not model.space.flat:
        what = "carries no model" if model is None else f"lives in {type(model.space).__name__}"
        raise InputError(f"this run {what}; tokens are rescaled by the linear part of a model in R^d.")
    V = model.linear_part(run.d)
    if V is None:
        raise InputError(
            "this run's model has no linear part: rescaled needs the force sum_j P_ij V x_j with rows of P that sum to "
            "one and a constant V, such as that of SelfAttention(Softmax(V=V), Euclidean())."
        )
    V = np.asarray(V, float)
    options = run.provenance.get("options") or {}
    discrete = options.get("solver") in DISCRETE
    step = _step(run, options.get("dt")) if discrete else None
    log_scale = np.asarray(run.info["log_scale"], float) if "log_scale" in run.info else np.zeros(run.ts.size)
    zs = pulled_back(np.asarray(run.xs, float), np.asarray(run.ts, float), V, step=step, log_scale=log_scale)
    rate = float(np.linalg.eigvals(V).real.max())
    return dataclasses.replace(
        run,
        xs=jnp.asarray(zs, run.xs.dtype),
        model=None if discrete else Rescaled(MovingFrame(model, rate=jnp.asarray(max(rate, 0.0), run.xs.dtype))),
        info=Info({k: (dims, run.info[k]) for k, dims in run.info_dims.items() if k != "log_scale"}),
        provenance={**run.provenance, "rescaled": "R^-k" if discrete else "exp(-tV)"},
    )


def pulled_back(
    xs: Float[np.ndarray, "T n d"],
    ts: Float[np.ndarray, " T"],
    V: Float[np.ndarray, "d d"],
    *,
    step: float | None = None,
    log_scale: Float[np.ndarray, " T"] | None = None,
) -> Float[np.ndarray, "T n d"]:
    """$e^{s_t - tV} x_t$ at every time; with a `step` $h$, $(I + hV)^{-t/h}$ in place of $e^{-tV}$."""
    log_scale = np.zeros(ts.size) if log_scale is None else log_scale
    symmetric = np.array_equal(V, V.T)
    eigenvalues, basis = np.linalg.eigh(V) if symmetric else np.linalg.eig(V)
    rates: Any = eigenvalues if step is None else _logarithm(eigenvalues, step)
    _warn_of_lost_digits(V, np.real(rates), ts)
    with np.errstate(over="ignore"):
        if symmetric or np.linalg.cond(basis) < CONDITION:
            factors = np.exp(log_scale[:, None] - ts[:, None] * rates)
            components = xs @ np.linalg.inv(basis).T
            return np.ascontiguousarray((components * factors[:, None, :] @ basis.T).real)
        generator: Any = V if step is None else np.asarray(scipy.linalg.logm(np.eye(len(V)) + step * V)) / step
        exponents = log_scale[:, None, None] * np.eye(len(V)) - ts[:, None, None] * generator
        return np.ascontiguousarray(np.einsum("tij,tnj->tni", scipy.linalg.expm(exponents), xs).real)


def _logarithm(eigenvalues: np.ndarray, step: float) -> np.ndarray:
    """The rates whose exponential over a step is $1 + h\\lambda$."""
    factors = 1 + step * eigenvalues.astype(complex)
    worst = np.abs(factors).min()
    if worst < 1e-12:
        raise InputError(
            f"R = I + dt V is singular at dt = {step:g}: V has the eigenvalue {-1 / step:g}; take another dt, or a "
            "continuous solver."
        )
    return np.log(factors) / step


def _step(run: Run, dt: float | None) -> float:
    """The length of the steps of a discrete run, whose saved times must be at them."""
    if dt is None:
        raise InputError("this run does not say the length of its steps; rescale the run that simulate returned.")
    count = np.asarray(run.ts, float) / dt
    if np.abs(count - np.round(count)).max() > 1e-3:
        raise InputError(
            f"explicit steps are rescaled at multiples of dt = {dt:g}; save the run there, and start at 0."
        )
    return float(dt)


def _warn_of_lost_digits(V: np.ndarray, rates: np.ndarray, ts: np.ndarray) -> None:
    if np.count_nonzero(V - np.diag(np.diag(V))) == 0:
        return  # components are coordinates, and round for themselves
    eps = np.finfo(float).eps
    lost = rates[eps * np.exp(np.minimum((rates.max() - rates) * ts.max(), 700)) > DIGITS]
    if lost.size:
        latest = np.log(DIGITS / eps) / (rates.max() - lost.min())
        message = (
            f"components of z along eigenvalues with real part up to {lost.max():.3g} have lost their digits at "
            f"t = {ts.max():g}, where x has grown so much more along others; read them before t = {latest:.3g}."
        )
        warnings.warn(message, AttnflowWarning, stacklevel=3)
