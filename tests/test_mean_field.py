"""Theory/04, sections 1 and 6: the continuity equation on the circle and on the line, by finite volumes."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ive

import attnflow as af
from attnflow.errors import AttnflowWarning, InputError, SolveError
from attnflow.experiments.unified import mean_field as experiment
from attnflow.experiments.unified.mean_field import circle, claims, witness
from attnflow.flows import Outcome
from attnflow.reductions.mean_field import _scheme
from attnflow.reductions.mean_field._chart import Circle, Line
from attnflow.reductions.mean_field._field import Field, State, cells_of_attention, score_table
from attnflow.reductions.mean_field._limits import details, narrow_attention
from attnflow.reductions.mean_field._reconstruction import at_faces, in_peaks, quadrature_weights
from judging import computed, holds

CIRCLE, ON_LINE = Circle(), Line()

TURN = 2 * np.pi
ENDS = np.array([0.0, TURN])
MODEL = af.SelfAttention(beta=9.0)
LINE = af.SelfAttention(af.Linear(beta=0.5, V=[[0.7]]), af.Euclidean())
TS = np.linspace(0, 1, circle.SAVED)  # as many times as the experiment keeps: one program serves both
JUMP = 0.5


def on_the_line(first, second):
    """Softmax with v = 0.7, and one score until t = 0.5, another one from then on; one program serves all scores."""
    beta = af.Piecewise([JUMP], [first, second])
    return af.SelfAttention(af.Softmax(beta=beta, V=[[0.7]]), af.Euclidean())


def uniform(angle):
    return np.ones_like(angle)


def averages(n):
    """Exact averages of exp(sin) times a constant over n cells of the circle, by many nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    at = TURN / n * (np.arange(n)[:, None] + (1 + nodes) / 2)
    return np.exp(np.sin(at)) @ weights / 2


# The parts of the scheme ----------------------------------------------------------------------------------------------


def test_faces_are_reconstructed_to_fifth_order_and_never_below_zero():
    errors = []
    for n in (40, 80):
        left, right = at_faces(averages(n), True)
        exact = np.exp(np.sin(TURN * np.arange(n + 1) / n))
        errors.append(max(np.abs(left - exact).max(), np.abs(right - exact).max()))
    assert np.log2(errors[0] / errors[1]) > 4.7
    for periodic in (True, False):
        spike = np.where(np.arange(40) == 7, 1.0, np.where(np.arange(40) == 8, 1e-20, 0.0))
        assert all(bool((values >= 0).all()) for values in at_faces(spike, periodic))
    # A mirror exchanges left and right.
    masses = np.random.default_rng(0).random(40)
    left, right = at_faces(masses, False)
    np.testing.assert_allclose(at_faces(masses[::-1], False)[1][::-1], left, rtol=1e-14)
    # A density has no units.
    np.testing.assert_allclose(at_faces(1e-200 * masses, False)[1], 1e-200 * right, rtol=1e-12)


def test_weights_integrate_to_fourth_order_and_are_not_negative():
    mean = []
    for n in (20, 40):
        centres = TURN * (np.arange(n) + 0.5) / n
        weights = quadrature_weights(averages(n) / n, True)
        assert weights.sum() == pytest.approx(averages(n).mean(), rel=1e-14)
        mean.append(weights @ np.cos(2 * centres))
    exact = -ive(2, 1.0) * np.e  # exp(sin) has the coefficients I_k(1), turned by a quarter
    assert np.log2((mean[0] - exact) / (mean[1] - exact)) > 3.8 and abs(mean[1] - exact) < 1e-4
    rough = np.random.default_rng(1).random((3, 40)) ** 20
    for periodic in (True, False):
        weights = quadrature_weights(rough, periodic)
        assert weights.min() >= 0 and weights.sum(axis=1) == pytest.approx(rough.sum(axis=1), rel=1e-14)
    np.testing.assert_array_equal(quadrature_weights(rough, True)[1], quadrature_weights(rough[1], True))
    assert in_peaks(np.eye(12)[5], True).tolist() == [abs(i - 5) <= 2 for i in range(12)]


@pytest.mark.parametrize("chart", [CIRCLE, ON_LINE])
@pytest.mark.parametrize("dt", [1e-3, 1.0, 1e6])
def test_a_step_of_any_length_keeps_mass_and_sign(chart, dt):
    """Diracs, empty cells and velocities without any order."""
    rng = np.random.default_rng(2)
    masses = rng.random(60) ** 30 * (rng.random(60) < 0.7)
    v = rng.normal(size=61)
    v[-1] = v[0] if chart.periodic else v[-1]
    after = _scheme._euler(chart, State(masses / masses.sum(), ENDS), v, dt)
    assert after.masses.min() >= 0 and after.masses.sum() == pytest.approx(1, abs=1e-14)
    assert (after.masses != masses / masses.sum()).any()


def test_a_table_of_scores_gives_the_velocity_of_the_map():
    """And NumPy, from the formula."""
    n, rng = 48, np.random.default_rng(3)
    masses = rng.random(n)
    state = State(jnp.asarray(masses / masses.sum()), jnp.asarray(ENDS))
    chart = CIRCLE
    table = score_table(MODEL, chart, ENDS, n)
    assert table is not None

    @jax.jit
    def both(table):
        fields = (Field(MODEL, table), Field(MODEL, None))
        return [field.velocity(chart, "dense", 0.0, state, None) for field in fields]

    (actual, longest), (by_map, same) = both(table)
    w = quadrature_weights(np.asarray(state.masses), True)
    apart = TURN / n * (np.arange(n)[None, :] + 0.5 - np.arange(n + 1)[:, None])
    weight = w * np.exp(9 * np.cos(apart))
    exact = np.sum(weight * np.sin(apart), axis=1) / np.sum(weight, axis=1)
    for one in (actual, by_map):
        np.testing.assert_allclose(one, exact, atol=1e-13)
    assert float(longest) == pytest.approx(float(same), rel=1e-12) and float(longest) <= 1
    # No table where a denominator might vanish, or scores change.
    assert score_table(af.SelfAttention(beta=1e3), chart, ENDS, n) is None
    assert score_table(LINE, ON_LINE, ENDS, n) is None
    assert cells_of_attention(MODEL, chart, ENDS, n) == pytest.approx(n / TURN / 3, rel=0.01)
    assert cells_of_attention(LINE, ON_LINE, ENDS, n) == np.inf


# The experiment: rates, order, tokens, closed forms -------------------------------------------------------------------


RUN = ("growth", "order", "merger", "quantiles")  # on one grid: `attnflow reproduce unified-mean-field` judges the rest
JUDGED = ("growth-sa", "growth-fourth", "fourier", "merger", "quantile-w1", "quantile-mode")


@pytest.fixture(scope="module")
def results():
    chosen = [cell for cell in experiment.cells("quick") if cell["part"] in RUN]
    return computed(experiment, [c for c in chosen if c.get("clock", "SA") == "SA" and c["cells"] == 256])


@pytest.mark.parametrize("name", JUDGED)
def test_claims(results, name):
    holds(experiment, results, f"mean-field-{name}")


@pytest.mark.parametrize("beta", claims.BETAS)
def test_a_law_that_becomes_diracs_keeps_mass_and_sign(beta):
    """The energy rises while the law is resolved; and all clusters have a sentence."""
    law = af.mean_field(af.SelfAttention(beta=beta), circle.rough, ts=np.linspace(0, 20, circle.SAVED))
    assert np.abs(law.mass - 1).max() < 1e-12 and law.masses.min() >= 0
    assert law.unresolved[0] == 0 and law.unresolved.max() > 0.9 and "narrower than 4 of the 256" in law.resolution
    resolved = law.energy()[: np.argmax(law.unresolved > 0.01)]
    assert resolved.size > 5 and np.diff(resolved).min() >= 0


def test_the_density_of_the_experiment_is_that_of_its_levels():
    angle = np.linspace(0, TURN, 2001)
    slope = np.gradient(circle.level(angle), angle, edge_order=2)
    np.testing.assert_allclose(slope, circle.smooth(angle), atol=1e-5)
    assert circle.level(np.array([0.0, TURN])) == pytest.approx([0, 1])


# Laws ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def law():
    return af.mean_field(MODEL, circle.smooth, ts=TS)


def test_tokens_that_represent_a_law(law):
    n = 4000
    actual = af.measures.wasserstein_circle(law.quantiles(n, at=0), TURN * (np.arange(n) + 0.5) / n, p=1)
    level = np.sort(np.arctan2(*np.asarray(law.quantiles(n, at=0)).T[::-1]) % TURN)
    np.testing.assert_allclose(circle.level(level), (np.arange(n) + 0.5) / n, atol=2e-5)
    assert actual > 0.1
    drawn = np.asarray(law.sample(n, key=jax.random.key(0)))
    assert np.linalg.norm(drawn, axis=1) == pytest.approx(1)
    exact = np.array([law.mean(np.cos)[-1], law.mean(np.sin)[-1]])
    assert np.abs(drawn.mean(axis=0) - exact).max() < 4 * drawn.std(axis=0).max() / np.sqrt(n)
    cloud, w = law.tokens(), law.weights[-1]
    np.testing.assert_allclose(w @ np.asarray(cloud), exact, atol=1e-13)
    assert w.min() >= 0 and w.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda law: law.tokens(at=101), "at = 101 is too large"),
        (lambda law: law.quantiles(3, at=-102), "at = -102 is too small"),
        (lambda law: law.mean(lambda angle: angle[0]), "one value each"),
        (lambda law: law.mean("cos"), "is no function"),
        (lambda law: law.mean(lambda angle: "one"), "one real number"),
        (lambda law: law.energy(np.ones(2)), "is no name"),
        (lambda law: law.sample(3, key=None), "no random key"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_bad_questions_to_a_law(law, call, message):
    with pytest.raises(InputError, match=message):
        call(law)


def test_a_law_is_data(law):
    data = law.to_xarray()
    assert data["density"].dims == ("time", "cell") and data["density"].shape == (101, 256)
    np.testing.assert_allclose((data["density"] * law.width[0]).sum("cell"), 1, rtol=1e-12)
    assert "256 cells on the circle" in repr(law) and "resolved by 256 cells" in law.resolution
    np.testing.assert_allclose(law.centres[0], law.faces[0, :-1] + law.width[0] / 2)
    assert law.clock == "SA" and law.result is Outcome.SUCCESSFUL and law.stats["steps"] > 10
    # The energy at the start, by its Fourier series: modes 1 and 2 of the density.
    modes = np.array([1, 0.2, 0.1])
    exact = ive(0, 9.0) + 2 * np.sum(modes[1:] ** 2 * ive([1, 2], 9.0))
    assert law.energy()[0] == pytest.approx(exact, rel=1e-7)


def test_the_uniform_measure_stays_and_symmetries_are_kept():
    still = af.mean_field(MODEL, uniform, ts=TS)
    np.testing.assert_allclose(still.density, 1 / TURN, rtol=1e-13)
    turned = af.mean_field(MODEL, lambda angle: circle.smooth(angle - TURN / 4), ts=TS)
    plain = af.mean_field(MODEL, circle.smooth, ts=TS)
    np.testing.assert_allclose(np.roll(plain.masses[-1], 64), turned.masses[-1], rtol=1e-8)
    by_values = af.mean_field(MODEL, plain.density[0], ts=TS)
    np.testing.assert_allclose(by_values.masses, plain.masses, rtol=1e-9)


def test_a_gaussian_on_the_line_and_scores_that_jump():
    """1/s falls by 2v times the integral of the score; the mean is that of the closed form."""
    s0, mean0, v, half = 1.3, 0.4, 0.7, 9 * np.sqrt(1.3)
    density = lambda x: np.exp(-((x - mean0) ** 2) / (2 * s0))  # noqa: E731
    ts, interval = np.linspace(0, 1.3, 14), (mean0 - half, mean0 + half)
    law = af.mean_field(on_the_line(0.3, 0.1), density, ts=ts, interval=interval)
    scores = 0.3 * np.minimum(ts, JUMP) + 0.1 * np.maximum(ts - JUMP, 0)
    s = s0 / (1 - 2 * v * s0 * scores)
    mean = law.mean(lambda x: x)
    np.testing.assert_allclose(mean, mean0 * np.exp(v * ts) * np.sqrt(s / s0), atol=1e-5)
    np.testing.assert_allclose(law.mean(lambda x: (x - mean[:, None]) ** 2), s, atol=1e-5)
    assert np.abs(law.mass - 1).max() < 1e-12 and law.masses.min() >= 0
    assert law.quantiles(5).shape == (5, 1) and law.tokens().shape == (256, 1)


def test_the_interval_follows_the_flow():
    """Without scores all tokens move alike, the ends of the interval among them: only the grid moves, not the mass."""
    ts = np.linspace(0, 1.3, 14)
    law = af.mean_field(
        on_the_line(0.0, 0.0), lambda x: np.clip(1 - x**2, 0, None) ** 4 * (1 + x), ts=ts, interval=(-1, 1)
    )
    moved = (np.exp(0.7 * ts) - 1) / 11  # the mean of the density is 1/11
    np.testing.assert_allclose(law.ends, np.array([-1.0, 1.0]) + moved[:, None], rtol=1e-6)
    np.testing.assert_allclose(law.masses, np.broadcast_to(law.masses[0], law.masses.shape), atol=1e-12)


def test_a_map_that_iterates():
    """Sinkhorn attention: tokens at quantiles agree, moved by NumPy with plans of their own."""
    beta, n, t1 = 3.0, 24, 0.5
    law = af.mean_field(af.SelfAttention(af.Sinkhorn(beta=beta)), circle.smooth, t1=t1, save=6, cells=64)

    def field(t, angle):
        kernel = np.exp(beta * np.cos(angle[:, None] - angle[None, :])) / n
        f = np.ones(n)
        for _ in range(200):
            f = np.sqrt(f / (kernel @ f))
        return (f[:, None] * kernel * f[None, :] * np.sin(angle[None, :] - angle[:, None])).sum(axis=1)

    start = witness.quantiles(circle.level, n)
    angle = solve_ivp(field, (0, t1), start, rtol=1e-9, atol=1e-10).y[:, -1]
    assert np.mean(np.cos(angle)) == pytest.approx(law.mean(np.cos)[-1], abs=3e-5)
    assert np.mean(np.sin(angle)) == pytest.approx(law.mean(np.sin)[-1], abs=3e-5)


# What is resolved ----------------------------------------------------------------------------------------------------


def test_details_are_what_half_the_cells_would_miss():
    """None of a polynomial of degree four; all of a Dirac but what a parabola keeps; a smooth law has almost none."""
    edges = np.arange(33.0) / 32
    quartic = np.diff(edges**5 - edges**3 + edges)
    pairs = [quartic[2 * k : 2 * k + 2].sum() for k in range(5, 10)]
    by_hand = pairs[2] / 2 - (22 * (pairs[3] - pairs[1]) - 3 * (pairs[4] - pairs[0])) / 256
    assert by_hand == pytest.approx(quartic[14], rel=1e-13)
    smooth = [float(details(averages(n)[None] / averages(n).sum(), True)[0]) for n in (32, 64)]
    assert np.log2(smooth[0] / smooth[1]) > 4.5
    assert details(np.eye(1, 32, 7), True)[0] > 0.5


def test_a_gaussian_past_its_blow_up_is_not_resolved():
    """s = s0/(1 - 2 v a s0 t) is infinite at t = 1.0989, and the law, cut off at nine deviations, goes on."""
    s0, half = 1.3, 9 * np.sqrt(1.3)
    density, ts = lambda x: np.exp(-(x**2) / (2 * s0)), np.linspace(0, 1.3, 14)
    arguments = {"ts": ts, "interval": (-half, half)}
    mild, wild = (af.mean_field(on_the_line(a, a), density, **arguments) for a in (0.1, 0.5))
    assert mild.resolved and mild.limits == () and "resolved by 256 cells" in mild.resolution
    assert wild.result is Outcome.SUCCESSFUL and not wild.resolved and "decide the velocity" in wild.resolution
    since = float(wild.resolution.split("From t = ")[1].split()[0])
    early = ts < since
    exact = s0 / (1 - 2 * 0.7 * 0.5 * s0 * ts[early])
    assert 0.3 < since < 1.0989 and np.abs(wild.mean(lambda x: x**2)[early] / exact - 1).max() < 0.05
    assert wild.limits[0] in repr(wild) and wild.to_xarray().attrs["resolution"] == wild.resolution


def test_an_unresolved_law_gives_its_reasons(law):
    assert law.resolved and law.limits == () and law.details.max() < 1e-3
    # A start as narrow as a cell; too few cells; rows that are missing; attention that becomes narrow.
    peak = af.mean_field(MODEL, lambda angle: np.exp(2000 * (np.cos(angle - 1) - 1)), ts=TS)
    assert not peak.resolved and peak.resolution.startswith("From t = 0 on there is mass (100% at the end)")
    coarse = dataclasses.replace(law, masses=law.masses.reshape(len(TS), 8, 32).sum(axis=2))
    assert not coarse.resolved and any("8 cells are too few" in limit for limit in coarse.limits)
    holes = np.where(np.arange(len(TS))[:, None] < 50, law.masses, np.nan)
    for code in (Outcome.STALLED, Outcome.SUCCESSFUL):
        broken = dataclasses.replace(law, masses=holes, code=code.code)
        assert not broken.resolved and "from t = 0.5 on: these rows are NaN" in broken.resolution
    none = dataclasses.replace(law, masses=np.full_like(holes, np.nan), code=Outcome.NOT_FINITE.code)
    assert not none.resolved and "101 of the 101 times" in none.resolution
    cools = af.SelfAttention(beta=af.Piecewise([0.5], [1.0, 1e6]))
    limit = narrow_attention(cools, CIRCLE, TS, np.tile(ENDS, (len(TS), 1)), 256)
    assert limit is not None and "At t = 0.5" in limit and "cells wide" in limit


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"density": lambda angle: np.cos(angle)}, "a density is not negative"),
        ({"density": lambda angle: np.where(angle > 3, np.nan, 1.0)}, "density has an entry that is not finite"),
        ({"density": lambda angle: 0 * angle}, "integral 0"),
        ({"density": lambda angle: angle[0]}, "one value each"),
        ({"density": -np.ones(64)}, "a density is not negative"),
        ({"density": np.ones((8, 8))}, "circle and on the line"),
        ({"density": "uniform"}, "not an array of numbers"),
        ({"density": ["1"] * 64}, "not an array of numbers"),
        ({"density": 1j * np.ones(64)}, "density holds complex numbers"),
        ({"density": math.cos}, "write it with NumPy"),
        ({"density": np.ones(64), "cells": 32}, "leave cells out"),
        ({"cells": 10**12}, "cells = 1000000000000 is too large"),
        ({"cells": True}, "not a whole number"),
        ({"max_steps": 10**20}, "is too large"),
        ({"cells": 4}, "cells = 4 is too small"),
        ({"cells": 64.0}, "not a whole number"),
        ({"interval": (0, 1)}, "leave interval out"),
        ({"t1": "1"}, "not an array of numbers"),
        ({"t1": None}, "final time is missing"),
        ({"t1": -1.0}, "take t1 > t0"),
        ({"t1": None, "ts": [1.0, 0.0]}, "increasing times"),
        ({"save": 0}, "save = 0 is too small"),
        ({"cfl": 2.0}, "no part of a cell"),
        ({"throw": "no"}, "True or False"),
        ({"kernel": None}, "is no name"),
        ({"max_steps": 0}, "max_steps = 0"),
        ({"model": af.SelfAttention(beta=1.0, pairs=af.Causal())}, "Causal pairs distinguish tokens"),
        ({"model": af.SelfAttention(af.Softmax(V=np.eye(3)))}, r"circle \(d = 2\).*3-by-3"),
        ({"model": af.SelfAttention(af.Softmax(V=np.ones((3, 2))))}, "velocities of dimension 3"),
        ({"model": af.SelfAttention(af.Softmax(B=np.eye(2)), af.Euclidean())}, "here d = 1"),
        ({"model": af.SelfAttention(af.Hardmax())}, "edge of the support"),
        ({"model": af.Flow(lambda t, x, w: x, af.Sphere())}, "attention alone, SelfAttention, and Flow is none"),
        ({"model": LINE}, "needs an interval"),
        ({"model": LINE, "interval": (1, -1)}, "no interval"),
        ({"model": LINE, "interval": (-1, 1), "kernel": "table"}, "softmax on the circle"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_bad_input_is_refused_in_a_sentence(change, message):
    arguments = {"model": MODEL, "density": uniform, "t1": 1.0, **change}
    with pytest.raises(InputError, match=message):
        af.mean_field(arguments.pop("model"), arguments.pop("density"), **arguments)


def test_attention_narrower_than_a_cell_is_reported():
    with pytest.warns(AttnflowWarning, match="cells wide"):
        law = af.mean_field(af.SelfAttention(beta=1e4), circle.smooth, ts=TS, kernel="dense", max_steps=1, throw=False)
    assert not law.resolved and any("cells wide" in limit and limit.endswith(".") for limit in law.limits)
    with pytest.warns(AttnflowWarning, match=r"attention is 0\..* cells wide"), pytest.raises(InputError):
        af.mean_field(af.SelfAttention(beta=1e4), uniform, t1=1.0, cells=64, kernel="none")


@pytest.mark.usefixtures("as_users_run")
def test_an_unfinished_law():
    arguments = {"ts": TS, "max_steps": 2}
    with pytest.raises(SolveError, match="raise max_steps"):
        af.mean_field(MODEL, circle.smooth, **arguments)
    law = af.mean_field(MODEL, circle.smooth, throw=False, **arguments)
    assert not law.resolved and "raise max_steps" in law.resolution and "are NaN" in law.resolution
    assert law.result is Outcome.MAX_STEPS and np.isnan(law.masses[-1]).all() and np.isfinite(law.masses[0]).all()
    assert law.quantiles(3, at=0).shape == (3, 2)
    for wrong in (0, "three"):
        with pytest.raises(InputError, match="n = "):
            law.quantiles(wrong)
