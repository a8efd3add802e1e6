"""Theory/06, sections 2 and 6: transport by explicit pieces; rows 4 to 11, tails, samples, conditions."""

import jax
import numpy as np
import pytest
from scipy import integrate, stats

import attnflow as af
from attnflow.constructions import Transport, laws
from attnflow.errors import AttnflowWarning, InputError
from attnflow.experiments.relu_transport import line, plane, rivals, shapes, targets
from attnflow.experiments.relu_transport.rivals.spline_flow import TrainedFlow
from judging import computed, holds

NORMAL, PLANE = laws.StandardNormal(), laws.StandardNormal(2)
KEY = jax.random.key(0)
C = af.constructions


@pytest.fixture(scope="module")
def on_line():
    wanted = [("best", 16), ("best", 32), ("best", 64), ("best", 256), ("uniform", 64), ("cauchy", 8), ("cauchy", 64)]
    return computed(line, [c for c in line.cells("quick") if (c["part"], c.get("K")) in wanted])


@pytest.fixture(scope="module")
def in_plane():
    def wanted(c):
        rough = c["part"] == "field" and c["n_t"] == 8 and c["draw"] == 0
        return rough or c["part"] == "grid" or (c["part"] == "ridge" and c["draw"] < 2)

    return computed(plane, [c for c in plane.cells("quick") if wanted(c)])


# The line -------------------------------------------------------------------------------------------------------------


def test_the_line(on_line):
    """Rows 4 to 6; Laplace's and Student's law; Cauchy's."""
    holds(line, on_line)


def test_the_map_is_the_monotone_one():
    """At its knots, from a uniform and a gamma law: the same mass on left."""
    for base, target in ((stats.uniform(), stats.gamma(3)), (stats.t(4), stats.norm(2, 3))):
        knots = C.optimal_knots(base, target, 12)
        np.testing.assert_allclose(base.cdf(knots.x), target.cdf(knots.y), atol=1e-9)
        np.testing.assert_allclose(knots.schedule.forward(knots.x[:, None])[:, 0], knots.y, rtol=1e-10)
        assert knots.schedule.switches == 13


def test_the_line_from_a_density_with_a_box():
    """A table of a density gives what the closed form gives."""
    exact, table = (
        targets.on_line("mix2"),
        laws.FromDensity(targets.on_line("mix2").log_density, 1, box=([-6.0], [6.0])),
    )
    one, other = (C.transport_1d(NORMAL, law, 32) for law in (exact, table))
    x = np.linspace(-3, 3, 50)[:, None]
    np.testing.assert_allclose(other.forward(x), one.forward(x), atol=2e-3)
    assert Transport.of(other, NORMAL, exact).report(n=100).kl.value == pytest.approx(2.59e-3, rel=0.05)


def test_a_report_on_the_line_says_what_is_infinite():
    found = af.transport(NORMAL, laws.Cauchy())
    report = found.report(n=1000)
    assert report.kl.value == np.inf and "moment" in report.kl.note and report.reverse_kl.value < 0.01
    assert len(report.truncated) > 5 and "KL between -R and R" in repr(report)
    one_sided = af.transport(NORMAL, stats.gamma(3)).report(n=1000)
    assert one_sided.reverse_kl.value == np.inf and 0 < one_sided.kl.value < 1e-3 and one_sided.truncated == ()


# Tails ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "target", "kl", "reverse"),
    [
        (NORMAL, laws.Laplace(), True, True),
        (NORMAL, laws.Student(3), True, True),
        (NORMAL, laws.Student(2), False, True),
        (NORMAL, laws.Cauchy(), False, True),
        (NORMAL, stats.lognorm(1), True, False),
        (NORMAL, laws.UniformBox([0.0], [1.0]), True, False),
        (laws.UniformBox([0.0], [1.0]), NORMAL, False, True),
        (laws.Student(1.5), NORMAL, True, False),
        (laws.Cauchy(), laws.Student(3), True, True),
        (laws.Laplace(), laws.Student(1.5), True, True),
        (PLANE, laws.Student(1, 2), False, True),
        (PLANE, np.random.default_rng(0).normal(size=(200, 2)), None, None),
    ],
)
def test_which_divergences_can_be_finite(base, target, kl, reverse):
    check = af.constructions.tail_check(base, target)
    assert (check.kl, check.reverse_kl) == (kl, reverse)
    assert check.reason.endswith(".") and check.reverse_reason.endswith(".") and repr(check)


@pytest.mark.parametrize(
    ("frozen", "kind", "exponent"),
    [
        (stats.norm(), "exponential", 2.0),
        (stats.laplace(), "exponential", 1.0),
        (stats.gennorm(4), "exponential", 4.0),
        (stats.weibull_min(0.5), "exponential", 0.5),
        (stats.t(3), "power", 3.0),
        (stats.cauchy(5, 100), "power", 1.0),
        (stats.genpareto(0.4), "power", 2.5),
        (stats.beta(2, 3), "compact", np.inf),
    ],
)
def test_tails_of_distributions_are_read_off_their_densities(frozen, kind, exponent):
    tails = laws.as_law("law", frozen).tails
    assert tails is not None and tails.heavy.kind == kind and tails.heavy.exponent == pytest.approx(exponent, rel=0.02)


def test_samples_of_a_heavy_law_look_heavy():
    cauchy = laws.Cauchy().sample(4000, key=KEY)
    assert "no second moment" in C.tail_check(NORMAL, cauchy).reason
    assert "or faster" in C.tail_check(NORMAL, NORMAL.sample(4000, key=KEY)).reason


# Laws -----------------------------------------------------------------------------------------------------------------

TILTED = laws.GaussianMixture(
    [[0.0, 0.0], [1.0, 2.0]], covs=np.array([np.eye(2), [[1, 0.5], [0.5, 2]]]), weights=[0.3, 0.7]
)
ON_LINE = [targets.on_line(name) for name in ("mix3", "laplace", "student", "cauchy")] + [NORMAL]


@pytest.mark.parametrize("law", ON_LINE)
def test_distribution_functions_fit_the_density(law):
    known, y = law.line, np.array([-4.0, -0.3, 0.1, 2.0, 7.0])
    for k, at in enumerate(y):
        mass = integrate.quad(lambda s: np.exp(known.log_density(np.array([s]))[0]), -np.inf, at, limit=200)[0]
        assert mass == pytest.approx(known.cdf(y)[k], abs=1e-7)
    np.testing.assert_allclose(known.cdf(y) + known.sf(y), 1, atol=1e-12)
    np.testing.assert_allclose(known.quantile(known.cdf(y[:3])), y[:3], atol=1e-9)
    np.testing.assert_allclose(known.upper_quantile(known.sf(y[3:])), y[3:], rtol=1e-9)
    differences = (known.log_density(y + 1e-6) - known.log_density(y - 1e-6)) / 2e-6
    np.testing.assert_allclose(known.score(y), differences, atol=1e-5)


@pytest.mark.parametrize(
    "law",
    [TILTED, laws.Student(5, 2, location=[1.0, 0.0]), laws.GridDensity([[1.0, 2.0], [0.0, 5.0]], [-1, 0], [1, 3])],
)
def test_draws_fit_the_density(law):
    """Mean log density of draws against the same mean by quadrature; scores against differences."""
    x = law.sample(40_000, key=KEY)
    side = np.linspace(-30, 30, 1201)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2) + 1e-3
    log_p = law.log_density(grid)
    p = np.exp(log_p) * (side[1] - side[0]) ** 2
    assert p.sum() == pytest.approx(1, abs=0.04 if law.box else 2e-3)
    entropy = np.sum(np.where(p > 0, p * np.where(p > 0, log_p, 0), 0)) / p.sum()
    found = law.log_density(x)
    assert found.mean() == pytest.approx(entropy, abs=5 * found.std() / 200 + 0.02)
    if hasattr(law, "score"):
        steps = 1e-6 * np.eye(2)
        slopes = [(law.log_density(x[:9] + e) - law.log_density(x[:9] - e)) / 2e-6 for e in steps]
        np.testing.assert_allclose(law.score(x[:9]), np.transpose(slopes), atol=1e-6)


def test_a_density_with_a_box_is_drawn_from():
    ring = laws.FromDensity(lambda x: -2 * ((x**2).sum(axis=1) - 4) ** 2, 2, box=([-4, -4], [4, 4]), normalized=False)
    r = np.linalg.norm(ring.sample(20_000, key=KEY), axis=1)
    weight = [integrate.quad(lambda s, k=k: s**k * np.exp(-2 * (s**2 - 4) ** 2), 0, 4)[0] for k in (1, 2)]
    assert r.mean() == pytest.approx(weight[1] / weight[0], abs=5 * r.std() / 140)


# Parts of the constructions -------------------------------------------------------------------------------------------


def test_velocities_in_closed_form():
    """Of general mixtures against the formula for round ones; given a condition, too; and against means of pairs."""
    from attnflow.constructions.transports._curve import _pairs, curve_between

    law, rng = targets.in_plane("mix3"), np.random.default_rng(0)
    x, u = curve_between(PLANE, law).draw(0.6, 50, rng)
    np.testing.assert_allclose(u, targets.velocity(law, 0.6, x), atol=1e-12)
    x, u = curve_between(NORMAL, law, (0,)).draw(0.6, 50, rng)
    np.testing.assert_allclose(u, targets.conditional_velocity(law, 0.6, x), atol=1e-12)
    tilted = laws.GaussianMixture([[1.0, -1.0], [0.0, 2.0]], covs=np.array([[[2, 0.3], [0.3, 1]], np.eye(2) / 2]))
    # Both are regressed on the same functions: the means of single differences agree with those of velocities.
    (x, u), (y, v) = (
        c.draw(0.4, 100_000, rng) for c in (curve_between(TILTED, tilted), _pairs(TILTED, tilted, np.arange(2)))
    )
    for f in (np.tanh, np.cos):
        one, other = (f(a[:, ::-1]) * b for a, b in ((x, u), (y, v)))
        error = np.hypot(one.std(axis=0), other.std(axis=0)) / np.sqrt(len(x))
        assert (abs(one.mean(axis=0) - other.mean(axis=0)) < 5 * error).all()


def test_velocities_by_means_over_samples():
    from attnflow.constructions.transports._curve import curve_between

    law = laws.FromDensity(targets.in_plane("mix2").log_density, 2, sample=targets.in_plane("mix2").sample)
    x, u = curve_between(PLANE, law).draw(0.5, 300, np.random.default_rng(0))
    exact = targets.velocity(targets.in_plane("mix2"), 0.5, x)
    assert np.sqrt(((u - exact) ** 2).mean()) < 0.06 * np.sqrt((exact**2).mean())


def test_neurons_are_those_of_a_greedy_least_squares_fit():
    """The residual of the neurons taken, by NumPy; no other candidate in place of the last one leaves less."""
    from attnflow.constructions.transports._neurons import _random, _selected, fit

    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    u = np.tanh(x @ np.array([[2.0, 1.0], [-1.0, 1.5]]))
    A, b = _random(x, 40, rng)
    chosen = _selected(x, u, 5, A, b)
    features = np.maximum(x @ chosen.A.T + chosen.b, 0)
    residual = u - features @ np.linalg.lstsq(features, u, rcond=None)[0]
    assert (residual**2).sum() / len(x) == pytest.approx(chosen.left, rel=1e-9)
    others = np.maximum(x @ A.T + b, 0)
    left = []
    for column in others.T:
        trial = np.column_stack([features[:, :4], column])
        left.append(((u - trial @ np.linalg.lstsq(trial, u, rcond=None)[0]) ** 2).sum() / len(x))
    assert min(left) == pytest.approx(chosen.left, rel=1e-6)
    neurons = fit(x, u, 12, rng, candidates=200, refine=2, ridge=1e-5)
    fitted = np.maximum(x @ neurons.A.T + neurons.b, 0) @ neurons.W
    assert ((fitted - u) ** 2).mean() < 0.02 * (u**2).mean()


def test_orders_of_splittings():
    """Against many small steps: halving the slab divides the error of a step by 8 and by 4."""
    from attnflow.constructions.transports._neurons import Neurons
    from attnflow.constructions.transports._splitting import joined, lie, strang

    rng = np.random.default_rng(3)
    neurons = Neurons(rng.normal(size=(4, 2)) / 2, rng.normal(size=(4, 2)), np.full(4, 6.0))  # no kink in reach
    x = rng.uniform(-1, 1, (50, 2))

    def after(method, duration, many=1):
        pieces = joined([method(neurons, duration / many, rng)] * many)
        return C.Schedule.from_arrays(*pieces).forward(x)

    for method, ratio in ((strang, 8), (lie, 4)):
        errors = [abs(after(method, h) - after(strang, h, 100)).max() for h in (0.02, 0.01)]
        assert errors[0] / errors[1] == pytest.approx(ratio, rel=0.1)


def test_best_knots_gain_what_they_say():
    """The gain is that of the map, and no other choice of knots among those tried has more."""
    from attnflow.constructions.transports._knots_of_samples import best_knots

    s = targets.on_line("mix3").sample(5000, key=KEY)[:, 0]

    def gain(x, y, left, right):
        piece = C.MonotonePL([1.0], x, y, left_slope=left, right_slope=right)
        moved, log_det = piece.carry(s[:, None])
        return (log_det - moved[:, 0] ** 2 / 2 + s**2 / 2).mean()

    knots = best_knots(s, 6)
    mine = gain(knots.x, knots.y, knots.left_slope, knots.right_slope)
    assert mine == pytest.approx(knots.gain, abs=1e-9)
    quantiles = np.quantile(s, [0.02, 0.2, 0.4, 0.6, 0.8, 0.98])
    images = stats.norm.ppf([0.02, 0.2, 0.4, 0.6, 0.8, 0.98])
    assert mine > gain(quantiles, images, 1.0, 1.0) + 0.01
    assert best_knots(s, 12).gain > mine > best_knots(s, 3).gain


def test_the_plane(in_plane):
    """Rows 7, 9 and 10."""
    names = ("field", "field-switches", "field-inverse", "field-mass", "ridge", "ridge-switches")
    grid = ("pieces", "tv", "moons", "kl", "cells")
    holds(plane, in_plane, *(f"plane-{n}" for n in names), *(f"plane-grid-{n}" for n in grid))


# One call -------------------------------------------------------------------------------------------------------------


def test_samples_are_held_back():
    """What the report says is close to the truth, which it does not see; the condition of a fit is told."""
    law = targets.in_plane("mix2")
    found = af.transport(PLANE, law.sample(1500, key=KEY), budget=40)
    report, fresh = found.report(), law.sample(20_000, key=jax.random.key(7))
    truth = (law.log_density(fresh) - found.log_density(fresh)).mean()
    assert report.kl.value == pytest.approx(truth, abs=5 * report.kl.stderr + 0.02) and 0 < truth < 0.3
    assert report.reverse_kl.value is None and "samples" in report.reverse_kl.note
    assert "verfitting" in repr(report) and report.fitted_log_density.value > -5
    assert found.switches <= 40 and set(found.tried) == {"ridge", "field", "field+ridge"}
    assert found.judge.n == 300 and found.fitted.n == 900
    assert "points held back" in found.explain() and "grid: not possible" in found.explain()
    np.testing.assert_allclose(found.inverse(found.forward(fresh)), fresh, atol=1e-9)


def test_laws_that_stand_elsewhere():
    """A law of another place and scale costs 2d + 1 pieces, and the rest is the same problem."""
    near = targets.in_plane("mix3")
    far = laws.GaussianMixture(1e3 + 1e-4 * near.means, 0.6e-4)
    found = af.transport(laws.GaussianMixture([[50.0, 50.0]], 9.0), far, budget=60, method="ridge")
    assert found.switches <= 60 and 0 < found.report(n=4000).kl.value < 0.3


def test_conditions_stay_exactly():
    """Row 11 in small, in units of its own; given values are those of every point drawn."""
    near = targets.in_plane("mix3")
    covs = np.tile(np.diag([30.0**2, 0.006**2]), (3, 1, 1))
    far = laws.GaussianMixture(near.means * [50.0, 0.01] + [300.0, 7.0], covs=covs)
    found = af.transport(NORMAL, far, condition=[0], budget=120)
    x = found.sample(500, key=KEY, given=[310.0])
    assert (x[:, 0] == 310.0).all() and x[:, 1] == pytest.approx(7, abs=0.1)
    np.testing.assert_array_equal(found.inverse(x)[:, 0], x[:, 0])
    report = found.report(n=5000)
    assert 0 < report.kl.value < 0.1 and 0 < report.tv.value < 0.2
    line_of = lambda y: np.exp(found.log_density(np.stack([np.full_like(y, 310.0), y], 1)))  # noqa: E731
    y = np.linspace(6.9, 7.1, 20_001)
    assert integrate.trapezoid(line_of(y), y) == pytest.approx(1, abs=1e-3)
    for_all = found.sample(2000, key=KEY)
    assert for_all[:, 0].mean() == pytest.approx(300, abs=10)


def test_the_mass_of_an_unnormalised_density_is_estimated():
    quadratic = laws.FromDensity(lambda x: -(x**2).sum(axis=1), 2, box=([-5, -5], [5, 5]), normalized=False)
    report = af.transport(PLANE, quadratic, budget=30, method="ridge").report(n=5000)
    assert report.log_z.value == pytest.approx(np.log(np.pi), abs=5 * report.log_z.stderr)
    assert abs(report.kl.value) < 0.02 and report.reverse_kl.value == np.inf


def test_grids_say_what_they_leave_out():
    base = laws.UniformBox([-4.0, -4.0], [4.0, 4.0])
    found = af.transport(base, targets.in_plane("mix3"), budget=121)
    report = found.report(n=1000)
    assert (found.method, found.pieces) == ("grid", 122) and report.tv.value == pytest.approx(0.25, rel=0.02)
    assert "ramps" in report.kl.note and "0.9998" in repr(report) and report.mass == pytest.approx(1, abs=1e-6)
    x = base.sample(5000, key=KEY)
    np.testing.assert_allclose(found.inverse(found.forward(x)), x, atol=1e-9)


def test_nothing_to_do_and_nothing_to_say():
    """A target that is the base already; samples that repeat, and samples in many dimensions, tell no divergence."""
    for law, method in ((PLANE, "field"), (CLOUD, "ridge")):
        found = af.transport(PLANE, law, budget=20, method=method)
        assert found.switches == 0 and found.report(n=1000).kl.value == pytest.approx(0, abs=0.25)
    for samples, words in (
        (np.round(3 * CLOUD), "repetitions"),
        (np.random.default_rng(0).normal(size=(400, 8)), "dimension 6"),
    ):
        target = laws.Samples(samples)
        schedule = C.ridge_gaussianize(targets.in_plane("mix2"), 2, 1) if samples.shape[1] == 2 else None
        schedule = schedule or C.Schedule([C.ReluPiece.translation(np.zeros(8))])
        report = Transport.of(schedule, laws.StandardNormal(samples.shape[1]), target).report()
        assert report.kl.value is None and words in report.kl.note


def test_the_same_key_gives_the_same_schedule():
    law = targets.in_plane("mix2")
    one, other, third = (
        af.transport(PLANE, law, budget=25, method="field", key=k) for k in (KEY, KEY, jax.random.key(1))
    )
    assert one.schedule == other.schedule and one.schedule != third.schedule


def test_a_given_field_is_followed():
    """A linear field: the flow is a scaling, in both splittings, within the error of a fit."""
    for method, m in (("strang", 12), ("lie", 12)):
        schedule = C.switching_flow(
            lambda t, x: -0.5 * x, lambda t, n, *, key: np.exp(-t / 2) * PLANE.sample(n, key=key), 4, m, method
        )
        x = PLANE.sample(100, key=KEY)
        np.testing.assert_allclose(schedule.forward(x), np.exp(-0.5) * x, atol=0.02)
        assert schedule.switches <= (4 * (2 * m - 1) if method == "strang" else 4 * m) - 1


# Compared -------------------------------------------------------------------------------------------------------------


def test_shapes_known_by_samples():
    holds(shapes, computed(shapes, [{"shape": "rings", "n": 2000}]))


@pytest.mark.parametrize("kind", ["spline", "affine"])
def test_trained_flows_know_their_jacobians(kind):
    """The log determinant against that of the Jacobian by forward mode, inside and outside of the splines."""
    flow = TrainedFlow(kind, 2, 4, key=KEY)
    y = jax.numpy.array([[0.3, -1.2], [3.9, 0.1], [-5.0, 6.0]])

    @jax.jit
    @jax.vmap
    def both(y):
        z, log_det = flow.inverse(y)
        return flow.forward(z), log_det, jax.numpy.linalg.slogdet(jax.jacfwd(lambda y: flow.inverse(y)[0])(y))[1]

    again, log_det, expected = both(y)
    np.testing.assert_allclose(again, y, atol=1e-12)
    np.testing.assert_allclose(log_det, expected, atol=1e-10)


def test_built_and_trained_flows_return():
    cells = [
        {"part": "built", "method": "ridge", "budget": 29},
        {"part": "trained", "kind": "spline", "depth": 2, "width": 4, "steps": 30},
    ]
    with jax.numpy_dtype_promotion("standard"):  # optax raises floats to integer powers
        results = computed(rivals, cells)
    holds(rivals, results, "rivals-inverse", "rivals-trained-inverse")
    built, trained = (data for _, data in results)
    assert float(built["kl"]) < 0.3 and float(trained["kl"]) < 3 and float(built["parameters"]) == 150


# Refused --------------------------------------------------------------------------------------------------------------

CLOUD = np.random.default_rng(1).normal(size=(200, 2))
NAN = np.where(np.arange(400).reshape(200, 2) == 7, np.nan, CLOUD)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: af.transport(PLANE, NAN), "not finite"),
        (lambda: af.transport(PLANE, np.zeros((0, 2))), "at least one"),
        (lambda: af.transport(PLANE, CLOUD[:40]), "at least 100"),
        (lambda: af.transport(PLANE, CLOUD @ np.ones((2, 2))), "hyperplane"),
        (lambda: af.transport(NORMAL, CLOUD), "dimension"),
        (lambda: af.transport("normal", CLOUD), "is no law"),
        (lambda: af.transport(PLANE, CLOUD, method="magic"), "choose auto"),
        (lambda: af.transport(PLANE, CLOUD, method="knots"), "needs two laws on the line"),
        (lambda: af.transport(laws.Student(3, 2), CLOUD, method="ridge"), "not Gaussian"),
        (lambda: af.transport(PLANE, CLOUD, budget=2), "too small"),
        (lambda: af.transport(PLANE, 1e3 * CLOUD, budget=3, method="ridge"), "switches are too few"),
        (lambda: af.transport(PLANE, CLOUD, condition=[0, 1]), "leave at least one"),
        (lambda: af.transport(NORMAL, CLOUD, condition=[2]), "too large"),
        (lambda: af.transport(laws.UniformBox(), targets.in_plane("moons")), "take a larger one"),
        (lambda: C.grid_transport(CLOUD, 8), "no density"),
        (lambda: C.grid_transport(lambda x: -np.ones(len(x)), 8), "not negative"),
        (lambda: C.transport_1d(NORMAL, PLANE, 8), "dimension 2"),
        (lambda: C.transport_1d(NORMAL, CLOUD[:, 0], 8), "no distribution functions"),
        (lambda: C.transport_1d(NORMAL, stats.norm(scale=-1), 8), "valid ones"),
        (lambda: C.transport_1d(NORMAL, stats.norm(0, 1e-12), 8), "too far apart for float64"),
        (lambda: af.transport(PLANE, 1e-30 * CLOUD), "too far apart for float64"),
        (lambda: af.transport(PLANE, 1e200 * CLOUD), "shift and rescale"),
        (lambda: laws.FromDensity(lambda x: x[:, 0], 4), "sample="),
        (
            lambda: laws.FromDensity(lambda x: np.full(len(x), np.nan), 2, box=([0, 0], [1, 1])).sample(5, key=KEY),
            "nan",
        ),
        (lambda: laws.GaussianMixture([0.0], sds=-1.0), "positive"),
        (lambda: laws.GaussianMixture([0.0, 1.0], sds=1.0, weights=[0.5, 0.6]), "sum 1"),
        (lambda: laws.UniformBox([0.0, 1.0], [1.0, 1.0]), "low < high"),
        (lambda: Transport.of(C.transport_1d(NORMAL, NORMAL, 3), PLANE, PLANE), "do not fit"),
    ],
)
def test_refused_in_a_sentence(call, words):
    with pytest.raises(InputError) as error:
        call()
    assert words in str(error.value) and str(error.value).endswith(".")


def test_float32_is_converted_with_a_word():
    with pytest.warns(AttnflowWarning, match="float32 and was converted"):
        law = laws.Samples(CLOUD.astype(np.float32))
    assert law.x.dtype == np.float64


def test_samples_that_are_normal_already_stay_where_they_are():
    """No ridge step helps the points of this draw that are held back, so that nothing is built."""
    normal = np.random.default_rng(0).standard_normal((2000, 2))
    made = af.transport(PLANE, normal, method="ridge")
    np.testing.assert_array_equal(made.schedule.forward(normal), normal)
    assert made.pieces == 1
