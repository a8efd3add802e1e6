"""The perceptron block, arXiv:2601.21366; theory/05 part C, rows C-1 to C-6."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import iv, ive

import attnflow as af
from attnflow import registry
from attnflow.errors import AttnflowWarning, InputError
from attnflow.experiments.perceptron import flow, landscape
from attnflow.models import at_time
from attnflow.models.activations import ACTIVATIONS, named
from attnflow.settings import build, complete
from judging import computed, holds
from witness import weyl

BETA, N, D, K = 1.3, 5, 3, 4
X, W = weyl(N, D), np.array([0.1, 0.15, 0.2, 0.25, 0.3])
A, B = np.cos(np.arange(1.0, K * D + 1)).reshape(K, D), np.array([0.3, -0.2, 0.1, 0.5])
OMEGA = np.array([1.0, -0.5, 2.0, 0.7])
FLAGS = [(False, False), (False, True), (True, False), (True, True)]

# Activations ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_primitive_and_slope(name):
    """The primitive against quadrature, the slope against differences."""
    f, z = named(name), np.linspace(-3.0, 3.0, 13) + 0.01
    integral = [quad(lambda s: float(f.sigma(np.array(s))), -1.0, v, points=[0.0])[0] for v in z]
    np.testing.assert_allclose(f.primitive(z) - f.primitive(np.array(-1.0)), integral, rtol=0, atol=1e-9)
    h = 1e-5
    np.testing.assert_allclose(f.slope(z), (f.sigma(z + h) - f.sigma(z - h)) / (2 * h), rtol=0, atol=1e-8)
    assert all(isinstance(fn(z), np.ndarray) for fn in (f.sigma, f.primitive, f.slope))


def test_far_from_zero():
    z = np.array([-1e100, -1e3, -40.0, 40.0, 1e3])
    for name in set(ACTIVATIONS) - {"exp"}:
        f = named(name)
        for fn in (f.sigma, f.primitive, f.slope):
            assert np.isfinite(fn(z[1:])).all() and np.isfinite(fn(z[:1])).all() == (fn(z[:1])[0] < np.inf), name
    assert named("gelu").primitive(z)[:3].tolist() == [0.25] * 3 and named("gelu").primitive(np.zeros(1))[0] == 0
    np.testing.assert_allclose(named("tanh").primitive(z[1:]), np.abs(z[1:]) - np.log(2), rtol=1e-14)
    np.testing.assert_allclose(named("sigmoid").sigma(np.array(-700.0)), np.exp(-700.0), rtol=1e-12)
    np.testing.assert_allclose(named("tanh").slope(np.array(300.0)), 4 * np.exp(-600.0), rtol=1e-12)


@pytest.mark.parametrize("name", [n for n, f in ACTIVATIONS.items() if f.parity])
def test_parity(name):
    """What opposite neurons leave is a polynomial of degree two: its third differences vanish."""
    f, z = named(name), np.linspace(-2.0, 2.0, 21)
    rest = f.primitive(-z) - f.parity * f.primitive(z)
    assert np.abs(np.diff(rest, 3)).max() < 1e-12 < np.abs(np.diff(f.primitive(z), 3)).max()


# The perceptron and the block ----------------------------------------------------------------------------------------


def potential(x, name="tanh"):
    return sum(o * float(named(name).primitive(a @ x + b)) for a, b, o in zip(A, B, OMEGA, strict=True))


def energy(x, w):
    """By loops over pairs and tokens."""
    pairs = sum(w[i] * w[j] * np.exp(BETA * x[i] @ x[j]) for i in range(len(x)) for j in range(len(x)))
    return pairs / (2 * BETA) + sum(w[i] * potential(x[i]) for i in range(len(x)))


def velocity(x, w, repulsive, divided):
    v, Z = np.zeros_like(x), np.zeros(len(x))
    for i in range(len(x)):
        for j in range(len(x)):
            Z[i] += w[j] * np.exp(BETA * x[i] @ x[j])
            v[i] += w[j] * np.exp(BETA * x[i] @ x[j]) * x[j]
        for a, b, o in zip(A, B, OMEGA, strict=True):
            v[i] += o * a * np.tanh(a @ x[i] + b)
        v[i] = (v[i] - (x[i] @ v[i]) * x[i]) / (Z[i] if divided else 1)
    return (-v if repulsive else v), (Z if divided else np.ones(len(x)))


def block(repulsive=False, divided=False, name="tanh"):
    return af.PerceptronBlock(BETA, af.models.Perceptron(A, B, OMEGA, name), repulsive, divided)


@eqx.filter_jit
def everything(x, w):
    """Of every activation the potential, two gradients and the slope; of the four blocks field, energy and metric."""
    out = {}
    for name in ACTIVATIONS:
        perceptron = af.models.Perceptron(A, B, OMEGA, name)
        by_jax = jax.vmap(jax.grad(perceptron.potential))(x)
        out[name] = perceptron.potential(x), perceptron.gradient(x), by_jax, named(name).slope(x)
    for flags in FLAGS:
        model = block(*flags)
        out[str(flags)] = af.models.field(model, 0.0, x, w), model.energy().value(x, w), model.energy().log_metric(x, w)
    return out


@pytest.fixture(scope="module")
def evaluated():
    return everything(jnp.asarray(X), jnp.asarray(W))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_perceptron_is_the_gradient_of_its_potential(evaluated, name):
    """And activations are the same in JAX as in NumPy."""
    value, gradient, by_jax, slope = evaluated[name]
    np.testing.assert_allclose(value, [potential(x, name) for x in X], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradient, by_jax, rtol=0, atol=1e-12)
    np.testing.assert_allclose(gradient, named(name).sigma(X @ A.T + B) @ (OMEGA[:, None] * A), rtol=0, atol=1e-12)
    np.testing.assert_allclose(slope, named(name).slope(X), rtol=0, atol=1e-14)


@pytest.mark.parametrize("flags", FLAGS)
def test_C1_dissipation(evaluated, flags):
    """Field and energy against loops; dE/dt by central differences of 1e-5 along the flow against the formula."""
    v, e, log_metric = (np.asarray(a) for a in evaluated[str(flags)])
    expected, metric = velocity(X, W, *flags)
    np.testing.assert_allclose(v, expected, rtol=0, atol=1e-12)
    assert e == pytest.approx(energy(X, W), rel=1e-13)
    np.testing.assert_allclose(np.exp(log_metric), metric, rtol=1e-12)
    h = 1e-5
    ahead, behind = (X + s * h * v for s in (1, -1))
    ahead, behind = (energy(x / np.linalg.norm(x, axis=1)[:, None], W) for x in (ahead, behind))
    rate = block(*flags).energy().direction * np.sum(W * metric * np.sum(v**2, axis=1))
    assert abs((ahead - behind) / (2 * h) - rate) < 1e-7 and abs(rate) > 1e-2


def test_symmetries(evaluated):
    """Tokens may be permuted, and the weight of one be shared with a copy."""
    order = np.array([3, 0, 4, 1, 2])
    permuted = everything(jnp.asarray(X[order]), jnp.asarray(W[order]))
    copied = np.vstack([X[:4], X[3]])
    one, other = (everything(jnp.asarray(copied), jnp.asarray(w))
                  for w in ([0.2, 0.2, 0.1, 0.5, 0.0], [0.2, 0.2, 0.1, 0.15, 0.35]))  # fmt: skip
    for flags in FLAGS:
        np.testing.assert_allclose(permuted[str(flags)][0], evaluated[str(flags)][0][order], rtol=0, atol=1e-13)
        np.testing.assert_allclose(one[str(flags)][0], other[str(flags)][0], rtol=0, atol=1e-13)
        np.testing.assert_allclose(one[str(flags)][1], other[str(flags)][1], rtol=1e-13)


@pytest.mark.usefixtures("as_users_run")
def test_a_run_of_the_block(tmp_path):
    """The descent of the experiment below: energy, rate and slope by NumPy; one scale; runs are saved and cited."""
    run = flow.descent("relu", 500.0)
    x = np.asarray(run.xs[4])
    kernel, up = np.exp(x @ x.T), np.maximum(x[:, :1], 0)
    assert af.energy(run)[4] == pytest.approx(kernel.mean() / 2 + 1.5 * np.mean(up**2), rel=1e-13)
    v = kernel @ x / len(x) + 3 * up * [1.0, 0.0]
    speed = np.linalg.norm(v - np.sum(v * x, axis=1, keepdims=True) * x, axis=1)
    assert af.diagnostics.dissipation(run)[4] == pytest.approx(-np.mean(speed**2), rel=1e-9)
    assert af.reductions.localization.criticality(run, at=4) == pytest.approx(speed.max(), rel=1e-9)
    assert run.clock == "USA" and block(divided=True).clock == "SA"
    assert af.diagnostics.is_gradient_flow(run.model, 2) and run.model.energy().scale() == "E+U"
    run.save(tmp_path / "run.nc")
    loaded = af.load(tmp_path / "run.nc")
    assert eqx.tree_equal(loaded.model, run.model) and "2601.21366" in af.cite(loaded)
    with pytest.raises(InputError, match=r"take E\+U"):
        af.energy(run, scale="Ehat")
    hot = dataclasses.replace(run, model=af.PerceptronBlock(0.0, run.model.perceptron))
    with pytest.raises(InputError, match="at beta = 0"):
        af.energy(hot)
    with pytest.raises(InputError, match="is not a whole number"):
        af.reductions.localization.criticality(run, at=1.5)


def test_entries_of_the_registry():
    """The page and the command line make blocks of scalars; directions follow from a draw and the dimension."""
    entries = [e for name, e in registry.entries("model").items() if name.startswith("perceptron-")]
    assert {e.name for e in entries} >= {"perceptron-relu", "perceptron-tanh", "perceptron-gelu"}
    for entry in entries:
        assert entry.symmetries == {"permutation", "splitting"} and entry.monotone == "increasing"
    settings = complete(
        {"model": "perceptron-relu", "d": 4, "n": 3, "neurons": 3, "bias": 0.1, "draw": 2, "repulsive": True}
    )
    model, x0, _ = build(settings)
    assert model.perceptron.a.shape == (3, 4) and x0.shape == (3, 4) and model.repulsive
    np.testing.assert_allclose(np.linalg.norm(model.perceptron.a, axis=1), 1.0)
    with pytest.raises(InputError, match="takes no attention map"):
        complete({"model": "perceptron-relu", "attention": "hardmax"})


def test_output_weights_that_are_parallel():
    perceptron = af.models.Perceptron.from_weights((OMEGA[:, None] * A).T, A, B, "gelu")
    np.testing.assert_allclose(perceptron.omega, OMEGA, rtol=1e-12)
    assert not af.models.Perceptron(A).smooth and perceptron.smooth
    skew = (OMEGA[:, None] * A).T
    skew[0, 2] += 0.1
    with pytest.raises(InputError, match=r"^neuron 2 has .* not parallel: .*\.$"):
        af.models.Perceptron.from_weights(skew, A, B)


def neuron(name, omega=1.0, b=0.0, a=1.0):
    return af.models.Perceptron([[a, 0.0]], b, omega, name)


def test_a_perceptron_may_change_with_time():
    """One number stands for all neurons before and after the jump; points may be whole numbers."""
    changing = af.models.Perceptron(af.Piecewise([1.0], [[[1.0, 0.0]], [[0.0, 2.0]]]), 0.5, 3.0)
    for t, U in ((0.0, 1.5 * 1.5**2), (1.0, 1.5 * 0.5**2)):
        assert float(at_time(changing, t).potential([1, 0])) == pytest.approx(U)


CIRCLE = af.models.Perceptron([[1.0, 0.0]])
CHANGING = af.models.Perceptron(
    [[1.0, 0.0]], omega=af.Piecewise([1.0], [[1.0], [2.0]]), b=af.Piecewise([1.0], np.ones((2, 3)))
)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: af.models.Perceptron([1.0, 0.0]), "a has shape"),
        (lambda: af.models.Perceptron("1"), "not a number"),
        (lambda: af.models.Perceptron([[1.0, np.nan]]), "not finite"),
        (lambda: af.models.Perceptron(A, B[:2]), "4 neurons"),
        (lambda: af.models.Perceptron(A, activation="softplus"), "choose one of relu"),
        (lambda: af.models.Perceptron.from_weights(A, A), r"\(d, K\)"),
        (lambda: af.PerceptronBlock(-1.0, CIRCLE), "beta = -1 is negative"),
        (lambda: af.PerceptronBlock(1.0, "relu"), "is no perceptron"),
        (lambda: af.PerceptronBlock(1.0, CIRCLE, repulsive=1), "neither True nor False"),
        (lambda: block().perceptron.gradient(np.ones((2, 2))), "dimension 3 and tokens 2"),
        (lambda: CIRCLE.potential(1.0), "one number has none"),
        (lambda: CIRCLE.potential("x"), "not an array of numbers"),
        (lambda: CHANGING.potential([1.0, 0.0]), "changes with time"),
        (lambda: af.reductions.localization.minimizer(CHANGING, 1.0), "changes with time"),
        (lambda: af.reductions.localization.criticality(np.eye(2), perceptron=CHANGING, beta=1.0), "changes with time"),
        (lambda: at_time(CHANGING, 2.0).potential([1.0, 0.0]), "there are 1 neurons"),
        (lambda: af.reductions.localization.minimizer(neuron("exp", b=800.0), 1.0), "overflows"),
        (lambda: af.reductions.localization.density(neuron("exp", a=0.99999), 1.0), "too narrow"),
        (lambda: af.reductions.localization.minimizer(af.models.Perceptron(A), 1.0), "circle, d = 2"),
        (lambda: af.reductions.localization.minimizer(CIRCLE, 0.0), "0 < beta"),
        (lambda: af.reductions.localization.minimizer(CIRCLE, "1"), "beta = '1'"),
        (lambda: af.reductions.localization.minimizer(CIRCLE, np.nan), "beta = nan"),
        (lambda: af.reductions.localization.minimizer(CIRCLE, True), "beta = True is no number"),
        (lambda: af.reductions.localization.minimizer(CIRCLE, 1000.0), "beta = 1000: .* choose one there"),
        (lambda: af.reductions.localization.minimizer(CIRCLE, 1.0, tol=np.nan), "tol = nan"),
        (lambda: af.reductions.localization.certificate([np.nan], perceptron=CIRCLE, beta=1.0), "x has an entry"),
        (lambda: af.reductions.localization.certificate([], perceptron=CIRCLE, beta=1.0), "x has shape"),
        (lambda: af.reductions.localization.criticality(np.eye(2), perceptron=CIRCLE, beta=np.inf), "not finite"),
        (lambda: af.reductions.localization.minimizer(CIRCLE, 1.0, atoms=0), "atoms = 0"),
        (
            lambda: af.reductions.localization.certificate([0.0, 1.0], [0.5, 0.6], perceptron=CIRCLE, beta=1.0),
            "sum to 1",
        ),
        (
            lambda: af.reductions.localization.certificate([[0.0, 0.0]], perceptron=CIRCLE, beta=1.0),
            "not on the circle",
        ),
        (lambda: af.reductions.localization.certificate(np.ones((2, 3)), perceptron=CIRCLE, beta=1.0), "shape"),
        (lambda: af.reductions.localization.density(CIRCLE, 1.0), "for relu"),
        (
            lambda: af.reductions.localization.density(af.models.Perceptron([[2.0, 0.0]], activation="exp"), 1.0),
            "not below beta",
        ),
        (lambda: af.reductions.localization.criticality(X), "give perceptron= and beta="),
        (lambda: af.reductions.localization.criticality(np.eye(2), perceptron=CIRCLE, beta=1.0, at=2), "leave at out"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_bad_input_is_refused_in_a_sentence(wrong, message):
    with pytest.raises(InputError, match=message) as error:
        wrong()
    assert str(error.value).endswith(".") and "\n" not in str(error.value)


# The landscape -------------------------------------------------------------------------------------------------------


def test_C3_C6_landscape():
    """Minimisers, verdicts, controls, the quadratic programmes that confirm them, the maximiser: every claim."""
    holds(landscape, computed(landscape))


def two(name, lengths, omega):
    return af.models.Perceptron([[a, 0.0] for a in lengths], 0.0, omega, name)


@pytest.mark.parametrize(
    ("perceptron", "verdict"),
    [
        (neuron("relu", 0.0), "density"),
        (neuron("relu", b=-1.0), "density"),  # never active
        (neuron("relu", 0.01, b=1.0), "density"),  # always active: a quadratic potential
        (af.models.Perceptron([[1.0, 0.0], [-1.0, 0.0]], [0.5, -0.5], 0.01, "relu"), "density"),  # the kinks cancel
        (af.models.Perceptron([[1.0, 0.0], [-1.0, 0.0]], [0.5, -0.5], 0.01, "gelu"), "density"),
        (af.models.Perceptron([[1.0, 0.0], [-1.0, 0.0]], [0.5, -0.5], [0.01, -0.01], "gelu"), "atomic"),
        (af.models.Perceptron([[1.0, 0.0], [-1.0, 0.0]], [0.5, -0.5], [0.3, -0.3], "tanh"), "density"),
        (neuron("sigmoid", 0.01), "atomic"),
        (neuron("erf", 0.01), "atomic"),
        (neuron("linear", 0.99 * iv(1, 1.0)), "density"),
        (neuron("linear", 1.01 * iv(1, 1.0)), "atomic"),
        (neuron("exp", -0.2), "density"),  # |a| = beta: uniform and a Dirac
        (neuron("exp", 0.2), "atomic"),
        (neuron("exp", 5.0, a=0.5), "atomic"),  # the density would be negative
        (neuron("exp", -0.001, a=0.995), "density"),  # more than 4096 modes
        (neuron("exp", -1.0), "atomic"),  # the Dirac has all the mass
        (two("exp", [1.0, 1.0], [0.1, -0.3]), "density"),  # a Dirac of mass 0.2
        (two("exp", [2.0, 2.0], [1.0, -1.0]), "density"),  # they cancel
        (two("relu", [1.0, 2.0], [4.0, -1.0]), "density"),  # these, too: z_+ is homogeneous
        (two("relu", [1.0, 2.0], [4.0, -1.1]), "atomic"),
    ],
)
def test_what_theory_expects(perceptron, verdict):
    expected = af.reductions.localization.expected_localization(perceptron, 1.0)
    assert expected.verdict == verdict and expected.reason.endswith(".")


def test_a_potential_small_beside_the_kernel_is_not_constant():
    result = af.reductions.localization.expected_localization(neuron("linear", 0.1), 50.0)
    assert result.verdict == "density" and "finitely many modes" in result.reason
    assert "is constant" in af.reductions.localization.expected_localization(neuron("linear", 0.0), 50.0).reason
    with pytest.raises(InputError, match="e\\^beta overflows in float64 at beta = 1000"):
        af.reductions.localization.criticality(np.eye(2), perceptron=CIRCLE, beta=1000.0)


def test_a_dirac_beside_the_uniform_law():
    """An exponential neuron as long as beta is the kernel itself: it asks for a Dirac of mass -beta omega."""
    result = af.reductions.localization.minimizer(neuron("exp", -0.2), 1.0)
    heavy = np.argmax(result.masses)
    assert result.gap < 1e-12 and result.masses[heavy] == pytest.approx(0.2 + 0.8 / 16, abs=1e-9)
    assert np.cos(result.angles[heavy]) == pytest.approx(1.0)


def test_the_certificate_of_any_law():
    """The gap bounds the energy above the least one; a turned perceptron turns the minimiser."""
    best = af.reductions.localization.minimizer(neuron("gelu", 2.0, a=2.0), 1.0)
    theta = np.array([0.3, 2.0, 4.0])
    points = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    worse = af.reductions.localization.certificate(points, perceptron=best.perceptron, beta=1.0)
    assert 0 < worse.energy - best.energy < worse.gap and worse.verdict == "undecided"
    again = af.reductions.localization.certificate(best.angles, best.masses, perceptron=best.perceptron, beta=1.0)
    assert again.energy == best.energy and again.gap < 1e-12 and abs(again.excess) < 1e-12
    turn = 0.7
    moved = af.models.Perceptron([[2 * np.cos(turn), 2 * np.sin(turn)]], 0.0, 2.0, "gelu")
    turned = af.reductions.localization.minimizer(moved, 1.0)
    assert turned.energy == pytest.approx(best.energy, rel=1e-12)
    np.testing.assert_allclose(np.sort((turned.angles - turn) % (2 * np.pi)), best.angles, atol=1e-6)
    spare = af.reductions.localization.certificate(
        [*best.angles, 1.0], [*best.masses, 0.0], perceptron=best.perceptron, beta=1.0
    )
    assert spare.atoms == best.atoms and spare.slack == best.slack  # a point without mass is no atom
    few = af.reductions.localization.minimizer(neuron("relu", 3.0), 4.0, atoms=4)
    assert few.capped and few.verdict == "undecided"  # not certified: no verdict


@pytest.mark.parametrize(("beta", "omega"), [(50.0, 3.0), (700.0, -3.0)])
def test_minimisers_at_large_beta(beta, omega):
    """The kernel is e^beta times larger than U: the least energy is I_0(beta)/2 beta, to all digits."""
    result = af.reductions.localization.minimizer(neuron("relu", omega), beta)
    unit = np.exp(beta) / (2 * beta)
    assert result.energy / unit == pytest.approx(ive(0, beta), rel=1e-12)
    # The law is flat to all digits, and U, which theory says makes atoms of it, is below them: that is said.
    assert af.reductions.localization.expected_localization(result.perceptron, beta).verdict == "atomic"
    assert result.relative_gap < 1e-12 and result.verdict == "undecided"
    assert len(result.limits) == 1 and result.limits[0].startswith("The potential is ")
    # Sixteen atoms are too few, as the result states: equispaced ones have the mean of the kernel over their distances.
    few = af.reductions.localization.minimizer(neuron("relu", omega), beta, atoms=16)
    level = np.mean(np.exp(beta * (np.cos(2 * np.pi * np.arange(16) / 16) - 1)))
    assert few.energy / unit == pytest.approx(level, rel=1e-9) and level > 1.15 * ive(0, beta)
    assert few.capped and few.verdict == "undecided" and "16 atoms are all" in few.limits[0]
    assert few.limits[0][1:-1] in repr(few) and few.gap >= few.energy - result.energy


@pytest.mark.parametrize("beta", [1e-8, 1.0, 30.0])
def test_what_the_weaker_part_does_is_resolved_or_said(beta):
    """U = 1e-200 z_+^2/2 has atoms by theory, and U = 1e200 z_+^2/2 needs the interaction for them."""
    with pytest.warns(AttnflowWarning, match="the minimiser was not reached"):
        strong = af.reductions.localization.minimizer(neuron("relu", 1e200), beta)
    weak = af.reductions.localization.minimizer(neuron("relu", 1e-200), beta)
    assert strong.verdict == weak.verdict == "undecided"
    assert "interaction is" in strong.limits[0] and "potential is" in weak.limits[0]


def test_a_constant_potential_has_the_uniform_law():
    constant = af.models.Perceptron([[0.0, 0.0]], 0.5, 3.0, "gelu")
    assert af.reductions.localization.density(constant, 2.0)(1.0) == pytest.approx(1 / (2 * np.pi))
    assert af.reductions.localization.minimizer(constant, 2.0).verdict == "density"


def on_a_grid(beta, U, count=720, steps=2000):
    """Bounds of the least energy with masses at equispaced angles: projected gradients with momentum, and duality."""
    angle = 2 * np.pi * np.arange(count) / count
    kernel, u = np.fft.rfft(np.exp(beta * (np.cos(angle) - 1))).real, U(angle) * beta * np.exp(-beta)
    slope = lambda m: np.fft.irfft(kernel * np.fft.rfft(m), count) + u  # noqa: E731

    def projected(v):
        ordered = np.sort(v)[::-1]
        level = (np.cumsum(ordered) - 1) / np.arange(1, count + 1)
        return np.maximum(v - level[np.flatnonzero(ordered > level)[-1]], 0)

    m = y = np.full(count, 1 / count)
    t, bounds = 1.0, []
    for _ in range(steps):
        new = projected(y - slope(y) / kernel.max())
        then = (1 + np.sqrt(1 + 4 * t * t)) / 2
        m, y, t = new, new + (t - 1) / then * (new - m), then
        p = slope(m)
        bounds.append((m @ (p + u) / 2, m @ (p + u) / 2 - (m @ p - p.min())))
    above, below = np.array(bounds).T
    return below.max() * np.exp(beta) / beta, above.min() * np.exp(beta) / beta


@pytest.mark.parametrize(
    ("name", "omega", "beta", "atoms"),
    [("relu", 3.0, 10.0, 40), ("relu", -1e20, 50.0, None), ("tanh", 1e20, 50.0, None)],
)
def test_minimisers_against_a_quadratic_programme(name, omega, beta, atoms):
    """The energy lies between the bounds of a grid, up to the error of its nodes; where it is certified it is below."""
    perceptron = af.models.Perceptron([[1.0, 0.3]], 0.2, omega, name)
    result = af.reductions.localization.minimizer(perceptron, beta, atoms=atoms)
    z = lambda angle: np.cos(angle) + 0.3 * np.sin(angle) + 0.2  # noqa: E731
    below, above = on_a_grid(beta, lambda angle: omega * named(name).primitive(z(angle)))
    assert result.relative_gap < 1e-8 and not result.capped
    assert result.energy < above + 1e-9 * abs(above) and above - below < 1e-3 * abs(above)
    assert result.energy > below - 1e-4 * abs(above)  # the grid lacks the best angles


def test_a_small_beta_loses_no_digits():
    """The kernel tends to 1/beta + cos: from tanh, two atoms at right angles; the constant is no part of the slack."""
    result = af.reductions.localization.minimizer(neuron("tanh", 1.0, a=3.0), 1e-7)
    assert np.degrees(result.angles) == pytest.approx([90, 270], abs=1e-6)
    assert result.relative_gap < 1e-12 and result.verdict == "atomic"
    # With the kernel 1/beta + cos: p = 1/beta + m.cos + U. At angle 0 above its floor by U(0) - U(pi/2) = Phi(3)/1.
    assert result.potential(0.0) - result.potential(np.pi / 2) == pytest.approx(np.log(np.cosh(3.0)), rel=1e-5)


def test_a_dirac_is_critical_at_the_maximum():
    """In any dimension; tokens without weight are not on the support."""
    perceptron = af.models.Perceptron(2 * np.eye(5)[:1], -0.3, 2.0)
    assert af.reductions.localization.criticality(np.eye(5)[:2], [1.0, 0.0], perceptron=perceptron, beta=2.0) < 1e-15
    assert af.reductions.localization.criticality(np.eye(5)[:2], [0.5, 0.5], perceptron=perceptron, beta=2.0) > 0.1


# Flows on the circle -------------------------------------------------------------------------------------------------


def test_C2_C5_relu_gathers_tokens():
    """Descents of 100 tokens up to t = 500, ReLU with both signs, and the control without a potential."""
    cells = [cell for cell in flow.cells("quick") if cell.get("case") in ("relu", "relu-minus", "zero")]
    results = computed(flow, [cell for cell in cells if cell["part"] == "circle"])
    names = ("block-energy-descends", "circle-clusters", "circle-above", "control-zero-points", "control-zero-mean")
    holds(flow, results, *names)


@jax.jit
def descend(x0):
    model = af.PerceptronBlock(1.0, neuron("linear", iv(1, 1.0) / 2), repulsive=True)
    return flow.runge_kutta(model, x0, None, step=0.2, between=500, saved=1)[-1]


def test_C4_linear_control():
    """The mean of cos is that of the density of theory, and no atoms form."""
    x = np.asarray(descend(jnp.asarray(weyl(100, 2))))
    theta = np.sort(np.arctan2(x[:, 1], x[:, 0]))
    assert np.cos(theta).mean() == pytest.approx(-0.25, abs=1e-3)
    assert np.cos(2 * theta).mean() == pytest.approx(0.0, abs=1e-3)
    assert np.sum(np.diff(theta) > 0.02) > 50


def test_poles():
    """A cluster at one of two opposite maxima of U comes back; without a potential it leaves."""
    holds(flow, computed(flow, [{"part": "poles"}]), "poles-rate")
