"""Theory/03, section 1: hardmax layers, leaders, ties, limits; rows 1 to 7."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import softmax

import attnflow as af
from attnflow.errors import InputError
from attnflow.experiments.hardmax import leaders
from judging import computed, holds

LAYERS, TOKENS = 60, 8  # as in the experiment: one compiled program serves many tests


def layers(x0, t1=LAYERS, *, alpha=0.5, weights=None, **options):
    return af.simulate(af.HardmaxLayers(alpha, **options), x0, t1=t1, weights=weights, solver="layers")


def filled(x0, weights=None):
    """Eight tokens: the given ones, and others without weight."""
    more = TOKENS - len(x0)
    weights = np.full(len(x0), 1 / len(x0)) if weights is None else weights
    return {
        "x0": np.pad(np.asarray(x0, float), ((0, more), (0, 0)), constant_values=9.0),
        "weights": np.pad(weights, (0, more)),
    }


def info(run, name):
    return np.asarray(run.info[name])


def witness(x, A, alpha, depth, w=None):
    """The paper's map, token by token, with exact comparison; and the first layers at which C_i = {i}."""
    n = len(x)
    w = np.ones(n) if w is None else w
    first, xs = np.full(n, -1), [x]
    for k in range(depth + 1):
        new = x.copy()
        for i in range(n):
            scores = np.array([(A @ x[i]) @ x[j] for j in range(n)])
            C = np.flatnonzero(scores == scores.max())
            if len(C) == 1 and C[0] == i and first[i] < 0:
                first[i] = k
            mean = (w[C] @ x[C]) / w[C].sum()
            new[i] = (x[i] + alpha * mean) / (1 + alpha)
        x = new
        xs.append(x)
    return np.stack(xs[: depth + 1]), first


def turned(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


# The map -------------------------------------------------------------------------------------------------------------


def test_the_map_in_plain_loops():
    """Against the definition, with a matrix that is not symmetric (A = B^T) and weights; 20 layers, before rounding
    could choose another target."""
    rng = np.random.default_rng(7)
    x, A = rng.standard_normal((TOKENS, 2)), rng.standard_normal((2, 2))
    w = rng.dirichlet(np.ones(TOKENS))
    run = layers(x, alpha=0.8, B=A.T, weights=w)
    xs, first = witness(x, A, 0.8, 20, w)
    np.testing.assert_allclose(run.xs[:21], xs, atol=1e-13)
    began = info(run, "leader_layer")
    np.testing.assert_array_equal(np.where(began <= 20, began, -1), first)
    assert np.abs(np.asarray(run.xs[:21]) - witness(x, A.T, 0.8, 20, w)[0]).max() > 0.1, "the transpose: another run"


def test_a_leader_emerges():
    """Row 1."""
    run = layers(af.models.hardmax_cloud("emerge"))
    assert info(run, "leader_layer").tolist() == [0, 1, 0, -1, -1, -1, -1, -1]
    np.testing.assert_allclose(run.xs[30, 1], [-1 / 18, 5 / 36], rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.xs[60, 3], [1, 1 / 3], rtol=0, atol=1e-8)
    happened = [(e["kind"], e["t"], e["token"], e["index"]) for e in run.events]
    assert happened == [("leader", 0.0, 0, 0), ("leader", 0.0, 2, 0), ("leader", 1.0, 1, 1)]
    np.testing.assert_allclose(run.xs[:21], witness(np.asarray(run.xs[0]), np.eye(2), 0.5, 20)[0], atol=1e-14)
    assert run.clock == "layers" and run.ts.tolist() == list(range(LAYERS + 1)) and run.labels is None


def test_tokens_that_tie_end_on_faces():
    """Row 2."""
    run = layers(af.models.hardmax_cloud("faces"))
    np.testing.assert_allclose(run.xs[60, 4:6], [(-1, 0), (1, 0)], rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.xs[60, 6:], [(1, 1), (-1, -1)], rtol=0, atol=1e-8)
    assert info(run, "leader_layer").tolist() == [0, 0, 0, 0, -1, -1, -1, -1]
    result = af.diagnostics.hardmax_limit(run)
    assert result.certified and result.faces == {4: (2, 3), 5: (0, 1)}
    assert result.leaders.tolist() == [0, 1, 2, 3] and result.at_leader.tolist() == [0, 1, 2, 3, -1, -1, 0, 2]
    np.testing.assert_allclose(result.target[4:6], [(-1, 0), (1, 0)], atol=1e-12)
    assert len(result.polytope.vertices) == 4 and "face of leaders 2 and 3" in repr(result)


def test_ties_are_kept_by_the_preset():
    """Row 3; that exact comparison loses them is a claim of the experiment."""
    x0 = np.asarray(af.models.hardmax_cloud("faces"))
    limits = np.array([(1, 1), (1, -1), (-1, -1), (-1, 1), (-1, 0), (1, 0), (1, 1), (-1, -1)])
    for angle in (0.7, 1.1, 2.3):
        R = turned(angle)
        robust = layers(x0 @ R.T, 400, robust=True)
        np.testing.assert_allclose(np.asarray(robust.xs[-1]) @ R, limits, rtol=0, atol=1e-8)
    assert info(robust, "absorbed_by").tolist() == [-1, -1, -1, -1, -1, -1, 0, 2]
    when = info(robust, "absorbed_layer")
    labels, xs = np.asarray(robust.labels), np.asarray(robust.xs)
    assert labels[when[6] - 1, 6] == 6 and labels[when[6], 6] == 0
    np.testing.assert_array_equal(xs[when[6] :, 6], np.broadcast_to(xs[0, 0], (401 - when[6], 2)))
    assert ("absorbed", 7, 2) in {(e["kind"], e["token"], e.get("leader")) for e in robust.events}
    result = af.diagnostics.hardmax_limit(robust)
    assert result.certified and sorted(result.faces) == [4, 5] and result.polytope.converged
    assert af.clusters(robust, at=-1).converged, "absorbed tokens no longer tilt the ties"


def test_a_tolerance_alone_is_no_cure():
    """Tokens on their way to a vertex enter the tie with it."""
    x0 = np.asarray(af.models.hardmax_cloud("faces")) @ turned(0.7).T
    run = layers(x0, alpha=2.0, tie_tol=1e-12)
    assert np.abs(np.asarray(run.xs[-1]) @ turned(0.7) - [-1, 0]).max(axis=1)[4] > 0.5


def test_a_vertex_twice_wins_two_to_one():
    """Row 6; the first of the two leads. Weights say the same as copies."""
    twice = [(1.0, 1.0), (1.0, 1.0), (1.0, -1.0), (0.5, 0.0)]
    for options in ({}, {"robust": True, "B": np.eye(2)}):
        run = layers(**filled(twice), **options)
        np.testing.assert_allclose(run.xs[1, 3], [2 / 3, 1 / 9], rtol=0, atol=1e-15)
        np.testing.assert_allclose(run.xs[-1, 3], [1, 1], rtol=0, atol=1e-8)
        assert info(run, "leader_layer").tolist() == [0, -1, 0, *[-1] * 5]
    weighted = layers(**filled([(1.0, 1.0), (1.0, -1.0), (0.5, 0.0)], [0.5, 0.25, 0.25]))
    np.testing.assert_allclose(weighted.xs[1, 2], [2 / 3, 1 / 9], rtol=0, atol=1e-15)
    assert (np.asarray(weighted.xs[:, 3:]) == 9.0).all(), "no weight: neither moves nor leads"
    assert info(weighted, "leader_layer").tolist() == [0, 0, *[-1] * 6]
    assert af.diagnostics.hardmax_limit(weighted).certified


def test_a_token_at_zero_reads_everybody():
    """Row 7."""
    x = np.array([(0.0, 0.0), (1.0, 0.25), (-0.5, 1.0), (0.125, -1.5)])
    np.testing.assert_allclose(layers(**filled(x)).xs[1, 0], x.mean(axis=0) / 3, rtol=0, atol=1e-16)


def test_hardmax_is_the_limit_of_softmax():
    rng = np.random.default_rng(3)
    x, B = rng.standard_normal((TOKENS, 2)), np.array([[2.0, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(layers(x, B=B).xs[1], x + (softmax(1e6 * x @ B @ x.T, axis=1) @ x - x) / 3, atol=1e-12)


# Limits --------------------------------------------------------------------------------------------------------------


def test_the_point_of_a_face_is_nearest_in_the_norm_of_B():
    """An edge between two vertices of equal norm x^T B x, a token that ties between them: its limit is their midpoint,
    which is the point of the edge of least norm, found here by a search."""
    B = np.array([[2.0, 0.5], [0.5, 1.0]])
    L = np.linalg.cholesky(np.linalg.inv(B))  # maps the unit circle to the unit sphere of B's norm
    a, b = L @ [np.cos(0.4), np.sin(0.4)], L @ [np.cos(1.6), np.sin(1.6)]
    x0 = np.array([a, b, -a - 0.2 * b, 0.3 * (a + b), -0.1 * a + 0.02 * b])
    run = layers(**filled(x0), alpha=2.0, B=B, robust=True)
    result = af.diagnostics.hardmax_limit(run)
    assert result.certified and result.faces == {3: (0, 1)}
    least = minimize_scalar(lambda s: (a + s * (b - a)) @ B @ (a + s * (b - a)), bounds=(0, 1), method="bounded").x
    np.testing.assert_allclose(result.target[3], a + least * (b - a), atol=1e-5)
    np.testing.assert_allclose(run.xs[-1, 3], (a + b) / 2, atol=1e-12)


def test_tokens_that_have_not_arrived_are_not_certified(as_users_run):
    early = layers(af.models.hardmax_cloud("emerge"), LAYERS)
    early = eqx.tree_at(lambda run: (run.xs, run.ts), early, (early.xs[:21], early.ts[:21]))
    result = af.diagnostics.hardmax_limit(early)
    assert not result.certified and result.missing.tolist() == [3, 4, 5, 6, 7] and "have not arrived" in repr(result)
    assert af.diagnostics.hardmax_limit(early, eps=0.01).certified
    with pytest.raises(InputError, match="runs of HardmaxLayers"):
        af.diagnostics.hardmax_limit(np.asarray(early.xs))


def test_a_run_without_leaders_is_not_certified():
    """At a tolerance above all scores all tokens tie, and none leads."""
    result = af.diagnostics.hardmax_limit(layers(af.models.hardmax_cloud("emerge"), tie_tol=10.0))
    assert not result.certified and len(result.leaders) == 0 and result.missing.tolist() == list(range(TOKENS))
    assert "0 leaders" in repr(result) and "from a leader" not in repr(result)


def test_runs_go_on_and_are_stored(tmp_path):
    """Leaders and absorbed tokens are part of the state; all diagnostics read the run."""
    x0 = np.asarray(af.models.hardmax_cloud("faces")) @ turned(0.7).T
    whole = layers(x0, 400, robust=True)
    same = af.HardmaxLayers(B=np.eye(2), robust=True)
    part = af.simulate(same, x0, ts=[0, LAYERS], solver="layers").restart(t1=100)
    np.testing.assert_array_equal(part.xs[-1], whole.xs[100])
    assert {k: info(part, k).tolist() for k in ("leader_layer", "absorbed_layer")} == {
        k: info(whole, k).tolist() for k in ("leader_layer", "absorbed_layer")
    }
    part.save(tmp_path / "run.nc")
    again = af.load(tmp_path / "run.nc")
    assert (
        again.events == part.events
        and af.diagnostics.hardmax_limit(again).faces == af.diagnostics.hardmax_limit(part).faces
    )
    strict = layers(af.models.hardmax_cloud("emerge"))
    assert af.leaders(strict, at=0).follows.tolist() == [0, 3, 2, 0, 2, 2, 0, 0]
    assert af.diagnostics.hull_nonincreasing(strict).holds and af.clusters(strict, at=-1).count == 3
    # Corners follow themselves, the edge tokens the first of the two between which they tie, 6 and 7 their leaders.
    assert af.leaders(whole, at=-1).follows.tolist() == [0, 1, 2, 3, 2, 0, 0, 2]
    assert "2407.01602" in af.cite(whole)


def test_many_tokens_in_rows():
    """More tokens than rows at once: the same as the definition, in NumPy."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 2))
    step = eqx.filter_jit(af.HardmaxLayers().force)(0, jnp.asarray(x), None)
    C = (x @ x.T).argmax(axis=1)
    np.testing.assert_allclose(x + step, (x + 0.5 * x[C]) / 1.5, atol=1e-15)


# Bad input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 0.0}, "moves no token"),
        ({"alpha": "half"}, "not a number"),
        ({"B": np.eye(3)}, "B has shape"),
        ({"B": [[np.nan, 0.0], [0.0, 1.0]]}, "not finite"),
        ({"tie_tol": 1e-9, "merge_tol": 1e-10}, "too small for tie_tol"),
        ({"robust": True, "tie_tol": 1e-9}, "leave them out"),
        ({"x0": np.zeros((2, 3, 2))}, "one cloud"),
        ({"x0": 1e200 * np.ones((TOKENS, 2)), "t1": LAYERS}, "overflow"),
        ({"x0": 1e-200 * np.eye(2)}, "underflow"),
        ({"merge_tol": 0.0}, "absorbs no token"),
        ({"x0": np.eye(2, dtype=np.float32), "robust": True}, "below the rounding of float32"),
    ],
)
def test_models_are_checked(arguments, message):
    arguments = dict(arguments)
    with pytest.raises(InputError, match=message):
        layers(arguments.pop("x0", np.eye(2)), arguments.pop("t1", 3), **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"t1": 3.0}, 'solver="layers"'),
        ({"t1": 3.0, "solver": "layers", "dt": 0.1}, 'solver="layers" without dt'),
        ({"t1": 2.5, "solver": "layers"}, "between two layers"),
        ({"ts": [0, 0.5], "solver": "layers"}, "between two layers"),
        ({"t1": 3, "solver": "layers", "rtol": 1e-3}, "drop rtol"),
        ({"t1": 30, "solver": "layers", "max_steps": 10}, "exceed max_steps"),
    ],
)
def test_options_are_checked(arguments, message):
    with pytest.raises(InputError, match=message):
        af.simulate(af.HardmaxLayers(), np.eye(2), **arguments)


def test_examples_are_named():
    np.testing.assert_allclose(af.models.hardmax_cloud("faces", 0), np.asarray(af.models.hardmax_cloud("faces"))[:6])
    inside = np.asarray(af.models.hardmax_cloud("triangle", 200, key=jax.random.key(0)))[3:]
    corners = np.array([(1, 1), (0.5, -0.5), (-1, -1)])
    share = np.linalg.solve(np.vstack([corners.T, np.ones(3)]), np.vstack([inside.T, np.ones(200)]))
    # A share of uniform points has mean 1/3 and variance 1/18.
    assert share.min() >= 0 and np.abs(share.mean(axis=1) - 1 / 3).max() < 4 * np.sqrt(1 / 18 / 200)
    for bad in (("hexagon",), ("square",), ("emerge", 3), ("square", -1)):
        with pytest.raises(InputError):
            af.models.hardmax_cloud(*bad)
    with pytest.raises(InputError, match="is unknown"):
        af.models.hardmax_matrix("identity")


def test_pictures():
    emerge, faces = (layers(af.models.hardmax_cloud(name)) for name in ("emerge", "faces"))
    figure = af.plot.hardmax_layers({"emerge": emerge, "faces": faces}, layers=(0, 1, 30))
    assert len(figure.axes) == 6 and figure.axes[0].get_ylabel() == "emerge"
    titles = [af.plot.half_space(emerge, 1, at=at).axes[0].get_title() for at in (0, 1)]
    assert titles == ["layer 0: token 1 follows", "layer 1: token 1 leads"]
    weighted = layers(**filled([(1.0, 1.0), (1.0, -1.0), (0.5, 0.0)], [0.5, 0.25, 0.25]))
    (arrow,) = [text for text in af.plot.half_space(weighted, 2).axes[0].texts if hasattr(text, "arrow_patch")]
    np.testing.assert_allclose(arrow.xy, [1, 1 / 3], err_msg="towards the mean with weights 2 : 1")
    with pytest.raises(InputError, match="saved layers"):
        af.plot.half_space(emerge, 0, at=1000)
    with pytest.raises(InputError, match="runs of HardmaxLayers"):
        af.plot.hardmax_layers(3)
    with pytest.raises(InputError, match="was not kept"):
        af.plot.hardmax_layers(emerge, layers=(0, 1000))
    with pytest.raises(InputError, match="none of 8 tokens"):
        af.plot.half_space(emerge, 8)
    with pytest.raises(InputError, match="runs of HardmaxLayers"):
        af.plot.half_space(np.asarray(emerge.xs), 0)


# The experiment ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def results():
    """Everything at scale quick."""
    return computed(leaders)


@pytest.mark.parametrize("name", [claim.id for claim in leaders.EXPERIMENT.claims])
def test_claims(results, name):
    """Rows 1 to 7 again, the invariants I1 to I4 (row 4), and matrices beyond the theorem (row 5)."""
    holds(leaders, results, name)


def test_random_systems_have_as_many_clusters_as_leaders(results):
    data = results.select(part="systems")
    assert data.sizes["system"] == 200 and int(data["leaders"].min()) >= 1
    assert float(data["from_a_leader"].max()) <= 1e-10
    assert (data["leaders"] > 1).mean() > 0.5
