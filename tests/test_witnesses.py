"""The numbers that claims expect, computed again by the witnesses: SciPy and NumPy alone, no line of the library.

What is deterministic must agree to the digits of the claim. Draws are few here, and compared within five standard
errors; run as scripts, the witnesses draw as many as stand behind the tables.
"""

import math

import numpy as np
import pytest

from attnflow import registry
from witnesses import (
    causal_clusters,
    causal_tokens,
    euclidean_flows,
    gaussian_laws,
    hardmax_layers,
    line_modes,
    random_layers,
    relu_transport,
    sphere_draws,
    staircases,
    zero_temperature,
)

CLAIMS = {claim.id: claim for e in registry.entries("experiment").values() for claim in e.claims}


def agree(id, actual, rel=1.0):
    """Whether a witness's numbers are what the claim expects, within (a part of) its own tolerance."""
    claim = CLAIMS[id]
    expected = np.asarray(claim.expected, float)
    slack = rel * claim.tolerance * (np.abs(expected) if claim.tolerance_kind == "rel" else 1.0)
    np.testing.assert_array_less(np.abs(np.asarray(actual, float) - expected), slack + 1e-15, err_msg=id)


def near(expected, actual, error):
    """Within five standard errors, which are small enough to tell."""
    assert error < 0.2 * abs(expected) and abs(actual - expected) < 5 * error, (expected, actual, error)


def test_witnesses_do_not_import_the_library():
    for module in (causal_tokens, gaussian_laws, staircases, sphere_draws):
        assert not any("attnflow" in str(value) for name, value in vars(module).items() if name[:2] != "__")


def test_causal_closed_forms():
    a = causal_tokens.iv(1, 1.0)
    sources = (0.1, 0.5, 0.9)
    agree("correlations-two-time", [causal_tokens.two_time(1, s, a, 1.0) for s in sources])
    agree("correlations-equal-time", [causal_tokens.equal_time(1, s, a, 1.0) for s in sources])
    at = (np.arange(499) + 0.5) / 500
    actual = np.interp(0.1, at, causal_tokens.equal_time_matrix(500, a, 1.0))
    assert actual == pytest.approx(CLAIMS["correlations-equal-time-slowly"].expected[0], abs=1e-4)
    agree("retrieval-critical-times", [causal_tokens.critical_time(beta, 1.0) for beta in (0.5, 1, 2, 3)])
    least = [causal_tokens.least(t, 1.0) for t in (0.5, 1, 1.5, 2)]
    agree("retrieval-argmin", [s for s, _ in least])
    agree("retrieval-minimum", [value for _, value in least])
    agree("retrieval-by-slope", [causal_tokens.least(1, slope)[0] for slope in (0.5, 1, 2, 4, 8)])
    agree("retrieval-last-source", causal_tokens.profile(1.0, 1, 1.0, 1.0))
    well = [causal_tokens.minimum(causal_tokens.double_well, *ends) for ends in ((0.05, 0.25), (0.6, 0.95))]
    top = causal_tokens.minimum(lambda s: -causal_tokens.double_well(s), 0.25, 0.6)
    agree("retrieval-double-well", [well[0][0], top[0], well[1][0]])
    agree("retrieval-double-well-depth", [well[0][1], -top[1], well[1][1]])
    modes = np.arange(1, 7)
    omega = np.exp(-((np.pi * modes / 8) ** 2) / 2)
    at = (np.arange(127) + 0.5) / 128
    agree("retrieval-continuum-bins", causal_tokens.bins(causal_tokens.profile(at, 1.0, 1.0, 1.0, modes=6)))
    rows = (causal_tokens.matrix_form(128, k * k * causal_tokens.iv(k, 1.0), 1.0) for k in modes)
    agree("retrieval-matrix-bins", causal_tokens.bins(sum(o * row for o, row in zip(omega, rows, strict=True))))
    for name, options in (("sphere", (1.0, 3)), ("sphere-softmax", (1.0, 3, True)), ("circle-softmax", (2.0, 2, True))):
        rate = causal_tokens.rate(*options)
        agree(f"correlations-{name}-rate", rate)
        agree(f"correlations-{name}-matrix", causal_tokens.matrix_form(32, rate, 1.0)[1:].mean())


def test_causal_simulation():
    value, error = causal_tokens.mean(causal_tokens.simulated(np.random.default_rng(0), 16, 1.0, 512).mean(axis=(1, 2)))
    near(CLAIMS["correlations-response"].expected[0], value, error)
    drawn = causal_tokens.simulated(np.random.default_rng(1), 32, 2.0, 512, softmax=True)[:, 0, 1:].mean(axis=-1)
    near(CLAIMS["correlations-circle-softmax-mean"].expected, *causal_tokens.mean(drawn))
    drawn = causal_tokens.on_the_sphere(np.random.default_rng(2), 32, 1.0, 640, softmax=False)
    near(CLAIMS["correlations-sphere-mean"].expected, *causal_tokens.mean(drawn))


def test_the_response_of_the_last_token_is_its_derivative():
    """The sweep back through the steps against differences."""
    rng, n = np.random.default_rng(0), 6
    theta, w = rng.uniform(0, 2 * np.pi, (1, n)), causal_tokens.weights(n, 1.0)
    for softmax in (False, True):

        def last(theta, softmax=softmax):
            for _ in range(10):
                h, k = causal_tokens.STEP, causal_tokens.slopes(theta, w, 1.5, softmax)[0]
                k2 = causal_tokens.slopes(theta + h / 2 * k, w, 1.5, softmax)[0]
                k3 = causal_tokens.slopes(theta + h / 2 * k2, w, 1.5, softmax)[0]
                k4 = causal_tokens.slopes(theta + h * k3, w, 1.5, softmax)[0]
                theta = theta + h / 6 * (k + 2 * k2 + 2 * k3 + k4)
            return theta[0, -1]

        actual = causal_tokens.response(theta, w, 1.5, 1.0, 1, softmax)[0, 0]
        for k in range(n - 1):
            step = 1e-5 * np.eye(n)[k]
            slope = (last(theta + step) - last(theta - step)) / 2e-5
            expected = n * slope * math.cos(last(theta) - theta[0, k])
            assert actual[k] == pytest.approx(expected, abs=1e-7)


def test_causal_clusters():
    both = causal_clusters.two_ends(np.random.default_rng(0), 120, h=0.5, t=30.0)
    near(CLAIMS["clustering-simple-share"].expected, both.mean(), both.std() / math.sqrt(len(both)))
    strong = causal_clusters.strong_centers(np.random.default_rng(0), 200, 3, 0.5, 100)
    near(CLAIMS["clustering-strong-count-sphere"].expected, strong.mean(), strong.std() / 10)


@pytest.mark.parametrize(("name", "kind", "beta"), [("W32", "SA", 9.0), ("figure", "SA", 2000.0), ("S2", "SA", 9.0)])
def test_staircases(name, kind, beta):
    merges = {left: (t, energy) for t, left, energy in staircases.merges(staircases.tokens(name), beta, kind)}
    ids = [id for id in CLAIMS if id.startswith(f"staircase-times-{name.lower()}-{kind.lower()}-{beta:g}-")]
    assert ids
    for id in ids:
        times = CLAIMS[id].expected
        agree(id, [math.exp(merges[left][0]) for left in range(len(times), 0, -1)], 1.2)
    if name == "W32":
        agree("staircase-energies-w32-sa-9-from-3", [merges[3][1], merges[2][1]], 1.2)


def test_merges_of_caps_and_of_two_clusters():
    actual = {left: t for t, left, _ in staircases.merges(staircases.tokens("caps"), 30.0)}
    agree("separation-merges", [math.exp(actual[left]) for left in (3, 2, 1)])
    agree("two-clusters-merging", [staircases.two_cluster_time(beta) for beta in (9.0, 30.0)])
    agree("two-clusters-reference", [staircases.two_cluster_time(beta) for beta in (9.0, 30.0)])


def test_hardmax_beyond_the_theorem():
    for name, A in hardmax_layers.MATRICES.items():
        xs = hardmax_layers.run(A, layers=2000 if name in ("minus", "quarter-turn") else 200)
        longest = np.linalg.norm(xs, axis=-1).max(axis=1)
        assert hardmax_layers.leaders(xs) == CLAIMS[f"beyond-{name}-leaders"].expected
        if name == "minus":
            agree("beyond-minus", longest[[0, 5, 10, 2000]])
        if name == "quarter-turn":
            agree("beyond-quarter-turn", longest[[10, 2000]])


def test_euclidean_reference_runs():
    eye = np.eye(2)
    for name, B in (("identity", eye), ("skew", np.array([[2, 0.5], [0.5, 1]]))):
        z = euclidean_flows.rescaled(euclidean_flows.NINE, eye, B, 14.0)
        labels = np.array(CLAIMS[f"polytope-labels-{name}"].expected)
        limits = np.array(CLAIMS[f"polytope-centroids-{name}"].expected)
        np.testing.assert_allclose(z, limits[labels], atol=1e-5)
    agree("hyperplane-levels", euclidean_flows.plane_levels())
    mix = euclidean_flows.rescaled(euclidean_flows.EIGHT, np.diag([1, 1, -0.5]), np.eye(3), 14.0)[:5, :2]
    agree("mix-centroids", mix)
    x = euclidean_flows.on_the_line([-1, -0.4, 0.3, 1.2], 6.0)
    agree("line-gap", x[3] - x[2])
    tokens = (euclidean_flows.on_the_line([-1, -0.4, 0.3, 1.2], t) for t in (1, 2, 3, 4))
    agree("line-doubly-exponential", [euclidean_flows.doubt(x) for x in tokens])
    agree("line-pair", euclidean_flows.on_the_line([-0.5, 0.5], 3.0)[-1] ** 2)
    agree("line-triple", euclidean_flows.on_the_line([-0.5, 0, 0.5], 3.0)[-1] ** 2)
    ranks = [euclidean_flows.rank_of_draw(seed) for seed in range(8)]
    assert [rank for rank, _ in ranks] == CLAIMS["line-rank"].expected
    assert [rows for _, rows in ranks] == CLAIMS["line-boolean"].expected
    agree("origin-covariance", euclidean_flows.towards_the_origin(h=0.2))


def test_low_temperature_reference_experiment():
    far, distances = zero_temperature.experiment(8.0, 5.0, n=240)
    assert far.min() == pytest.approx(CLAIMS["phases-table"].expected[0], rel=0.03)
    expected = CLAIMS["phases-synchronous"].expected[0]
    assert list(distances.values()) == pytest.approx(expected, rel=0.03)
    agree("limit-plane", zero_temperature.plane_distances())


def test_gaussian_laws():
    for name, velocity in gaussian_laws.MAPS.items():
        mean, S = gaussian_laws.flow(velocity, gaussian_laws.ALPHA, gaussian_laws.SIGMA, 1.0)
        agree(f"closures-{name.lower().replace(' ', '-')}", [*mean, S[0, 0], S[0, 1], S[1, 1]])
    one = gaussian_laws.flow(gaussian_laws.softmax, gaussian_laws.ALPHA, gaussian_laws.SIGMA, 1.0)
    other = gaussian_laws.flow(gaussian_laws.softmax, *gaussian_laws.OTHER, 1.0)
    apart = gaussian_laws.w2(gaussian_laws.ALPHA, gaussian_laws.SIGMA, *gaussian_laws.OTHER)
    agree("closures-stability", [apart, gaussian_laws.w2(*one, *other)])


def test_fates_of_gaussian_laws():
    expected = np.array(CLAIMS["behaviours-fate-times"].expected).reshape(-1, 3)
    matrices = gaussian_laws.both()
    for x, y, t in expected:
        assert gaussian_laws.blow_up_time(*matrices, gaussian_laws.cone(x, y)) == pytest.approx(t, abs=0.006)
    assert gaussian_laws.blow_up_time(*matrices, gaussian_laws.cone(0.3, 0.3)) == np.inf
    for d in (3, 4, 5):
        counts, ranks = gaussian_laws.rank_histogram(d)
        assert counts == CLAIMS[f"behaviours-rank-{d}-threshold"].expected
        assert ranks == {CLAIMS[f"behaviours-rank-{d}"].expected}


def test_sigmoid_tokens():
    """Of 256 midpoint tokens, which move the variance by less than one per cent."""
    mean, variance, _ = gaussian_laws.sigmoid_tokens(-2.0, 0.5, 1.0, n=256)
    assert [mean, variance] == pytest.approx(CLAIMS["closures-sigmoid-4-tokens"].expected, rel=0.01)


def test_random_layers():
    plus, minus = random_layers.shares(random_layers.stacks(np.random.default_rng(0), 3, 24.0, 400, 400))
    near(CLAIMS["coefficients-near-plus"].expected[1], plus, 0.02)
    near(CLAIMS["coefficients-near-minus"].expected[1], minus, 0.019)
    assert random_layers.argmax_time(16, points=801) == pytest.approx(CLAIMS["collapse-argmax"].expected[0], abs=1e-3)
    time, error = random_layers.collapse_time(np.random.default_rng(0), 16, 2.0, 2000)
    assert error < 0.02 and abs(time - CLAIMS["collapse-beta-2"].expected[0]) < 5 * error


def test_draws_on_the_sphere():
    met = sphere_draws.draws(sphere_draws.fraction_met, 32, 2, 4.0, (5,), 64)
    value, error = sphere_draws.mean(met[0])
    near(CLAIMS["map-d2-beta4"].expected[0], value, error)
    met = sphere_draws.draws(sphere_draws.fraction_met, 32, 128, 4.0, (7,), 48)
    near(CLAIMS["map-d128-beta4"].expected[0], *sphere_draws.mean(met[0]))
    count = sphere_draws.draws(sphere_draws.clusters_on_circle, 32, 2, 9.0, (18,), 48)[0]
    near(CLAIMS["circle-beta9-t18-3-clusters"].expected, np.mean(count == 3), math.sqrt(0.24 / 48))
    modes = sphere_draws.modes_on_circle(np.random.default_rng(0), 32, 16.0, 200)
    near(CLAIMS["circle-modes-n32-beta16"].expected, modes.mean(), modes.std() / math.sqrt(200))


def test_modes_on_the_line():
    actual = line_modes.counts(np.random.default_rng(0), 1000, 100.0, 200)
    for variable, row in zip(("modes", "inside"), actual, strict=True):
        near(CLAIMS[f"gaussian-n1000-beta100-{variable}"].expected, row.mean(), row.std() / math.sqrt(200))


def test_transport_on_the_line_and_on_grids():
    agree("line-constant-mix2", relu_transport.constant("mix2", 20_001))
    agree("line-constant-mix3", relu_transport.constant("mix3", 20_001))
    assert relu_transport.divergence("mix2", 16) == pytest.approx(CLAIMS["line-mix2"].expected[0], rel=0.01)
    for id, name in (("plane-grid-tv", "mix3"), ("plane-grid-moons", "moons")):
        agree(id, [relu_transport.grid(name, n, inner=16)[0] for n in (8, 16, 32)])
    agree("plane-grid-kl", 32**2 * relu_transport.grid("mix3", 32, inner=16)[1])


def test_every_reference_table_has_a_witness_in_the_repository():
    """A claim's note may name a witness; it is there. None may speak of a program that is not."""
    from pathlib import Path

    root = Path(__file__).parent.parent
    for claim in CLAIMS.values():
        for word in claim.note.replace(",", " ").split():
            assert not word.startswith("tests/") or (root / word).is_file(), (claim.id, word)
        assert "other program" not in claim.note and "another program" not in claim.note, claim.id
