r"""Training in one compiled program: a loop over looks, in it a loop over steps, and several seeds at once by `vmap`.

Adam, gradients clipped to norm 1, a rate that rises for the first steps and then follows a cosine to zero, batches of
windows drawn with replacement. At every look the models are rolled out on a stretch that they are not trained on, and
the parameters with the least error are kept; where nothing improves for long, training ends. Everything but shapes is
an argument of the program: another length of training, rate, weight or data set of about that size compiles nothing.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from ._progress import note
from .losses import Base, Data, advance, residuals
from .network import Form

LOOKS = 20
PATIENCE = 10  # looks without a better roll-out, after which a training ends
CAP = 1.5  # of an error, in standard deviations: two trajectories of chaos that have nothing to do with each other
LEAST_ERROR = 1e-12  # rounding
WARM_UP = 200
BETAS = (0.9, 0.999)


class Held(NamedTuple):
    """Roll-outs on what is held back, and on training data: first windows, true states, inputs, which there are."""

    tokens: Any  # (K, m, c)
    truth: Any  # (K, h, d)
    inputs: Any  # (K, h, q), of the step after each state
    mask: Any  # (K, h)
    seen: Any  # (K,), 1 for roll-outs of the training data


class Plan(NamedTuple):
    """Numbers of a training; none of them compiles anything."""

    steps: Any
    lr: Any
    noise: Any
    decay: Any


class Result(NamedTuple):
    """Per run: the parameters that were kept, their roll-out error, at which look; `losses` and `scores` by look."""

    theta: Any  # (runs, p)
    score: Any  # (runs,)
    look: Any  # (runs,)
    losses: Any  # (looks, runs)
    scores: Any  # (looks, runs)
    looks: Any  # how many were made


def rollout_error(theta: Array, base: Base, held: Held, form: Form) -> Array:
    """How wrong roll-outs are: on what is held back or on what is trained on, whichever is more.

    Of one roll-out it is the mean over its states of the error in standard deviations, at most `CAP` each (NaN counts
    as that), and of several the geometric mean: one that is hard for all models shall not decide alone.
    """

    def one(window: Array, following: Any) -> tuple[Array, Array]:
        truth, u, there = following
        state = advance(theta, base, window, form)
        error = jnp.sqrt(jnp.mean((state - truth) ** 2, axis=1))
        error = jnp.where(error < CAP, error, CAP) * there
        token = jnp.concatenate([jnp.clip(jnp.nan_to_num(state), -1e3, 1e3), u], axis=1)
        return jnp.concatenate([token[:, None], window[:, :-1]], axis=1), error

    following = (held.truth.transpose(1, 0, 2), held.inputs.transpose(1, 0, 2), held.mask.T)
    total = jnp.sum(jax.lax.scan(one, held.tokens, following)[1], axis=0)
    states = jnp.sum(held.mask, axis=1)
    logs = jnp.log(jnp.maximum(total / jnp.maximum(states, 1), LEAST_ERROR))

    def mean(kind: Array) -> Array:
        kind = jnp.where(states > 0, kind, 0)
        there = jnp.sum(kind)
        return jnp.where(there > 0, jnp.exp(jnp.sum(kind * logs) / jnp.maximum(there, 1)), 0)

    return jnp.maximum(mean(1 - held.seen), mean(held.seen))


@functools.partial(jax.jit, static_argnames=("form", "batch", "ahead", "noisy", "held_back", "show"))
def train(
    theta: Array,
    keys: Array,
    data: Data,
    base: Base,
    held: Held,
    plan: Plan,
    *,
    form: Form,
    batch: int,
    ahead: int,
    noisy: bool,
    held_back: bool,
    show: bool,
) -> Result:
    """All runs of `theta (runs, p)`; `held_back=False`: nothing is held back, and the last parameters are kept."""
    runs = len(theta)
    adam = optax.scale_by_adam(*BETAS)

    def loss(theta: Array, key: Array) -> Array:
        draw, shake = jax.random.split(key)
        chosen = jax.random.randint(draw, (batch,), 0, data.n)
        z, future = data.windows(chosen, form.m, ahead)
        if noisy:
            states = jnp.arange(form.c) < form.d  # inputs are exact
            z = z + plan.noise * states[None, None, :] * jax.random.normal(shake, z.shape, z.dtype)
        error = jnp.mean(residuals(theta, base, z, future, form) ** 2, axis=(1, 2))
        return jnp.mean(data.weights[chosen] * error)

    def rate(step: Array) -> Array:
        warm = jnp.minimum(WARM_UP, plan.steps // 5)
        done = jnp.clip((step - warm) / jnp.maximum(plan.steps - warm, 1), 0, 1)
        return plan.lr * jnp.minimum((step + 1) / jnp.maximum(warm, 1), 1) * (1 + jnp.cos(jnp.pi * done)) / 2

    def one_step(step: Array, carry: Any) -> Any:
        theta, state, total = carry
        own = jax.vmap(lambda key: jax.random.fold_in(key, step))(keys)
        value, slope = jax.vmap(jax.value_and_grad(loss))(theta, own)
        norm = jnp.sqrt(jnp.sum(slope**2, axis=1, keepdims=True))
        slope = slope * jnp.minimum(1, 1 / jnp.maximum(norm, 1e-30))
        update, state = adam.update(slope, state)
        theta = theta - rate(step).astype(theta.dtype) * (update + plan.decay * theta)
        return theta, state, total + value

    def look(carry: Any) -> Any:
        theta, state, best, score, at, losses, scores, k = carry
        first, last = k * plan.steps // LOOKS, (k + 1) * plan.steps // LOOKS
        zero = jnp.zeros(runs, theta.dtype)
        theta, state, total = jax.lax.fori_loop(first, last, one_step, (theta, state, zero))
        if held_back:
            now = jax.vmap(lambda one: rollout_error(one, base, held, form))(theta)
            better = now < score
        else:
            now, better = jnp.full(runs, jnp.nan, theta.dtype), jnp.ones(runs, bool)
        best = jnp.where(better[:, None], theta, best)
        score, at = jnp.where(better, now, score), jnp.where(better, k, at)
        losses = losses.at[k].set(total / jnp.maximum(last - first, 1))
        if show:
            jax.debug.callback(note, (k + 1) / LOOKS)
        return theta, state, best, score, at, losses, scores.at[k].set(now), k + 1

    def unfinished(carry: Any) -> Array:
        at, k = carry[4], carry[7]
        return (k < LOOKS) & (jnp.any(k - at <= PATIENCE) | jnp.asarray(not held_back))

    with jax.numpy_dtype_promotion("standard"):  # Adam raises a number to the power of a whole number
        table = jnp.full((LOOKS, runs), jnp.nan, theta.dtype)
        start = (theta, adam.init(theta), theta, jnp.full(runs, jnp.inf, theta.dtype), jnp.zeros(runs, int))
        end = jax.lax.while_loop(unfinished, look, (*start, table, table, jnp.asarray(0)))
    return Result(end[2], end[3], end[4], end[5], end[6], end[7])


def score(theta: Array, base: Base, held: Held, *, form: Form) -> Array:
    """The roll-out errors of a batch of parameters."""
    return _scored(theta, base, held, form=form)


@functools.partial(jax.jit, static_argnames="form")
def _scored(theta: Array, base: Base, held: Held, *, form: Form) -> Array:
    return jax.vmap(lambda one: rollout_error(one, base, held, form))(theta)
