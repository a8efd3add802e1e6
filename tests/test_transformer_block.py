"""Attention beside neurons that are no gradient, any attention beside a perceptron, measures side by side."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.app.show import Show
from attnflow.app.state import State
from attnflow.errors import InputError
from attnflow.flows._model_json import decode, encode
from attnflow.models import FeedForward, Perceptron, TransformerBlock
from attnflow.pairsums import Groups

RNG = np.random.default_rng(0)
N, D, K = 5, 3, 4
X = RNG.normal(size=(N, D))
X = X / np.linalg.norm(X, axis=1)[:, None]
MASS = np.array([0.1, 0.15, 0.2, 0.25, 0.3])
S = np.array([[1.0, 0.3, 0.0], [0.3, -0.5, 0.2], [0.0, 0.2, 0.4]])
V, SKEW = RNG.normal(size=(D, D)), RNG.normal(size=(D, D))
W, U, B = RNG.normal(size=(D, K)), RNG.normal(size=(K, D)), RNG.normal(size=K)
OMEGA = np.array([1.0, -0.5, 2.0, 0.7])
GRADIENT = FeedForward((OMEGA[:, None] * U).T, U, B, "tanh")
PERCEPTRON = Perceptron(U, B, OMEGA, "tanh")

# The blocks that have an energy, by name: all are looked at by one program.
BLOCKS = {
    "shifted": af.PerceptronBlock(1.3, PERCEPTRON, shifted=True),
    "shifted, descending": af.PerceptronBlock(1.3, PERCEPTRON, repulsive=True, shifted=True),
    "V = -B": af.PerceptronBlock(perceptron=PERCEPTRON, attention=af.Unnormalized(0.7, B=S, V=-S)),
    "beta times": af.PerceptronBlock(perceptron=PERCEPTRON, attention=af.Unnormalized(0.9, gradient=True)),
    "divided": af.PerceptronBlock(
        perceptron=PERCEPTRON, attention=af.Softmax(0.7, B=S, V=S), softmax_preconditioned=True
    ),
    "transformer": TransformerBlock(af.Unnormalized(0.7), GRADIENT),
    "neurons": TransformerBlock(None, GRADIENT),
    "attention": TransformerBlock(af.Softmax(0.7)),
}


@eqx.filter_jit
def rates(blocks, x, w):
    """Of every block the derivative of its energy along its field, and what the metric says it is, up to its sign."""
    found = {}
    for name, model in blocks.items():
        energy, v = model.energy(), af.models.field(model, 0.0, x, w)
        along = lambda h, e=energy, v=v: e.value(af.Sphere().nearest(x + h * v), w)  # noqa: E731
        metric = jnp.exp(energy.log_metric(x, w))
        found[name] = jax.grad(along)(0.0), jnp.sum(w * metric * jnp.sum(v * v, axis=1))
    return found


def test_energies_rise_or_fall_in_their_metric():
    found = rates(BLOCKS, jnp.asarray(X), jnp.asarray(MASS))
    for name, (rate, wanted) in found.items():
        direction = BLOCKS[name].energy().direction
        assert direction * float(rate) == pytest.approx(float(wanted), rel=1e-9) and float(wanted) > 1e-3, name


def test_the_field_against_loops():
    """Softmax attention with weights and matrices, neurons with any matrices."""
    model = TransformerBlock(af.Softmax(1.1, B=SKEW, V=V), FeedForward(W, U, B))
    v = np.asarray(af.models.field(model, 0.0, jnp.asarray(X), jnp.asarray(MASS)))
    for x, found in zip(X, v, strict=True):
        share = MASS * np.exp(1.1 * X @ SKEW.T @ x)
        force = V @ (share @ X) / share.sum() + W @ np.maximum(U @ x + B, 0)
        np.testing.assert_allclose(found, force - (x @ force) * x, atol=1e-12)
    assert model.clock == "SA" and TransformerBlock(None, GRADIENT).clock == "t"


def test_schedules_are_parameters_and_files_hold_them(tmp_path):
    """Two pieces, the second at rest; a run ends before a jump at its end."""
    layer = FeedForward(*(af.Piecewise([1.0], np.stack([a, 0 * a])) for a in (W, U, B)))
    model = TransformerBlock(af.Softmax(1.0, V=af.Piecewise([1.0], np.stack([V, 0 * V]))), layer)
    steps = {"solver": "rk4", "dt": 0.01, "save": 1}
    run = af.simulate(model, X, t1=1.0, weights=MASS, **steps)
    later = af.simulate(model, X, t1=2.0, weights=MASS, **steps)
    np.testing.assert_allclose(later.final, run.final, rtol=0, atol=1e-13)
    constant = TransformerBlock(af.Softmax(1.0, V=V), FeedForward(W, U, B))
    np.testing.assert_allclose(af.simulate(constant, X, t1=1.0, weights=MASS, **steps).final, run.final, atol=1e-13)
    run.save(tmp_path / "run.nc")
    assert eqx.tree_equal(af.load(tmp_path / "run.nc").model, model)
    with pytest.raises(InputError, match="change with time"):
        model.energy()


def test_old_files_of_the_perceptron_block_are_read():
    """They name beta and the flags; new ones the map."""
    arrays = {}
    fields = {"beta": jnp.asarray(1.3), "perceptron": PERCEPTRON, "repulsive": True, "softmax_preconditioned": False}
    record = {"type": "attnflow.models.perceptron_block.PerceptronBlock"}
    record["fields"] = {name: encode(value, arrays) for name, value in fields.items()}
    old = decode(json.loads(json.dumps(record)), arrays)
    assert eqx.tree_equal(old, af.PerceptronBlock(1.3, PERCEPTRON, repulsive=True)) and old.clock == "USA"
    for model in BLOCKS.values():
        arrays = {}
        assert eqx.tree_equal(decode(encode(model, arrays), arrays), model)


def test_groups_are_measures_by_themselves():
    labels = np.array([0, 1, 0, 1, 1])
    together = TransformerBlock(af.Softmax(1.1, V=V), FeedForward(W, U, B), pairs=Groups(labels))
    alone = TransformerBlock(af.Softmax(1.1, V=V), FeedForward(W, U, B))
    v = np.asarray(af.models.field(together, 0.0, jnp.asarray(X), jnp.asarray(MASS)))
    for k in range(2):
        own = labels == k
        mass = MASS[own] / MASS[own].sum()
        each = af.models.field(alone, 0.0, jnp.asarray(X[own]), jnp.asarray(mass))
        np.testing.assert_allclose(v[own], each, atol=1e-12)
    matrix = np.asarray(together.attention.matrix(jnp.asarray(X), None, pairs=together.pairs))
    np.testing.assert_array_equal(matrix > 0, labels[:, None] == labels)
    assert Groups(labels).T.labels is not None and Groups(labels).reflexive and not Groups(labels).complete
    halves, same = Groups(count=2), Groups([0, 0, 0, 1, 1])
    i = jnp.arange(5)
    np.testing.assert_array_equal(halves.log_weight(i, i, 5, 5), same.log_weight(i, i, 5, 5))


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: TransformerBlock(), "without attention and without neurons"),
        (lambda: TransformerBlock(feed_forward=PERCEPTRON), "give af.models.FeedForward"),
        (lambda: FeedForward(W, U, B[:2]), r"give \(d, m\), \(m, d\) and \(m,\)"),
        (lambda: FeedForward(None, U, B), "W is missing"),
        (lambda: FeedForward(W, U, B).velocity(jnp.ones((2, 4))), "dimension 3 and tokens 4"),
        (lambda: TransformerBlock(None, FeedForward(W, U, B)).energy(), "not parallel"),
        (lambda: TransformerBlock(af.Softmax(1.0), GRADIENT).energy(), "different metrics"),
        (lambda: TransformerBlock(af.Unnormalized(1.0, V=V), GRADIENT).energy(), "V must be B or -B"),
        (lambda: TransformerBlock(af.Unnormalized(1.0), GRADIENT, pairs=af.Causal()).energy(), "every token sees all"),
        (lambda: af.PerceptronBlock(1.0, PERCEPTRON, attention=af.Softmax(1.0)), "and not both"),
        (lambda: af.PerceptronBlock(perceptron=PERCEPTRON), "and not both"),
        (lambda: af.PerceptronBlock(1.0, PERCEPTRON, False, True, shifted=True), "shifted=True is about"),
        (lambda: af.PerceptronBlock(perceptron=PERCEPTRON, attention=af.Unnormalized(1.0), softmax_preconditioned=True),
         "divides by the sum"),
        (lambda: af.PerceptronBlock(1.0, PERCEPTRON, shifted=1), "neither True nor False"),
        (lambda: Groups([0.5]), "give one integer per token"),
        (lambda: Groups(), r"Groups\(count=4\)"),
        (lambda: af.simulate(af.SelfAttention(beta=1.0, pairs=Groups([0, 1])), X, t1=1.0), "one label per token"),
    ],
)  # fmt: skip
def test_refusals(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        wrong()


def test_the_page_stops_at_jumps():
    """The steps of the page are those of `simulate`, also where a step ends at a jump of the weights."""
    show = Show(State.of({"model": "words", "init": "letters", "n": 80, "d": 3, "dt": 0.25}))
    show.playback.advance(14)
    run = show.playback.run(14)
    np.testing.assert_allclose(show.playback.moment.x, run.final, rtol=0, atol=1e-12)
