r"""Random switching, after Maurey: one neuron at a time, drawn by the size of its weight."""

import numpy as np

from ...checks import whole
from ...errors import InputError
from ...spaces import Key, Numbers, draws
from ..schedules import Schedule
from ..schedules.checked import doubles


def maurey_schedule(W: Numbers, A: Numbers, b: Numbers, pieces: int, *, key: Key) -> Schedule:
    r"""One neuron at a time in place of the field $u_t(x) = \sum_j w_j(t)\,(\langle a_j, x\rangle + b_j)_+$ of all.

    `W (m, d)`, `A (m, d)`, `b (m,)` are the m neurons of a field that is constant in time, over the time from 0 to 1;
    with one more axis in front, `(S, m, d)` and `(S, m)`, those of S equal parts of the time. In each of n = `pieces`
    intervals of length 1/n one neuron is drawn, with the probability $p_j \propto |w_j|\,|(a_j, b_j)|$, and runs alone
    with the weight $w_j/p_j$. So the mean of the field is $u_t$, and the flow differs from that of $u_t$ by
    $O(n^{-1/2})$, whatever the number of neurons and the dimension, if the sum of $|w_j|\,|(a_j, b_j)|$, the
    variation of the field, stays bounded.

    A device of theory: where all neurons can be run, one after another, that is far more accurate with as many pieces.
    Random switching is of use for fields of more neurons than there are pieces.

    After Geshkovski, Ruiz-Balet, arXiv:2602.08606, whose count of the order $\varepsilon^{-2}$ is of this kind; derived
    in docs/theory/diffeomorphism.md.

    >>> import jax, numpy as np
    >>> turn = np.array([[0.0, 1.0], [0.0, -1.0], [-1.0, 0.0], [1.0, 0.0]])  # x' = (-x2, x1), in four neurons
    >>> along = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> schedule = maurey_schedule(turn, along, np.zeros(4), 10_000, key=jax.random.key(0))
    >>> away = schedule.forward([[1.0, 0.0]]) - [np.cos(1), np.sin(1)]
    >>> bool(np.linalg.norm(away) < 0.05)
    True
    """
    w, a, bias = _field(W, A, b)
    n = whole("pieces", pieces, most=10**8)
    part = np.arange(n) * len(w) // n
    size = np.linalg.norm(w, axis=-1) * np.sqrt((a**2).sum(axis=-1) + bias**2)
    if not (size.sum(axis=1) > 0).all():
        raise InputError("the neurons move nothing during some part of the time; leave it out.")
    p = size / size.sum(axis=1, keepdims=True)
    j = _drawn(p, part, draws(key).random(n))
    return Schedule.from_arrays(w[part, j] / p[part, j][:, None], a[part, j], bias[part, j], 1 / n)


def _drawn(p: np.ndarray, part: np.ndarray, u: np.ndarray) -> np.ndarray:
    """A neuron for each piece: where `u` falls among the cumulated probabilities of its part of the time."""
    j, ends = np.empty(len(part), int), np.cumsum(p, axis=1)
    ends /= ends[:, -1:]
    for k in range(len(p)):
        j[part == k] = np.searchsorted(ends[k], u[part == k], side="right")
    return j


def _field(*given: Numbers) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    W, A, b = (doubles(name, value) for name, value in zip("WAb", given, strict=True))
    if W.ndim not in (2, 3) or 0 in W.shape:
        raise InputError(f"W has shape {W.shape}; give neurons as rows (m, d), or (S, m, d) for S parts of the time.")
    for name, array, shape in (("A", A, W.shape), ("b", b, W.shape[:-1])):
        if array.shape != shape:
            raise InputError(f"{name} has shape {array.shape} and W {W.shape}; give {name} the shape {shape}.")
    return (W, A, b) if W.ndim == 3 else (W[None], A[None], b[None])
