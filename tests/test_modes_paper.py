"""The number of modes to expect: Kac–Rice on the line, Bessel functions on the circle, and Monte Carlo of both."""

import numpy as np
import pytest
from scipy import integrate, stats

import attnflow as af
from attnflow.errors import InputError
from attnflow.experiments._draws import each_draw
from attnflow.experiments.modes.circle import plateau


def gaussian_tokens(draws, n, seed):
    return np.random.default_rng(seed).standard_normal((draws, n, 1))


def circle_tokens(draws, n, seed):
    angles = np.random.default_rng(seed).uniform(0, 2 * np.pi, (draws, n))
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def test_a21_circle_formula():
    expected = [2.4322, 3.6594, 4.8871, 6.6992, 12.2424]
    np.testing.assert_allclose(af.reductions.expected_modes_circle([4.0, 9.0, 16.0, 30.0, 100.0]), expected, atol=1e-4)


@pytest.mark.parametrize("beta, expected", [(4.0, 2.4322), (9.0, 3.6594), (30.0, 6.6992)])
def test_a21_circle_monte_carlo(beta, expected):
    result = af.diagnostics.modes(circle_tokens(1000, 256, int(beta)), beta)
    assert result.certified.all()
    assert abs(result.count.mean() - expected) < 4 * result.count.std() / np.sqrt(1000)


def test_a22_gaussian_data():
    result = af.diagnostics.modes(gaussian_tokens(1000, 1000, 0), 100.0)
    inside = np.sum(np.abs(result.locations[..., 0]) <= float(af.reductions.belt(n=1000, beta=100.0)[1]), axis=-1)
    assert result.certified.all()
    assert abs(result.count.mean() - 8.726) < 0.25
    assert abs(inside.mean() - 7.268) < 0.22


def test_a22_kac_rice():
    np.testing.assert_allclose(af.reductions.expected_modes_line(n=1000, beta=100.0), 7.3268, atol=0.005)
    t = np.arange(-8000, 8001) * 5e-4
    t = t[np.abs(t) <= float(af.reductions.belt(n=1000, beta=100.0)[1])]
    density = np.asarray(af.reductions.kac_rice_density(t, n=1000, beta=100.0))
    np.testing.assert_allclose(np.trapezoid(density, t), 7.3268, atol=0.005)


def test_kac_rice_table():
    n, beta = [1000, 1000, 10000, 10000, 10000], [10.0, 100.0, 100.0, 300.0, 1000.0]
    expected = [1.0108, 7.3268, 3.0169, 11.7089, 35.797]
    np.testing.assert_allclose(af.reductions.expected_modes_line(n=n, beta=beta), expected, rtol=2e-5)
    invented = af.reductions.expected_modes_line(n=1000, beta=100.0, up_to=[6.0, 8.0, 12.0])
    np.testing.assert_allclose(invented, [18.2, 25.4, 39.2], atol=0.06)


def test_kac_rice_against_moments_by_quadrature():
    """The same formula with every moment integrated, and the mean of the positive part as well."""
    n, beta = 500, 40.0
    for t in (0.0, 1.3, 2.5):

        def mean(f, t=t):
            return integrate.quad(lambda u: f(u) * stats.norm.pdf(u - t), -3, 3, epsabs=1e-13, limit=400)[0]

        def g(u):
            return u * np.exp(-beta * u**2 / 2)

        def slope(u):
            return (1 - beta * u**2) * np.exp(-beta * u**2 / 2)

        m = np.array([mean(g), mean(slope)])
        v = np.array([[mean(lambda u, a=a, b=b: a(u) * b(u)) for a in (g, slope)] for b in (g, slope)]) - np.outer(m, m)
        centre, spread = n * m, np.sqrt(n * v.diagonal())
        conditional = centre[1] - v[0, 1] / v[0, 0] * centre[0]
        width = np.sqrt(n * (v[1, 1] - v[0, 1] ** 2 / v[0, 0]))
        law = stats.norm(conditional, width)
        rising = integrate.quad(lambda y, law=law: y * law.pdf(y), 0, abs(conditional) + 12 * width)[0]
        expected = stats.norm.pdf(0, centre[0], spread[0]) * rising
        np.testing.assert_allclose(af.reductions.kac_rice_density(t, n=n, beta=beta), expected, rtol=1e-7)


def test_circle_formula_is_the_ratio_of_two_integrals():
    """By Parseval: derivatives of the kernel in the mean, instead of Bessel functions."""
    for beta in (0.5, 7.0, 300.0):

        def square(f, beta=beta):
            return integrate.quad(lambda u: f(u) ** 2 * np.exp(2 * beta * (np.cos(u) - 1)), 0, np.pi, points=[0.2])[0]

        first = square(lambda u, b=beta: b * np.sin(u))
        second = square(lambda u, b=beta: b**2 * np.sin(u) ** 2 - b * np.cos(u))
        np.testing.assert_allclose(af.reductions.expected_modes_circle(beta), np.sqrt(second / first), rtol=1e-8)


def test_limits():
    np.testing.assert_allclose(af.reductions.expected_modes_circle(1e-3), 1.0, atol=1e-6)
    np.testing.assert_allclose(af.reductions.expected_modes_circle(1e6) / np.sqrt(1.5e6), 1.0, atol=1e-5)
    low, high = af.reductions.belt(n=1e4, beta=[100.0, 1000.0])
    np.testing.assert_allclose(high**2, 2 * np.log(1e4) - np.log([100.0, 1000.0]))
    np.testing.assert_allclose(low**2, [2 * np.log(1e4) - 3 * np.log(100.0), 0.0], atol=1e-12)
    # Above what was counted by 46 and 4 per cent.
    ratio = np.asarray(af.reductions.belt_modes(n=1e4, beta=[100.0, 1000.0])) / [4.193, 40.20]
    np.testing.assert_allclose(ratio, [1.46, 1.04], atol=0.02)
    # Inside the belt the density tends to sqrt(3 beta / 2) / 2 pi.
    density = af.reductions.kac_rice_density(np.sqrt(2 * np.log(1e60) - 2 * np.log(1e20)), n=1e60, beta=1e20)
    np.testing.assert_allclose(density, np.sqrt(1.5e20) / (2 * np.pi), rtol=1e-6)


def test_a_wide_bandwidth_leaves_one_mode():
    """Covariances of g' are then below their rounding; what is left is the one crossing of the mean."""
    found = af.reductions.expected_modes_line(n=[100, 1e6], beta=[[1e-3], [1e-6], [1e-12], [1e-90]], up_to=9.0)
    np.testing.assert_allclose(found, 1.0, atol=1e-2)
    assert np.isfinite(af.reductions.expected_modes_line(n=100, beta=1e-12))


def test_the_plateau_is_the_longest_stretch_of_log_t_with_more_than_one_cluster():
    """Waits from t = 1 on: 2 and 6 with four and two clusters; then 3 and 1 with three and two; one cluster at once."""
    log_t = [[-9.0, 0.0, 2.0, 8.0], [-20.0, -1.0, 3.0, 4.0], [-1.0, np.nan, np.nan, np.nan]]
    left = [[5, 4, 2, 1], [4, 3, 2, 1], [1, 0, 0, 0]]
    held, stretch = plateau(np.array(log_t), np.array(left))
    assert held.tolist() == [2, 3, 1] and stretch.tolist() == [6.0, 3.0, 0.0]


def test_draws_are_shared_out_and_come_back_in_order():
    actual = each_draw(lambda r: {"square": r * r, "odd": r % 2}, 7)
    assert actual["square"].tolist() == [r * r for r in range(7)] and actual["odd"].tolist() == [
        r % 2 for r in range(7)
    ]


@pytest.mark.parametrize(
    "bad, sentence",
    [
        (lambda: af.reductions.belt(n=1, beta=2.0), "two of them at least"),
        (lambda: af.reductions.kac_rice_density(0.0, n=10, beta=-1.0), "larger than 0"),
        (lambda: af.reductions.expected_modes_circle(0.0), "larger than 0"),
        (lambda: af.reductions.expected_modes_line(n=10, beta=2.0, up_to=-1.0), "not be negative"),
        (lambda: af.reductions.belt(n=100, beta=0.5), "beta = 0.5 .* no belt"),
        (lambda: af.reductions.belt_modes(n=100, beta=[2.0, 1e5]), "beta = 100000.0 .* alone"),
        (lambda: af.reductions.expected_modes_line(n=100, beta=1e5), "beta = 100000.0 .* alone"),
    ],
)
def test_bad_input(bad, sentence):
    with pytest.raises(InputError, match=sentence):
        bad()
