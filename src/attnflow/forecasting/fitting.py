"""From windows and options to trained networks: candidates are tried, and the chosen one is trained."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..spaces import generator
from . import candidates, network, rollout
from .candidates import Candidate
from .levenberg_marquardt import finish
from .losses import Base, Data
from .network import Form
from .training import Held, Plan, Result, score, train
from .windows import Piece, stream, windows

TRIED = 3  # candidates are compared after a third of the steps


class Options(NamedTuple):
    """What a training is told, beside its data."""

    form: Form
    ahead: int
    steps: int
    lr: float
    noise: float
    decay: float
    batch: int
    seeds: int
    key: Any
    second_order: bool
    show: bool


class Trained(NamedTuple):
    """Networks of all seeds, in float64, with their linear part and their roll-out errors on what was held back."""

    theta: np.ndarray
    base: Base
    errors: np.ndarray
    losses: np.ndarray
    scores: np.ndarray
    network: bool
    steps: int  # after which the best parameters were found, the median over the seeds


class Fitting:
    """Trainings on some stretches of data, which are normalised already."""

    def __init__(self, options: Options, kept: list[Piece], held: Held | None, tol: float | None = None):
        self.options, self.held = options, held
        self._kept, form = kept, options.form
        self._stream, self._places = _reversed(kept, form.m, options.ahead)
        self.n = len(self._places)
        states = self._stream[:, : form.d]
        self._increments = states[self._places - 1] - states[self._places]
        self.tol, self._linear = tol, None

    def base(self, candidate: Candidate) -> Base:
        """The linear part, and the scale of what is left to the network."""
        form = self.options.form
        if not candidate.linear:
            return candidates.without_linear_part(self._increments, form.m * form.c)
        if self._linear is None:
            given = windows(self._kept, form.m, most=candidates.MOST_ROWS)
            self._linear, self.tol, _ = candidates.linear_part(given, form, self.held, self.tol)
        return self._linear if candidate.network else candidates.alone(self._linear)

    def tried(self, candidate: Candidate) -> np.ndarray:
        """The roll-out error of every seed after a short training."""
        if not candidate.network:
            assert self.held is not None
            return np.full(1, candidates.alone_error(self.base(candidate), self.options.form, self.held))
        return self.trained(candidate, -(-self.options.steps // TRIED), second_order=False).errors

    def trained(self, candidate: Candidate, steps: int | None = None, *, second_order: bool | None = None) -> Trained:
        """All seeds, at once; a network that has nothing to learn is not trained."""
        o, base = self.options, self.base(candidate)
        steps = o.steps if steps is None else steps
        streams = generator(o.key).spawn(o.seeds)
        if not (base.s > 0).any():
            theta = np.zeros((o.seeds, o.form.size))
            empty = np.full((0, o.seeds), np.nan)
            return Trained(theta, base, self._errors(theta, base), empty, empty, False, 0)
        weights = candidates.window_weights(candidate.loss, self._increments)
        with jax.enable_x64(False):
            theta = np.stack([network.initial(own, o.form) for own in streams])
            result = train(
                jnp.asarray(theta, jnp.float32),
                _keys(streams),
                self._data(weights),
                Base(*(jnp.asarray(a, jnp.float32) for a in base)),
                _single(self.held, o.form),
                Plan(jnp.asarray(steps), *(jnp.asarray(a, jnp.float32) for a in (o.lr, o.noise, o.decay))),
                form=o.form,
                batch=o.batch,
                ahead=o.ahead,
                noisy=o.noise > 0,
                held_back=self.held is not None,
                show=o.show,
            )
            result = Result(*(np.asarray(a) for a in result))
        theta = result.theta.astype(float)
        if o.second_order if second_order is None else second_order:
            theta = self._finished(theta, base, weights)
        looks = int(result.looks)
        return Trained(
            theta,
            base,
            self._errors(theta, base),
            result.losses[:looks].astype(float),
            result.scores[:looks].astype(float),
            True,
            _steps_needed(result, steps),
        )

    def _finished(self, theta: np.ndarray, base: Base, weights: np.ndarray) -> np.ndarray:
        """Second-order steps; of every seed the better of before and after, if something is held back."""
        given = windows(self._kept, self.options.form.m, self.options.ahead)
        after = finish(theta, base, given.tokens, given.future, weights, self.options.form)
        if self.held is None:
            return after
        better = self._errors(after, base) < self._errors(theta, base)
        return np.where(better[:, None], after, theta)

    def _errors(self, theta: np.ndarray, base: Base) -> np.ndarray:
        """In float64, as forecasts are."""
        if self.held is None:
            return np.full(len(theta), np.nan)
        with rollout.double():
            arrays = Base(*(jnp.asarray(a) for a in base))
            held = Held(*(jnp.asarray(a) for a in self.held))
            return np.asarray(score(jnp.asarray(theta), arrays, held, form=self.options.form))

    def _data(self, weights: np.ndarray) -> Data:
        """In float32, padded: data sets of about one length share a program."""
        n, rows = rollout.rounded_up(self.n), rollout.rounded_up(len(self._stream))
        return Data(
            jnp.asarray(np.pad(self._stream, ((0, rows - len(self._stream)), (0, 0))), jnp.float32),
            jnp.asarray(np.pad(self._places, (0, n - self.n), mode="edge"), jnp.int32),
            jnp.asarray(np.pad(weights, (0, n - self.n)), jnp.float32),
            jnp.asarray(self.n, jnp.int32),
        )


def _steps_needed(result: Result, steps: int) -> int:
    """After how many steps the roll-outs were best; all, where the last ones were as good up to chance."""
    looks, of_all = int(result.looks), len(result.losses)
    if looks == of_all and np.median(result.score) > candidates.GAIN * np.median(result.scores[looks - 1]):
        return steps
    return int(np.ceil((np.median(result.look) + 1) * steps / of_all))


def _keys(streams: list[np.random.Generator]) -> Any:
    """A random key for the batches of every run, of the kind that is compiled and drawn fastest."""
    words = np.stack([own.integers(0, 1 << 32, 4, np.uint32) for own in streams])
    return jax.random.wrap_key_data(jnp.asarray(words), impl="unsafe_rbg")


def _single(held: Held | None, form: Form) -> Held:
    if held is None:
        shapes = ((1, form.m, form.c), (1, 1, form.d), (1, 1, form.c - form.d), (1, 1), (1,))
        return Held(*(jnp.zeros(shape, jnp.float32) for shape in shapes))
    return Held(*(jnp.asarray(a, jnp.float32) for a in held))


def _reversed(kept: list[Piece], m: int, ahead: int) -> tuple[np.ndarray, np.ndarray]:
    """All tokens, the latest first, and the rows of the newest token of every window, in the order of `windows`."""
    rows = [stream(piece)[::-1] for piece in kept]
    places, start = [], 0
    for piece, own in zip(kept, rows, strict=True):
        # Window i of a piece ends at its row i + m - 1.
        places.append(start + len(own) - 1 - np.arange(m - 1, len(piece) - ahead))
        start += len(own)
    return np.concatenate(rows), np.concatenate(places)


def normalised(piece: Piece, mean: np.ndarray, std: np.ndarray) -> Piece:
    d = piece.x.shape[1]
    return Piece((piece.x - mean[:d]) / std[:d], (piece.u - mean[d:]) / std[d:], piece.trajectory, piece.last)
