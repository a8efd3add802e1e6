"""What every attention map promises through its registry entry, checked for all of them, on all their spaces.

A new entry is picked up by itself. Each map costs two programs: one of its field (everything that needs no time) and
one of its flow with the gradient; the tests feed these with permuted, rotated and split data of the same shape.
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
def field_program(model, x, w):
    batch = jnp.stack([x, x[::-1], 0.5 * x + 0.5 * x[::-1]])
    weights = jnp.stack([w, w[::-1], jnp.full_like(w, 1 / N)])
    single = jnp.float32
    return {
        "field": af.field(model, 0.0, x, w),
        "queries": model.attention(x[1:3], x, w),
        "force": model.force(0.0, x, w),
        "equal": af.field(model, 0.0, x),
        "quarters": af.field(model, 0.0, x, jnp.full_like(w, 1 / N)),
        "batch": jax.vmap(lambda x, w: af.field(model, 0.0, x, w))(batch, weights),
        "loop": jnp.stack([af.field(model, 0.0, x, w) for x, w in zip(batch, weights, strict=True)]),
        "single": af.field(model, 0.0, x.astype(single), w.astype(single)),
    }


def fields(name, space, x=None, w=W):
    return field_program(model_of(name, space), jnp.asarray(cloud(space) if x is None else x), jnp.asarray(w))


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


@pytest.mark.parametrize("name, space", CASES)
def test_queries_other_than_keys(name, space):
    """A few queries read from all keys what they read as tokens; `None` means equal weights."""
    out = fields(name, space)
    np.testing.assert_allclose(out["queries"], out["force"][1:3], rtol=0, atol=1e-12)
    np.testing.assert_allclose(out["equal"], out["quarters"], rtol=0, atol=1e-13)


@pytest.mark.parametrize("name, space", CASES)
def test_vmap_equals_a_loop(name, space):
    out = fields(name, space)
    np.testing.assert_allclose(out["batch"], out["loop"], rtol=0, atol=1e-12)
    assert np.abs(out["batch"][0] - out["batch"][2]).max() > 1e-3


@pytest.mark.parametrize("name, space", CASES)
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
    eager = af.field(model_of(name, space), 0.0, x, w)
    np.testing.assert_allclose(eager, fields(name, space)["field"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ENTRIES)
def test_entry_describes_its_map(name):
    """Every parameter is documented and can be given; the clock is told; unknown ones are refused."""
    entry = ENTRIES[name]
    built = entry.build(**{k: p.default for k, p in entry.params.items()})
    assert isinstance(built, af.AbstractAttention) and built.clock
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
def flow_program(model, x0, w, direction):
    """The run, a loss of its states, and the loss's gradient in tokens and parameters along a direction."""
    goal = jnp.asarray(np.cos(np.arange(N * D)).reshape(N, D))

    def loss(inputs):
        attention, x0 = inputs
        moved = af.SelfAttention(attention, space=model.space, pairs=model.pairs)
        run = af.simulate(moved, x0, ts=TS, weights=w, solver="rk4", dt=0.05, max_steps=64)
        return jnp.sum(goal * run.xs[-1]) + jnp.sum(run.xs[2] ** 3), run

    (value, run), gradient = eqx.filter_value_and_grad(loss, has_aux=True)((model.attention, x0))
    slopes = jax.tree.map(lambda g, d: jnp.sum(g * d), gradient, eqx.filter(direction, eqx.is_inexact_array))
    return value, run, gradient, sum(jax.tree.leaves(slopes))


@pytest.fixture(scope="module")
def flows():
    """Runs by name and data, each computed once."""
    done = {}

    def flow(name, label="plain", x=X, w=W, shift=0.0):
        if (name, label) not in done:
            model = model_of(name)
            arrays, rest = eqx.partition(model.attention, eqx.is_inexact_array)
            direction = jax.tree.map(lambda a: 0.3 * a, arrays)  # a small number, such as a tolerance, stays small
            turn = jnp.asarray(0.5 * np.sin(1.0 + np.arange(N * D)).reshape(N, D))
            arrays = jax.tree.map(lambda a, d: a + shift * d, arrays, direction)
            shifted = af.SelfAttention(eqx.combine(arrays, rest))
            done[name, label] = flow_program(
                shifted, jnp.asarray(x) + shift * turn, jnp.asarray(w), (direction, turn)
            )
        return done[name, label]

    return flow


@pytest.mark.parametrize("name", ON_SPHERE)
def test_tokens_stay_on_the_sphere(flows, name):
    _, run, _, _ = flows(name)
    assert run.xs.shape == (5, N, D) and run.result is af.Outcome.SUCCESSFUL
    np.testing.assert_allclose(np.linalg.norm(run.xs, axis=-1), 1.0, rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.xs[0], X, rtol=0, atol=1e-15)
    assert np.abs(run.xs[-1] - run.xs[0]).max() > 1e-2


@pytest.mark.parametrize("name", [n for n in ON_SPHERE if "permutation" in ENTRIES[n].symmetries])
def test_flows_commute_with_permutations(flows, name):
    permuted = flows(name, "permuted", X[ORDER], W[ORDER])[1]
    np.testing.assert_allclose(permuted.xs, flows(name)[1].xs[:, ORDER], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", [n for n in ON_SPHERE if "rotation" in ENTRIES[n].symmetries])
def test_flows_commute_with_rotations(flows, name):
    rotated = flows(name, "rotated", X @ TURN.T)[1]
    np.testing.assert_allclose(rotated.xs, np.asarray(flows(name)[1].xs) @ TURN.T, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", [n for n in ON_SPHERE if ENTRIES[n].monotone])
def test_declared_energy_is_monotone(flows, name):
    sign = {"increasing": 1, "decreasing": -1}[ENTRIES[name].monotone]
    for run in (flows(name)[1], flows(name, "rotated", X @ TURN.T)[1]):
        changes = sign * np.diff(af.energy(run))
        assert changes.min() >= -1e-12 and changes.max() > 1e-3
        assert af.is_gradient_flow(run.model, D)


def equiangular(run, params):
    """From orthonormal tokens all inner products stay equal; the reduced equation is solved on its own."""
    gram = np.einsum("tid,tjd->tij", run.xs, run.xs)[:, ~np.eye(N, dtype=bool)]
    known = {k: v for k, v in params.items() if k == "beta"}
    predicted = af.equiangular_flow(TS, n=N, kind=run.clock, **known)
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
    run = flows(name, "closed form", start, np.full(N, 1 / N))[1]
    measured, predicted = compare(run, {k: p.default for k, p in entry.params.items()})
    np.testing.assert_allclose(measured, predicted, rtol=0, atol=1e-6)  # rk4 at dt = 0.05


@pytest.mark.parametrize("name", ON_SPHERE)
def test_gradient_through_simulate(flows, name):
    """Reverse mode through the solve, in tokens and parameters, against central differences of the loss."""
    _, _, gradient, slope = flows(name)
    assert all(np.isfinite(g).all() for g in jax.tree.leaves(gradient))
    h = 1e-3
    at = {k: float(flows(name, f"shift {k}", shift=k * h)[0]) for k in (-1, -0.5, 0.5, 1)}
    central = (4 * (at[0.5] - at[-0.5]) / h - (at[1] - at[-1]) / (2 * h)) / 3
    assert float(slope) == pytest.approx(central, rel=1e-6, abs=1e-8)
    assert abs(slope) > 1e-3
