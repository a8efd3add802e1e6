r"""Leaders of a review: the words that all others follow, and that determine the decision.

Token $i$ leads if its argmax set holds no other word than its own: all others lie strictly inside the half-space
$\langle z_i, y - z_i\rangle < 0$. It never moves again, and the others of a review gather at its leaders, so that the
mean, and with it the decision, is that of a few words. Repetitions of a word move together and are counted once.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .layers import PADDING, Parameters, best, logits, seen_tokens, states
from .training import Form, Settings


class Led(NamedTuple):
    """Of many reviews: `logits (N,)`; `first` and `last (N, n)`, whether a token leads before the first layer and after
    the last one, of a repeated word its first place alone; `values (N, n)`, $\\langle v, z_i\\rangle + b$ at the end.
    """

    logits: np.ndarray
    first: np.ndarray
    last: np.ndarray
    values: np.ndarray


class LeaderCounts(NamedTuple):
    """Leaders per review, and the share of them that led from the start."""

    mean: float
    std: float
    least: int
    most: int
    from_the_start: float


def leads(
    z: Float[Array, "reviews n d"], ids: Int[Array, "reviews n"], *, masked: bool = False
) -> Bool[Array, "reviews n"]:
    """Whether each token leads: no other word is in its argmax set."""
    seen = seen_tokens(ids, masked)
    others = ids[:, :, None] != ids[:, None, :]
    alone = ~jnp.any(best(z, seen) & others, axis=-1)
    return alone & (ids != PADDING) if masked else alone


def once(flags: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The flags, of each word of a review at its first place alone."""
    earlier = np.tril(np.ones((ids.shape[-1],) * 2, bool), -1)
    repeated = np.stack([np.any((row[:, None] == row[None, :]) & earlier, axis=1) for row in ids])
    return flags & ~repeated


def leaders(parameters: Parameters, ids: np.ndarray, settings: Settings) -> Led:
    """Leaders of many reviews under hardmax attention."""
    arrays = _leaders(parameters, jnp.asarray(ids), form=settings.form)
    values, first, last, values_at = (np.asarray(a)[: len(ids)] for a in arrays)
    return Led(values, once(first, ids), once(last, ids), values_at)


@functools.partial(jax.jit, static_argnames="form")
def _leaders(parameters: Parameters, ids: Any, *, form: Form) -> Any:
    fill = -len(ids) % form.batch
    batches = jnp.pad(ids, ((0, fill), (0, 0))).reshape(-1, form.batch, ids.shape[1])
    how = {"layers": form.layers, "temperature": 0.0, "masked": form.masked}

    def of(batch):
        z, _ = states(parameters, batch, **how)
        first = leads(parameters.embedding[batch], batch, masked=form.masked)
        last = leads(z, batch, masked=form.masked)
        values = jnp.sum(z * parameters.v[None, None, :], axis=-1) + parameters.b
        return logits(parameters, batch, **how), first, last, values

    return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), jax.lax.map(of, batches))


@functools.partial(jax.jit, static_argnames="form")
def layer_by_layer(
    parameters: Parameters, ids: Int[Array, " n"], *, form: Form
) -> tuple[Float[Array, "layers n d"], Bool[Array, "layers n"]]:
    """The tokens of one review before the first layer and after each, and whether each leads then."""
    _, path = states(parameters, ids[None], layers=form.layers, temperature=0.0, masked=form.masked, keep=True)
    assert path is not None
    z = path[:, 0]
    return z, leads(z, jnp.broadcast_to(ids, z.shape[:2]), masked=form.masked)


def counts(led: Led) -> LeaderCounts:
    """How many leaders reviews have."""
    number = led.last.sum(axis=1)
    # A leader is never overtaken, except in the last digits: the share is of those found at the end.
    started = (led.first & led.last).sum() / max(number.sum(), 1)
    return LeaderCounts(number.mean().item(), number.std().item(), int(number.min()), int(number.max()), float(started))


def histogram(
    led: Led, ids: np.ndarray, labels: np.ndarray, *, confidence: float = 0.95, beyond: float = 2.0
) -> list[tuple[int, int]]:
    r"""`(id, reviews)`, in how many reviews a word leads, the most frequent first.

    As in the paper, reviews count that are decided correctly with that `confidence`, and leaders at the end with
    $|\langle v, z\rangle + b|$ larger than `beyond`; padding does not.
    """
    sure = np.log(confidence / (1 - confidence))
    chosen = np.where(labels > 0, led.logits >= sure, led.logits <= -sure)
    decisive = led.last & chosen[:, None] & (np.abs(led.values) > beyond) & (ids != PADDING)
    words, number = np.unique(ids[decisive], return_counts=True)
    order = np.lexsort((words, -number))
    return [(int(words[i]), int(number[i])) for i in order]
