"""Pieces and schedules against solvers of differential equations, matrix exponentials and formulas of NumPy."""

import json

import jax
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import attnflow as af
from attnflow.constructions import (
    AbstractPiece,
    MonotonePL,
    ReluPiece,
    ReluPieces,
    Schedule,
    ShearProfile,
)
from attnflow.errors import AttnflowWarning, InputError
from witnesses import relu_pieces as witness

SEEDS = st.integers(0, 2**32 - 1)


def drawn_piece(rng, d):
    return ReluPiece(rng.normal(size=d), rng.normal(size=d), float(rng.normal()), float(rng.uniform(0.1, 1.0)))


def drawn_monotone(rng, d, K=5):
    e = rng.normal(size=d)
    x, y = (np.cumsum(rng.uniform(0.1, 1.0, K)) - 1.5 for _ in range(2))
    left, right = (float(s) for s in rng.uniform(0.3, 3.0, 2))
    return MonotonePL(e / np.linalg.norm(e), x, y, left_slope=left, right_slope=right)


def drawn_shear(rng, d):
    a, w = rng.normal(size=(2, d))
    w -= a * (a @ w) / (a @ a)
    knots = np.cumsum(rng.uniform(0.1, 1.0, 5)) - 1.5
    left, right = (float(s) for s in rng.normal(size=2))
    return ShearProfile(a, w, knots, rng.normal(size=5), left_slope=left, right_slope=right)


def drawn_schedule(rng, d):
    """Pieces of every kind; on the line there are no shears."""
    pieces = [drawn_piece(rng, d), drawn_monotone(rng, d), ReluPiece.translation(rng.normal(size=d), 0.5)]
    arrays = rng.normal(size=(3, d)), rng.normal(size=(3, d)), rng.normal(size=3), rng.uniform(0.1, 0.7, 3)
    return Schedule([*pieces, *([drawn_shear(rng, d)] if d > 1 else []), ReluPieces(*arrays), drawn_piece(rng, d)])


def numbers(neurons):
    return [(p.w, p.a, p.b, p.t) for p in neurons]


# One neuron, and two that make a linear field ------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_a_neuron_is_the_flow_of_its_field(d):
    rng = np.random.default_rng(d)
    for _ in range(10):
        piece, x = drawn_piece(rng, d), rng.normal(size=(20, d))
        y = piece.forward(x)
        assert abs(y - witness.by_solver(x, piece.w, piece.a, piece.b, piece.t)).max() < 1e-8
        assert abs(piece.inverse(y) - x).max() < 1e-12
        away = x[abs(x @ piece.a + piece.b) > 1e-4]
        assert abs(piece.log_det(away) - witness.log_det_by_differences(piece.forward, away)).max() < 1e-6


def test_two_half_spaces_make_a_linear_field():
    rng = np.random.default_rng(0)
    for d in (1, 2, 3):
        w, a, b, t = rng.normal(size=d), rng.normal(size=d), float(rng.normal()), 0.7
        both = Schedule([ReluPiece(w, a, b, t), ReluPiece(-w, -a, -b, t)])
        x = rng.normal(size=(50, d))
        wanted = witness.by_exponential(x, w, a, b, t)
        assert abs(both.forward(x) - wanted).max() < 1e-12 * abs(wanted).max()
        np.testing.assert_allclose(both.log_det(x), t * (a @ w), rtol=1e-13)
        assert both.pieces == 2 and both.switches == 1


def test_special_neurons():
    x = np.random.default_rng(0).normal(size=(30, 2))
    moved = ReluPiece.translation([1.0, -2.0], 0.5)
    np.testing.assert_allclose(moved.forward(x), x + np.array([[0.5, -1.0]]), rtol=1e-15)
    shear = ReluPiece([0.0, 2.0], [1.0, 0.0], 0.0)
    np.testing.assert_array_equal(shear.forward(x), x + np.outer(2 * np.maximum(x[:, 0], 0), [0, 1]))
    assert not shear.log_det(x).any()
    # Nearly a shear: the series of (e^z - 1)/z joins the formula without a step.
    near = [ReluPiece([c, 2.0], [1.0, 0.0], 0.0).forward(x) for c in (0.99e-8, 1.01e-8)]
    assert abs(near[0] - near[1]).max() < 1e-9 and abs(near[0] - shear.forward(x)).max() < 1e-7


def test_a_rotation_is_three_linear_shears_of_two_neurons():
    theta = 0.7

    def linear(a, w, c):
        return ShearProfile(a, w, [0.0], [0.0], left_slope=c, right_slope=c)

    e1, e2 = np.eye(2)
    H = linear(e2, e1, -np.tan(theta / 2))
    rotation = Schedule([H, linear(e1, e2, np.sin(theta)), H])
    x = np.random.default_rng(0).normal(size=(50, 2))
    R = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
    assert abs(rotation.forward(x) - x @ R.T).max() < 1e-15 * 8
    assert rotation.pieces == 6 == len(rotation.expand())


# Fused pieces --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [1, 3, 8, 40])
def test_a_monotone_map_is_its_neurons_one_by_one(K):
    rng = np.random.default_rng(K)
    for d in (1, 3):
        piece, x = drawn_monotone(rng, d, K), 3 * rng.normal(size=(200, d))
        s = x @ piece.e
        wanted = witness.piecewise_linear(s, piece.x_knots, piece.y_knots, piece.left_slope, piece.right_slope)
        y, log_det = witness.through(x, numbers(piece.expand()))
        for found in (y, piece.forward(x)):
            assert (abs(found @ piece.e - wanted) / (1 + abs(wanted))).max() < 1e-11
            assert abs((found - x) - np.outer((found - x) @ piece.e, piece.e)).max() < 1e-12
        assert abs(piece.log_det(x) - log_det).max() < 1e-12
        assert abs(piece.inverse(piece.forward(x)) - x).max() < 1e-11
        assert piece.count == K + 2 == len(piece.expand()) == piece.duration
    stays = MonotonePL([1.0], [0.0, 1.0], [0.0, 2.0])
    assert stays.count == 3 == len(stays.expand()), "no translation"
    assert (stays.left_slope, stays.right_slope) == (2.0, 2.0)


def test_a_profile_is_exact_at_its_knots_and_counts_its_kinks():
    e1, e2 = np.eye(2)
    delta, edges = 1e-7, np.arange(1, 9) / 8
    knots = np.sort(np.concatenate([edges - delta / 2, edges + delta / 2]))
    steps = np.repeat([0, 3, 3, 5, 0, 0, -2, 1, 4], 2)[1:-1].astype(float)
    stairs = ShearProfile(e1, e2, knots, steps)
    x = np.column_stack([knots, np.zeros(16)])
    np.testing.assert_array_equal(stairs.forward(x)[:, 1], steps)
    assert stairs.count == 2 * np.count_nonzero(np.diff(steps)) == 12, "two neurons where it jumps, none where not"
    away = np.column_stack([(edges - 1 / 16), np.ones(8)])
    assert abs(stairs.inverse(stairs.forward(away)) - away).max() == 0
    assert ShearProfile(e1, e2, [0.0], [2.0]).count == 1, "a translation"
    straight = ShearProfile(e1, e2, np.linspace(0, 1, 11), np.linspace(0, 0.3, 11))
    assert straight.count == 2, "slopes that differ by rounding make no kink"


def test_a_profile_of_208_neurons_is_its_neurons_one_by_one():
    """Sums of neurons of slope 1e6 lose 1e-8: docs/theory/relu-schedules.md."""
    rng = np.random.default_rng(0)
    edges = np.sort(rng.uniform(-2, 2, 52))
    knots = np.sort(np.concatenate([edges - 5e-7, edges + 5e-7]))
    up_and_down = np.repeat(rng.normal(size=53), 2)[1:-1]
    shears = [ShearProfile(a, w, knots, up_and_down - up_and_down[0]) for a, w in (np.eye(2), np.eye(2)[::-1])]
    schedule, x = Schedule(shears), rng.normal(size=(500, 2))
    off = (abs(x[:, :1] - edges).min(axis=1) > 1e-6) & (
        abs((x[:, 1] + shears[0].lines(x[:, 0]))[:, None] - edges).min(axis=1) > 1e-6
    )
    fused, one_by_one = schedule.forward(x[off]), witness.through(x[off], numbers(schedule.expand()))[0]
    assert schedule.pieces == 208 == len(schedule.expand())
    assert 1e-12 < abs(fused - one_by_one).max() < 1e-7
    assert abs(schedule.inverse(fused) - x[off]).max() < 1e-13


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.sampled_from([1, 2, 3]))
def test_every_schedule_is_its_neurons_and_comes_back(seed, d):
    rng = np.random.default_rng(seed)
    schedule, x = drawn_schedule(rng, d), rng.normal(size=(30, d))
    y, log_det = schedule.carry(x)
    wanted, sums = witness.through(x, numbers(schedule.expand()))
    size = 1 + abs(y).max()
    assert abs(y - wanted).max() < 1e-9 * size and abs(log_det - sums).max() < 1e-9
    assert len(schedule.expand()) == schedule.pieces == schedule.switches + 1 == schedule.neurons.count
    low, high = schedule.log_det_range
    assert (low - 1e-9 <= log_det).all() and (log_det <= high + 1e-9).all()
    growth = np.exp(np.abs(schedule.neurons.growth).sum())
    assert abs(schedule.inverse(y) - x).max() < 1e-15 * growth * size
    np.testing.assert_allclose(schedule.inverted.log_det(y), -log_det, atol=1e-8)


@settings(max_examples=10, deadline=None)
@given(SEEDS, st.floats(0.01, 0.99))
def test_until_a_time_is_the_neurons_that_have_run(seed, share):
    rng = np.random.default_rng(seed)
    schedule, x = drawn_schedule(rng, 2), rng.normal(size=(20, 2))
    t = share * schedule.duration
    part = Schedule(schedule.until(t))
    ends = np.cumsum(schedule.neurons.t)
    before = [(w, a, b, s - max(0.0, e - t)) for (w, a, b, s), e in zip(numbers(schedule.expand()), ends, strict=True)]
    wanted = witness.through(x, [one for one in before if one[3] > 0])[0]
    assert abs(part.forward(x) - wanted).max() < 1e-9 * (1 + abs(wanted).max())
    assert part.duration == pytest.approx(t, rel=1e-12)


def test_composition_and_measures():
    rng = np.random.default_rng(5)
    first, then, x = drawn_schedule(rng, 2), drawn_schedule(rng, 2), rng.normal(size=(20, 2))
    both = first.then(then)
    assert both == then @ first and both.blocks == first.blocks + then.blocks
    np.testing.assert_array_equal(both.forward(x), then.forward(first.forward(x)))
    np.testing.assert_allclose(both.log_det(x), first.log_det(x) + then.log_det(first.forward(x)), rtol=1e-12)
    assert both.pieces == first.pieces + then.pieces and "switches" in repr(both)
    w = rng.dirichlet(np.ones(20))
    y, kept = first.push(x, w)
    np.testing.assert_array_equal(kept, w)
    np.testing.assert_array_equal(y, first.forward(x))
    assert first.push(x)[1] is None


def test_coordinates_that_no_weight_moves_are_the_same_numbers():
    rng = np.random.default_rng(6)
    W = np.column_stack([np.zeros(50), rng.normal(size=(50, 2))])
    schedule = Schedule.from_arrays(W, rng.normal(size=(50, 3)), rng.normal(size=50), 0.1)
    x = rng.normal(size=(40, 3))
    y = schedule.forward(x)
    np.testing.assert_array_equal(y[:, 0], x[:, 0])
    assert (y[:, 1:] != x[:, 1:]).any()


def test_a_point_moves_alike_in_any_batch():
    """More points than a tile holds, on several threads; and every one of them alone."""
    rng = np.random.default_rng(7)
    schedule, x = drawn_schedule(rng, 2), rng.normal(size=(13_000, 2))
    y, log_det = schedule.carry(x)
    for k in (0, 4095, 4096, 8191, 12_999):
        alone = schedule.carry(x[k : k + 1])
        np.testing.assert_array_equal(alone.x[0], y[k])
        assert alone.log_det[0] == log_det[k]
    assert schedule.forward(np.zeros((0, 2))).shape == (0, 2)


def test_it_computes_in_64_bits_whatever_jax_does():
    schedule, x = drawn_schedule(np.random.default_rng(8), 2), np.random.default_rng(9).normal(size=(10, 2))
    wanted = schedule.forward(x)
    with jax.enable_x64(False):
        np.testing.assert_array_equal(schedule.forward(x), wanted)
        with pytest.raises(InputError, match="precision"):
            schedule.to_model()
    with pytest.warns(AttnflowWarning, match="float32 and was converted"):
        narrow = schedule.forward(x.astype(np.float32))
    assert narrow.dtype == np.float64 and abs(narrow - wanted).max() < 1e-4


# Densities -----------------------------------------------------------------------------------------------------------


def normal(x):
    return -0.5 * (x**2).sum(axis=1) - np.log(2 * np.pi)


@pytest.mark.parametrize("seed", [0, 1])
def test_forty_pieces_keep_all_mass(seed):
    """A sum over a grid errs by some 1e-4 where the density jumps."""
    rng = np.random.default_rng(seed)
    W, A = 0.25 * rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    schedule = Schedule.from_arrays(W, A, rng.normal(size=40), rng.uniform(0.1, 0.6, 40))
    assert schedule.log_det_range[0] < -0.9 and schedule.log_det_range[1] > 0.9
    side = np.linspace(-14, 14, 1201)
    cells = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    mass = np.exp(schedule.log_density(cells, normal)).sum() * (side[1] - side[0]) ** 2
    assert mass == pytest.approx(1, abs=5e-4)


def test_densities_and_draws_of_laws():
    schedule = Schedule([MonotonePL([1.0], [-1.0, 0.0, 2.0], [-2.0, 0.5, 1.0])])
    base, y = scipy.stats.norm(0.3, 1.2), np.linspace(-4, 4, 9)[:, None]
    by_function = schedule.log_density(y, lambda x: base.logpdf(x[:, 0]))
    np.testing.assert_array_equal(schedule.log_density(y, base), by_function)

    class Law:
        def log_density(self, x):
            return base.logpdf(x[:, 0])

        def sample(self, n, *, key):
            return jax.random.normal(key, (n, 1)) * 1.2 + 0.3

    np.testing.assert_array_equal(schedule.log_density(y, Law()), by_function)
    for law in (base, Law()):
        drawn = schedule.sample(law, 4000, key=jax.random.key(0))
        grid = np.linspace(-9, 9, 4001)[:, None]
        cdf = np.cumsum(np.exp(schedule.log_density(grid, base))) * 18 / 4000
        found = scipy.stats.kstest(drawn[:, 0], lambda q, cdf=cdf, grid=grid: np.interp(q, grid[:, 0], cdf))
        assert found.pvalue > 1e-4
    with pytest.warns(AttnflowWarning, match="log density of base is float32"):
        schedule.log_density(y, lambda x: np.float32(x[:, 0]))


# Files ---------------------------------------------------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_json_keeps_every_bit(seed):
    rng = np.random.default_rng(seed)
    schedule = drawn_schedule(rng, 2)
    text = schedule.to_json()
    again = Schedule.from_json(text)
    assert again == schedule and again.to_json() == text
    for piece in schedule.blocks:
        assert AbstractPiece.from_json(piece.to_json()) == piece == type(piece).from_json(piece.to_json())


def test_files_and_programs_make_the_same_schedule(tmp_path):
    schedule = drawn_schedule(np.random.default_rng(3), 2).then(ReluPiece([5e-324, -0.0], [1e308, 1.0], -0.0))
    schedule.save(tmp_path / "schedule.json")
    assert Schedule.load(tmp_path / "schedule.json") == schedule
    names = {}
    exec(schedule.program(), names)
    assert names["schedule"] == schedule and names["schedule"].to_json() == schedule.to_json()
    with pytest.raises(InputError, match="is a ReluPiece and no Schedule"):
        Schedule.from_json(schedule.blocks[0].to_json())
    with pytest.raises(af.errors.FileError, match="cannot read"):
        Schedule.load(tmp_path / "nothing.json")


NEURON = {"kind": "neuron", "w": [1.0], "a": [1.0], "b": 0.0, "t": 1.0}


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\xff\xfe", b"[1]", b"null", b"[" * 100_000, b'{"format": "attnflow schedule 2"}',
        *(json.dumps({"format": "attnflow schedule 1", **record}).encode() for record in (
            {}, {"kind": "schedule"}, {"kind": "schedule", "blocks": []}, {"kind": "schedule", "blocks": {"a": 1}},
            {"kind": "schedule", "blocks": [3]}, {"kind": "schedule", "blocks": [{"kind": "schedule", "blocks": []}]},
            {"kind": "schedule", "blocks": [NEURON, {**NEURON, "w": [1.0, 2.0]}]},
            {"kind": "os.system"}, {"kind": ["neuron"]}, {**NEURON, "more": 1}, {**NEURON, "w": None},
            {**NEURON, "w": ["1"]}, {**NEURON, "w": [True]}, {**NEURON, "w": [float("nan")]}, {**NEURON, "t": -1.0},
            {**NEURON, "w": [10**400]}, {**NEURON, "w": [[1.0], [1.0, 2.0]]}, {**NEURON, "b": {"b": 1}},
        )),
        b'{"format": "attnflow schedule 1", "kind": "neuron", "w": [1e999], "a": [1], "b": 0, "t": 1}',
        b'{"format": "attnflow schedule 1", "kind": "neuron", "w": [' + b"9" * 5000 + b'], "a": [1], "b": 0, "t": 1}',
    ],
)  # fmt: skip
def test_hostile_files_give_one_sentence(tmp_path, content, as_users_run):
    (tmp_path / "bad.json").write_bytes(content)
    with pytest.raises(InputError) as refused:
        Schedule.load(tmp_path / "bad.json")
    sentence = str(refused.value)
    assert "bad.json is no" in sentence and "\n" not in sentence and len(sentence) < 500


# What is refused -----------------------------------------------------------------------------------------------------

LINE = Schedule([MonotonePL([1.0], [-1.0, 1.0], [-2.0, 1.0])])


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: LINE.forward(np.zeros((3, 2))), r"x has shape \(3, 2\); give points of R\^1"),
        (lambda: LINE.inverse(np.array([[np.nan]])), "y has an entry that is not finite"),
        (lambda: LINE.forward(np.full((1, 1), 1.7e308)), "beyond the range of float64"),
        (lambda: ReluPiece([1.0, np.nan], [0.0, 1.0], 1.0), r"w has an entry that is not finite \(at \[1\]\)"),
        (lambda: ReluPiece([1.0], [0.0, 1.0], 1.0), "a has shape"),
        (lambda: ReluPiece([1.0], [0.0], 1.0, -1.0), "t = -1 is no duration"),
        (lambda: ReluPiece([1000.0], [1.0], 0.0), r"expands volume by e\^1000"),
        (lambda: ReluPieces(np.ones((2, 2)), np.ones((3, 2)), [1.0, 1.0]), r"A has shape \(3, 2\)"),
        (lambda: Schedule.from_arrays([1.0], [1.0], [1.0]), r"W has shape \(1,\)"),
        (lambda: ShearProfile([1.0, 0.0], [1e-3, 1.0], [0.0], [1.0]), "w and a have the cosine 0.001"),
        (lambda: ShearProfile([0.0, 0.0], [1.0, 0.0], [0.0], [1.0]), "a is zero and has no direction"),
        (lambda: ShearProfile([1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 2.0]), "knots must increase"),
        (lambda: ShearProfile([1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0]), "values has shape"),
        (lambda: MonotonePL([1.0], [0.0, 1.0], [1.0, 0.0]), "y_knots must increase"),
        (lambda: MonotonePL([2.0], [0.0, 1.0], [0.0, 1.0]), "e has length 2"),
        (lambda: MonotonePL([1.0], [0.0], [0.0]), "one knot leaves left_slope open"),
        (lambda: MonotonePL([1.0], [0.0, 1.0], [0.0, 1.0], left_slope=0.0), "left_slope = 0 is not positive"),
        (lambda: Schedule([]), "without pieces"),
        (lambda: Schedule([LINE, ReluPiece([1.0, 0.0], [0.0, 1.0], 0.0)]), r"piece 1 is one of R\^2"),
        (lambda: LINE.until(5.0), "outside of the schedule"),
        (lambda: LINE.push(np.zeros((2, 1)), [1.0]), "weights have shape"),
        (lambda: LINE.push(np.zeros((2, 1)), [1.5, -0.5]), "is negative"),
        (lambda: LINE.log_density(np.zeros((2, 1)), lambda x: x), "log densities of shape"),
        (lambda: LINE.log_density(np.zeros((2, 1)), lambda x: np.nan * x[:, 0]), "is not a number"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_sentence(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        wrong()


def test_what_is_no_piece_or_law_is_refused(as_users_run):
    for wrong, sentence in (
        (lambda: Schedule([3]), "3 is no piece"),
        (lambda: Schedule(3), "pieces = 3 are none"),
        (lambda: LINE.then(3), "3 is no piece"),
        (lambda: LINE.log_density(np.zeros((2, 1)), 3), "has no log_density"),
        (lambda: LINE.sample(3, 3, key=jax.random.key(0)), "cannot be drawn from"),
    ):
        with pytest.raises(InputError, match=sentence):
            wrong()


def test_pieces_are_values():
    piece = ReluPiece([1.0, 0.0], [0.0, 1.0], 0.0)
    with pytest.raises(AttributeError):
        piece.b = 1.0
    with pytest.raises(ValueError, match="read-only"):
        piece.w[0] = 2.0
    assert piece != ReluPiece([1.0, 0.0], [0.0, 1.0], 1.0) and piece != 3
