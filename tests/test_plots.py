"""Pictures show what they state: every token, its weight, the time and its clock, and that a projection is one."""

import subprocess
import sys
from types import SimpleNamespace

import jax
import jaxtyping
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.animation import FFMpegWriter
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

import attnflow as af
from attnflow.errors import FileError, InputError
from attnflow.plot import PALETTE, animate, save, style, tokens
from attnflow.plot._data import read
from attnflow.plot._solid import principal

T, N = 6, 7


def a_run(d, space="sphere", weights=None, clock="SA"):
    """Tokens that drift towards one direction."""
    rng = np.random.default_rng(d)
    start, end = rng.normal(size=(N, d)), np.ones(d)
    ts = np.linspace(0, 2.5, T)
    xs = start + (ts[:, None, None] / 3) * (end - start)
    if space == "sphere":
        xs = xs / np.linalg.norm(xs, axis=-1, keepdims=True)
    model = SimpleNamespace(space=SimpleNamespace(name=space))
    return SimpleNamespace(ts=ts, xs=xs, weights=weights, clock=clock, model=model)


CASES = [*((d, "sphere") for d in (2, 3, 4)), *((d, "euclidean") for d in (1, 2, 3, 9))]
each_case = pytest.mark.parametrize(("d", "space"), CASES)


def texts(figure) -> list[str]:
    figure.draw_without_rendering()
    return [text.get_text() for text in figure.findobj(mpl.text.Text) if text.get_visible()]


def drawn(figure) -> list:
    return [c for ax in figure.axes for c in ax.collections if c.get_label() == "tokens"]


@each_case
def test_every_token_is_drawn_once(d, space):
    for at in (0, 2, -1):
        figure = tokens(a_run(d, space), at=at)
        assert sum(len(collection.get_offsets()) for collection in drawn(figure)) == N
        assert sum(len(collection.get_sizes()) for collection in drawn(figure)) == N


@each_case
def test_tokens_stand_where_they_are(d, space):
    run = a_run(d, space)
    collections = drawn(tokens(run, at=3))
    if d <= 2:
        expected = run.xs[3] if d == 2 else np.stack([np.full(N, run.ts[3]), run.xs[3, :, 0]], axis=1)
        np.testing.assert_allclose(collections[0].get_offsets(), expected)
    elif d == 3 and space == "sphere":  # seen from (1, 0, 0): to the right is x_2, upwards x_3
        seen = np.concatenate([c.get_offsets() for c in drawn(tokens(run, at=3, camera=(0, 0)))])
        np.testing.assert_allclose(np.sort(seen, axis=0), np.sort(run.xs[3][:, 1:], axis=0), atol=1e-12)


@each_case
def test_title_and_axes_are_labelled(d, space):
    run = a_run(d, space)
    shown = "\n".join(texts(tokens(run)))
    assert f"{N} tokens" in shown and "$t = 2.5$" in shown
    if d == 1:
        labels = ["time $t$ (SA)", "token $x_i(t)$"]
    elif (d, space) == (2, "sphere"):
        labels = ["$x_1$", "$x_2$", "time runs outwards", "$t = 0$"]
    elif d <= 3:
        labels = [f"$x_{k + 1}$" for k in range(d)] if space == "euclidean" else ["on the sphere"]
    else:
        labels = ["PC 1", "PC 2", "PC 3", "PCA projection to 3", f"in dimension {d}"]
    if d > 2 or space == "euclidean":
        labels.append("time $t$ (SA)")
    for label in labels:
        assert label in shown


@each_case
def test_labels_do_not_overlap(d, space):
    figure = tokens(a_run(d, space))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    shown = [t for ax in figure.axes for t in (ax.title, ax.xaxis.label, ax.yaxis.label) if t.get_text()]
    shown += [ax.zaxis.label for ax in figure.axes if hasattr(ax, "zaxis")]
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in shown]
    for i, box in enumerate(boxes):
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1, shown[i]
        assert figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1, shown[i]
        assert not any(box.overlaps(other) for other in boxes[:i]), shown[i]


def test_the_clock_is_named():
    assert "time $t$ (shifted USA)" in texts(tokens(a_run(1, "euclidean", clock="shifted USA")))
    assert "layer" in texts(tokens(a_run(1, "euclidean", clock="layers")))


@each_case
def test_area_is_weight(d, space):
    weights = np.arange(1, N + 1) / np.arange(1, N + 1).sum()
    areas = np.sort(np.concatenate([c.get_sizes() for c in drawn(tokens(a_run(d, space, weights)))]))
    np.testing.assert_allclose(areas / areas[0], np.arange(1, N + 1), rtol=1e-6)


def test_a_circle_is_round_only_on_the_sphere():
    def circles(figure):
        return [p for p in figure.axes[0].patches if isinstance(p, mpl.patches.Circle) and p.radius == 1]

    assert len(circles(tokens(a_run(2, "sphere")))) == 1
    assert len(circles(tokens(a_run(2, "euclidean")))) == 0
    assert len(circles(tokens(a_run(3, "sphere")))) == 1


def test_without_trails_only_tokens_remain():
    figure = tokens(a_run(3), trails=False)
    assert len(figure.axes) == 1  # and no scale of time
    assert not any("time" in text for text in texts(figure))


def test_principal_components_are_those_of_an_svd():
    run = a_run(9, "euclidean")
    paths, shares = principal(read(run))
    cloud = run.xs.reshape(-1, 9)
    singular = np.linalg.svd(cloud - cloud.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(shares, singular[:3] ** 2 / (singular**2).sum(), rtol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(paths.reshape(-1, 3), axis=0), singular[:3], rtol=1e-10)


def test_given_axes_are_used():
    with style():
        figure = mpl.figure.Figure()
        left, right = figure.subplots(1, 2)
    assert tokens(a_run(3), ax=left) is figure
    assert left.get_title() and not right.get_title()


def test_the_wrong_kind_of_axes_is_refused():
    flat = mpl.figure.Figure().add_subplot()
    solid = mpl.figure.Figure().add_subplot(projection="3d")
    with pytest.raises(InputError, match="need axes in space; give ax with projection='3d'"):
        tokens(a_run(4), ax=flat)
    with pytest.raises(InputError, match="plain axes"):
        tokens(a_run(3), ax=solid)


@pytest.mark.parametrize("at", [T, -T - 1])
def test_a_time_that_was_not_saved_is_refused(at):
    with pytest.raises(InputError, match=f"at = {at} is none of the 6 saved times; give an index from -6 to 5"):
        tokens(a_run(2), at=at)


def test_energy_of_a_simulated_run():
    x0 = af.sphere.uniform(n=5, d=3, key=jax.random.key(0))
    run = af.simulate(af.SelfAttention(beta=2.0), x0, t1=1.0, ts=np.linspace(0, 1, 4))
    for scale, symbol in ((None, r"\widehat{E}"), ("E", "E")):
        figure = af.plot.energy(run, scale=scale)
        line = figure.axes[0].lines[0]
        np.testing.assert_allclose(line.get_xdata(), run.ts)
        np.testing.assert_allclose(line.get_ydata(), af.energy(run, scale=scale))
        assert {"time $t$ (SA)", f"energy ${symbol}(t)$"} <= set(texts(figure))
    assert "5 tokens on the sphere, $t = 1$" in texts(tokens(run))


@pytest.mark.parametrize(("ending", "head"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_saved_files_are_whole_and_repeatable(tmp_path, ending, head):
    figure = tokens(a_run(3))
    first, second = save(figure, tmp_path / f"a.{ending}"), save(tokens(a_run(3)), tmp_path / f"b.{ending}")
    assert first.read_bytes().startswith(head)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"a.{ending}", f"b.{ending}"]  # nothing temporary is left


def test_a_failed_save_leaves_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot write"):
        save(tokens(a_run(2)), tmp_path / "file" / "a.png")
    with pytest.raises(InputError, match=r"end the name with .png, .svg or .pdf"):
        save(tokens(a_run(2)), tmp_path / "a.bmp")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_gif_has_a_frame_per_time(tmp_path):
    path = animate(a_run(2), tmp_path / "run.gif", fps=10, dpi=40)
    with Image.open(path) as film:
        assert film.n_frames == T  # pyright: ignore[reportAttributeAccessIssue]
        assert film.info["duration"] == 100
    with Image.open(animate(a_run(2), tmp_path / "few.gif", dpi=40, max_frames=3)) as film:
        assert film.n_frames == 3  # pyright: ignore[reportAttributeAccessIssue]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["few.gif", "run.gif"]


@pytest.mark.skipif(not FFMpegWriter.isAvailable(), reason="ffmpeg is not installed")
def test_an_mp4_is_written(tmp_path):
    assert animate(a_run(3), tmp_path / "run.mp4", dpi=40).read_bytes()[4:8] == b"ftyp"


def test_a_film_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda cls: False))
    with pytest.raises(InputError, match=r"'run.mp4' needs ffmpeg, which is not installed; end the name with .gif"):
        animate(a_run(2), tmp_path / "run.mp4")
    with pytest.raises(InputError, match=r"cannot animate to 'run.avi'; end the name with .mp4 or .gif"):
        animate(a_run(2), tmp_path / "run.avi")
    assert not list(tmp_path.iterdir())


def test_style_is_left_behind():
    names = [name for name in mpl.rcParams if name != "backend"]  # reading that one chooses a backend
    before = [mpl.rcParams[name] for name in names]
    with style(font__size=13):
        assert mpl.rcParams["font.size"] == 13
        assert mpl.rcParams["axes.prop_cycle"].by_key()["color"] == list(PALETTE.values())
    tokens(a_run(3))
    assert [mpl.rcParams[name] for name in names] == before


def test_pyplot_is_never_imported():
    program = "import sys, attnflow.plot; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.fixture
def untyped():
    """The function as users call it, without the type checks of the test suite."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


JUNK = [
    *((name, {"ax": "axes"}) for name in ("tokens", "clusters", "energy", "order_parameter", "inner_products")),
    *((name, {"ax": mpl.figure.Figure()}) for name in ("attention", "leaders", "tokens")),
    ("order_parameter", {"ax": mpl.figure.Figure().add_subplot(projection="3d")}),
    *((name, {"camera": camera}) for name in ("tokens", "overview") for camera in ("ab", 3, (1, 2, 3), (np.nan, 0))),
    *(("inner_products", {"at": at}) for at in ("ab", None, (), (0.5,), [[0]], 99, True)),
]


@pytest.mark.parametrize(("name", "junk"), JUNK)
def test_bad_axes_cameras_and_times_are_refused(name, junk, untyped):
    with pytest.raises(InputError, match=rf"^{next(iter(junk))}\b"):
        getattr(af.plot, name)(af.simulate(af.SelfAttention(beta=1.0), np.eye(3)[:2], t1=1.0, save=2), **junk)


@pytest.mark.parametrize("name", ["polytope", "hyperplanes"])
@pytest.mark.parametrize("junk", [{"detected": 3}, {"detected": "a"}, {"ax": mpl.figure.Figure()}, {"camera": "up"}])
def test_bad_results_axes_and_cameras_are_refused(name, junk, untyped):
    path = np.linspace(1, 2, 3)[:, None, None] * np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    options = {"V": np.diag([2.0, 1.0]), "B": np.eye(2)} if name == "hyperplanes" else {}
    with pytest.raises(InputError, match=rf"^{next(iter(junk))}\b"):
        getattr(af.plot, name)(path, eps=0.1, **options, **junk)


@pytest.mark.parametrize("path", [None, 3, b"a.png", "", "a\0.png", ["a.png"]])
def test_bad_paths_are_refused(path, untyped):
    with pytest.raises(InputError, match="is no path"):
        af.plot.save(mpl.figure.Figure(), path)
    with pytest.raises(InputError, match="is no path"):
        af.animate(a_run(2), path)
    with pytest.raises(InputError, match="is no path"):
        af.load(path)


@pytest.mark.parametrize("junk", [{"layers": 5}, {"layers": "ab"}, {"layers": ()}, {"layers": (0.5,)}, {"names": "a"}])
def test_bad_layers_and_names_are_refused(junk, untyped):
    run = af.simulate(af.HardmaxLayers(), np.eye(2), t1=2, solver="layers")
    with pytest.raises(InputError, match=rf"^{next(iter(junk))}\b"):
        af.plot.hardmax_layers([run], **{"layers": (0, 1), **junk})
    with pytest.raises(InputError, match="names"):
        af.plot.hardmax_layers([run], layers=(0, 1), names=[3])
