"""Theory/01, section 3: separated caps, plateaus, merge times, staircases; rows A17, A18, A19."""

import dataclasses
import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.collections import PathCollection
from PIL import Image
from scipy.integrate import quad, solve_ivp

import attnflow as af
from attnflow.errors import InputError
from attnflow.reductions import collapse_bound, collapse_time
from witness import on_circle, velocity


def frac(x):
    return x - np.floor(x)


GKPR = 0.5 * np.array([0, 0.5, 2, 4, 7]) * np.log(2000) / np.sqrt(2000)


def six_tokens():
    """The definite choice of 3.2: e_q + a e_{q+1}, a = .09 and a = .01 q."""
    rows = []
    for a in ((0.09, 0.09, 0.09), (0.01, 0.02, 0.03)):
        for q in range(3):
            x = np.zeros(3)
            x[q], x[(q + 1) % 3] = 1, a[q]
            rows.append(x / np.linalg.norm(x))
    return np.array(rows)


# Separation ----------------------------------------------------------------------------------------------------------


def test_the_report_of_the_example():
    """A19, and the admissible lambda of 3.2."""
    report = af.diagnostics.separation_report(six_tokens(), np.eye(3), eps=0.005, beta=30.0, lam=0.5)
    assert report.separated and report.caps.tolist() == [0, 1, 2, 0, 1, 2]
    constants = (report.alpha, report.gamma, report.T1, report.T2)
    np.testing.assert_allclose(constants, (0.279313, 0.361521, 292.923, 2.04421e6), rtol=1e-5)
    np.testing.assert_allclose(report.lambda_bounds, (0.536770, 4038.6), rtol=2e-5)
    assert report.radius**2 == pytest.approx(2 * np.exp(-15)) and "from t = 292.923" in repr(report)


@pytest.mark.parametrize(("d", "k", "eps"), [(2, 3, 0.004), (3, 4, 0.01), (3, 3, 0.03), (5, 4, 0.02), (3, 2, 0.3)])
def test_alpha_is_the_greatest_inner_product_of_the_caps(d, k, eps):
    """Many points on the rims of the caps, where the nearest ones lie; overlapping caps touch."""
    rng = np.random.default_rng(d)
    centres = rng.normal(size=(k, d))
    centres /= np.linalg.norm(centres, axis=1)[:, None]
    alpha = af.diagnostics.separation_report(centres, centres, eps=eps, beta=5.0).alpha
    inside = []
    for w in centres:
        v = rng.normal(size=(1500, d)) if d > 2 else np.array([[-w[1], w[0]], [w[1], -w[0]]])
        v -= (v @ w)[:, None] * w
        v /= np.linalg.norm(v, axis=1)[:, None]
        c = np.concatenate([np.full(len(v), 1 - 2 * eps), rng.uniform(1 - 2 * eps, 1, len(v))])[:, None]
        inside.append(c * w + np.sqrt(1 - c**2) * np.tile(v, (2, 1)))
    brute = max((x @ y.T).max() for x, y in itertools.combinations(inside, 2))
    assert brute <= alpha + 1e-12
    assert alpha - brute < {2: 1e-12, 3: 2e-3, 5: 0.1}[d]


def test_two_conditions_say_that_the_first_bound_comes_before_the_second():
    """The second condition on lambda is T1 < T2, for any admissible or other value."""
    for eps, beta, n in itertools.product((0.001, 0.005, 0.02), (8.0, 30.0, 60.0), (3, 12)):
        x = np.tile(np.eye(3), (n // 3, 1))
        _, second = af.diagnostics.separation_report(x, np.eye(3), eps=eps, beta=beta).lambda_bounds
        if second > 0:
            for lam, before in ((0.999 * second, True), (1.001 * second, False)):
                r = af.diagnostics.separation_report(x, np.eye(3), eps=eps, beta=beta, lam=lam)
                assert (r.log_T1 < r.log_T2) == before


def test_no_separation_says_why():
    x, eye = six_tokens(), np.eye(3)

    def why(**changes):
        settings = {"x": x, "centres": eye, "eps": 0.005, "beta": 30.0}
        report = af.diagnostics.separation_report(**{**settings, **changes})
        assert not report.separated and repr(report).startswith("Not separated: ")
        return report.reason

    assert "eps = 0.07 is not below 1/16" in why(eps=0.07)
    assert "token 2 lies in no cap" in why(x=np.array([x[0], x[1], [0.6, 0.0, 0.8]]))
    assert "beta = 1 is not above 1" in why(beta=1.0)
    assert "gamma" in why(beta=12.0)
    assert "lambda = 0.6 is not between 0 and 0.53677" in why(lam=0.6)
    assert "cap 0 holds another mass" in why(mean_field=True, weights=np.array([2, 1, 1, 1, 1, 1]) / 7)


def test_the_mean_field_version_counts_caps():
    """k in place of n: doubling the tokens changes nothing; and gamma must exceed 8 eps."""
    x = six_tokens()
    one, two = (
        af.diagnostics.separation_report(np.tile(x, (m, 1)), np.eye(3), eps=0.005, beta=30.0, mean_field=True)
        for m in (1, 2)
    )
    assert one.separated and (one.gamma, one.T1, one.T2) == (two.gamma, two.T1, two.T2)
    assert one.gamma == pytest.approx(1 - one.alpha - 0.04 - np.log(18 / 0.005) / 30)
    between = next(b for b in np.arange(10, 30, 0.1) if 0 < _gamma(b) < 0.04)
    assert (
        "not above 0.04"
        in af.diagnostics.separation_report(x, np.eye(3), eps=0.005, beta=between, mean_field=True).reason
    )


def _gamma(beta):
    return af.diagnostics.separation_report(np.eye(3), np.eye(3), eps=0.005, beta=beta, mean_field=True).gamma


def test_lambda_is_chosen_and_large_times_do_not_overflow():
    report = af.diagnostics.separation_report(np.eye(3), np.eye(3), eps=0.005, beta=2000.0)
    assert report.separated and report.lam == pytest.approx(min(report.lambda_bounds) / 2)
    assert report.T2 == np.inf and report.log_T2 == pytest.approx(np.log(0.005 / 3) + (1 - report.alpha) * 2000)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"eps": -1.0}, "eps = -1.0 must be a positive"),
        ({"beta": np.nan}, "beta = nan"),
        ({"lam": 0.0}, "lam = 0.0"),
        ({"centres": np.eye(3)[:1]}, "at least two"),
        ({"centres": np.eye(4)}, "3 coordinates and centres 4"),
    ],
)
def test_bad_caps_are_refused(changes, message):
    settings = {"x": np.eye(3), "centres": np.eye(3), "eps": 0.005, "beta": 30.0}
    with pytest.raises(InputError, match=message):
        af.diagnostics.separation_report(**{**settings, **changes})


# Plateaus and merge times --------------------------------------------------------------------------------------------


def test_heights_come_from_masses():
    w = np.array([[0.6, 0.2, 0.2], [0.4, 0.4, 0.2]])
    np.testing.assert_allclose(af.reductions.plateau_height(w), [0.44, 0.36], rtol=1e-14)
    assert float(af.reductions.plateau_height([0.8, 0.2]) - af.reductions.plateau_height(w[0])) == pytest.approx(
        2 * 0.6 * 0.2
    )
    with pytest.raises(InputError, match="one number"):
        af.reductions.plateau_height(0.5)
    with pytest.raises(InputError, match="two positive numbers"):
        af.reductions.merge_time(9.0, u0=2.0, weights=(0.0, 1.0))


@pytest.mark.parametrize("kind", ["SA", "shifted USA", "USA"])
def test_leading_order_is_that_of_the_exact_time(kind):
    """By parts once more: the ratio is 1 + 2 cos u/(beta sin^2 u) + (2 sin^2 u + 8 cos^2 u)/(beta^2 sin^4 u) + ..."""
    u0, p = 2.0, 0.3
    betas = np.array([100.0, 200.0, 400.0])
    exact = np.asarray(af.reductions.two_cluster_time(betas, u0=u0, u1=1e-3, weight=p, clock=kind))
    first = np.asarray(af.reductions.merge_time(betas, u0=u0, weights=(p, 1 - p), clock=kind))
    second = np.asarray(af.reductions.merge_time(betas, u0=u0, weights=(p, 1 - p), clock=kind, order=2))
    c, s2 = np.cos(u0), np.sin(u0) ** 2
    np.testing.assert_allclose((exact / first - 1) * betas, 2 * c / s2, rtol=5 / betas[0])
    np.testing.assert_allclose((exact - second) / first * betas**2, (2 * s2 + 8 * c**2) / s2**2, rtol=12 / betas[0])


def test_leading_order_as_tabulated():
    """3.3: three per cent too large at beta = 30, eight at 9; against A18."""
    exact = np.array([15477.2527, 4.00049338e16])
    ratio = np.asarray(af.reductions.merge_time(np.array([9.0, 30.0]), u0=2.0, weights=(0.3, 0.7))) / exact - 1
    np.testing.assert_allclose(ratio, [0.08, 0.03], atol=0.005)
    log = af.reductions.merge_time(1e4, u0=2.0, weights=(0.3, 0.7), log=True)
    assert float(log) == pytest.approx(1e4 * (1 - np.cos(2)), rel=1e-3)


def test_the_scalar_lemma():
    for beta, u0, c in itertools.product((1.5, 6.0, 40.0), (0.1, 0.5, 0.9), (0.3, 1.0)):
        if 1 - u0 <= np.exp(-c * beta):
            assert float(collapse_time(beta, u0=u0, c=c)) == 0
            continue
        exact, _ = quad(
            lambda s, beta=beta: np.exp(beta * np.exp(-s)) / (1 - np.exp(-s)),
            -np.log1p(-u0),
            c * beta,
            epsabs=0,
            epsrel=1e-12,
            limit=500,
        )
        actual = float(collapse_time(beta, u0=u0, c=c))
        assert actual == pytest.approx(exact, rel=1e-10)
        assert actual <= float(collapse_bound(beta, u0=u0, c=c))
    solved = solve_ivp(
        lambda t, u: u * (1 - u) * np.exp(6 * (u - 1)),
        (0, float(collapse_time(6.0, u0=0.5, c=0.5))),
        [0.5],
        rtol=1e-11,
        atol=1e-13,
    )
    assert 1 - solved.y[0, -1] == pytest.approx(np.exp(-3.0), rel=1e-8)
    with pytest.raises(InputError, match=r"beta = 1\.0 must be above 1"):
        collapse_time(1.0, u0=0.5, c=1.0)


# Staircases ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def short():
    """Five tokens until they are two clusters, by the ordinary integrator (the data of the paper's animation)."""
    return animation(beta=4.0)


def animation(beta):
    angles = (0.06219714, 0.21432297, 1.81912262, 2.91107101, -3.09524835)
    ts = np.concatenate([[0.0], np.geomspace(1e-2, 200, 600)])
    return af.simulate(af.SelfAttention(beta=beta), on_circle(angles), ts=ts)


def test_a_staircase_of_an_ordinary_run(short):
    result = af.diagnostics.staircase(short)
    np.testing.assert_allclose(result.tau, np.log10(np.asarray(short.ts)[1:]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(result.energy, np.asarray(af.energy(short))[1:], rtol=0)
    last = result.plateaus[-1]
    assert last.clusters == 2 and last.flat and last.predicted == pytest.approx(0.52)
    assert abs(last.measured - 0.520324) < 1e-3 and last.end == pytest.approx(np.log10(200))
    assert all(a.end == b.start for a, b in itertools.pairwise(result.plateaus))
    assert "0.52" in repr(result) and "log_{10}" in result.label and "(SA)" in result.label


def test_the_clock_of_the_path_is_its_length(short):
    """Angles of five tokens: the length is that of a curve in five dimensions."""
    angles = np.unwrap(np.arctan2(short.xs[..., 1], short.xs[..., 0]), axis=0)
    length = np.linalg.norm(np.diff(angles, axis=0), axis=1).sum()
    assert af.diagnostics.staircase(short, "arclength").tau[-1] == pytest.approx(length / np.log(4.0), rel=1e-9)


def test_the_clock_of_the_proof(short):
    """Its definition, as an integral over the model's time with another field and another rule."""
    ts, xs = np.asarray(short.ts), np.asarray(short.xs)
    speed = np.array([np.linalg.norm(velocity(x, np.full(5, 0.2), 4.0)) for x in xs])
    near, rate = 1 / np.sqrt(4 * np.log(4)), []
    for x in xs:
        far = [1 - x[i] @ x[j] for i in range(5) for j in range(i) if np.linalg.norm(x[i] - x[j]) > near]
        rate.append(np.exp(-4 * min(far)) / np.log(4))
    early = ts < 2.0  # until the first pair passes the threshold, where the rate jumps
    expected = np.trapezoid(np.array(rate)[early], ts[early])
    assert np.all(speed > 0)
    assert af.diagnostics.staircase(short, "paper").tau[early.sum() - 1] == pytest.approx(expected, rel=2e-3)


def test_bad_staircases_are_refused(short):
    flat = animation(beta=0.5)
    for clock in ("arclength", "paper"):
        with pytest.raises(InputError, match=r"beta = 0.5 is not above 1"):
            af.diagnostics.staircase(flat, clock)
    turning = af.SelfAttention(af.Softmax(beta=4.0, V=np.array([[0.0, 1.0], [-1.0, 0.0]])))
    with pytest.raises(InputError, match="V = I"):
        af.diagnostics.staircase(dataclasses.replace(short, model=turning), "paper")


# Long runs -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def five():
    """The five tokens of the paper's figure at beta = 2000, until one cluster is left."""
    return af.long_time(af.SelfAttention(beta=2000.0), on_circle(GKPR))


def test_the_staircase_of_the_figure(five):
    """A17: heights from masses, and the last merge."""
    result = af.diagnostics.staircase(five)
    np.testing.assert_allclose([p.predicted for p in result.plateaus], [0.2, 0.28, 0.44, 0.52, 1.0], atol=1e-12)
    np.testing.assert_allclose([p.measured for p in result.plateaus[1:]], [0.28, 0.44, 0.52, 1.0], atol=1e-4)
    assert [p.flat for p in result.plateaus] == [False, True, True, True, True]
    assert np.exp(result.plateaus[-1].log_start) == pytest.approx(6.9907e69, rel=1e-4)
    assert result.plateaus[3].masses == pytest.approx((0.6, 0.4))
    assert result.tau[-1] == pytest.approx(np.log10(6.9907e69), rel=1e-6)
    with pytest.raises(InputError, match=r"leave eps= out"):
        af.diagnostics.staircase(five, eps=0.1)


def test_clocks_of_a_long_run(five):
    """A merge by hand has no length; the lengths are those of the five angles."""
    angles = np.arctan2(five.xs[..., 1], five.xs[..., 0])
    length = np.linalg.norm(np.diff(angles, axis=0), axis=1).sum()
    by_hand = 4 * 1e-3 / np.sqrt(2000) * np.sqrt(5)  # at most, in four merges
    tau = af.diagnostics.staircase(five, "arclength").tau
    assert length - by_hand < tau[-1] * np.log(2000) < length
    tau = af.diagnostics.staircase(five, "paper").tau
    assert (np.diff(tau) >= 0).all() and np.isfinite(tau).all()


def test_the_time_of_the_proof_of_two_clusters():
    """Merged by force at 1/sqrt(beta log beta): the closed form of the plateau's length, and its limit 1/2."""
    for beta in (100.0, 1e4):
        near = 1 / np.sqrt(beta * np.log(beta))
        model = af.SelfAttention(af.Unnormalized(beta=beta, shifted=True))
        run = af.long_time(model, on_circle([0, 0, 0, 1.0, 1.0]), merge_distance=2 * np.sin(near / 2))
        expected = (np.log(np.tan(0.5)) - np.log(np.tan(near / 2))) / np.log(beta)
        assert af.diagnostics.staircase(run, "paper").tau[-1] == pytest.approx(expected, rel=1e-3)


def test_pictures_of_a_long_run(five, tmp_path):
    figure = af.plot.staircase(five)
    (ax,) = figure.axes
    dashed = sorted(round(float(line.get_ydata()[0]), 6) for line in ax.lines if len(line.get_xdata()) == 2)
    assert dashed == [0.28, 0.44, 0.52, 1.0] and "log_{10}" in ax.get_xlabel()
    for clock in ("arclength", "paper"):
        assert "beta" in af.plot.staircase(five, clock=clock).axes[0].get_xlabel() or clock == "paper"
    for view in ("angles", "tree"):
        figure = af.plot.merges(five, view=view)
        dots = [c for c in figure.axes[0].collections if isinstance(c, PathCollection)]
        drawn = sorted(float(c.get_offsets()[0, 0]) for c in dots)
        np.testing.assert_allclose(drawn, [event["log_t"] / np.log(10) for event in five.events])
    af.plot.save(af.plot.tokens(five), tmp_path / "tokens.png")
    film = af.animate(five, tmp_path / "x.gif", max_frames=12, dpi=40, beside="staircase")
    with Image.open(film) as opened:
        assert opened.n_frames == 12 and opened.width > 1.5 * opened.height


def test_pictures_refuse_what_they_cannot_show(five, short):
    with pytest.raises(InputError, match="no merges"):
        af.plot.merges(short)
    sphere = dataclasses.replace(five, xs=jnp.pad(five.xs, ((0, 0), (0, 0), (0, 1))))
    with pytest.raises(InputError, match="no single angle"):
        af.plot.merges(sphere, view="angles")


# The experiments -----------------------------------------------------------------------------------------------------
