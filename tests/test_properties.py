"""What every attention map promises through its registry entry, checked for all of them, on all their spaces.

A new entry is picked up by itself. A map costs three programs, of its field, its flow and its gradient, which the tests
feed with permuted, rotated and split data of the same shape.
"""

import importlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow import registry
from attnflow.spaces import SPACES
from witness import rotation, weyl

N = D = 4
ENTRIES = registry.entries("attention")
FIRST = [(name, entry.spaces[0]) for name, entry in ENTRIES.items()]
CASES = [(name, space) for name, entry in ENTRIES.items() for space in entry.spaces]
ON_SPHERE = [name for name, entry in ENTRIES.items() if "sphere" in entry.spaces]
W = np.array([0.1, 0.2, 0.3, 0.4])
X = weyl(N, D) + 0.5  # not far from each other, so that some inner products are large
X = X / np.linalg.norm(X, axis=1)[:, None]
TURN, ORDER = rotation(D), np.array([2, 0, 3, 1])
TS = np.linspace(0.0, 1.0, 5)


# Where the default would be no test: on the sphere the best key of a token is itself, unless others tie.
VALUES = {"hardmax": {"tol": 0.9}}


def model_of(name, space="sphere"):
    return af.SelfAttention(ENTRIES[name].build(**VALUES.get(name, {})), space=SPACES[space]())


def cloud(space):
    return X if space == "sphere" else 0.8 * X + 0.1


# The field -----------------------------------------------------------------------------------------------------------


@eqx.filter_jit
def field_program(model, x, w, more):
    """The field; and on a map's first space (`more`) all that has little to do with the space."""
    out = {"field": af.models.field(model, 0.0, x, w)}
    if more:
        batch, weights = jnp.stack([x, 0.5 * x + 0.5 * x[::-1]]), jnp.stack([w, w[::-1]])
        out["queries"] = model.attention(x[1:3], x, w)
        out["force"] = model.force(0.0, x, w)
        out["equal"] = af.models.field(model, 0.0, x)
        out["batch"] = jax.vmap(lambda x, w: af.models.field(model, 0.0, x, w))(batch, weights)
        out["single"] = af.models.field(model, 0.0, x.astype(jnp.float32), w.astype(jnp.float32))
    return out


def fields(name, space, x=None, w=W):
    x = jnp.asarray(cloud(space) if x is None else x)
    return field_program(model_of(name, space), x, jnp.asarray(w), space == ENTRIES[name].spaces[0])


@pytest.mark.parametrize("name, space", CASES)
def test_the_field_is_finite_and_moves(name, space):
    v = np.asarray(fields(name, space)["field"])
    assert v.shape == (N, D) and v.dtype == np.float64
    assert np.isfinite(v).all() and np.abs(v).max() > 1e-3
    if space == "sphere":  # tangent
        np.testing.assert_allclose(np.sum(v * X, axis=1), 0.0, rtol=0, atol=1e-14)


def having(symmetry):
    return [case for case in CASES if symmetry in ENTRIES[case[0]].symmetries]


@pytest.mark.parametrize("name, space", having("permutation"))
def test_permutation(name, space):
    permuted = fields(name, space, cloud(space)[ORDER], W[ORDER])["field"]
    np.testing.assert_allclose(permuted, fields(name, space)["field"][ORDER], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name, space", having("rotation"))
def test_rotation(name, space):
    rotated = fields(name, space, cloud(space) @ TURN.T)["field"]
    np.testing.assert_allclose(rotated, np.asarray(fields(name, space)["field"]) @ TURN.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name, space", having("splitting"))
def test_splitting_a_weight(name, space):
    """Tokens 2 and 3 coincide: how their common weight is shared between them (or not at all) changes nothing."""
    x = cloud(space).copy()
    x[3] = x[2]
    shared = fields(name, space, x, [0.1, 0.2, 0.3, 0.4])["field"]
    one = fields(name, space, x, [0.1, 0.2, 0.7, 0.0])["field"]
    other = fields(name, space, x, [0.1, 0.2, 0.0, 0.7])["field"]
    np.testing.assert_allclose(one, shared, rtol=0, atol=1e-12)
    np.testing.assert_allclose(other, shared, rtol=0, atol=1e-12)
    np.testing.assert_allclose(shared[2], shared[3], rtol=0, atol=1e-12)
    moved = fields(name, space, x, [0.2, 0.1, 0.3, 0.4])["field"]
    assert np.abs(moved - shared).max() > 1e-4  # the test sees weights


@pytest.mark.parametrize("name, space", FIRST)
def test_queries_other_than_keys(name, space):
    """A few queries read from all keys what they read as tokens; `None` means equal weights."""
    out = fields(name, space)
    np.testing.assert_allclose(out["queries"], out["force"][1:3], rtol=0, atol=1e-12)
    quarters = fields(name, space, w=np.full(N, 1 / N))
    np.testing.assert_allclose(out["equal"], quarters["field"], rtol=0, atol=1e-13)


@pytest.mark.parametrize("name, space", FIRST)
def test_vmap_equals_a_loop(name, space):
    x = cloud(space)
    loop = [fields(name, space)["field"], fields(name, space, 0.5 * x + 0.5 * x[::-1], W[::-1])["field"]]
    np.testing.assert_allclose(fields(name, space)["batch"], np.stack(loop), rtol=0, atol=1e-12)
    assert np.abs(loop[0] - loop[1]).max() > 1e-3


@pytest.mark.parametrize("name, space", FIRST)
def test_precision_is_kept(name, space):
    """float32 tokens with the map's float64 parameters: a float32 field, right to single precision."""
    out = fields(name, space)
    assert out["single"].dtype == jnp.float32 and out["field"].dtype == jnp.float64
    if name != "hardmax":  # near a tie single precision may choose another key
        np.testing.assert_allclose(out["single"], out["field"], rtol=0, atol=2e-5)


@pytest.mark.parametrize("name", ENTRIES)
def test_compiled_equals_eager(name):
    space = ENTRIES[name].spaces[0]
    x, w = jnp.asarray(cloud(space)), jnp.asarray(W)
    eager = af.models.field(model_of(name, space), 0.0, x, w)
    np.testing.assert_allclose(eager, fields(name, space)["field"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ENTRIES)
def test_entry_describes_its_map(name):
    """Every parameter is documented and accepted; the clock is named; unknown parameters are refused."""
    entry = ENTRIES[name]
    built = entry.build(**{k: p.default for k, p in entry.params.items()})
    assert isinstance(built, af.attention.AbstractAttention) and built.clock
    assert entry.summary and entry.name == name and entry.kind == "attention"
    assert set(entry.symmetries) <= {"permutation", "rotation", "splitting"} and set(entry.spaces) <= set(SPACES)
    for key, param in entry.params.items():
        assert param.help, key
        if param.bounds is not None:
            assert param.bounds[0] <= param.default <= param.bounds[1]
            with pytest.raises(af.errors.InputError, match=rf"{key} = .* is outside .*\.$"):
                entry.build(**{key: type(param.default)(param.bounds[1] + 1)})
    with pytest.raises(af.errors.InputError, match=r"has no parameter 'colour'.*\.$"):
        entry.build(colour=1.0)


# The flow on the sphere ----------------------------------------------------------------------------------------------


@eqx.filter_jit
def flow_program(attention, x0, w):
    return af.simulate(af.SelfAttention(attention), x0, ts=TS, weights=w, solver="rk4", dt=0.05, max_steps=64)


@pytest.fixture(scope="module")
def flows():
    """Runs by name and data, each computed once."""
    done = {}

    def flow(name, label="plain", x=X, w=W):
        if (name, label) not in done:
            done[name, label] = flow_program(model_of(name).attention, jnp.asarray(x), jnp.asarray(w))
        return done[name, label]

    return flow


@pytest.mark.parametrize("name", ON_SPHERE)
def test_tokens_stay_on_the_sphere(flows, name):
    run = flows(name)
    assert run.xs.shape == (5, N, D) and run.result is af.Outcome.SUCCESSFUL
    np.testing.assert_allclose(np.linalg.norm(run.xs, axis=-1), 1.0, rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.xs[0], X, rtol=0, atol=1e-15)
    assert np.abs(run.xs[-1] - run.xs[0]).max() > 1e-2


@pytest.mark.parametrize("name", [n for n in ON_SPHERE if "permutation" in ENTRIES[n].symmetries])
def test_flows_commute_with_permutations(flows, name):
    permuted = flows(name, "permuted", X[ORDER], W[ORDER])
    np.testing.assert_allclose(permuted.xs, flows(name).xs[:, ORDER], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", [n for n in ON_SPHERE if "rotation" in ENTRIES[n].symmetries])
def test_flows_commute_with_rotations(flows, name):
    rotated = flows(name, "rotated", X @ TURN.T)
    np.testing.assert_allclose(rotated.xs, np.asarray(flows(name).xs) @ TURN.T, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", [n for n in ON_SPHERE if ENTRIES[n].monotone])
def test_declared_energy_is_monotone(flows, name):
    sign = {"increasing": 1, "decreasing": -1}[ENTRIES[name].monotone]
    for run in (flows(name), flows(name, "rotated", X @ TURN.T)):
        changes = sign * np.diff(af.energy(run))
        assert changes.min() >= -1e-12 and changes.max() > 1e-3
        assert af.diagnostics.is_gradient_flow(run.model, D)


def equiangular(run, params):
    """From orthonormal tokens all inner products stay equal; the reduced equation is solved on its own."""
    gram = np.einsum("tid,tjd->tij", run.xs, run.xs)[:, ~np.eye(N, dtype=bool)]
    known = {k: v for k, v in params.items() if k == "beta"}
    predicted = af.reductions.equiangular_flow(TS, n=N, clock=run.clock, **known)
    return gram, np.broadcast_to(np.asarray(predicted)[:, None], gram.shape)


# How to check a closed form: initial tokens, and (measured, predicted) from a run. A new closed form comes with a line.
CLOSED_FORMS = {"attnflow.reductions.equiangular:equiangular_flow": (np.eye(N, D), equiangular)}


@pytest.mark.parametrize("name", [n for n in ON_SPHERE if ENTRIES[n].closed_form])
def test_closed_form_equals_particles(flows, name):
    entry = ENTRIES[name]
    module, function = entry.closed_form.split(":")
    assert callable(getattr(importlib.import_module(module), function))
    if entry.closed_form not in CLOSED_FORMS:
        pytest.fail(f"{name} declares the closed form {entry.closed_form}: add how to check it to CLOSED_FORMS.")
    start, compare = CLOSED_FORMS[entry.closed_form]
    run = flows(name, "closed form", start, np.full(N, 1 / N))
    measured, predicted = compare(run, {k: p.default for k, p in entry.params.items()})
    np.testing.assert_allclose(measured, predicted, rtol=0, atol=1e-6)  # rk4 at dt = 0.05


# Gradients -----------------------------------------------------------------------------------------------------------

GOAL = np.cos(np.arange(N * D)).reshape(N, D)
TOWARDS = 0.5 * np.sin(1.0 + np.arange(N * D)).reshape(N, D)


@eqx.filter_jit
def slope_program(states, attention, x, h, towards):
    """The loss sum(GOAL * states) at a point moved by h along a direction, its gradient, its slope along it."""
    arrays, rest = eqx.partition(attention, eqx.is_inexact_array)
    direction = (jax.tree.map(lambda a: 0.3 * a, arrays), towards)  # what is small, such as a tolerance, stays small
    here = jax.tree.map(lambda a, d: a + h * d, (arrays, x), direction)

    def loss(inputs):
        return jnp.sum(jnp.asarray(GOAL) * states(eqx.combine(inputs[0], rest), inputs[1]))

    value, gradient = jax.value_and_grad(loss)(here)
    slopes = jax.tree.map(lambda g, d: jnp.sum(g * d), gradient, direction)
    return value, gradient, sum(jax.tree.leaves(slopes))


def check_gradient(states, attention, x):
    """Reverse mode in tokens and parameters against central differences, Richardson's, of the loss."""

    def at(h):
        return slope_program(states, attention, jnp.asarray(x), jnp.asarray(h), jnp.asarray(TOWARDS))

    h = 1e-3
    _, gradient, slope = at(0.0)
    assert all(np.isfinite(g).all() for g in jax.tree.leaves(gradient))
    values = {k: float(at(k * h)[0]) for k in (-1, -0.5, 0.5, 1)}
    central = (4 * (values[0.5] - values[-0.5]) / h - (values[1] - values[-1]) / (2 * h)) / 3
    assert float(slope) == pytest.approx(central, rel=1e-6, abs=1e-8)
    assert abs(slope) > 1e-3


def field_on_sphere(attention, x):
    return af.models.field(af.SelfAttention(attention), 0.0, x, jnp.asarray(W))


def field_in_space(attention, x):
    return af.models.field(af.SelfAttention(attention, space=af.Euclidean()), 0.0, x, jnp.asarray(W))


def final_state(attention, x):
    return af.simulate(af.SelfAttention(attention), x, ts=TS[-2:], weights=jnp.asarray(W)).xs[-1]


@pytest.mark.parametrize("name, space", FIRST)
def test_gradient_of_the_field(name, space):
    states = field_on_sphere if space == "sphere" else field_in_space
    check_gradient(states, model_of(name, space).attention, cloud(space))


@pytest.mark.parametrize("name", ["softmax", "sinkhorn"])
def test_gradient_through_simulate(name):
    """Through the default adaptive solver; Sinkhorn's iterations are warm there, and not differentiated as such."""
    check_gradient(final_state, model_of(name).attention, X)
