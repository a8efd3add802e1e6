r"""Training of the classifier on token ids: one compiled program for an epoch, another for the evaluation.

Binary cross-entropy, Adam, gradients clipped by their norm, $\alpha$ kept $\ge 0$ after every step. The start, the
order of the reviews and all else follow from `key`. On a GPU sums over repeated words come in any order, so that two
runs differ in the last digits, unless XLA is deterministic (`XLA_FLAGS=--xla_gpu_deterministic_ops=true`).
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ...checks import flag, whole
from ...errors import InputError
from ...spaces import Key, Numbers, key_or_fixed
from ._progress import TrainingProgress
from .layers import PADDING, Parameters, initial, logits

SETS, MAPS = ("train", "test"), ("softmax", "hardmax")


class Form(NamedTuple):
    """What a compiled program depends on, beside the shapes of its arrays."""

    layers: int
    temperature: float
    batch: int
    masked: bool


class Settings(NamedTuple):
    """How the classifier is built and trained; the defaults are the paper's."""

    layers: int = 8
    temperature: float = 1e-3
    learning_rate: float = 1e-3
    batch: int = 64
    clip: float = 5.0
    masked: bool = False

    @property
    def form(self) -> Form:
        return Form(self.layers, self.temperature, self.batch, self.masked)


class Trained(NamedTuple):
    """The parameters, the settings, and the history: columns by name, a row for each evaluation.

    Columns: `epoch` (passes through the data done, 0 is the start), `alpha`, and
    `{train,test}_{loss,accuracy}_{softmax,hardmax}`.
    """

    parameters: Parameters
    settings: Settings
    history: dict[str, np.ndarray]

    def best(self, map: str = "hardmax") -> tuple[float, int]:
        """The largest accuracy on the test reviews, and after how many epochs."""
        accuracy = self.history[f"test_accuracy_{map}"]
        return float(accuracy.max()), int(self.history["epoch"][accuracy.argmax()])


def train_ids(
    ids: Numbers,
    labels: Numbers,
    test_ids: Numbers,
    test_labels: Numbers,
    *,
    vocabulary: int | None = None,
    d: int = 2,
    epochs: int = 101,
    key: Key | None = None,
    look_every: int = 1,
    progress: bool = False,
    dtype: Any = "float32",
    **settings: Any,
) -> Trained:
    """Train the classifier on reviews given as token ids `(reviews, length)`, padded with 0, and labels 0 or 1.

    **Arguments:** `vocabulary`, how many rows the embedding has (by default the largest id plus one); `d`, its
    dimension; `look_every`, after how many epochs loss and accuracy are measured on both sets, with softmax and with
    hardmax; `settings`, see `Settings` (`layers`, `temperature`, `learning_rate`, `batch`, `clip`, `masked`).

    **Returns** a `Trained`.
    """
    chosen = _settings(settings)
    train, test = _checked("ids", ids, "labels", labels), _checked("test_ids", test_ids, "test_labels", test_labels)
    if train[0].shape[1] != test[0].shape[1]:
        raise InputError(
            f"ids has {train[0].shape[1]} columns and test_ids {test[0].shape[1]}; pad both to one length."
        )
    most = int(max(train[0].max(), test[0].max())) + 1
    vocabulary = most if vocabulary is None else vocabulary
    if vocabulary < most:
        raise InputError(f"vocabulary = {vocabulary}, but the ids reach {most - 1}; give at least {most}.")
    for name, value, least in (("d", d, 1), ("epochs", epochs, 0), ("look_every", look_every, 1)):
        whole(name, value, least)

    start, shuffles = jax.random.split(key_or_fixed(key))
    parameters = initial(vocabulary, d, key=start, dtype=jnp.dtype(dtype))
    rates = jnp.asarray([chosen.learning_rate, chosen.clip], parameters.b.dtype)
    state = _optimizer(rates).init(parameters)
    reviews = jnp.asarray(train[0]), jnp.asarray(train[1], parameters.b.dtype)
    everything, labels_of = jnp.asarray(np.concatenate([train[0], test[0]])), {"train": train[1], "test": test[1]}
    rows = [_look(0, parameters, everything, labels_of, chosen)]
    with TrainingProgress(epochs, flag("progress", progress)) as show:
        show(rows[-1])
        for epoch in range(1, epochs + 1):
            shuffle = jax.random.fold_in(shuffles, epoch)
            parameters, state = _epoch(parameters, state, shuffle, rates, *reviews, form=chosen.form)
            if epoch % look_every == 0 or epoch == epochs:
                rows.append(_look(epoch, parameters, everything, labels_of, chosen))
                show(rows[-1])
    history = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return Trained(jax.tree.map(np.asarray, parameters), chosen, history)


def _optimizer(rates: Any) -> optax.GradientTransformation:
    learning_rate, clip = rates
    return optax.chain(optax.clip_by_global_norm(clip), optax.adam(learning_rate))


@functools.partial(jax.jit, static_argnames="form", donate_argnames=("parameters", "state"))
def _epoch(parameters: Parameters, state: Any, key: Any, rates: Any, ids: Any, labels: Any, *, form: Form) -> Any:
    """One pass through the reviews in a random order; the last batch holds what is left."""
    optimizer = _optimizer(rates)
    order, weights = _batches(jax.random.permutation(key, len(ids)), form.batch, labels.dtype)

    def loss(parameters, chosen, w):
        scores = logits(parameters, ids[chosen], layers=form.layers, temperature=form.temperature, masked=form.masked)
        return jnp.sum(w * optax.sigmoid_binary_cross_entropy(scores, labels[chosen])) / jnp.sum(w)

    def step(carry, batch):
        parameters, state = carry
        slope = jax.grad(loss)(parameters, *batch)
        with jax.numpy_dtype_promotion("standard"):  # Adam raises a number to the power of a whole number
            updates, state = optimizer.update(slope, state)
        parameters = Parameters(*jax.tree.map(jnp.add, parameters, updates))
        return (parameters._replace(alpha=jnp.maximum(parameters.alpha, 0)), state), None

    return jax.lax.scan(step, (parameters, state), (order, weights))[0]


def _batches(order: Any, size: int, dtype: Any) -> tuple[Any, Any]:
    """Indices in rows of `size`, and weights that are 0 where the last row was filled up."""
    rows = -(-len(order) // size)
    fill = rows * size - len(order)
    weights = jnp.ones(len(order), dtype)
    return jnp.pad(order, (0, fill)).reshape(rows, size), jnp.pad(weights, (0, fill)).reshape(rows, size)


def _look(epoch: int, parameters: Parameters, ids: Any, labels: dict[str, np.ndarray], settings: Settings) -> Any:
    """Loss and accuracy, by set and map; `ids` are those of all sets, one after the other."""
    row = {"epoch": epoch, "alpha": float(parameters.alpha)}
    logits_of = _under_both_maps(parameters, ids, form=settings.form)
    ends = np.cumsum([len(own) for own in labels.values()])[:-1]
    for kind, values in zip(MAPS, np.asarray(logits_of, np.float64), strict=True):
        for (name, target), own in zip(labels.items(), np.split(values, ends), strict=True):
            row[f"{name}_loss_{kind}"] = float(np.mean(np.logaddexp(0, own) - target * own))
            row[f"{name}_accuracy_{kind}"] = float(np.mean((own > 0) == (target > 0.5)))
    return row


@functools.partial(jax.jit, static_argnames="form")
def _under_both_maps(parameters: Parameters, ids: Any, *, form: Form) -> Any:
    return jnp.stack([_scores(parameters, ids, form, temperature) for temperature in (form.temperature, 0.0)])


def scores(parameters: Parameters, ids: np.ndarray, *, settings: Settings, temperature: float = 0.0) -> np.ndarray:
    """The logits of any number of reviews."""
    # Rounded up to a power of two batches, so that another number of reviews rarely compiles another program.
    batches = -(-len(ids) // settings.batch)
    rows = settings.batch * (1 << (batches - 1).bit_length())
    filled = np.pad(ids, ((0, rows - len(ids)), (0, 0)))
    return np.asarray(_jitted_scores(parameters, jnp.asarray(filled), settings.form, temperature))[: len(ids)]


def _scores(parameters: Parameters, ids: Any, form: Form, temperature: float) -> Any:
    """A batch at a time."""
    order, _ = _batches(jnp.arange(len(ids)), form.batch, parameters.b.dtype)
    how = {"layers": form.layers, "temperature": temperature, "masked": form.masked}
    return jax.lax.map(lambda chosen: logits(parameters, ids[chosen], **how), order).reshape(-1)[: len(ids)]


_jitted_scores = jax.jit(_scores, static_argnums=(2, 3))


def _settings(arguments: dict[str, Any]) -> Settings:
    unknown = sorted(set(arguments) - set(Settings._fields))
    if unknown:
        raise InputError(f"setting {unknown[0]!r} is unknown; there are: {', '.join(Settings._fields)}.")
    chosen = Settings(**arguments)
    chosen = chosen._replace(**{name: whole(name, getattr(chosen, name)) for name in ("layers", "batch")})
    for name in ("temperature", "learning_rate", "clip"):
        value = getattr(chosen, name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
            raise InputError(f"{name} = {value!r}; give a positive number.")
    return chosen._replace(masked=flag("masked", chosen.masked))


def _checked(name: str, ids: Any, label_name: str, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers in a table and a label of 0 or 1 for each row; anything else is refused in a sentence."""
    table, marks = np.asarray(ids), np.asarray(labels)
    if table.ndim != 2 or 0 in table.shape or table.dtype.kind not in "iu":
        raise InputError(
            f"{name} has shape {table.shape} and type {table.dtype}; give whole numbers (reviews, length)."
        )
    if table.min() < PADDING:
        raise InputError(f"{name} holds {table.min()}; token ids start at 0, which is the padding.")
    if marks.shape != table.shape[:1]:
        raise InputError(
            f"{label_name} has shape {marks.shape}, but there are {len(table)} reviews; give one for each."
        )
    if not np.isin(marks, (0, 1)).all():
        raise InputError(f"{label_name} holds {marks[~np.isin(marks, (0, 1))][0]!r}; give 0 or 1.")
    return table.astype(np.int32), marks.astype(np.int32)
