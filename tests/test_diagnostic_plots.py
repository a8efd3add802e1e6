"""Pictures of diagnostics show the numbers of the diagnostics; their labels fit, and colours can be distinguished."""

import dataclasses

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

import attnflow as af
from attnflow.errors import InputError
from attnflow.plot._style import HEAT
from test_plots import a_run, each_case, texts

N = 12
PICTURES = ["clusters", "inner_products", "order_parameter", "attention", "leaders", "overview"]


@pytest.fixture(scope="module")
def run():
    x0 = af.sphere.uniform(n=N, d=2, key=jax.random.key(2))
    return af.simulate(af.SelfAttention(beta=3.0), x0, t1=8.0, save=6, weights=np.arange(1, N + 1) / 78)


@pytest.fixture
def causal(run):
    """A model in dimension 5 without energy, whose tokens stand in order."""
    xs = jax.random.normal(jax.random.key(0), (6, N, 5))
    model = af.SelfAttention(af.Softmax(1.0), af.Euclidean(), af.Causal())
    return dataclasses.replace(run, xs=xs, model=model)


def heat(figure):
    (image,) = [image for ax in figure.axes for image in ax.get_images()]
    return np.asarray(image.get_array())


@pytest.mark.parametrize("name", PICTURES)
def test_labels_fit_and_do_not_overlap(run, name):
    figure = getattr(af.plot, name)(run)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    shown = [t for ax in figure.axes for t in (ax.title, ax.xaxis.label, ax.yaxis.label) if t.get_text()]
    assert len(shown) >= 2
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in shown]
    for i, box in enumerate(boxes):
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1, shown[i]
        assert figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1, shown[i]
        assert not any(box.overlaps(other) for other in boxes[:i]), shown[i]


@pytest.mark.parametrize("name", PICTURES[:-1])
def test_given_axes_are_used(run, name):
    with af.plot.style():
        figure = mpl.figure.Figure()
        left, right = figure.subplots(1, 2)
    assert getattr(af.plot, name)(run, ax=left) is figure
    assert left.has_data() and not right.has_data()


def test_order_parameter(run):
    line = af.plot.order_parameter(run).axes[0].lines[0]
    np.testing.assert_allclose(line.get_xdata(), run.ts)
    np.testing.assert_allclose(line.get_ydata(), af.diagnostics.order_parameter(run))


def test_number_of_clusters_and_who_is_with_whom(run):
    result = af.clusters(run)
    figure = af.plot.clusters(run)
    upper, lower = figure.axes[:2]
    np.testing.assert_array_equal(upper.lines[0].get_ydata(), result.count)
    mesh = lower.collections[0]
    mass = np.asarray(mesh.get_array())  # (tokens from below, times)
    assert mass.shape == (N, 6)
    expected = np.take_along_axis(result.masses, result.labels, axis=1)
    np.testing.assert_allclose(np.sort(mass, axis=0), np.sort(expected, axis=1).T)
    assert (np.diff(mass[:, -1]) <= 1e-12).all()  # at the end clusters stand together, the largest below
    assert f"{result.count[-1]} cluster" in upper.get_title()
    assert upper.get_legend().texts[0].get_text() == f"linked within {result.eps[-1]:.3g}"
    assert ("at rest" if result.converged[-1] else "still moving") in upper.get_title()


def test_lines_between_clusters_end_where_they_meet(run):
    lower = af.plot.clusters(run).axes[1]
    labels, lines = af.clusters(run).labels, lower.collections[1]
    order = np.lexsort(labels)
    apart = (labels[:, order[1:]] != labels[:, order[:-1]]).sum()  # how many times neighbours are apart, together
    ts = np.asarray(run.ts)
    width = np.diff(np.concatenate([ts[:1], (ts[1:] + ts[:-1]) / 2, ts[-1:]]))
    expected = ((labels[:, order[1:]] != labels[:, order[:-1]]) * width[:, None]).sum()
    drawn = sum(end[0] - start[0] for start, end in lines.get_segments())
    assert apart > 0
    np.testing.assert_allclose(drawn, expected)


def test_many_clusters_are_counted_on_a_logarithmic_scale(run):
    many = dataclasses.replace(run, xs=jnp.asarray(np.random.default_rng(0).normal(size=(6, 30, 3))), weights=None)
    assert af.plot.clusters(many).axes[0].get_yscale() == "log"
    assert af.plot.clusters(run).axes[0].get_yscale() == "linear"


def test_times_that_were_not_reached_are_left_out(run):
    cut = dataclasses.replace(run, xs=run.xs.at[3:].set(jnp.nan))
    count = af.plot.clusters(cut).axes[0].lines[0].get_ydata()
    assert np.isfinite(count[:3]).all() and np.isnan(count[3:]).all()


def test_inner_products(run):
    (one,) = [p for p in af.plot.inner_products(run, bins=9).axes[0].patches if not p.get_fill()]
    np.testing.assert_allclose(one.get_data().values, af.inner_products(run, at=-1, bins=9).density)
    several = af.plot.inner_products(run, at=[0, 2, -1], bins=9)
    assert [p.get_label() for p in several.axes[0].patches] == ["$t = 0$", "$t = 3.2$", "$t = 8$"]
    assert r"\langle x_i, x_j\rangle" in several.axes[0].get_xlabel()
    with pytest.raises(InputError, match="at = 6 is none of the 6 saved times"):
        af.plot.inner_products(run, at=[0, 6])


def test_attention_stands_by_cluster_or_in_order(run, causal):
    matrix = np.asarray(af.attention_matrix(run, at=-1))
    order = np.argsort(af.clusters(run, at=-1).labels, kind="stable")
    np.testing.assert_allclose(heat(af.plot.attention(run)), matrix[np.ix_(order, order)])
    np.testing.assert_allclose(heat(af.plot.attention(run, by_cluster=False)), matrix)
    assert "key token, by cluster" in texts(af.plot.attention(run))
    figure = af.plot.attention(causal, at=2)
    np.testing.assert_allclose(heat(figure), af.attention_matrix(causal, at=2))
    assert "key token" in texts(figure) and not np.triu(heat(figure), 1).any()


def test_a_head_is_named(run):
    heads = dataclasses.replace(run, model=af.SelfAttention(af.MultiHead([af.Softmax(1.0), af.Softmax(4.0)])))
    assert any("head 1" in text for text in texts(af.plot.attention(heads, head=1)))
    assert any("head 0" in text for text in texts(af.plot.leaders(heads, head=0)))


def test_leaders(run):
    result = af.leaders(run, at=2)
    ax = af.plot.leaders(run, at=2).axes[0]
    heights = sorted(bar.get_height() for container in ax.containers for bar in container)
    np.testing.assert_allclose(heights, np.sort(result.received))
    assert int(ax.get_xticklabels()[0].get_text()) == int(np.argmax(result.received))


def test_overview_falls_back_to_what_there_is(run, causal):
    assert {r"energy $\widehat{E}(t)$", "attention $A_{ij}$", "clusters"} <= set(texts(af.plot.overview(run)))
    shown = texts(af.plot.overview(causal))
    assert any("order parameter" in text for text in shown) and "PC 1" in "\n".join(shown)
    heads = dataclasses.replace(run, model=af.SelfAttention(af.MultiHead([af.Softmax(1.0), af.Softmax(4.0)])))
    assert "density" in texts(af.plot.overview(heads, at=0))


def test_heat_grows_dark_in_equal_steps():
    rgb = HEAT(np.linspace(0, 1, 33))[:, :3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lightness = 116 * np.cbrt(linear @ [0.2126, 0.7152, 0.0722]) - 16  # CIE L*, of colours well above black
    steps = -np.diff(lightness)
    assert steps.min() > 0.75 * steps.mean() and steps.max() < 1.25 * steps.mean()


@each_case
def test_a_film_shows_what_a_picture_shows(d, space, tmp_path):
    """A frame, drawn over a background in few colours, is the picture, except for the place of its title."""
    still = a_run(d, space)
    path = af.animate(still, tmp_path / "film.gif", dpi=60, max_frames=6)
    with Image.open(path) as film:
        film.seek(5)
        frame = np.asarray(film.convert("RGB"), float)
    figure = af.plot.tokens(still, at=-1)
    figure.set_dpi(60)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = np.asarray(canvas.buffer_rgba(), float)[..., :3]
    assert frame.shape == picture.shape
    assert (frame[:3, :3] == 255).all()
    below = round(0.18 * len(frame))
    different = np.abs(frame - picture)[below:].max(axis=-1) > 60
    assert different.mean() < 0.01
