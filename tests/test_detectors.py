"""Theory/02, sections 1.2 to 1.4: limits of rescaled tokens, found and judged.

Tokens come from the scheme of section 1.5 in plain NumPy, written from the text. Rows are those of the
acceptance table.
"""

import functools
import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.linalg import expm
from scipy.optimize import minimize
from scipy.spatial import ConvexHull
from scipy.special import softmax

import attnflow as af
from attnflow.diagnostics._final import cluster_points
from attnflow.diagnostics.hulls import distance_to_hull, hull
from attnflow.errors import InputError

T9 = np.array(
    [(1, 0.2), (0.3, 1.1), (-0.9, 0.8), (-1.2, -0.3), (-0.2, -1), (0.8, -0.9), (0.1, 0.05), (0.4, 0.3), (-0.5, 0.1)]
)
T8 = np.array(
    [
        (1, 0.2, 0.3),
        (0.3, 1.1, -0.5),
        (-0.9, 0.8, 0.2),
        (-1.2, -0.3, 0.9),
        (-0.2, -1, -0.8),
        (0.8, -0.9, 0.4),
        (0.1, 0.05, 1),
        (0.4, 0.3, -0.6),
    ]
)
EYE = np.eye(2)
FLAT = np.array([[2, 0.5], [0.5, 1]])
V2 = np.array([[0.64709742, 0.81911926], [0.61210449, 0.63263484]])
CODIMENSION = np.array(
    [
        [0.92761287, 0.94333073, 0.3827744],
        [0.94333073, 0.59991396, 0.47825472],
        [0.3827744, 0.47825472, 0.46668605],
    ]
)


def attention(x, B):
    return softmax(x @ B @ np.swapaxes(x, -1, -2), axis=-1)


def witness(x, V, B, T, h=0.02):
    """Section 1.5: the integrating factor with local restart; times and tokens x, every tenth of a unit."""
    E1, Eh, E0 = expm(h * V), expm(h * V / 2), np.eye(len(V))

    def f(zeta, E):
        return (attention(zeta @ E.T, B) @ zeta - zeta) @ V.T

    xs = [x]
    for _ in range(round(T / h)):
        k1 = f(x, E0)
        k2 = f(x + h / 2 * k1, Eh)
        k3 = f(x + h / 2 * k2, Eh)
        k4 = f(x + h * k3, E1)
        x = (x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)) @ E1.T
        xs.append(x)
    return h * np.arange(len(xs))[::5], np.array(xs[::5])


@functools.cache
def planar(case):
    """Times, rescaled tokens and their velocities at the end, V and B, of rows 1, 2 and 6."""
    V, B, T = {"row 1": (EYE, EYE, 14.0), "row 2": (EYE, FLAT, 14.0), "row 6": (V2, EYE, 12.0)}[case]
    ts, xs = witness(T9, V, B, T)
    zs = np.stack([x @ expm(-t * V).T for t, x in zip(ts, xs, strict=True)])
    return ts, zs, (attention(xs[-1], B) @ zs[-1] - zs[-1]) @ V.T, V, B


# Polytopes ---------------------------------------------------------------------------------------------------------

ROWS = {
    "row 1": (
        [(0.583285, -0.648930), (0.160174, 0.738624), (-0.715991, 0.491531), (-0.911524, -0.119625)],
        [0, 1, 2, 3, 0, 0, 1, 1, 3],
        2,
    ),
    "row 2": ([(0.834662, 0.246967), (-1.139814, -0.270905)], [0, 0, 1, 1, 1, 0, 0, 0, 1], 1),
}


@pytest.mark.parametrize("row", ROWS)
def test_rows_1_2_3_centroids_labels_dimension_and_residual(row):
    _, zs, velocity, _, B = planar(row)
    centroids, labels, dimension = ROWS[row]
    result = af.diagnostics.detect_polytope(zs[-1], B=B, speed=velocity)
    np.testing.assert_allclose(result.centroids, centroids, atol=1e-4)
    assert result.labels.tolist() == labels
    assert result.dimension == dimension and len(result.vertices) == len(centroids) and len(result.inner) == 0
    assert result.residuals.max() < 1e-8
    assert result.converged and result.holds and "rest" in result.verdict and repr(result) == result.verdict


@pytest.mark.parametrize("row", ROWS)
def test_row_4_the_hull_never_grows(row):
    _, zs, *_ = planar(row)
    result = af.diagnostics.hull_nonincreasing(zs)
    assert result.violation < 1e-10 and result.holds and "never grows" in result.verdict


@pytest.mark.parametrize("row", ROWS)
def test_row_5_the_rate_is_one(row):
    ts, zs, velocity, _, B = planar(row)
    result = af.diagnostics.detect_polytope(zs[-1], B=B, speed=velocity)
    late = (4 <= ts) & (ts <= 8)
    distance = np.linalg.norm(zs[late] - result.centroids[result.labels], axis=2).max(axis=1)
    assert np.polyfit(ts[late], np.log(distance), 1)[0] == pytest.approx(-1, abs=0.02)


def test_tokens_on_their_way_are_not_called_converged():
    ts, zs, *_ = planar("row 1")
    early = zs[ts.searchsorted(3.0)]
    velocity = attention(np.exp(3.0) * early, EYE) @ early - early
    result = af.diagnostics.detect_polytope(early, speed=velocity)
    assert result.converged is False and not result.holds and "Not converged" in result.verdict
    unknown = af.diagnostics.detect_polytope(zs[-1])
    assert unknown.converged is None and not unknown.holds and "not known" in unknown.verdict


def test_speeds_may_be_lengths_and_arrays_may_be_jax():
    _, zs, velocity, _, B = planar("row 1")
    lengths = af.diagnostics.detect_polytope(
        jnp.asarray(zs[-1]), B=jnp.asarray(B), speed=np.linalg.norm(velocity, axis=1)
    )
    assert lengths.speed == pytest.approx(np.linalg.norm(velocity, axis=1).max()) and lengths.holds


def test_a_point_of_s_that_is_no_vertex():
    """The foot of the perpendicular on a face, and 0, satisfy the equation of S; other inner points do not."""
    triangle = np.array([(1.0, 1.0), (1.0, -1.0), (-1.0, 0.0)])
    foot = af.diagnostics.detect_polytope(np.vstack([triangle, [(1.0, 0.0), (0.0, 0.0)]]), speed=np.zeros(5))
    assert foot.inner.tolist() == [3, 4] and foot.holds and "unstable" in foot.verdict
    np.testing.assert_allclose(foot.inner_distance, 0, atol=1e-12)
    wrong = af.diagnostics.detect_polytope(np.vstack([triangle, [(0.5, 0.0)]]), speed=np.zeros(4))
    assert not wrong.in_s and not wrong.holds and "misses the equation" in wrong.verdict
    assert wrong.inner_distance == pytest.approx(0.5)
    assert wrong.residuals[3] == pytest.approx((0.5 - 0.25) / 2)


def test_a_flat_polytope_is_all_boundary():
    """A segment beside 0: the foot of the perpendicular lies inside it, and belongs to S."""
    result = af.diagnostics.detect_polytope(np.array([(1.0, 1.0), (1.0, -2.0), (1.0, 0.0)]), speed=np.zeros(3))
    assert result.dimension == 1 and result.flat and result.vertices.tolist() == [0, 1] and result.holds


def test_row_9_the_components_in_the_leading_eigenspace():
    V, T = np.diag([1.0, 1.0, -0.5]), 14.0
    _, xs = witness(T8, V, np.eye(3), T)
    z = xs[-1] * np.exp(-T * np.diag(V))
    velocity = (attention(xs[-1], np.eye(3)) @ z - z) @ V.T
    result = af.diagnostics.detect_polytope(z, V=V, B=np.eye(3), speed=velocity)
    expected = [
        (0.62345, -0.67337),
        (0.23196, 0.82162),
        (-0.79402, 0.45604),
        (-1.04218, -0.18995),
        (-0.03414, -0.77635),
    ]
    in_space = result.centroids @ result.space.basis.T
    assert result.count == 5 == len(result.vertices) and result.holds
    assert sorted(map(tuple, np.round(in_space[:, :2], 3))) == sorted(map(tuple, np.round(expected, 3)))
    for row in expected:
        assert np.abs(in_space - np.append(row, 0)).max(axis=1).min() < 1e-4
    assert np.abs(z[:, 2]).max() > 10  # the component along -1/2 diverges, and is left out


# Hulls -------------------------------------------------------------------------------------------------------------


def test_hulls_of_every_dimension():
    rng = np.random.default_rng(0)
    for r, d in itertools.product(range(4), (3, 5)):
        flat = rng.normal(size=(30, r)) @ np.linalg.qr(rng.normal(size=(d, d)))[0][:r] + rng.normal(size=d)
        result = hull(flat)
        assert result.dimension == r
        if r >= 2:  # Qhull itself, in coordinates of the span
            assert result.vertices.tolist() == sorted(ConvexHull((flat - flat[0]) @ result.axes.T).vertices)
        assert result.contains(flat, 1e-9).all() and not result.contains(flat[:1] + 100, 1.0).any()
        assert np.abs(result.off_span(flat)).max() < 1e-12


@pytest.mark.parametrize("thickness", [0.0, 1e-300, 1e-16, 1e-13, 1e-11, 1e-8, 1e-4])
def test_nearly_flat_hulls_and_repeated_points(thickness):
    rng = np.random.default_rng(1)
    points = np.repeat(rng.normal(size=(12, 3)) * [1, 1, thickness], 3, axis=0)
    result = hull(points)
    assert result.dimension == (3 if thickness >= 1e-11 else 2)
    assert result.excess(points).max() < 1e-12 and result.contains(points, 1e-9).all()


def test_few_points():
    assert hull(np.zeros((1, 4))).dimension == 0 == hull(np.ones((5, 3))).dimension
    segment = hull(np.array([(0.0, 0, 0), (1, 1, 1), (0.5, 0.5, 0.5)]))
    assert segment.dimension == 1 and segment.vertices.tolist() == [0, 1]
    assert segment.to_boundary(np.full((1, 3), 0.25)) == pytest.approx(np.sqrt(3) / 4)
    simplex = hull(np.eye(9))
    assert simplex.dimension == 8 and len(simplex.vertices) == 9 and simplex.normals is None


def test_the_distance_to_a_hull():
    """Against a general minimiser, and by hand."""
    assert distance_to_hull(np.array([(0.0, 1), (1, 1)]), np.array([0.5, 0.0])) == pytest.approx(1)
    assert distance_to_hull(np.array([(2.0, 0)]), np.array([2.0, 0])) == 0
    rng = np.random.default_rng(2)
    for d in (2, 4, 9):
        points, x = rng.normal(size=(6, d)), 2 * rng.normal(size=d)

        def length(a, points=points, x=x):
            return np.sum((a @ points - x) ** 2)

        simplex = {"type": "eq", "fun": lambda a: a.sum() - 1}
        best = minimize(length, np.full(6, 1 / 6), bounds=[(0, 1)] * 6, constraints=simplex, tol=1e-14)
        assert distance_to_hull(points, x) == pytest.approx(np.sqrt(best.fun), rel=1e-6)


def test_a_growing_hull_is_reported():
    zs = np.stack([T9, 0.5 * T9, 0.8 * T9])
    result = af.diagnostics.hull_nonincreasing(zs)
    assert not result.holds and result.pair == (1, 2) and "grows" in result.verdict
    # The farthest that 0.8 T9 stands out of a facet of 0.5 T9, with Qhull's own facets.
    facets = ConvexHull(0.5 * T9).equations
    assert result.violation == pytest.approx((0.8 * T9 @ facets[:, :2].T + facets[:, 2]).max(), rel=1e-9)
    beside = np.stack([T9 * [1, 0], T9 * [0.5, 0] + [0, 1e-3]])  # a flat hull is left sideways
    assert af.diagnostics.hull_nonincreasing(beside).violation == pytest.approx(1e-3)
    high = np.random.default_rng(0).normal(size=(1, 20, 9))
    high = (high - high.mean(axis=1)) * np.array([1, 0.9, 0.5])[:, None, None]
    assert (
        af.diagnostics.hull_nonincreasing(high).violation < 1e-12
        and not af.diagnostics.hull_nonincreasing(high[::-1]).holds
    )


def test_single_linkage_joins_chains():
    labels, centroids = cluster_points(np.array([[0.0], [5.0], [0.9], [1.8], [5.5]]), 1.0)
    assert labels.tolist() == [0, 1, 0, 0, 1]
    np.testing.assert_allclose(centroids[:, 0], [0.9, 5.25])


# Hyperplanes -------------------------------------------------------------------------------------------------------


def test_row_6_two_hyperplanes():
    _, zs, velocity, V, B = planar("row 6")
    result = af.diagnostics.detect_hyperplanes(zs[-1], V=V, B=B, speed=velocity)
    np.testing.assert_allclose(result.triple.phi, (0.759811, 0.650144), atol=1e-6)
    np.testing.assert_allclose(result.triple.phi_star, (0.664778, 0.761207), atol=1e-6)
    assert result.triple.eigenvalue == pytest.approx(1.347990, abs=1e-6) and result.triple.holds
    np.testing.assert_allclose(result.values, (0.65597, -0.70129), atol=1e-4)
    assert np.flatnonzero(result.labels == 0).tolist() == [0, 1, 6, 7]
    assert result.count == 2 and result.converged and result.holds and "2 parallel hyperplanes" in result.verdict


def test_row_7_the_spread_decays_at_the_leading_rate():
    ts, zs, velocity, V, B = planar("row 6")
    result = af.diagnostics.detect_hyperplanes(zs[-1], V=V, B=B, speed=velocity)
    u = zs @ result.triple.phi_star
    late = (4 <= ts) & (ts <= 8)
    spread = np.max([np.ptp(u[late][:, result.labels == k], axis=1) for k in range(2)], axis=0)
    slope = np.polyfit(ts[late], np.log(spread), 1)[0]
    assert slope / result.triple.eigenvalue == pytest.approx(-1, abs=0.01)
    at_end = [np.ptp(u[-1][result.labels == k]) for k in range(2)]
    np.testing.assert_allclose(result.spreads, at_end)


def test_hyperplanes_that_are_no_limit():
    _, zs, _, V, _ = planar("row 6")
    early = af.diagnostics.detect_hyperplanes(zs[10], V=V, speed=np.ones(9))
    assert early.converged is False and not early.pattern and not early.holds and "no limit yet" in early.verdict
    three = af.diagnostics.detect_hyperplanes(
        np.array([(1.0, 7.0), (0.0, 3.0), (-2.0, 5.0)]), V=np.diag([2.0, 1.0]), speed=[0, 0, 0]
    )
    assert three.holds and three.values.tolist() == [1, 0, -2]
    none = af.diagnostics.detect_hyperplanes(T9, V=[[0.0, -1.0], [1.0, 0.0]])
    assert none.count == 0 and not none.holds and "complex pair" in none.verdict


def test_row_32_the_modulus_decides():
    result = af.diagnostics.good_triple(V=np.diag([1.0, -2.0]))
    assert not result.holds and "-2 < 0" in result.verdict and "real part, 1, does not count" in result.verdict


@pytest.mark.parametrize(
    ("V", "B", "word"),
    [
        ([[0.0, -1.0], [1.0, 0.0]], EYE, "complex pair 0 "),
        ([[1.0, 1.0], [0.0, 1.0]], EYE, "defective"),
        (EYE, EYE, "not simple"),
        (np.diag([2.0, 1.0]), np.diag([-1.0, 1.0]), "would have to be > 0"),
        (np.diag([2.0, 1.0]), np.diag([0.0, 1.0]), "zero up to the tolerance"),
        (np.diag([1.0, -1.0]), EYE, "its negative"),
        (np.zeros((2, 2)), EYE, "nilpotent"),
        (np.diag([1.0, -1 + 1e-7]), EYE, "its negative"),
    ],
)
def test_matrices_without_a_good_triple(V, B, word):
    result = af.diagnostics.good_triple(V=V, B=B)
    assert not result.holds and word in result.verdict


# The leading eigenspace --------------------------------------------------------------------------------------------


def test_the_oblique_projector():
    """V = S diag(2, 2, -1, 0.5) S^-1 with a skew S; the projector is known by hand."""
    S = np.random.default_rng(3).normal(size=(4, 4))
    V = S @ np.diag([2.0, 2.0, -1.0, 0.5]) @ np.linalg.inv(S)
    result = af.diagnostics.detect_paranormal(V=V)
    assert result.holds and result.dimension == 2 == result.geometric and result.radius == pytest.approx(1)
    assert result.eigenvalue == pytest.approx(2) and result.deviation < 1e-10
    projector = S @ np.diag([1.0, 1, 0, 0]) @ np.linalg.inv(S)
    np.testing.assert_allclose(result.projector, projector, atol=1e-10)
    np.testing.assert_allclose(result.basis.T @ result.basis, np.eye(2), atol=1e-12)
    z = np.random.default_rng(4).normal(size=(5, 4))
    np.testing.assert_allclose(result.components(z) @ result.basis.T, z @ projector.T, atol=1e-10)
    B = np.diag([1.0, 2, 3, 4])
    c = result.components(z)
    np.testing.assert_allclose(c @ result.restrict(B) @ c.T, (z @ projector.T) @ B @ (z @ projector.T).T, atol=1e-9)


@pytest.mark.parametrize("size", [2, 3])
def test_defective_matrices_are_recognised_when_their_eigenvalues_split(size):
    """Round-off splits a Jordan block's eigenvalue by its root of that order, often into complex pairs."""
    for seed in range(5):
        S = np.linalg.qr(np.random.default_rng(seed).normal(size=(size + 1, size + 1)))[0]
        J = np.zeros((size + 1, size + 1))
        J[:size, :size] = np.eye(size) + np.eye(size, k=1)
        J[size, size] = 0.3
        result = af.diagnostics.detect_paranormal(V=S @ J @ S.T)
        assert not result.holds and result.geometric == 1 and result.multiplicity == size
        assert "defective" in result.verdict and not result.ambiguous


def test_a_spectral_gap_within_tolerance_is_ambiguous():
    for V in (np.diag([1.0, 1 + 1e-7]), [[1.0, 1e-7], [0.0, 1.0]]):
        result = af.diagnostics.detect_paranormal(V=V)
        assert not result.holds and result.ambiguous and "ambiguous" in result.verdict
    assert af.diagnostics.detect_paranormal(V=np.diag([1.0, 1 + 1e-12])).dimension == 2
    assert af.diagnostics.detect_paranormal(V=np.diag([1.0, 1 - 1e-3])).dimension == 1


# Boolean matrices --------------------------------------------------------------------------------------------------


@functools.cache
def on_the_line():
    """Row 13: attention of 20 tokens on the line, 8 starts at once, at t = 4 and t = 14."""
    x0 = np.stack([np.sort(np.random.default_rng(s).uniform(-1, 1, 20)) for s in range(8)])[..., None]
    ts, xs = witness(x0, np.eye(1), np.eye(1), 14.0)
    return attention(xs[np.argmin(np.abs(ts - 4))], np.eye(1)), attention(xs[-1], np.eye(1))


def test_row_13_rows_become_boolean():
    _, final = on_the_line()
    structures = [af.diagnostics.boolean_structure(P) for P in final]
    assert [len(f.exceptional) for f in structures] == [0] * 8
    assert [f.rank for f in structures] == [2, 2, 2, 2, 1, 2, 2, 2]
    assert all(f.holds and set(f.leaders) <= {0, 19} and f.followers.sum() == 20 for f in structures)
    assert "rank 2" in structures[0].verdict and "leaders: token 0" in structures[0].verdict


def test_the_rank_of_a_matrix_on_its_way_depends_on_the_tolerance():
    """Section 1.4: rank 11, 6 and 4 at t = 4 by three tolerances."""
    P = on_the_line()[0][0]
    assert np.linalg.matrix_rank(P) == 11
    assert [af.diagnostics.boolean_structure(P, tol).rank for tol in (1e-6, 1e-3)] == [6, 4]
    assert not af.diagnostics.boolean_structure(P).holds and "no limit" in af.diagnostics.boolean_structure(P).verdict


def test_an_exceptional_row():
    """Tokens (-u, 0, u): the middle row stays uniform for ever, and the rank is 3."""
    result = af.diagnostics.boolean_structure([[1.0, 0, 0], [1 / 3, 1 / 3, 1 / 3], [0, 0, 1]])
    assert (
        result.exceptional.tolist() == [1] and result.leaders.tolist() == [0, 2] and result.rank == 3 and result.holds
    )


def test_leaders_of_a_matrix():
    P = np.array([[1.0, 0, 0], [0.6, 0.4, 0], [0, 0, 1]])
    result = af.leaders(P)
    np.testing.assert_allclose(result.received, [1.6 / 3, 0.4 / 3, 1 / 3])
    assert result.follows.tolist() == [0, 0, 2] and result.followers.tolist() == [2, 0, 1]
    assert result.tokens == [0, 2] and af.leaders(P[None]).received.shape == (1, 3)
    with pytest.raises(InputError, match=r"shape \(2, 3\)"):
        af.leaders(P[:2])


# Which theorem -----------------------------------------------------------------------------------------------------

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("V", "B", "case", "word"),
    [
        (EYE, EYE, "polytope", "c = 1"),
        (EYE, FLAT, "polytope", "smallest eigenvalue is 0.79"),
        (2 * EYE, EYE, "polytope", "in the time 2 t"),
        (-EYE, EYE, "origin", "c = -1"),
        (-3 * EYE, 4 * EYE, "origin", "sqrt(4) x"),
        (-EYE, FLAT, "origin", "B^(1/2) x"),
        (-EYE, -EYE, None, "not the origin case"),
        (EYE, TURN + EYE, None, "not symmetric"),
        (EYE, np.diag([1.0, 0.0]), None, "not positive definite"),
        (V2, EYE, "hyperplanes", "1.34799"),
        (V2, TURN + EYE, "hyperplanes", "not symmetric"),
        (np.diag([2.0, 1.0]), np.diag([-1.0, 1.0]), None, "would have to be > 0"),
        (np.diag([1.0, 1.0, -0.5]), np.eye(3), "mix", "F has dimension 2"),
        (np.diag([1.0, 1.0, -0.5]), np.diag([1.0, 1.0, -1.0]), None, "not the mix case"),
        (np.diag([1.0, -2.0]), EYE, "codimension (conjecture)", "does not count"),
        (np.diag([1.0, -2.0]), -EYE, None, "does not count"),
        (EYE + TURN, EYE, None, "complex pair 1 "),
        ([[1.0, 1.0], [0.0, 1.0]], EYE, None, "defective"),
        (np.diag([1.0, 1 + 1e-7]), EYE, None, "ambiguous"),
        (-np.diag([1.0, 2.0]), EYE, None, "-2 < 0"),
        (0 * EYE, EYE, None, "do not move"),
        (1.0, 1.0, "boolean", "pairwise distinct"),
        (2.0, 0.5, "boolean", "pairwise distinct"),
        (1.0, -1.0, None, "B > 0"),
        (-1.0, 1.0, "origin", "V < 0"),
    ],
)
def test_which_theorem_applies(V, B, case, word):
    result = af.classify(V=V, B=B)
    assert result.case == case and (result.theorem is None) == (case is None)
    assert word in str(result), str(result)


def test_the_paper_s_matrix_of_codimension_two():
    result = af.classify(V=CODIMENSION)
    assert result.case == "hyperplanes" and result.also == ("codimension (conjecture)",) and result.positive == 2
    np.testing.assert_allclose(result.eigenvalues, (1.96345, 0.25287, -0.22210), atol=1e-5)


def test_a_rotation_is_not_seen_by_the_scores():
    """Why a leading complex pair is left out of the conjecture: V = I + rotation has polytopes of many vertices."""
    V = EYE + TURN
    x0 = np.random.default_rng(0).uniform(-2, 2, (20, 2))
    _, xs = witness(x0, V, EYE, 14.0)
    z = xs[-1] @ expm(-14 * V).T
    result = af.diagnostics.detect_polytope(z, speed=(attention(xs[-1], EYE) @ z - z) @ V.T)
    assert result.converged and result.count > 3 and result.in_s


# Runs, pictures, bad input -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run():
    model = af.SelfAttention(af.Softmax(1.0, B=jnp.asarray(FLAT)), af.Euclidean())
    return af.simulate(model, T9, ts=np.linspace(0, 14, 8), solver="ifrk4", dt=0.05)


def test_a_run_knows_its_matrices_and_velocities(run):
    result = af.diagnostics.detect_polytope(run)
    np.testing.assert_allclose(result.centroids, ROWS["row 2"][0], atol=1e-4)
    _, _, velocity, _, _ = planar("row 2")
    assert result.holds and result.speed == pytest.approx(np.linalg.norm(velocity, axis=1).max(), rel=1e-3)
    assert result.eps == pytest.approx(1e-3 * np.linalg.norm(T9, axis=1).max())
    z = af.rescaled(run)
    assert af.diagnostics.detect_polytope(z).holds and af.diagnostics.hull_nonincreasing(z).holds
    planes = af.diagnostics.detect_hyperplanes(z)
    assert not planes.holds and "not simple" in planes.verdict


@pytest.mark.parametrize("d", [2, 3])
def test_pictures_of_polytopes_and_hyperplanes(d):
    ts, zs, *_ = planar("row 6")
    zs = zs[::20] if d == 2 else np.concatenate([zs, zs[..., :1] ** 2], axis=-1)[::20]
    V = V2 if d == 2 else np.diag([2.0, 1.0, 0.5])
    for figure in (af.plot.polytope(zs, ts=ts[::20]), af.plot.hyperplanes(zs, V=V, ts=ts[::20])):
        FigureCanvasAgg(figure).draw()
        ax = figure.axes[0]
        assert ax.get_xlabel() == "$z_1$" and ("cluster" in ax.get_title() or "hyperplane" in ax.get_title())
        assert {"start", "tokens"} < {text.get_text() for text in figure.legends[0].get_texts()}
    axes = Figure().add_subplot(projection="3d" if d == 3 else None)
    assert af.plot.polytope(zs, ts=ts[::20], ax=axes) is axes.figure


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: af.diagnostics.detect_polytope(T9[0]), r"shape \(2,\); give those of one time"),
        (lambda: af.diagnostics.detect_polytope("tokens"), "a str holds no tokens"),
        (lambda: af.diagnostics.detect_polytope(T9 * np.nan), "token 0 is not finite"),
        (lambda: af.diagnostics.detect_polytope(T9, B=np.eye(3)), "give a 2 x 2 matrix"),
        (lambda: af.diagnostics.detect_polytope(T9, eps=-1.0), "eps = -1.0 is no linking distance"),
        (lambda: af.diagnostics.detect_polytope(T9, speed=[1.0]), r"give \(9,\)"),
        (lambda: af.diagnostics.detect_polytope(T9, V=TURN), "no leading eigenspace"),
        (lambda: af.diagnostics.detect_hyperplanes(T9), "V is missing"),
        (lambda: af.diagnostics.detect_hyperplanes(T9, V=np.ones((2, 3))), "give a square matrix"),
        (lambda: af.diagnostics.good_triple(V=[[np.inf]]), "not finite"),
        (lambda: af.classify(V="I"), "V = 'I' is not an array of numbers"),
        (lambda: af.classify(V=EYE, B=np.eye(3)), "give a 2 x 2 matrix"),
        (lambda: af.diagnostics.boolean_structure(EYE[:1]), "attention matrix"),
        (lambda: af.diagnostics.boolean_structure(2 * EYE), "row 0 of P is no probability vector"),
        (lambda: af.diagnostics.boolean_structure(EYE, tol=2.0), "tol = 2.0"),
        (lambda: af.diagnostics.hull_nonincreasing(T9), r"give \(T, n, d\)"),
        (lambda: af.plot.polytope(T8[None, :, :1]), "dimension 1"),
        (lambda: af.plot.hyperplanes(T9[None], V=TURN), "no hyperplanes to draw"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, words):
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize("factor", [2.0**-660, 2.0**660])
def test_hulls_and_polytopes_at_every_scale(factor):
    """Squares of these lengths over- or underflow."""
    z = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -0.5], [1.0, 0.0], [0.5, 0.5]])
    for grown in (0.5, 1.5):
        there = af.diagnostics.hull_nonincreasing(np.stack([z, grown * z]))
        found = af.diagnostics.hull_nonincreasing(factor * np.stack([z, grown * z]))
        assert found.holds == there.holds == (grown < 1)
        np.testing.assert_allclose([found.violation, found.scale], [factor * there.violation, factor * there.scale])
    there = af.diagnostics.detect_polytope(z, B=np.diag([1.0, 2.0]), speed=1e-9 * z)
    found = af.diagnostics.detect_polytope(factor * z, B=np.diag([1.0, 2.0]) / factor, speed=1e-9 * factor * z)
    assert (found.vertices.tolist(), found.converged, found.in_s) == (there.vertices.tolist(), True, there.in_s)
    np.testing.assert_array_equal(found.labels, there.labels)
    np.testing.assert_allclose(found.residuals, there.residuals, atol=1e-15)
    np.testing.assert_allclose(found.corners, factor * there.corners)
    np.testing.assert_allclose(found.inner_distance, factor * there.inner_distance, atol=1e-15 * factor)
    np.testing.assert_allclose([found.eps, found.speed], [factor * there.eps, factor * there.speed])
