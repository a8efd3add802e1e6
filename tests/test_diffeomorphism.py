"""Maps of a box as flows of neurons, arXiv:2602.08606; theory/06, section 3, rows 12 to 15."""

import json
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.constructions import CellFlow, Schedule, maurey_schedule, permutation_flow, polar_flow
from attnflow.constructions.schedules.folding import Grid, fold, unfold
from attnflow.errors import AttnflowWarning, FileError, InputError
from attnflow.experiments.diffeomorphism import cells, examples, switching
from judging import computed, holds
from witnesses import cell_maps

RNG = np.random.default_rng(0)
SQUARE, CUBE = RNG.random((4000, 2)), RNG.random((4000, 3))


def swirl_of_jax(x):
    """Also at the centre, where the distance has no derivative."""
    away = x[:, :2] - 0.5
    square = jnp.sum(away**2, axis=1, keepdims=True)
    angle = 2.0 * jnp.maximum(1 - 2 * jnp.sqrt(jnp.where(square > 0, square, 1e-30)), 0) ** 2
    turned = jnp.stack([-away[:, 1], away[:, 0]], axis=1)
    return 0.5 + jnp.cos(angle) * away + jnp.sin(angle) * turned


def bent_of_jax(x):
    x1, x2 = jnp.pi * x[:, 0], jnp.pi * x[:, 1]
    y1 = x[:, 0] + 0.12 * jnp.sin(2 * x1) * jnp.cos(x2) ** 2
    return swirl_of_jax(jnp.stack([y1, x[:, 1] + 0.1 * jnp.sin(2 * x2) * jnp.sin(x1)], axis=1))


@pytest.fixture(scope="module")
def bent():
    return af.approximate_map(examples.bent, 8, jac=examples.bent_determinant)


# Shears -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d"), [(4, 2), (3, 3), (2, 4)])
def test_a_permutation_against_shears_of_numpy(n, d):
    """Images, the inverse, pieces; and the cells go where the permutation says."""
    tau, x = np.random.default_rng(n).permutation(n**d), np.random.default_rng(1).random((500, d))
    flow = permutation_flow(tau, n, d=d)
    shears = cell_maps.permutation(tau, n, d)
    assert len(flow.unmerged.blocks) == len(shears) and len(flow.schedule.blocks) == len(shears) - 2
    assert flow.counts.unmerged == cell_maps.count(shears) <= flow.counts.most_unmerged
    assert flow.counts.merged <= flow.counts.most == flow.counts.most_unmerged - 6 * (n - 1)
    for schedule in (flow.schedule, flow.unmerged):
        np.testing.assert_allclose(schedule.forward(x), cell_maps.moved(x, shears), atol=1e-13)
    np.testing.assert_array_equal(flow.grid.cell(flow(x)), tau[flow.grid.cell(x)])
    np.testing.assert_allclose(flow.inverse(flow(x)), x, atol=1e-13)
    assert not flow.log_det(x).any()


def test_unfolding_lays_cells_in_a_strip():
    grid = Grid(3, 3, 1e-7, (np.array([1.0, -2.0, 0.0]), np.array([4.0, 4.0, 1.0])))
    strip = Schedule(unfold(3, 3, 1e-7, box=grid.box)).forward(grid.centres)
    expected = grid.lower + grid.h * np.column_stack([np.arange(27) + 0.5, np.full((27, 2), 0.5)])
    np.testing.assert_allclose(strip, expected, atol=1e-12)
    np.testing.assert_allclose(Schedule(fold(3, 3, 1e-7, box=grid.box)).forward(strip), grid.centres, atol=1e-12)


def test_neurons_one_after_another_do_the_same():
    """Those of wide ramps, whose weights float64 can add."""
    flow = af.approximate_map(examples.bent, 4, eta=0.01)
    neurons = Schedule(flow.schedule.expand())
    assert len(neurons.blocks) == flow.counts.merged == flow.schedule.pieces
    np.testing.assert_allclose(neurons.forward(SQUARE), flow.schedule.forward(SQUARE), atol=1e-10)


# Ramps --------------------------------------------------------------------------------------------------------------


def test_ramps_are_where_points_are_lost():
    """Row 12: exactly the points in ramps do not go with their cells; what they add to the error is estimated."""
    tau, eta, x = np.random.default_rng(3).permutation(64), 0.02, np.random.default_rng(4).random((40_000, 2))
    flow = permutation_flow(tau, 8, eta=eta)
    centres = cell_maps.centres(8, 2)
    k = (x * 8).astype(int) @ [1, 8]
    away = np.linalg.norm(flow.schedule.forward(x) - (x + centres[tau[k]] - centres[k]), axis=1)
    lost = away > 1e-9
    ramps = flow.in_ramps(x)
    assert not (lost & ~ramps).any() and lost[ramps].mean() > 0.98  # a ramp may lead to the right place by chance
    assert lost.mean() == pytest.approx(2 * eta, rel=0.1) and flow.ramp_mass == 2 * eta
    report = flow.report(points=20_000)
    assert report.rms == report.ramps_rms and report.tv.value == 0
    assert report.rms.value == pytest.approx(np.sqrt((away**2).mean()), rel=0.1)
    assert "ramps take at most 0.04" in repr(report)


def test_points_on_edges_are_warned_of(bent):
    mesh = np.stack(np.meshgrid(*[np.linspace(0, 1, 17)[1:-1]] * 2), axis=-1).reshape(-1, 2)
    with pytest.warns(AttnflowWarning, match=r"of 225 points lie on edges of the 8\^2 cells"):
        bent(mesh)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bent(SQUARE)


# Maps ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [4, 8])
def test_a_swirl(n):
    """Row 13: the witness's permutation costs and does the same."""
    flow = permutation_flow(examples.swirl, n)
    tau = cell_maps.kept(cell_maps.swirl, n, 2)
    cost = [((flow.grid.centres[t] - examples.swirl(flow.grid.centres)) ** 2).sum() for t in (flow.tau, tau)]
    assert cost[0] == pytest.approx(cost[1], rel=0.01)
    rms, pieces = cell_maps.swirl_error(n, points=20_000)
    assert flow.counts.unmerged == pytest.approx(pieces, abs=4)
    report = flow.report(points=20_000)
    assert report.rms.value == pytest.approx(rms, rel=0.03) and report.tv is None and report.derivative is None
    assert "no derivative" in repr(report)
    verified = flow.verify(points=2000)
    assert verified.holds and verified.log_det == 0 and verified.round_trip < 1e-12


@pytest.mark.parametrize(("phi", "other", "n", "d"), [("bent", "bent", 8, 2), ("bent_in_space", "bent_in_space", 4, 3)])
def test_a_map_that_changes_volumes_against_numpy(phi, other, n, d):
    """Row 14, smaller: images point by point, log determinants and errors, in the plane and in space."""
    flow, witness = af.approximate_map(getattr(examples, phi), n, d=d), cell_maps.Polar(getattr(cell_maps, other), n, d)
    x = SQUARE if d == 2 else CUBE
    np.testing.assert_allclose(flow.stretch, witness.slopes, rtol=1e-7)
    assert np.mean(flow.tau == witness.tau) > 0.9  # assignments can tie
    same = CellFlow(flow.grid, witness.tau, flow.stretch)
    np.testing.assert_allclose(same(x), witness(x), atol=1e-6)
    assert same.counts.unmerged == witness.pieces
    report, expected = flow.report(points=20_000), cell_maps.errors(getattr(cell_maps, other), n, d, points=20_000)
    found = [report.rms.value, report.tv.value, report.kl.value, report.unmerged]
    np.testing.assert_allclose(found, expected, rtol=0.05)
    assert report.switches == report.pieces - 1 and report.pieces == flow.counts.merged <= flow.counts.most
    assert flow.verify(points=2000).holds and report.derivative == "differences"
    np.testing.assert_allclose(flow.inverse(flow(x)), x, atol=1e-12)


def test_in_space_errors_fall():
    reports = [af.approximate_map(examples.bent_in_space, n, d=3).report(points=5000) for n in (4, 8)]
    assert reports[1].rms.value < 0.65 * reports[0].rms.value and reports[1].kl.value < 0.6 * reports[0].kl.value


def test_the_law_of_the_flow_has_its_density(bent):
    """Log determinants by differences, and a density whose mass is one."""
    x = SQUARE[:200]
    J = cell_maps.determinants(bent, x, 1e-7)
    np.testing.assert_allclose(bent.log_det(x), np.log(J), atol=1e-6)
    mesh = (np.indices((256, 256)).reshape(2, -1).T + 0.5) / 256  # 32 in a cell, but stretched cells cut them
    density = np.exp(bent.schedule.log_density(mesh, lambda x: np.zeros(len(x))))
    assert density.mean() == pytest.approx(1, abs=2e-3)


def test_errors_in_the_mean_over_another_law(bent):
    """A bounded density in place of the uniform one: its image is integrated on a mesh, against draws of the report."""

    def density(x):
        return 1 + 0.8 * np.sin(2 * np.pi * x[:, 0]) * np.cos(np.pi * x[:, 1])

    y = (np.indices((320, 320)).reshape(2, -1).T + 0.5) / 320
    z = y.copy()
    for _ in range(60):  # the inverse of the map, by Newton's method with fixed differences
        columns = [(examples.bent(z + 1e-6 * e) - examples.bent(z - 1e-6 * e)) / 2e-6 for e in np.eye(2)]
        step = np.linalg.solve(np.stack(columns, axis=-1), (y - examples.bent(z))[..., None])[..., 0]
        z = np.clip(z + np.clip(step, -0.05, 0.05), 0, 1)
        if abs(step).max() < 1e-9:
            break
    assert abs(examples.bent(z) - y).max() < 1e-6
    wanted = density(z) / examples.bent_determinant(z)
    found = np.exp(bent.schedule.log_density(y, lambda x: np.log(density(x))))
    report = bent.report(base=lambda x: np.log(3 * density(x)), points=40_000)  # the mass does not matter
    assert report.tv.value == pytest.approx(abs(wanted - found).mean() / 2, abs=5 * report.tv.stderr + 1e-3)
    assert report.kl.value == pytest.approx((wanted * np.log(wanted / found)).mean(), abs=5 * report.kl.stderr + 1e-3)
    with pytest.raises(InputError, match="no mass in the box"):
        bent.report(base=lambda x: np.full(len(x), -np.inf))


def test_determinants_by_hand_by_jax_and_by_differences():
    """All give one flow; matrices and determinants are understood."""

    def matrices(x):
        rows = [[1 + 0.3 * np.cos(3 * x[:, 0]) * 0, np.zeros(len(x))], [np.zeros(len(x)), np.ones(len(x))]]
        return np.moveaxis(np.array(rows), -1, 0)

    flows = {
        "given": af.approximate_map(examples.bent, 8, jac=examples.bent_determinant),
        "automatic": af.approximate_map(bent_of_jax, 8),
        "differences": af.approximate_map(examples.bent, 8),
    }
    for name, flow in flows.items():
        assert flow.given.derivative == name
        np.testing.assert_allclose(flow.stretch, flows["given"].stretch, rtol=1e-7)
        np.testing.assert_array_equal(flow.tau, flows["given"].tau)
        np.testing.assert_allclose(flow.given.determinants(SQUARE[:100]), examples.bent_determinant(SQUARE[:100]), 1e-6)
    assert af.approximate_map(lambda x: x, 4, jac=matrices).stretch is None


def test_auto_permutes_where_volumes_are_kept():
    auto, permuted, polar = (af.approximate_map(examples.swirl, 8, method=m) for m in ("auto", "permutation", "polar"))
    assert auto.stretch is None and polar.stretch is not None
    np.testing.assert_array_equal(auto.tau, permuted.tau)
    np.testing.assert_allclose(polar.stretch, 1, atol=1e-8)
    np.testing.assert_array_equal(polar_flow(examples.swirl, 8).tau, polar.tau)
    np.testing.assert_allclose(polar(SQUARE), auto(SQUARE), atol=1e-6)
    assert auto.report(points=1000).tv.value < 1e-8


def test_boxes():
    """A map of another rectangle is that of the square, moved and scaled along."""
    corner, sides = np.array([-1.0, 2.0]), np.array([4.0, 1.0])
    flow = af.approximate_map(
        lambda x: corner + sides * examples.bent((x - corner) / sides), 8, box=(corner, corner + sides)
    )
    np.testing.assert_allclose(flow.box, [corner, corner + sides])
    assert flow.verify(points=2000).holds
    report = flow.report(points=20_000)
    assert report.rms.value < 0.55 * report.rms_identity and report.tv.value == pytest.approx(0.09, rel=0.1)


def test_a_map_that_jumps():
    """The baker's map is a permutation of cells, up to what it does inside them."""
    flow = permutation_flow(lambda x: np.stack([2 * x[:, 0] % 1, (x[:, 1] + np.floor(2 * x[:, 0])) / 2], axis=1), 16)
    assert flow.report(points=10_000).rms.value < 0.05
    moved = np.array([0.25, 0.5])
    shift = permutation_flow(lambda x: (x + moved) % 1, 8)
    np.testing.assert_allclose(shift(SQUARE), (SQUARE + moved) % 1, atol=1e-12)


def test_a_quarter_turn():
    report = permutation_flow(examples.quarter_turn, 4).report(points=40_000)
    assert abs(report.rms.value - 0.25 / np.sqrt(3)) < 5 * report.rms.stderr < 0.01


def test_words_and_files(bent, tmp_path):
    """What a flow says of itself, and what it is after a file."""
    assert repr(bent) == f"CellFlow: 8^2 cells, {bent.counts.merged} pieces of R^2"
    assert [stage.name for stage in bent.stages] == ["unfold", "compress", "permute", "fold"]
    assert sum(stage.pieces for stage in bent.stages) == bent.counts.unmerged == bent.unmerged.pieces
    assert "2. compress: stretch" in bent.explain() and "7 blocks" in bent.explain()
    assert bent.trace(SQUARE).shape == (8, 4000, 2)
    assert "0 in ramps" in repr(bent.verify(points=100))
    bent.save(tmp_path / "flow.json")
    again = CellFlow.load(tmp_path / "flow.json")
    np.testing.assert_array_equal(again(SQUARE), bent(SQUARE))
    with pytest.raises(InputError, match="give it as phi"):
        again.report()
    given = {"jac": examples.bent_determinant, "points": 1000}
    assert again.report(examples.bent, **given) == bent.report(**given)
    for change in ({"format": "other"}, {"tau": [0] * 64}, {"n": 7}, {"stretch": [1.0] * 63}, {"stretch": [-1.0] * 64}):
        (tmp_path / "bad.json").write_text(json.dumps(json.loads((tmp_path / "flow.json").read_text()) | change))
        with pytest.raises(InputError, match="is no cell flow"):
            CellFlow.load(tmp_path / "bad.json")
    (tmp_path / "bad.json").write_text("nothing")
    with pytest.raises(InputError, match="is no cell flow"):
        CellFlow.load(tmp_path / "bad.json")
    with pytest.raises(FileError, match="cannot read"):
        CellFlow.load(tmp_path / "none.json")


# Refusals -----------------------------------------------------------------------------------------------------------


def doubled(x):
    """Positive determinants, and the boundary goes to the boundary; but twice."""
    return np.stack([abs(1 - abs(2 * x[:, 0] - 1)), x[:, 1]], axis=1)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: af.approximate_map(doubled, 4, jac=lambda x: np.full(len(x), 2.0)), "covers the box 2 times"),
        (lambda: af.approximate_map(doubled, 4), "phi folds: its determinant is -2"),
        (lambda: af.approximate_map(lambda x: x[:, ::-1], 4), "reverses orientation"),
        (lambda: af.approximate_map(lambda x: 0.5 * x, 4), "does not map the box onto itself"),
        (lambda: af.approximate_map(lambda x: x, 4, box=([0, 0], [np.inf, 1])), "not finite"),
        (lambda: af.approximate_map(lambda x: x, 4, box=([0, 0], [0, 1])), "the lower one first"),
        (lambda: af.approximate_map(lambda x: x, 4, box=3), "no pair"),
        (lambda: af.approximate_map(lambda x: x, 4, box=([0, 0], [1, 1]), d=3), "leave out d"),
        (lambda: af.approximate_map(lambda x: x / (x - x), 4), "phi is not finite at the point"),
        (
            lambda: af.approximate_map(lambda x: x + jnp.sqrt(0 * x), 4),
            "the Jacobian of phi is not finite at the point",
        ),
        (lambda: af.approximate_map(lambda x: ["a", "b"], 4), "what phi gives"),
        (lambda: af.approximate_map(lambda x: x.astype(np.float32), 4), "gives float32"),
        (lambda: af.approximate_map(lambda x: x[:, :1], 4), "for 5 points as rows"),
        (lambda: af.approximate_map(lambda x: x - x.mean(axis=0) + 0.5, 4), "each mapped by itself"),
        (lambda: af.approximate_map(lambda x: x, 4, jac=lambda x: x), "jac gives the shape"),
        (lambda: af.approximate_map(lambda x: x, 4, jac=3), "jac = 3 is no function"),
        (lambda: af.approximate_map("identity", 4), "phi = 'identity' is no function"),
        (lambda: af.approximate_map(lambda x: x, 1), "n = 1 is too small"),
        (lambda: af.approximate_map(lambda x: x, 4, d=1), "d = 1 leaves no direction"),
        (lambda: af.approximate_map(lambda x: x, 100), "too many to assign; take n <= 90"),
        (lambda: af.approximate_map(lambda x: x, 2000), "4000000 cells"),
        (lambda: af.approximate_map(lambda x: x, 4, eta=1e-16), "eta = 1e-16"),
        (lambda: af.approximate_map(lambda x: x, 4, eta=0.7), "eta = 0.7"),
        (lambda: af.approximate_map(lambda x: x, 4, method="polr"), "method = 'polr'"),
        (lambda: permutation_flow([0, 1, 2, 2], 2), "no permutation"),
        (lambda: permutation_flow([0, 1, 2], 2), "give 4 whole numbers"),
        (lambda: permutation_flow(lambda x: x + 1, 2), "out of the box"),
        (lambda: permutation_flow([0, 1, 3, 2], 2).report(points=1), "points = 1 is too small"),
        (lambda: maurey_schedule(np.zeros((1, 2)), np.ones((1, 2)), [0.0], 4, key=jax.random.key(0)), "move nothing"),
        (
            lambda: maurey_schedule(np.ones((1, 2)), np.ones((2, 2)), [0.0], 4, key=jax.random.key(0)),
            "give A the shape",
        ),
        (lambda: maurey_schedule(np.ones(2), np.ones(2), 0.0, 4, key=jax.random.key(0)), "W has shape"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_is_refused(call, told):
    with pytest.raises(InputError, match=told) as error:
        call()
    assert "\n" not in str(error.value) and str(error.value).endswith(".")


def test_functions_of_jax_need_its_float64():
    with jax.enable_x64(False):
        with pytest.raises(InputError, match=r"gives float32, and this needs float64; call af.precision"):
            af.approximate_map(bent_of_jax, 4)
        assert af.approximate_map(examples.bent, 4).given.derivative == "differences"


# Random switching ---------------------------------------------------------------------------------------------------


def test_one_neuron_at_a_time_has_the_field_as_its_mean():
    """Each piece is a neuron with its weight over its probability; how often it comes is binomial."""
    rng = np.random.default_rng(0)
    W, A, b = rng.normal(size=(2, 3, 2)), rng.normal(size=(2, 3, 2)), rng.normal(size=(2, 3))
    W[1, 2] = 0  # never drawn
    schedule = maurey_schedule(W, A, b, 20_000, key=jax.random.key(1))
    assert schedule.pieces == 20_000 and schedule.duration == pytest.approx(1)
    pieces = schedule.neurons
    size = np.linalg.norm(W, axis=-1) * np.sqrt((A**2).sum(axis=-1) + b**2)
    p = size / size.sum(axis=1, keepdims=True)
    for k in range(2):
        half = slice(10_000 * k, 10_000 * (k + 1))
        for j in range(3):
            drawn = (pieces.b[half] == b[k, j]).sum()
            assert abs(drawn - 10_000 * p[k, j]) <= 5 * np.sqrt(10_000 * p[k, j] * (1 - p[k, j]))
            if drawn:
                np.testing.assert_allclose(
                    pieces.W[half][pieces.b[half] == b[k, j]], W[k, j] / p[k, j] + np.zeros((drawn, 2))
                )


def test_random_switching_has_the_predicted_size():
    """Row 15, smaller: the mean square of few draws, and the neurons in turn."""
    parts = [{"part": "field"}, {"part": "random", "pieces": 1024, "repeats": 48}, {"part": "in turn", "pieces": 1024}]
    field, drawn, turn = (switching.compute({**cell, "seed": 1}) for cell in parts)
    ratio = 1024 * drawn["square"] / float(field["fluctuation"]) ** 2
    assert abs(float(ratio.mean()) - 1) < 5 * float(ratio.std()) / 48**0.5 < 1.2
    assert float(turn["rms"]) < 0.2 * float(np.sqrt(drawn["square"].mean()))


# Claims -------------------------------------------------------------------------------------------------------------


def test_claims_of_the_cells():
    parts = [c for c in cells.cells("quick") if c["part"] in ("ramps", "turn") or c.get("n") == 16]
    results = computed(cells, parts)
    holds(
        cells,
        results,
        *(f"cells-{name}" for name in ("ramps", "quarter-turn", "swirl", "bent-rms", "bent-tv", "bent-kl")),
    )


def test_the_claims_agree_with_the_witness():
    claims = {claim.id: claim for claim in cells.EXPERIMENT.claims}
    *errors, pieces = cell_maps.errors(cell_maps.bent, 16, 2, points=50_000)
    for name, value in zip(("rms", "tv", "kl"), errors, strict=True):
        claim = claims[f"cells-bent-{name}"]
        assert value == pytest.approx(claim.expected, rel=claim.tolerance / 2)
    assert pieces == claims["cells-bent-counts"].expected[2]
    claim = claims["cells-swirl"]
    assert 16 * cell_maps.swirl_error(16, points=50_000)[0] == pytest.approx(claim.expected, abs=claim.tolerance / 2)
    rms, tv, _, _ = cell_maps.errors(cell_maps.bent_in_space, 8, 3, points=20_000)
    assert [rms, tv] == pytest.approx(claims["cells-space"].expected, rel=0.05)


def test_frames_and_lines_are_drawn():
    """All figures, of coarse grids."""
    parts = [{"part": part, "n": n} for part in ("swirl", "bent", "space") for n in (3, 4)]
    results = computed(cells, [*parts, {"part": "lines", "n": 5}, {"part": "frames"}])
    for draw in cells.EXPERIMENT.figures:
        assert draw(results).axes
