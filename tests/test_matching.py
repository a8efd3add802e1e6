"""One transformer for many measures, arXiv:2411.04551; theory/06, sections 4 and 7, rows 16 to 20."""

import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray

import attnflow as af
import attnflow.constructions as made
from attnflow.constructions import TransformerPiece, TransformerSchedule
from attnflow.constructions.matching import _apart, _routes, slices
from attnflow.constructions.matching._coupling import couple
from attnflow.constructions.matching._destinations import destinations
from attnflow.constructions.matching._measure import Measure
from attnflow.constructions.matching.boost import boosted, log_det_boost
from attnflow.constructions.matching.closed_form import form_of
from attnflow.constructions.matching.order import best_order, clearances
from attnflow.errors import AttnflowWarning, FileError, InputError
from attnflow.experiments.measure_to_measure import attention, blocks, matching, rivals
from attnflow.experiments.measure_to_measure.data_sets import caps, clusters, diracs, inputs, unit
from attnflow.models.words import words
from attnflow.spaces.letters import FIRST, HEIGHT, LAST, UP, letters, word
from judging import computed, holds
from witnesses import measure_matching as witness

RNG = np.random.default_rng


def forms(d, seed=0):
    """Every part, with the name of the closed form that is found in its weights."""
    rng = RNG(seed)
    e, gamma, omega = np.linalg.qr(rng.normal(size=(d, 3)))[0].T
    return {
        "boost": made.boost(e, -1.7, 2.0),
        "rank-one attention": made.rank_one_attention(unit(e + omega), 1.5, speed=-0.7),
        "cap gate": made.cap_gate(e, 0.3, 5.0),
        "band": made.hat_band(gamma, omega, 0.6, 3.0, 2.0),
        "rest": TransformerPiece(V=np.zeros((d, d))),
        "averaging": made.full_averaging(d, 7.0, speed=0.9),
        "integrated": made.softmax_attention(d, 2.0, 1.0),
    }


def record(piece):
    names = ("V", "B", "W", "U", "b")
    return {name: getattr(piece, name) for name in names} | {"T": piece.T}


# Closed forms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [3, 4])
@pytest.mark.parametrize("name", ["boost", "rank-one attention", "cap gate", "band", "rest", "averaging", "integrated"])
def test_closed_forms_against_the_field(name, d):
    """Row 16: tokens inside and outside of gates and bands, with weights; and the reversed piece brings them back."""
    rng, piece = RNG(1), forms(d)[name]
    x, w = unit(rng.normal(size=(9, d))), rng.dirichlet(np.ones(9))
    assert form_of(piece).name == name and repr(piece)
    schedule = TransformerSchedule([piece])
    moved = schedule.run([(x, w)])[0]
    np.testing.assert_allclose(moved, witness.flow(record(piece), x, w), rtol=0, atol=1e-9)
    np.testing.assert_allclose(piece.field(x, w), witness.field(record(piece), x, w), rtol=0, atol=1e-13)
    np.testing.assert_allclose(schedule.reversed().run([(moved, w)])[0], x, rtol=0, atol=1e-10)
    fast = TransformerSchedule([piece.lasting(0.1)])
    np.testing.assert_allclose(fast.run([(x, w)])[0], moved, rtol=0, atol=1e-11)
    _, path = schedule.trace([(x, w)], 3)
    np.testing.assert_array_equal(path[0][-1], moved)
    np.testing.assert_allclose(path[0][1], witness.flow(record(piece), x, w, piece.T / 3), rtol=0, atol=1e-9)


def test_extreme_points_of_closed_forms():
    """Poles of boosts, the rim and the centre of a gate, the middle, the rim and the ends of a band; long times."""
    e, other = np.eye(3)[:2]
    np.testing.assert_allclose(boosted(np.stack([e, -e]), e, 800.0), [e, -e], atol=1e-15)
    rim = np.array([np.cos(0.9), np.sin(0.9), 0.0])
    gate = TransformerSchedule([made.cap_gate(e, np.cos(0.9), 500.0)])
    moved = gate.run([np.stack([e, -e, rim, other])])[0]
    np.testing.assert_allclose(moved, [e, -e, rim, other], atol=1e-15)
    band = TransformerSchedule([made.hat_band(np.eye(3)[2], e, 0.5, 300.0)])
    on_rim = unit(np.array([0.0, 1.0, 0.5 / np.sqrt(0.75)]))
    np.testing.assert_allclose(band.run([np.stack([other, -e, on_rim])])[0], [e, -e, on_rim], atol=1e-12)


def test_log_det_of_a_boost():
    x, e, tau, h = unit(RNG(2).normal(size=4)), unit(RNG(3).normal(size=4)), 0.9, 1e-5
    frame, there = (np.linalg.svd(p[None])[2][1:] for p in (x, boosted(x, e, tau)))
    ahead, behind = (boosted(unit(x + s * h * frame), e, tau) for s in (1, -1))
    jacobian = (ahead - behind) / (2 * h) @ there.T
    assert np.log(abs(np.linalg.det(jacobian))) == pytest.approx(log_det_boost(x[None], e, tau)[0], abs=1e-8)


def test_an_orthogonal_measure_rests_and_others_go_to_either_side():
    """<alpha, mean> = 0, > 0, < 0."""
    x = unit(RNG(4).normal(size=(3, 6, 3)) + 0.5)
    alpha = np.linalg.svd(x[0].mean(axis=0)[None])[2][1]
    ends = TransformerSchedule([made.rank_one_attention(alpha, 12.0)]).run(list(x))
    np.testing.assert_allclose(ends[0], x[0], atol=1e-9)
    for before, after in zip(x[1:], ends[1:], strict=True):
        np.testing.assert_allclose(after, np.sign(before.mean(axis=0) @ alpha) * np.tile(alpha, (6, 1)), atol=2e-3)


# Order and coupling --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_no_order_is_better(seed):
    """All 720 orders of six atoms."""
    x, y = (unit(RNG([seed, k]).normal(size=(6, 3))) for k in range(2))
    gamma = unit(np.cross(x, y))
    order, clear = best_order(gamma, x, y)
    assert clear == pytest.approx(witness.best_clearance(gamma, x, y), rel=1e-12)
    assert clearances(gamma, x, y, order).min() >= clear * (1 - 1e-12)


def test_atoms_of_unequal_masses():
    """Against all partitions; the cheapest is taken, with a target for each atom."""
    rng = RNG(5)
    w = np.array([1, 2, 3, 4, 5, 6]) / 21
    v = np.array([7, 9, 5]) / 21
    source, target = Measure(unit(rng.normal(size=(6, 3))), w), Measure(unit(rng.normal(size=(3, 3))), v)
    cost = np.sum((source.x[:, None] - target.x[None]) ** 2, axis=2)
    costs = {chosen: sum(w[k] * cost[k, j] for k, j in enumerate(chosen)) for chosen in witness.partitions(w, v)}
    found = couple("pair 0", source, target)
    assert len(costs) > 1 and costs[tuple(found)] == pytest.approx(min(costs.values()))
    permuted = Measure(target.x[[0, 1, 2, 0, 1, 2]], w[::-1])
    np.testing.assert_allclose(w[::-1][couple("pair 0", source, permuted)], w)


def test_a_pair_that_no_map_matches_names_the_atom():
    x = unit(RNG(6).normal(size=(3, 3)))
    with pytest.raises(InputError, match=r"^pair 0 .* atom 1 of the source has the mass 0.6, .* have to split\.$"):
        af.match_measures([(x, [0.2, 0.6, 0.2])], [(x[::-1], [0.5, 0.25, 0.25])])
    with pytest.raises(InputError, match=r"^pair 1 .* optimal plan atom \d, .* split: .* to point \d, .*\.$"):
        af.match_measures([x[:1], (x, [0.3, 0.3, 0.4])], [x[1:2], (x[:2], [0.5, 0.5])])
    with pytest.raises(InputError, match=r"^pair 0 is matched by no map: .* would have to split"):
        af.match_measures([x[:2]], [x])


# Parts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [3, 6, 16])
def test_gather_and_isolate(d):
    """Row 17, by closed forms; the counts of the lemma."""
    clouds = inputs(RNG(d), 3, 12, 6, d)
    gathered = made.gather_orthant(clouds)
    clouds = TransformerSchedule(gathered).run(clouds)
    assert len(gathered) == 2 and min(cloud.min() for cloud in clouds) > 0
    pieces = made.isolate(clouds, 1, T=8.0 if d == 3 else None)
    assert len(pieces) == 2 * (d - 1) + 1
    point, *others = (TransformerSchedule(pieces).run(clouds)[j] for j in (1, 0, 2))
    assert np.ptp(point, axis=0).max() < 1e-10
    for before, after in zip((clouds[0], clouds[2]), others, strict=True):
        np.testing.assert_allclose(after, before, rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", ["generic", "softmax", "isolate"])
def test_disentangle(method):
    clouds = inputs(RNG(7), 3, 8, 4, 3)
    if method == "isolate":
        clouds = TransformerSchedule(made.gather_orthant(clouds)).run(clouds)
    found = made.disentangle(clouds, method)
    assert len(found.pieces) == {"generic": 2, "softmax": 1, "isolate": 15}[method]
    apart = [np.linalg.norm(a[:, None] - b, axis=2).min() for a, b in itertools.combinations(found.clouds, 2)]
    assert min(apart) >= (found.separation if method != "isolate" else 1e-4) > 0


def test_atoms_that_go_to_the_antipode_make_a_halt():
    x = unit(RNG(8).normal(size=(5, 3)))
    y = unit(RNG(9).normal(size=(5, 3)))
    y[2] = -x[2]
    found = made.match_atoms([x], [y])
    assert len(found.pieces) == 6 and found.clearance > 0
    np.testing.assert_allclose(TransformerSchedule(found.pieces).run([x])[0], y, atol=1e-12)
    rest = made.match_atoms([x], [np.concatenate([x[:4], y[4:]])])
    assert len(rest.pieces) == 1


def test_places_around_targets_that_are_shared():
    y = unit(RNG(10).normal(size=(4, 5)))
    points = y[[0, 1, 1, 1, 2, 3, 0]]
    there = destinations(points, 1e-6, RNG(0))
    assert len(there.gates) == 2
    moved = TransformerSchedule(there.gates).run([there.places])[0]
    assert np.linalg.norm(moved - points, axis=1).max() < 1e-6
    assert np.unique(there.places.round(6), axis=0).shape == (7, 5)
    opposite = destinations(np.concatenate([y[:2], -y[:1]]), 1e-6, RNG(0))
    assert len(opposite.gates) == 1 and np.array_equal(opposite.places[:2], y[:2])


# Matchings -----------------------------------------------------------------------------------------------------------


def check(found, sources, targets, steps=60, tol=1e-4):
    """By the witness: one schedule for all measures, from its file."""
    schedule = witness.pieces(found)
    return [
        witness.w2(witness.runge_kutta(schedule, x, np.full(len(x), 1 / len(x)), steps), np.broadcast_to(y, x.shape))
        for x, y in zip(sources, targets, strict=True)
    ]


def test_row_18(tmp_path):
    """Five measures of twenty atoms, ten in common: 102 pieces, and W2 by Runge and Kutta's method in NumPy."""
    sources, targets = inputs(RNG(11), 5, 20, 10, 3), clusters(RNG(12), 5, 20, 3)
    matched = af.match_measures(sources, targets)
    assert len(matched.schedule) == 102 and matched.clearance > 1e-4 and matched.steps == ("disentangle", "match")
    path = matched.save(tmp_path / "schedule.json")
    assert max(check(path, sources[:2], targets[:2], steps=100)) < 1e-6
    assert matched.distances().max() < 1e-10
    again = af.match_measures(sources, targets, key=jax.random.key(0))
    assert all(np.array_equal(a.W, b.W) for a, b in zip(matched.schedule, again.schedule, strict=True))


@pytest.mark.parametrize("d", [3, 5, 16])
def test_ten_measures_of_fifty_atoms(d):
    sources, targets = inputs(RNG(d), 10, 50, 25, d), clusters(RNG(d + 1), 10, 50, d)
    matched = af.match_measures(sources, targets, T=2.0)
    report = matched.report()
    assert report.pieces == 502 == report.switches + 1 and report.T == pytest.approx(2.0)
    assert report.distances.max() < 1e-9 and report.clearance > 1e-4
    assert report.counts == {"separate": 2, "match": 500} and report.bound == 2 + 10 * (2 * d - 1) + 3000
    assert sum(report.shares.values()) == pytest.approx(1.0) and report.least_norm <= report.norm
    assert "502 pieces" in repr(report) and "502 pieces" in repr(matched)


@pytest.mark.parametrize(("method", "count"), [("auto", 5), ("isolate", 2 + 4 * 5 + 4)])
def test_points_as_targets(method, count):
    sources, targets = inputs(RNG(13), 4, 10, 5, 3), diracs(RNG(14), 4, 3)
    matched = af.match_measures(sources, targets, method=method, eps=1e-7)
    assert len(matched.schedule) == count and matched.distances().max() < 1e-7
    if method == "isolate":
        return
    both = [af.match_measures(sources, targets, eps=eps).schedule.pieces[0] for eps in (1e-3, 1e-6)]
    first, last = (piece.speed * piece.T for piece in both)
    assert last - first == pytest.approx(np.log(1e3), abs=0.01)  # Proposition 2.1


def test_targets_that_overlap():
    """Shared atoms, by attention that is undone; equal targets and merging atoms, by gates; masses."""
    for kind, (count, step) in {"shared": (40, "undo"), "equal": (50, "merge"), "fewer": (47, "merge")}.items():
        rng = RNG(15)
        problem = matching._problem(kind, inputs(rng, 3, 12, 6, 3), clusters(rng, 3, 12, 3), rng)
        found = af.match_measures(*problem)
        assert len(found.schedule) == count and step in found.steps and found.distances().max() < 1e-6


def test_symmetric_measures():
    """Barycentres zero, antipodal atoms: gathered before they are averaged, or moved apart."""
    cross, other = np.concatenate([np.eye(3), -np.eye(3)]), unit(RNG(16).normal(size=(3, 3)))
    sources = [cross, np.concatenate([other, -other])]
    to_points = af.match_measures(sources, diracs(RNG(17), 2, 3))
    assert to_points.steps[0] in ("gather", "disentangle") and to_points.distances().max() < 1e-6
    assert af.match_measures(sources, sources[::-1]).distances().max() < 1e-9
    antipodal = af.match_measures(inputs(RNG(18), 2, 6, 3, 3), [[[0.0, 0, 1]], [[0.0, 0, -1]]])
    assert len(antipodal.schedule) == 4 and antipodal.distances().max() < 1e-6


@pytest.mark.parametrize("scale", [1e-2, 1e-4])
def test_atoms_in_one_small_cap(scale):
    """They are spread before, and what is wanted in a small cap is brought together at the end."""
    x, y = (unit(np.eye(3)[2 * k] + scale * RNG([37, k]).normal(size=(3, 8, 3))) for k in range(2))
    far = unit(RNG(38).normal(size=(3, 8, 3)))
    ways = [(x, far, ("spread", "match")), (far, y, ("match", "undo")), (x, y, ("spread", "match", "undo"))]
    for sources, targets, steps in ways:
        found = af.match_measures(sources, targets)
        assert found.steps == steps and found.clearance > 1e-3 and found.distances().max() < 1e-9


def test_one_point_each():
    x, y = diracs(RNG(19), 3, 4), diracs(RNG(20), 3, 4)
    assert len(af.match_measures(x, y).schedule) == 3
    assert len(af.match_measures(x, y, method="isolate").schedule) == 2 + 3
    same = af.match_measures([x[0], x[1]], [y[0], y[0]])
    assert len(same.schedule) == 3 and same.distances().max() < 1e-6


class Cap:
    """A law with a density in a cap."""

    def __init__(self, centre):
        self.centre = np.asarray(centre)

    def sample(self, n, *, key):
        return unit(self.centre + 0.2 * RNG(np.asarray(jax.random.key_data(key))).normal(size=(n, 3)))


@pytest.fixture
def few_draws(monkeypatch):
    """Of attention, which is enough for laws that are well apart."""
    monkeypatch.setattr(_apart, "DRAWS", 60)
    monkeypatch.setattr(slices, "PLANS", 1)


def test_laws(few_draws):
    """To points, also another sample; to atoms, up to one token for each rim; laws of SciPy, one covers the sphere."""
    from scipy.stats import uniform_direction, vonmises_fisher

    laws = [Cap([1.0, 0, 0]), vonmises_fisher([0, 1.0, 0], 30.0)]
    targets = diracs(RNG(21), 2, 3)
    matched = af.match_measures(laws, targets, samples=400)
    assert matched.distances().max() < 1e-9 and matched.steps[-1] == "slice"
    fresh = matched.fresh(300, key=jax.random.key(5))
    ends = matched([(one.x, one.w) for one in fresh])
    assert max(np.abs(x - y).max() for x, y in zip(ends, targets, strict=True)) < 1e-9
    atoms = [(unit(RNG(22).normal(size=(2, 3))), [0.3, 0.7]), targets[1]]
    with pytest.warns(AttnflowWarning, match=r"of another sample of 150 tokens, [\d.]+% of source 0 goes astray"):
        both = af.match_measures([laws[0], laws[1]], atoms, samples=150)
    assert 0 < both.another.astray[0] < 0.2 and both.another.worst == 0 and both.another.distances[1] < 1e-9
    assert repr(both.another) in repr(both.report())
    assert both.distances()[0] < 2 * (2 / 300) ** 0.5 and both.distances()[1] < 1e-9
    with pytest.raises(InputError, match="a law without a missing direction"):
        af.match_measures([uniform_direction(3)], targets[:1], samples=2000)
    with pytest.raises(InputError, match="a source is a law; take 'slices'"):
        af.match_measures(laws, targets, method="generic")


def test_laws_beside_points(few_draws):
    """Atoms are cut off one by one, as their masses allow; those with one target are cut off together."""
    x, w, law = unit(RNG(29).normal(size=(4, 3)) + 2 * np.eye(3)[2]), [0.1, 0.2, 0.3, 0.4], Cap([1.0, 0, 0])
    y = unit(RNG(30).normal(size=(3, 3)))
    found = af.match_measures([law, (x, w)], [y[:1], (y[1:], [0.3, 0.7])], samples=100)
    assert found.distances().max() < 1e-6 and np.isnan(found.another.astray).tolist() == [False, True]
    point = af.match_measures([law, (x, w)], [y[:1], y[1:2]], samples=100)
    assert sum(piece.role == "match" for piece in point.schedule) == 2
    with pytest.raises(InputError, match=r"^pair 1 is matched by no map"):
        af.match_measures([law, (x, w)], [y[:1], (y[1:], [0.15, 0.85])], samples=100)


def test_another_sample_is_cut_alike(few_draws):
    """Rims by parts of the sample: what goes astray is what two samples differ by on either side of one rim."""
    laws = caps(RNG(31), 2, 3, 0.25)
    targets = [(unit(RNG(k).normal(size=(2, 3))), [0.4, 0.6]) for k in (32, 33)]
    with pytest.warns(AttnflowWarning, match="not for the laws"):
        found = af.match_measures(laws, targets, samples=2000)
    chance = np.sqrt(2 * 0.24 / 2000)
    astray = []
    for k in range(8):
        ends = found([(one.x, one.w) for one in found.fresh(2000, key=jax.random.key(k))])
        near = [np.linalg.norm(x[:, None] - y, axis=2) < 1e-6 for x, (y, _) in zip(ends, targets, strict=True)]
        assert all(here.any(axis=1).mean() > 0.995 for here in near)
        astray += [abs(here.mean(axis=0)[0] - 0.4) for here in near]
    assert np.sqrt(np.mean(np.square(astray))) < 2.5 * chance


def test_nothing_to_do():
    """Measures at home rest; what must be parted and is symmetric, is parted by a boost; streams of numbers differ."""
    x = unit(RNG(0).normal(size=(4, 3)))  # the numbers that a generator of the default key begins with
    rest = af.match_measures([x], [x[::-1]])
    assert rest.distances()[0] == 0 and len(rest.schedule) == 1 and rest.steps == () and "at rest" in repr(
        rest.schedule.pieces[0]
    )
    assert rest.verify().distances[0] < 1e-12 and rest.timeline().axes
    alone = af.match_measures([x[:1]], [-x[:1]])
    assert len(alone.schedule) == 2 and alone.distances()[0] < 1e-12
    swapped = af.match_measures([x[:1], -x[:1]], [-x[:1], x[:1]])
    assert swapped.distances().max() < 1e-9 and swapped.clearance > 1e-4
    assert af.match_measures([x], [unit(RNG(1).normal(size=(4, 3)))]).steps == ("match",)


def test_barycentres_that_averaging_does_not_tell_apart(monkeypatch):
    """Found by bands, atom by atom, unless averaging was asked for."""
    monkeypatch.setattr(_routes, "WAYS", 1)
    x = unit(RNG(34).normal(size=(4, 3)))
    sources, targets = [x, unit(x + 1e-5 * RNG(35).normal(size=(4, 3)))], diracs(RNG(36), 2, 3)
    found = af.match_measures(sources, targets)
    assert found.steps == ("disentangle", "match", "merge") and found.distances().max() < 1e-6
    with pytest.raises(InputError, match="barycentres are zero, or cannot be told apart"):
        af.match_measures(sources, targets, method="average")


@pytest.fixture(scope="module")
def small():
    return af.match_measures(inputs(RNG(23), 2, 4, 2, 3), clusters(RNG(24), 2, 4, 3))


def test_verify_by_simulate(small):
    """The adaptive solver on the model, padded to one size; and the model side by side as one cloud."""
    checked = small.verify()
    assert checked.distances.max() < 1e-8 and checked.difference < 1e-8 and checked.before.min() > 0.1
    assert "closed forms" in repr(checked) and checked.steps > 0 and np.isnan(checked.fresh).all()
    run = small.run(2)
    assert run.xs.shape == (2 * len(small.schedule) + 1, 8, 3) and run.info["measure"].tolist() == [0] * 4 + [1] * 4
    assert run.model.pairs.labels.tolist() == run.info["measure"].tolist()
    weights = run.model.attention.V.values[0], run.model.feed_forward.W.values[-1]
    assert np.abs(weights[0]).max() > 0 and not weights[1].any()  # after the end nothing moves
    field = af.models.field(run.model, 0.0, run.xs[0], run.weights)
    each = [af.models.field(small.model, 0.0, jax.numpy.asarray(one.x)) for one in small.sources]
    np.testing.assert_allclose(field, np.concatenate(each), atol=1e-12)


def test_pictures(small, tmp_path):
    for figure in (small.timeline(), small.stages(), small.stages(camera=(10, 20))):
        af.plot.save(figure, tmp_path / "picture.png", dpi=40)
    film = small.animate(tmp_path / "film.gif", frames=1, dpi=30)
    assert film.read_bytes()[:3] == b"GIF"
    flat = af.match_measures(inputs(RNG(25), 1, 2, 0, 4), clusters(RNG(26), 1, 2, 4))
    with pytest.raises(InputError, match="has no picture"):
        flat.stages()


# Files ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["s.json", "s.nc"])
def test_files_hold_every_digit(small, tmp_path, name):
    more = TransformerSchedule([*forms(3).values()])
    schedule = small.schedule.then(more).then(more.reversed())
    loaded = TransformerSchedule.load(schedule.save(tmp_path / name))
    for a, b in zip(schedule, loaded, strict=True):
        assert (a.T, a.role) == (b.T, b.role)
        assert all(getattr(a, k).tobytes() == getattr(b, k).tobytes() for k in "VBWUb")
    assert loaded.run([small.sources[0].x])[0].tobytes() == schedule.run([small.sources[0].x])[0].tobytes()
    assert loaded.counts == schedule.counts and loaded.norm == schedule.norm and repr(loaded) == repr(schedule)


def test_files_that_are_none(small, tmp_path):
    path = small.save(tmp_path / "good.json")
    good = json.loads(path.read_text())

    def refused(change, name="bad.json"):
        bad = json.loads(json.dumps(good))
        change(bad)
        (tmp_path / name).write_text(json.dumps(bad))
        with pytest.raises(InputError, match=r"bad\.json is no transformer schedule \(.*\); give .*\.$"):
            TransformerSchedule.load(tmp_path / name)

    for change in (
        lambda r: r.update(format="other"),
        lambda r: r.update(pieces=[]),
        lambda r: r["pieces"][0].pop("V"),
        lambda r: r["pieces"][0].update(role="boss"),
        lambda r: r["pieces"][0].update(extra=1),
        lambda r: r["pieces"][0].update(T=-1.0),
        lambda r: r["pieces"][0].update(V=[[1.0, 2.0]]),
        lambda r: r["pieces"][-1].update(b=["x", 0.0, 0.0]),
        lambda r: r["pieces"][-1].update(U=None),
        lambda r: r.update(d=4),
    ):
        refused(change)
    with pytest.raises(FileError, match="cannot read"):
        TransformerSchedule.load(tmp_path / "none.json")
    (tmp_path / "broken.nc").write_bytes(b"\x89HDF nothing")
    with pytest.raises(FileError, match="damaged"):
        TransformerSchedule.load(tmp_path / "broken.nc")
    xarray.Dataset({"x": ("a", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(FileError, match="did not write it"):
        TransformerSchedule.load(tmp_path / "other.nc")


# Refusals ------------------------------------------------------------------------------------------------------------

LAW = Cap([0.0, 1.0, 0.0])
X, Y = unit(RNG(27).normal(size=(4, 3))), unit(RNG(28).normal(size=(4, 3)))


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: af.match_measures([X, X[::-1]], [X, Y]), "sources 0 and 1 are the same measure"),
        (lambda: af.match_measures([X[:, :2]], [Y]), "needs d >= 3: on the circle"),
        (lambda: af.match_measures([X.astype(np.float32)], [Y]), "float32 has too few digits"),
        (lambda: af.match_measures([2 * X], [Y]), "length 2; divide"),
        (lambda: af.match_measures([X], [Y, X]), "1 sources and 2 targets"),
        (lambda: af.match_measures([X], [unit(np.ones((4, 5)))]), "dimension 3 and targets 5"),
        (lambda: af.match_measures([X], [Y], method="best"), "choose one of auto"),
        (lambda: af.match_measures([X], [Y], method="average"), "target 0 has 4 points; take 'generic'"),
        (lambda: af.match_measures([X], [Y], eps=0.0), "take a distance between"),
        (lambda: af.match_measures([X], [Y], T=-1.0), "T = -1 must be greater than 0"),
        (lambda: af.match_measures([(X, [0.5, 0.5])], [Y]), "give one for each of its 4 points"),
        (lambda: af.match_measures([(X, [1.0, 0.0, 0.0, 0.0])], [Y]), "point 1 of sources.* has weight 0"),
        (lambda: af.match_measures([], [Y]), "at least one"),
        (lambda: af.match_measures([(X, np.full(4, 0.25, np.float32))], [Y]), "^the weights of .* float32 has too"),
        (lambda: af.match_measures([jnp.asarray(X, jnp.bfloat16)], [Y]), "bfloat16 has too few digits"),
        (lambda: af.match_measures([lambda n, key: X], [Y[:1]]), r"shape \(4, 3\); a law gives \(8192, d\)"),
        (lambda: af.match_measures([lambda n: X], [Y[:1]]), "unexpected keyword .* a law is called as"),
        (lambda: af.match_measures([LAW], [Y[:1]], samples=39), "samples = 39 tell too little .* take 40"),
        (lambda: af.match_measures([LAW, LAW], [Y[:1], Y[1:2]], samples=50), "sources 0 and 1 are the same measure"),
        (lambda: made.isolate([X, np.concatenate([X, X.mean(axis=0, keepdims=True) * 0 + unit(X.mean(axis=0))])], 0),
         "barycentres of measures 0 and 1 cannot be told apart"),
        (lambda: made.isolate([np.concatenate([X, -X]), Y], 0), "which has no direction"),
        (lambda: made.hat_band([1.0, 0, 0], [1.0, 0, 0], 0.1, 1.0), "take omega orthogonal to gamma"),
        (lambda: made.boost([1.0, 1.0, 0], 1.0), "length 1.41421, not 1"),
        (lambda: made.cap_gate([1.0, 0, 0], 1.0, 1.0), "must lie between -1 and 1"),
        (lambda: TransformerPiece(), "has no dimension"),
        (lambda: TransformerPiece(W=np.ones((3, 1))), "give all three"),
        (lambda: TransformerPiece(W=np.ones((3, 4)), U=np.ones((4, 3)), b=np.ones(4)), "m <= d"),
        (lambda: TransformerSchedule([]), "at least one"),
        (lambda: TransformerSchedule([made.full_averaging(3, 1.0), made.full_averaging(4, 1.0)]), "one dimension"),
        (lambda: TransformerSchedule([made.full_averaging(3, 1.0)]).run([np.eye(4)]), "dimension 4 and the schedule 3"),
        (lambda: made.match_atoms([X], [Y[:3]]), "different sizes"),
        (lambda: word("heat", 4, height=1.0, latitude=0.0), "write a word"),
        (lambda: letters(n=9, d=3), "divisible by 4"),
    ],
)  # fmt: skip
def test_refusals(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        wrong()


def test_models_need_64_bits(small):
    with jax.enable_x64(False), pytest.raises(InputError, match="needs float64"):
        _ = small.model


# The word of the page ------------------------------------------------------------------------------------------------


def test_words():
    """The weights of the file take letters to letters, by closed forms, one letter at a time."""
    model = words()
    V, W, U, b = (np.asarray(a.values) for a in (model.attention.V, *vars(model.feed_forward).values()) if a != "relu")
    pieces = [
        TransformerPiece(v if v.any() else None, None, *((w, u, c) if w.any() else (None, None, None)))
        for v, w, u, c in zip(V, W, U, b, strict=True)
        if v.any() or w.any()
    ]
    first, last = (word(text, 20, height=HEIGHT, latitude=up) for text, up in ((FIRST, UP), (LAST, -UP)))
    ends = TransformerSchedule(pieces).run(first)
    assert max(map(witness.w2, ends, last)) < 1e-9 and model.pairs.count == 4
    np.testing.assert_allclose(letters(n=80, d=3), np.concatenate(first))


# Experiments ---------------------------------------------------------------------------------------------------------


def of(module, *parts):
    return computed(module, [cell for cell in module.cells("quick") if cell["part"] in parts])


def test_claims_about_parts():
    holds(blocks, of(blocks, "gate", "gather"), "blocks-gate-sign", "blocks-gather-radii", "blocks-gather-orthant")


def test_claims_about_orders_and_times():
    holds(matching, of(matching, "order", "times"), "match-order", "match-points-eps")


def test_row_20():
    names = ("random", "random-sphere", "sharp", "neurons")
    holds(attention, of(attention, "random", "neurons"), *(f"attention-{name}" for name in names))


def test_claims_about_limits():
    holds(rivals, of(rivals, "limits"), "rivals-limits-points", "rivals-limits-distinct")
