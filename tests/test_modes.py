"""Modes of kernel densities: counted against fine grids, roots of polynomials and closed forms."""

import dataclasses
import functools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import attnflow as af
from attnflow.diagnostics._modes_search import _draws, _scales
from attnflow.diagnostics._modes_sums import sums
from attnflow.errors import AttnflowWarning, InputError
from witness import on_circle


def slow_line(x, w, beta, fineness=200):
    """Falling zeros of the derivative on a grid of step h/200, all tokens in every sum."""
    h = beta**-0.5
    t = np.arange(x.min() - 3 * h, x.max() + 3 * h, h / fineness) + 1e-5 * h
    z = (x[None, :] - t[:, None]) / h
    nearest = (z**2).min(axis=1, keepdims=True)  # only the sign is wanted: gaps must not underflow
    slope = (w * z * np.exp((nearest - z**2) / 2)).sum(axis=1)
    return int(np.sum((slope[:-1] > 0) & (slope[1:] <= 0)))


def roots_on_circle(angles, w, beta):
    """Critical points as roots on the unit circle of a polynomial in e^{iθ}, from the eigenvalues of its companion."""
    from scipy.special import ive

    degree = int(np.sqrt(2 * beta * 32)) + 12
    k = np.arange(-degree, degree + 1)
    c = 1j * k * ive(np.abs(k), beta) * (w * np.exp(-1j * k[:, None] * angles)).sum(axis=1)
    z = np.roots(c[::-1] / np.abs(c).max())
    critical = np.angle(z[np.abs(np.abs(z) - 1) < 1e-7])
    second = (1j * k * c * np.exp(1j * np.multiply.outer(critical, k))).sum(axis=1).real
    return int(np.sum(second < 0))


@pytest.mark.parametrize("n, beta", [(1, 3.0), (2, 20.0), (5, 1.0), (20, 30.0), (200, 100.0), (300, 2000.0)])
def test_line_agrees_with_fine_grids(n, beta):
    rng = np.random.default_rng(n)
    x, w = rng.standard_normal((12 if n < 100 else 4, n)), rng.dirichlet(np.ones(n))
    equal, weighted = af.diagnostics.modes(x[..., None], beta), af.diagnostics.modes(x[..., None], beta, weights=w)
    assert equal.certified.all() and weighted.certified.all()
    np.testing.assert_array_equal(equal.count, [slow_line(row, np.ones(n), beta) for row in x])
    np.testing.assert_array_equal(weighted.count, [slow_line(row, w, beta) for row in x])


@settings(max_examples=25, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(st.lists(st.floats(-8, 8), min_size=6, max_size=6), st.lists(st.integers(1, 1000), min_size=6, max_size=6))
def test_line_agrees_with_fine_grids_for_any_tokens(x, masses):
    x, w = np.array(x), np.array(masses) / np.sum(masses)
    result = af.diagnostics.modes(x[:, None], 6.0, weights=w)
    if result.certified:  # a degenerate mode, which no grid can decide, is not
        assert result.count == slow_line(x, w, 6.0)


@pytest.mark.parametrize("n, beta", [(1, 0.3), (3, 2.0), (8, 9.0), (32, 16.0), (42, 30.0)])
def test_circle_agrees_with_polynomial_roots(n, beta):
    rng = np.random.default_rng(7 * n)
    angles, w = rng.uniform(0, 2 * np.pi, (20, n)), rng.dirichlet(np.ones(n))
    equal, weighted = (
        af.diagnostics.modes(on_circle(angles), beta),
        af.diagnostics.modes(on_circle(angles), beta, weights=w),
    )
    assert equal.certified.all() and weighted.certified.all()
    np.testing.assert_array_equal(equal.count, [roots_on_circle(row, np.full(n, 1 / n), beta) for row in angles])
    np.testing.assert_array_equal(weighted.count, [roots_on_circle(row, w, beta) for row in angles])


@pytest.mark.parametrize("gap, expected", [(1.999999, 1), (2.000001, 2), (1.0, 1), (40.0, 2), (1e7, 2)])
def test_two_tokens_on_the_line_part_at_two_bandwidths(gap, expected):
    result = af.diagnostics.modes(np.array([[0.3], [0.3 + gap / 3]]), 9.0)
    assert result.count == expected and result.certified


@pytest.mark.parametrize("beta", [0.05, 1.0, 30.0, 1e4])
def test_two_tokens_on_the_circle_part_where_theory_says(beta):
    r"""At $\pm\phi$ there are two modes if and only if $\beta\sin^2\phi > \cos\phi$."""
    cosine = 2 * beta / (1 + np.sqrt(1 + 4 * beta**2))
    critical = np.arccos(cosine)
    for change, expected in ((1 - 1e-6, 1), (1 + 1e-6, 2)):
        result = af.diagnostics.modes(on_circle(1.234 + np.array([-1, 1]) * critical * change), beta)
        assert result.count == expected and result.certified


def test_a_degenerate_mode_is_not_certified():
    x = np.array([[-1.0], [1.0]])
    result = af.diagnostics.modes(x, 1.0)  # two bandwidths apart: a zero of third order
    assert result.count == 1 and not result.certified and "not certified" in repr(result)
    with pytest.warns(AttnflowWarning, match="1 of 1 clouds"):
        assert af.diagnostics.count_modes(x, 1.0) == 1


def test_a_grid_finer_than_the_bandwidth_is_not_certified_and_a_coarse_one_is():
    angles = 2 * np.pi * np.arange(42) / 42
    assert not af.diagnostics.modes(on_circle(angles), 1.0).certified  # the ripple is less than 1e-60 of the density
    fine = af.diagnostics.modes(on_circle(angles), 300.0)
    assert fine.certified and fine.count == 42


def test_few_tokens_at_low_temperature():
    """A global transform makes false modes in the gaps, where the density is below its rounding."""
    angles = np.array([0.1, 0.9, 2.0, 2.04, 4.0])
    result = af.diagnostics.modes(on_circle(angles), 1e4)
    assert result.count == 5 and result.certified
    np.testing.assert_allclose(result.locations, on_circle(angles), atol=1e-3)


@pytest.mark.parametrize("beta", [0.5, 7.0, 1e5])
def test_tokens_that_coincide_are_one(beta):
    for x in (np.full((6, 1), 0.7), np.tile(on_circle([0.7]), (6, 1)), np.full((1, 1), 0.7)):
        result = af.diagnostics.modes(x, beta)
        assert result.count == 1 and result.certified
        np.testing.assert_allclose(result.locations, x[:1], atol=1e-12)


def test_gaps_of_any_width_cost_nothing():
    result = af.diagnostics.modes(np.array([[-1e9], [0.0], [0.5], [1e6]]), 5.0)
    assert result.count == 3 and result.certified
    np.testing.assert_allclose(result.locations[:, 0], [-1e9, 0.25, 1e6], atol=1e-9)


def test_light_tokens_have_a_mode_where_the_heavy_one_is_lighter_still():
    x = np.array([[0.0], [3.0], [9.0]])  # the density of the first is e^{-22.5} at the second, e^{-202} at the third
    assert af.diagnostics.count_modes(x, 5.0, weights=np.array([1 - 2e-40, 1e-40, 1e-40])) == 2
    assert af.diagnostics.count_modes(x, 5.0, weights=np.array([1 - 1e-5 - 1e-40, 1e-5, 1e-40])) == 3


def test_weight_zero_is_no_token():
    rng = np.random.default_rng(3)
    for x in (rng.standard_normal((4, 10, 1)), on_circle(rng.uniform(0, 6, (4, 10)))):
        w = np.array([0.2] * 5 + [0.0] * 5)
        np.testing.assert_array_equal(
            af.diagnostics.count_modes(x, 40.0, weights=w), af.diagnostics.count_modes(x[:, :5], 40.0)
        )


def test_symmetries():
    rng = np.random.default_rng(5)
    x, angles = rng.standard_normal((6, 50)), rng.uniform(0, 2 * np.pi, (6, 50))
    count, around = af.diagnostics.count_modes(x[..., None], 60.0), af.diagnostics.count_modes(on_circle(angles), 25.0)
    np.testing.assert_array_equal(af.diagnostics.count_modes(-x[:, ::-1, None] / 2 + 0.1, 240.0), count)
    np.testing.assert_array_equal(af.diagnostics.count_modes(on_circle(2.0 - angles[:, ::-1]), 25.0), around)
    doubled = np.concatenate([x, x], axis=1)[..., None]
    np.testing.assert_array_equal(af.diagnostics.count_modes(doubled, 60.0), count)


@pytest.mark.parametrize("circle", [False, True])
def test_locations_are_zeros_of_the_derivative(circle):
    rng = np.random.default_rng(11)
    if circle:
        angles = rng.uniform(0, 2 * np.pi, 40)
        result = af.diagnostics.modes(on_circle(angles), 50.0)
        u = angles[None, :] - np.arctan2(result.locations[:, 1], result.locations[:, 0])[:, None]
        slope = (np.sin(u) * np.exp(50 * (np.cos(u) - 1))).sum(axis=1)
        assert (np.diff(np.arctan2(result.locations[:, 1], result.locations[:, 0]) % (2 * np.pi)) > 0).all()
    else:
        x = rng.standard_normal(40)
        result = af.diagnostics.modes(x[:, None], 50.0)
        u = x[None, :] - result.locations
        slope = (u * np.exp(-25 * u**2)).sum(axis=1)
        assert (np.diff(result.locations[:, 0]) > 0).all()
    assert result.locations.shape == (result.count, 2 if circle else 1)
    np.testing.assert_allclose(slope, 0, atol=1e-13)


def test_leading_axes_and_runs():
    angles = np.random.default_rng(2).uniform(0, 2 * np.pi, (2, 3, 16))
    x = on_circle(angles)
    result = af.diagnostics.modes(x, 20.0)
    assert result.count.shape == (2, 3) and result.locations.shape == (2, 3, result.count.max(), 2)
    assert af.diagnostics.count_modes(x[1, 2], 20.0) == result.count[1, 2]
    np.testing.assert_array_equal(np.isfinite(result.locations[..., 0]).sum(axis=-1), result.count)
    run = af.simulate(af.SelfAttention(beta=20.0), x[0, 0], ts=np.linspace(0, 2, 5), solver="rk4", dt=0.1)
    counts = af.diagnostics.count_modes(run)  # with the run's own beta
    assert counts.shape == (5,) and counts[0] == result.count[0, 0]
    assert af.diagnostics.count_modes(run, at=0) == counts[0]
    warming = af.SelfAttention(af.Softmax(beta=af.Piecewise([1.0], [20.0, 10.0])))
    with pytest.raises(InputError, match="change with time"):
        af.diagnostics.count_modes(dataclasses.replace(run, model=warming))


@functools.partial(jax.jit, static_argnums=0)
def five_derivatives(circle, t, place, w, beta):
    """Of the density in units of the bandwidth, by automatic differentiation."""
    h = beta**-0.5

    def density(tau):
        u = place - h * tau
        return jnp.sum(w * jnp.exp(beta * (jnp.cos(u) - 1) if circle else -beta * u**2 / 2))

    derivatives, derivative = [], density
    for _ in range(5):
        derivative = jax.grad(derivative)
        derivatives.append(jax.vmap(derivative)(t / h))
    return derivatives


@pytest.mark.parametrize("circle, beta", [(False, 7.0), (True, 7.0), (True, 0.4)])
def test_sums_are_derivatives_of_one_another(circle, beta):
    """By automatic differentiation of the definition, in units of the bandwidth; the last one is bounded."""
    rng = np.random.default_rng(0)
    place, w, t = np.sort(rng.uniform(0, 6, 9)), rng.dirichlet(np.ones(9)), np.linspace(1.0, 3.0, 7)
    result = jax.jit(sums)(_draws(place[None], w[None], circle), jnp.asarray(0), t, _scales(w[None], beta, circle))
    *exact, last = five_derivatives(circle, t, place, w, beta)
    np.testing.assert_allclose(result.f, exact, atol=1e-13)
    assert (np.abs(last) <= result.bound).all()


def test_bad_input_is_refused_in_a_sentence():
    x, unit = np.zeros((4, 1)), on_circle([0.0, 1.0])
    for beta in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(InputError, match="take a finite beta > 0"):
            af.diagnostics.count_modes(unit, beta)
    for bad, sentence in (
        (lambda: af.diagnostics.count_modes(np.zeros((4, 3)), 1.0), r"have 3 coordinates"),
        (lambda: af.diagnostics.count_modes(np.zeros((4, 2)), 1.0), "norm 0, not 1"),
        (lambda: af.diagnostics.count_modes(unit, 1.0, space=af.Euclidean()), "on the line"),
        (lambda: af.diagnostics.count_modes(x, 1.0, space=af.Sphere()), "on the circle"),
        (lambda: af.diagnostics.count_modes(x), "give beta"),
        (lambda: af.diagnostics.count_modes(x, np.ones(2)), "one number"),
        (lambda: af.diagnostics.count_modes(np.zeros((0, 4, 1)), 1.0), r"shape \(0, 4, 1\)"),
        (lambda: af.diagnostics.count_modes(x + np.nan, 1.0), "not finite"),
        (lambda: af.diagnostics.count_modes(x + 1e15, 1.0), "too far for 64 bits"),
        (lambda: af.diagnostics.count_modes(x, 1.0, weights=np.ones(2)), "one per token"),
        (lambda: jax.jit(lambda y: af.diagnostics.count_modes(y, 1.0))(x), "outside jit"),
    ):
        with pytest.raises(InputError, match=sentence):
            bad()


def test_no_warning_where_all_is_certain():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert af.diagnostics.count_modes(np.zeros((3, 1)), 2.0) == 1
