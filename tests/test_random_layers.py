"""Random layers, their limits, the noise common to all tokens; rows B-1 to B-7 and B-10."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.app.state import State
from attnflow.errors import InputError
from attnflow.experiments.homogenized import scalings, two_tokens
from attnflow.experiments.homogenized.scalings.witness import backward, coefficients
from attnflow.experiments.homogenized.two_tokens.starts import last_states, nearly
from attnflow.flows._random_models import typed
from attnflow.flows._trailing_vmap import trailing_vmap
from attnflow.models import AveragedAttention
from attnflow.models._random import orthonormal_frame
from attnflow.models.homogenized import _root
from attnflow.models.two_token_covariance import two_token_covariance
from attnflow.settings import build, complete
from judging import computed, holds

WEIGHTS = np.array([0.5, 0.2, 0.3])


def tokens(n, d, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1)[:, None]


# What two tokens read ------------------------------------------------------------------------------------------------


def test_the_covariance_of_two_tokens():
    """Row B-1, the printed integrals, and the ends."""
    covariance = jax.jit(two_token_covariance)
    q = np.array([-1.0, -0.95, -0.5, 0.0, 0.3, 0.9, 1.0])
    np.testing.assert_allclose(np.stack(covariance(q, 1.5))[:, 4], [0.7730, 0.6850], atol=1e-4)
    for beta in (0.7, 2.0):
        np.testing.assert_allclose(covariance(q, beta), coefficients(q, beta), atol=2e-9)
    g = np.linspace(-9, 9, 20001)
    density = np.exp(-g * g / 2) / np.exp(-g * g / 2).sum()
    ends = np.sum(density * np.tanh(8 * g) ** 2)
    np.testing.assert_allclose(np.stack(covariance(q, 8.0))[:, [0, -1]], [[ends, 1], [-ends, 1]], atol=1e-8)
    np.testing.assert_array_equal(np.stack(covariance(q, 3.0))[:, -1], [1.0, 1.0])
    np.testing.assert_allclose(covariance(q, 0.0), [(1 + q) / 2] * 2, atol=1e-15)
    # Attention that takes the greatest score: tanh is a sign, and signs of logits correlated by -q agree on average
    # (2/π) arcsin(-q). The rule of midpoints is then of first order.
    together = (1 + q) / 2 + (1 - q) / np.pi * np.arcsin(q)
    np.testing.assert_allclose(covariance(q, 1e5), [np.ones(7), together], atol=0.01)


def test_how_the_limit_computes_its_covariance():
    """Its root has a derivative where rounding leaves nothing; a large beta, which no quadrature resolves, samples."""
    assert jax.grad(_root)(0.0) == 0 and jax.grad(_root)(0.25) == 1
    assert [af.HomogenizedSDE(b).nodes for b in (1.0, 8.0, 100.0)] == [32, 64, 0]


def test_a_frame_of_nearby_and_equal_tokens():
    x = np.concatenate([tokens(3, 6), nearly(1, 1e-20, 6), tokens(1, 6)])
    frame = np.asarray(orthonormal_frame(jnp.asarray(x)))
    coordinates = x @ frame.T
    np.testing.assert_allclose(coordinates @ coordinates.T, x @ x.T, atol=1e-14)
    np.testing.assert_allclose(coordinates[3] - coordinates[4], frame @ (x[3] - x[4]), atol=1e-15)


# One layer -----------------------------------------------------------------------------------------------------------


def layer_as_printed(x, w, V, B, beta, scale, causal=False):
    """Head by head and token by token; `w` weighs the keys."""
    moved = np.zeros_like(x)
    for V_h, B_h in zip(V, B, strict=True):
        for i in range(len(x)):
            A = w * np.exp(beta * x @ B_h.T @ x[i])
            A = np.where(np.arange(len(x)) <= i, A, 0) if causal else A
            moved[i] += scale * V_h @ (A / A.sum() @ x)
    y = x + moved
    return y / np.linalg.norm(y, axis=1)[:, None]


def drawn(key, k, H, d, frame=None, rank=None):
    """The matrices V and B of layer `k`, as the model says that it draws them, also in a frame, or of low rank."""
    r = d if frame is None else len(frame)
    sizes = np.cumsum([r * r] if rank is None else [r * rank, rank * r])
    numbers = np.asarray(jax.random.normal(jax.random.fold_in(key, k), (H, sizes[-1] + r * d)))
    *scores, V = np.split(numbers, sizes, axis=1)
    if rank is None:
        B = scores[0].reshape(H, r, r)
    else:
        B = scores[0].reshape(H, r, rank) @ scores[1].reshape(H, rank, r) / np.sqrt(rank)
    E = np.eye(d) if frame is None else frame
    return np.swapaxes(V.reshape(H, r, d), 1, 2) @ E, E.T @ B @ E


def test_a_layer_is_the_formula(key):
    """Layer 5 of two members of an ensemble, innermost: heads, weights of tokens; the mean of the mixed scaling."""
    mixed, plain = (
        af.RandomLayers(beta=1.3, heads=2, eta=0.2, sigma_V=0.8, combine="sqrt", **options)
        for options in ({"scaling": "mixed", "mean": 0.7}, {})
    )
    keys, scale = jax.random.split(key), 0.2 / 2**0.5
    x = np.stack([tokens(3, 3, seed) for seed in range(2)])

    def layer(x, key):
        force = [m.force(5 * m.dt, x, jnp.asarray(WEIGHTS), key=key, kernel="broadcast") for m in (mixed, plain)]
        return [mixed.space.retract(x, mixed.dt * f) for f in force]

    layers = jax.jit(lambda x, keys: trailing_vmap(layer, (x, keys), (True, True)))
    for actual, mean in zip(layers(np.moveaxis(x, 0, -1), keys), (0.7 * scale, 0.0), strict=True):
        for r in range(2):
            V, B = drawn(keys[r], 5, 2, 3)
            expected = layer_as_printed(x[r], WEIGHTS, mean * np.eye(3) + 0.8 * V, B, 1.3, scale)
            np.testing.assert_allclose(actual[..., r], expected, atol=1e-13)


def test_a_layer_of_projected_weights_is_the_formula(key):
    """In the frame E of the tokens it draws EBEᵀ and VEᵀ. Heads of low rank; causal; the deterministic scaling."""
    x, rank = tokens(3, 4), 2
    model = af.RandomLayers(
        1.3, heads=2, eta=0.2, mean=-0.5, rank=rank, scaling="deterministic", draw="projected", pairs=af.Causal()
    )
    Q, R = np.linalg.qr(x.T)
    V, B = drawn(key, 0, 2, 4, frame=(Q * np.sign(np.diag(R))).T, rank=rank)
    expected = layer_as_printed(x, np.ones(3), -0.5 * np.eye(4) + V / 2, B, 1.3, 0.1, causal=True)
    layer = jax.jit(lambda x: model.space.retract(x, model.dt * model.force(0.0, x, None, key=key, kernel="dense")))
    np.testing.assert_allclose(layer(x), expected, atol=1e-13)


def test_the_time_of_a_layer_and_the_limits():
    step = {
        ("mean", "stochastic"): 0.2**2 / 4,
        ("mean", "mixed"): 0.2**2 / 4,
        ("mean", "deterministic"): 0.2,
        ("sqrt", "stochastic"): 0.2**2,
        ("sqrt", "mixed"): 0.2**2,
        ("sqrt", "deterministic"): 0.4,
    }
    for (combine, scaling), dt in step.items():
        model = af.RandomLayers(beta=1.0, heads=4, eta=0.2, combine=combine, scaling=scaling)
        assert float(model.dt) == pytest.approx(dt, rel=1e-14)
        limit = model.limit(samples=8)
        if scaling == "deterministic":
            assert isinstance(limit, AveragedAttention) and limit.samples == 8
        else:
            assert isinstance(limit, af.HomogenizedSDE) and float(limit.dt) == pytest.approx(dt, rel=1e-14)
    assert "2604.01978" in af.cite(af.HomogenizedSDE(1.0))


def test_the_noise_of_the_limit_has_the_covariance(key):
    """The root of C by quadrature, and by samples: then SSᵀ is the mean of ⟨m_i, m_j⟩ over the matrices drawn."""
    sde = af.HomogenizedSDE(1.5, samples=3)
    x = tokens(2, 4, seed=3)
    both = jax.jit(lambda x: (sde._two_tokens(x)[0], *sde._sampled(key, x, None, "dense")))
    S, root, read = map(np.asarray, both(x))
    alone, together = (c[0] for c in coefficients(np.array([x[0] @ x[1]]), 1.5))
    np.testing.assert_allclose(S @ S.T, [[alone, together], [together, alone]], atol=1e-9)
    m = []
    for B in np.asarray(jax.random.normal(key, (3, 16))).reshape(3, 4, 4):
        A = np.exp(1.5 * x @ B @ x.T)
        m.append(A / A.sum(1, keepdims=True) @ x)
    np.testing.assert_allclose(root @ root.T, np.mean([a @ a.T for a in m], axis=0), atol=1e-13)
    np.testing.assert_allclose(read, np.mean(m, axis=0), atol=1e-13)
    assert root.shape == (2, 2)


def test_attention_averaged_out():
    """The drift of the deterministic limit by a product rule, with weights; causal tokens see the past alone."""
    g, w = np.polynomial.hermite_e.hermegauss(60)
    g, w = np.stack(np.meshgrid(g, g), -1).reshape(-1, 2), np.outer(w, w).ravel() / w.sum() ** 2
    x = tokens(3, 2)

    def average(keys):
        A = WEIGHTS[keys] * np.exp(2.0 * g @ x[keys].T)
        return w @ (A / A.sum(1, keepdims=True)) @ x[keys]

    drifts = jax.jit(lambda x, w: [AveragedAttention(2.0, 0.5, 1024, p).force(0.0, x, w) for p in (None, af.Causal())])
    for actual, seen in zip(drifts(x, WEIGHTS), ([3, 3, 3], [1, 2, 3]), strict=True):
        np.testing.assert_allclose(actual, [0.5 * average(slice(m)) for m in seen], atol=2e-3)


# Runs and ensembles --------------------------------------------------------------------------------------------------


def test_runs_restart_and_members_of_an_ensemble(tmp_path, key):
    """Row B-10 on the way: tokens at one place stay there, exactly; a run goes on with its own weights."""
    model = af.RandomLayers(beta=2.0, heads=4, eta=0.1, mean=1.0, scaling="deterministic")
    x0 = tokens(3, 3)[[0, 1, 2, 1]]
    actual = last_states(model, x0, 1.0, scalings.DETERMINISTIC, key)
    _, weights = jax.random.split(jax.random.fold_in(key, 2))
    options = {"solver": "layers", "save": 3}
    run = af.simulate(model, x0, t1=1.0, key=weights, **options)
    assert run.clock == "limit time" and int(run.stats["steps"]) == 10 and run.ts[1] == pytest.approx(0.5)
    np.testing.assert_allclose(run.xs[-1], actual[2], atol=1e-13)
    assert np.abs(actual[0] - actual[1]).max() > 0.01 and np.abs(run.xs[-1] - run.xs[0]).max() > 0.1
    np.testing.assert_array_equal(actual[:, 1], actual[:, 3])
    np.testing.assert_array_equal(run.xs[:, 1], run.xs[:, 3])
    half = af.simulate(model, x0, ts=[0.0, 0.3, 0.6], key=weights, solver="layers")
    half.save(tmp_path / "half.nc")
    on = af.load(tmp_path / "half.nc").restart(t1=1.0, save=3)
    np.testing.assert_allclose(on.xs[-1], run.xs[-1], atol=1e-13)
    assert isinstance(on.model, af.RandomLayers) and on.model.heads == 4
    assert on.provenance["options"]["key"] == run.provenance["options"]["key"] == half.provenance["options"]["key"]


def test_noise_of_their_own_separates_tokens():
    """The control to row B-10: with weights drawn for every token, tokens at one place part at once."""
    rng = np.random.default_rng(0)
    x = tokens(2, 3)[[0, 1, 0]]
    for _ in range(10):
        ones = [layer_as_printed(x, np.ones(3) / 3, rng.normal(size=(1, 3, 3)), rng.normal(size=(1, 3, 3)), 1, 0.1)]
        ones += [layer_as_printed(x, np.ones(3) / 3, rng.normal(size=(1, 3, 3)), rng.normal(size=(1, 3, 3)), 1, 0.1)]
        x = np.stack([ones[0][0], ones[0][1], ones[1][2]])
    assert np.linalg.norm(x[0] - x[2]) > 0.1


def refused(**options):
    return lambda: af.simulate(
        af.RandomLayers(beta=1.0), tokens(2, 3), **{"t1": 1.0, "solver": "layers", "key": jax.random.key(0), **options}
    )


def many(models, **options):
    arguments = {
        "realizations": 2,
        "ts": [1.0],
        "reduce": af.flows.LastState(),
        "key": jax.random.key(0),
        "solver": "layers",
    }
    return af.ensemble(models, lambda key: jnp.asarray(tokens(2, 3)), **{**arguments, **options})


@pytest.mark.parametrize(
    "wrong, sentence",
    {
        "solver": (
            refused(solver="tsit5"),
            "RandomLayers is a sequence of random layers, which solver 'tsit5'",
        ),
        "key": (refused(key=None), "RandomLayers draws at random; give a key"),
        "number": (lambda: typed(0), "key = 0 is no key; give one key"),
        "sentence": (refused(key="some key"), "key = 'some key' is no key"),
        "keys": (lambda: typed(jax.random.split(jax.random.key(0))), "is no key; give one key"),
        "start": (refused(t0=0.005, t1=0.105), "t0 = 0.005 lies between two layers, which take the time 0.01"),
        "dt": (refused(dt=0.5), "dt = 0.5, but a layer of this model takes the time 0.01; leave dt out"),
        "between": (refused(t1=0.105), "lies between two layers of dt = 0.01"),
        "force": (lambda: af.RandomLayers(beta=1.0).force(0.0, jnp.eye(2), None), "give a key"),
        "mean": (lambda: af.RandomLayers(beta=1.0, mean=1.0), "mean = 1 outruns the noise"),
        "eta": (lambda: af.RandomLayers(beta=1.0, eta=0.0), "eta = 0 moves no token"),
        "text": (lambda: af.RandomLayers(beta=1.0, eta="0.1"), "eta = '0.1' is not a number"),
        "heads": (lambda: af.RandomLayers(beta=1.0, heads=0), "heads = 0 is too small"),
        "rank": (lambda: af.RandomLayers(beta=1.0, rank=0), "rank = 0 is too small"),
        "combine": (lambda: af.RandomLayers(beta=1.0, combine="sum"), "combine = 'sum' is unknown; choose one of mean"),
        "scaling": (lambda: af.RandomLayers(beta=1.0, scaling="none"), "scaling = 'none' is unknown"),
        "step": (lambda: af.HomogenizedSDE(1.0, step=0.0), "step = 0 moves no token"),
        "limit": (
            lambda: af.RandomLayers(beta=1.0, mean=1.0, rank=2, scaling="deterministic").limit(),
            "heads of rank 2 is not offered",
        ),
        "ensemble": (lambda: many(af.RandomLayers(beta=1.0), solver="rk4"), "which solver 'rk4' cannot take"),
        "different": (lambda: many([af.RandomLayers(beta=1.0, eta=e) for e in (0.1, 0.2)]), "different times"),
        "fused": (lambda: many(af.RandomLayers(beta=1.0), engine="fused", dtype=jnp.float32), "no fused ensemble"),
        "page": (lambda: State.of({"model": "random-layers"}), "'random-layers' is not for the page"),
    }.values(),
)
def test_unsupported_options_are_refused(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        wrong()


def test_the_command_line_builds_it():
    model, x0, options = build(complete({"model": "random-layers", "heads": 4, "eta": 0.5, "solver": "layers"}))
    assert isinstance(model, af.RandomLayers) and float(model.dt) == pytest.approx(1 / 16)
    assert x0.shape == (64, 3) and options["key"] is not None


# Acceptance ----------------------------------------------------------------------------------------------------------


def test_the_reference_for_the_law_of_q():
    """The mean and deviation of the table, by the backward equation; and the drift that Stratonovich would add."""
    table = {(4, 0.0): (0.2118, 0.4187), (4, 3.0): (0.2072, 0.4993), (8, 1.0): (0.3288, 0.3249)}
    for (d, beta), expected in table.items():
        np.testing.assert_allclose(np.ravel(backward(0.0, [1.0], d=d, beta=beta)), expected, atol=2e-4)
    ito, stratonovich = (backward(-0.9, [4.0], d=4, beta=1.0, stratonovich=s)[0][0] for s in (False, True))
    assert stratonovich - ito > 0.2


def test_depth_and_heads():
    """Rows B-2, B-3."""
    cells = [c for c in scalings.cells("quick") if c["part"] == "layers" and c["v"] == 0]
    results = computed(scalings, [c for c in cells if (c["layers"], c["heads"]) in ((200, 1), (50, 4))])
    rows = [f"scalings-beta-1-{L}-layers-{H}-heads-{name}" for L, H in ((200, 1), (50, 4)) for name in ("mean", "sd")]
    holds(scalings, results, *rows)


def test_the_deterministic_scaling():
    """Row B-4."""
    results = computed(scalings, [c for c in scalings.cells("quick") if c["part"] == "deterministic"])
    holds(scalings, results, "scalings-deterministic-constant", "scalings-deterministic-power")
    data = results.select(part="deterministic")
    assert ((data["deviation"] / data["unit"]) > 1.4).all() and ((data["deviation"] / data["unit"]) < 1.65).all()


def test_two_tokens_meet_or_become_opposite():
    """Rows B-5, B-6, B-7."""
    wanted_cells = [
        {"part": "exponents", "d": 6, "side": 1},
        {"part": "exponents", "d": 2, "side": -1},
        {"part": "ends", "d": 6},
    ]
    results = computed(two_tokens, [c for c in two_tokens.cells("quick") if c in wanted_cells])
    holds(two_tokens, results, "two-tokens-collapse-6", "two-tokens-antipodal-2", "two-tokens-none-opposite")
