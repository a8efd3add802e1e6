"""Schedules among runs, models and pictures."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from PIL import Image

import attnflow as af
from attnflow.constructions import MonotonePL, ReluPiece, ReluPieces, Schedule, ShearProfile
from attnflow.errors import InputError
from attnflow.models import ReluFlow
from witnesses import relu_pieces as witness

E1, E2 = np.eye(2)
RAMP = 1e-5  # a step of height 1 over it is two neurons of weight 1e5


def stairs():
    edges = np.array([-0.6, 0.1, 0.8])
    knots = np.sort(np.concatenate([edges - RAMP / 2, edges + RAMP / 2]))
    return ShearProfile(E1, E2, knots, [0.0, 1.0, 1.0, -0.5, -0.5, 0.0])


@pytest.fixture(scope="module")
def schedule():
    """Ramps of weight 1e5, a neuron of weight 1e5 for a time 1e-5, and milder pieces of every kind."""
    direction = np.array([0.6, 0.8])
    monotone = MonotonePL(direction, [-1.0, 0.0, 1.0], [-0.8, 0.3, 0.9], left_slope=0.5, right_slope=2.0)
    arrays = ReluPieces([[0.5, 0.2], [-0.3, 0.4]], [[1.0, -0.5], [0.2, 1.0]], [0.1, -0.2], [0.5, 0.75])
    return Schedule([arrays, stairs(), monotone, ReluPiece([1e5, 0.0], E1, 0.3, 1e-5)])


@pytest.fixture(scope="module")
def tokens(schedule):
    """Off the ramps, in which a rounding grows by a factor 1e5."""
    x = np.random.default_rng(0).normal(size=(60, 2))
    at = schedule.blocks[0].forward(x)[:, 0]
    knots = schedule.blocks[1].knots
    return x[(abs(at[:, None] - knots).min(axis=1) > 1e-3)][:20]


@pytest.fixture(scope="module")
def run(schedule, tokens):
    return af.simulate(schedule.to_model(), tokens, t1=schedule.duration, save=7, rtol=1e-12, atol=1e-13)


def test_a_solver_comes_to_the_same_end(schedule, tokens, run):
    """Its weights jump where the schedule switches. Ramps of weight 1e5 send points 1e5 away and bring them back: a
    relative tolerance of 1e-12 is 1e-7 there."""
    assert run.ok and run.model.w.jumps.size == schedule.switches
    assert abs(schedule.neurons.W).max() > 0.9e5
    assert abs(np.asarray(run.final) - schedule.forward(tokens)).max() < 1e-8


def test_an_independent_solver_comes_to_the_same_end_piece_by_piece(schedule, tokens):
    x = tokens
    for neuron in schedule.expand():
        x = witness.by_solver(x, neuron.w, neuron.a, neuron.b, neuron.t)
    assert abs(x - schedule.forward(tokens)).max() < 1e-9


def test_the_run_of_a_schedule_is_that_of_its_model(schedule, tokens, run, tmp_path):
    exact = schedule.to_run(tokens, ts=np.asarray(run.ts))
    scale = np.abs(run.xs).max(axis=(1, 2))
    assert (np.abs(exact.xs - run.xs).max(axis=(1, 2)) < 1e-8 * np.maximum(scale, 1)).all()
    by_default = schedule.to_run(tokens, np.full(20, 0.05))
    assert len(by_default.ts) == 6 and float(by_default.ts[-1]) == schedule.duration
    np.testing.assert_array_equal(by_default.final, schedule.forward(tokens))
    assert by_default.ok and by_default.provenance["options"]["solver"] == "exact"
    by_default.save(tmp_path / "run.nc")
    again = af.load(tmp_path / "run.nc")
    assert isinstance(again.model, ReluFlow)
    np.testing.assert_array_equal(again.xs, by_default.xs)
    np.testing.assert_allclose(again.at(t=0.7), Schedule(schedule.until(0.7)).forward(tokens), rtol=1e-12)
    assert "2412.19366" in af.cite(again)
    af.plot.tokens(again)
    with pytest.raises(InputError, match="outside of the schedule"):
        schedule.to_run(tokens, ts=[0.0, 99.0])


def test_models_with_a_closed_form_need_no_steps():
    registered = af.registry.get("model", "relu-flow").build(pieces=3)
    x = np.random.default_rng(1).normal(size=(5, 2))
    run = af.simulate(registered, x, ts=[0.5, 2.0, 3.0], solver="exact")
    neurons = [(np.array(registered.w(t)), np.array(registered.a(t)), float(registered.b(t))) for t in (0, 1, 2)]
    for t, found in zip((0.5, 2.0, 3.0), run.xs, strict=True):
        lengths = np.clip(t - np.arange(3), 0, 1)
        wanted, _ = witness.through(x, [(*n, s) for n, s in zip(neurons, lengths, strict=True) if s > 0])
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert run.stats["steps"] == 0 and run.ok
    on = af.simulate(ReluFlow([1.0], [1.0]), [[2.0], [-1.0]], t1=1.0, save=1, solver="exact").final
    np.testing.assert_allclose(on[:, 0], [2 * np.e, -1.0], rtol=1e-15)
    with pytest.raises(InputError, match="knows no flow in closed form"):
        af.simulate(af.SelfAttention(beta=1.0, space=af.Euclidean()), x, t1=1.0, solver="exact")
    with pytest.raises(InputError, match="drop dt"):
        af.simulate(registered, x, t1=1.0, solver="exact", dt=0.1)
    with pytest.raises(InputError, match="give two vectors of one dimension"):
        ReluFlow([1.0, 2.0], [1.0])
    with pytest.raises(InputError, match="has dimension 1 and tokens 2"):
        af.simulate(ReluFlow([1.0], [1.0]), x, t1=1.0, solver="exact")


def test_a_report_counts_and_bounds(schedule, tokens):
    report = schedule.report(tokens)
    assert (report.pieces, report.switches, report.duration) == (schedule.pieces, schedule.switches, schedule.duration)
    assert report.effects == {"translation": 1, "shear": 6, "expansion": 5, "compression": 2}
    assert sum(report.effects.values()) == report.pieces
    assert report.weight_norm == schedule.weight_norm == abs(schedule.neurons.W).max()
    assert report.round_trip < 1e-10 and "come back to" in repr(report)
    other_scale = Schedule([ReluPiece(2 * p.w, p.a / 2, p.b / 2, p.t) for p in schedule.expand()])
    assert other_scale.report().path_norm == pytest.approx(report.path_norm, rel=1e-12)
    assert other_scale.report().weight_norm != report.weight_norm


@pytest.mark.parametrize("pieces", [10, 1000])
def test_a_timeline_has_a_bar_for_every_neuron(pieces):
    rng = np.random.default_rng(0)
    W, A = rng.normal(size=(2, pieces, 2))
    many = Schedule.from_arrays(0.1 * W, A, rng.normal(size=pieces), 1 / 16)
    figure = many.timeline(rng.normal(size=(50, 2)))
    strength, weights, share = figure.axes[:3]
    bars = sum(len(c.get_paths()) for c in strength.collections if isinstance(c, PolyCollection))
    assert bars == pieces and len(strength.texts) == (pieces if pieces == 10 else 0)
    assert weights.collections[0].get_array().size == 5 * pieces
    x = rng.normal(size=(1, 2))
    on = many.timeline(x).axes[2].patches[0].get_data().values
    first = x @ A[0] + many.neurons.b[0] > 0
    assert on[0] == first and share.get_ylim()[0] == 0


def test_a_timeline_of_ramps_says_who_is_on(schedule, tokens):
    figure = schedule.timeline(tokens)
    assert figure.axes[0].get_yscale() == "log"
    shares = figure.axes[2].patches[0].get_data().values
    start = schedule.blocks[0].forward(tokens)
    at = 2 + np.arange(6)
    wanted = [(start[:, 0] > knot).mean() for knot in schedule.blocks[1].knots]
    np.testing.assert_allclose(shares[at], wanted)
    assert shares[8] == 1, "a translation moves everything"


@pytest.mark.parametrize("d", [1, 2])
def test_a_film_has_a_frame_per_time(tmp_path, d):
    pieces = [MonotonePL(np.eye(d)[0], [-1.0, 1.0], [-2.0, 1.5]), *([stairs()] if d == 2 else [])]
    x = np.random.default_rng(0).normal(size=(30, d))
    path = Schedule(pieces).animate(
        tmp_path / "film.gif", x, lambda x: -0.5 * (x**2).sum(axis=1), frames=4, fps=2, dpi=40
    )
    assert getattr(Image.open(path), "n_frames", 1) == 4, "equal frames at the end are one, shown longer"


def test_films_that_cannot_be_made_are_refused(tmp_path):
    solid = Schedule([ReluPiece(np.ones(3), np.ones(3), 0.0)])
    with pytest.raises(InputError, match=r"R\^3 has no picture"):
        solid.animate(tmp_path / "film.gif", np.zeros((2, 3)), lambda x: x[:, 0])
    with pytest.raises(InputError, match=r"end the name with \.mp4 or \.gif"):
        solid.animate(tmp_path / "film.png", np.zeros((2, 3)))
