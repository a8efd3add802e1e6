"""A review as the hardmax classifier sees it: words as tokens before and after its layers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..errors import InputError, shown
from ._data import whole_numbers
from ._labels import FONT, free_places, to_text
from ._style import INK, PALETTE, new_figure, style

SIDES = {"positive": PALETTE["blue"], "negative": PALETTE["vermillion"]}
LABELS = 7  # leaders that get a name; more would cover each other


def review(explanation: Any, *, layers: Sequence[int] = (0, -1)) -> Figure:
    """The tokens of an explained review (`classifier.explain(text)`) at these layers: leaders as stars with their
    words (after the last layer with the share of words that follow), the mean as a triangle, the line of the decision
    dashed, the two sides tinted.

    In more than two dimensions the picture is a projection: across, the direction of the decision; up, the direction
    in which the words of the review differ most, of those that do not matter for the decision.
    """
    layers = _checked(explanation, layers)
    with style():
        figure = new_figure(4.3 * len(layers), 3.8)
        row = figure.subplots(1, len(layers), sharex=True, sharey=True, squeeze=False)[0]
        for axes, layer in zip(row, layers, strict=True):
            draw_review(axes, explanation, layer)
        figure.legend(handles=review_marks(), loc="outside lower center", ncols=6, columnspacing=1.2, handletextpad=0.4)
    return figure


def _checked(explanation: Any, layers: Any) -> list[int]:
    """The layers, each of which an explained review has."""
    if not all(hasattr(explanation, name) for name in ("states", "leading", "v", "b", "words", "followed")):
        raise InputError(f"{shown(explanation)} is no explanation; give what classifier.explain(text) returns.")
    return whole_numbers("layers", layers)


def draw_review(axes: Any, explanation: Any, layer: int) -> None:
    """One layer of it."""
    frame, z, v, b = _plane(explanation)
    depth = len(z) - 1
    if not -depth - 1 <= layer <= depth:
        raise InputError(f"layer {layer} is not there; the review has layers 0 to {depth}.")
    now, leading = z[layer], explanation.leading[-1]
    low, high = z.min(axis=(0, 1)), z.max(axis=(0, 1))
    centre, half = (low + high) / 2, 0.62 * np.max(high - low) + 1e-9
    axes.set(xlim=(centre[0] - half, centre[0] + half), ylim=(centre[1] - half, centre[1] + half))
    _sides(axes, v, b)
    others = ~leading
    axes.plot(*now[others].T, "o", ms=4.5, color=INK, alpha=0.45, mec="none", zorder=3)
    axes.plot(*now[leading].T, "*", ms=13, color=PALETTE["yellow"], mec=INK, mew=0.9, zorder=5)
    axes.plot(*now.mean(axis=0), "^", ms=9, color=PALETTE["green"], mec="white", mew=1.0, zorder=6)
    _names(axes, now, leading, explanation, with_shares=layer % (depth + 1) == depth)
    axes.set(xlabel=frame[0], title=f"layer {layer % (depth + 1)}", aspect="equal")
    if axes.get_subplotspec() is None or axes.get_subplotspec().is_first_col():
        axes.set_ylabel(frame[1])


def review_marks() -> list[Any]:
    """The marks of a legend."""
    return [
        Line2D([], [], ls="", marker="*", ms=12, color=PALETTE["yellow"], mec=INK, label="leader"),
        Line2D([], [], ls="", marker="o", ms=5, color=INK, alpha=0.45, mec="none", label="other word"),
        Line2D([], [], ls="", marker="^", ms=8, color=PALETTE["green"], mec="white", label="mean"),
        Line2D([], [], ls="--", color=INK, lw=1.1, label="decision"),
        *(Patch(color=colour, alpha=0.25, lw=0, label=f"{side} side") for side, colour in SIDES.items()),
    ]


def _plane(explanation: Any) -> tuple[tuple[str, str], np.ndarray, np.ndarray, float]:
    """Names of the two axes, the states in them, and the decoder there."""
    z, v = np.asarray(explanation.states), np.asarray(explanation.v)
    d = len(v)
    if d < 2:
        raise InputError(f"d = {d}; a picture needs two dimensions or more.")
    if d == 2:
        return ("$z_1$", "$z_2$"), z, v, explanation.b
    size = np.linalg.norm(v)
    first = v / size
    centred = z[0] - z[0].mean(axis=0)
    across = centred - (centred @ first)[:, None] * first
    second = np.linalg.svd(across)[2][0]
    frame = np.stack([first, second], axis=1)
    return (
        (r"$\langle v, z\rangle / |v|$", "first principal direction across"),
        z @ frame,
        np.array([size, 0.0]),
        explanation.b,
    )


def _sides(axes: Any, v: np.ndarray, b: float) -> None:
    x, y = np.array(axes.get_xlim()), np.array(axes.get_ylim())
    value = v[0] * x[None, :] + v[1] * y[:, None] + b
    axes.contourf(x, y, value, [-1e9, 0, 1e9], colors=[SIDES["negative"], SIDES["positive"]], alpha=0.12, zorder=0)
    if value.min() < 0 < value.max():
        axes.contour(x, y, value, [0], colors=INK, linewidths=1.1, linestyles="dashed", zorder=1)


def _names(axes: Any, now: np.ndarray, leading: np.ndarray, explanation: Any, with_shares: bool) -> None:
    """Words beside the leaders, those that most words follow first; `with_shares`: with how many do."""
    places = np.flatnonzero(leading)
    follow = np.array([np.mean(explanation.followed == place) for place in places])
    order = np.argsort(-follow, kind="stable")[:LABELS]
    texts = [explanation.words[places[k]] + (f" {follow[k]:.0%}" if with_shares else "") for k in order]
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    side = min(axes.get_position().size * axes.figure.get_size_inches()) * 72  # the picture is square
    points = (now[places] - [left, bottom]) / [right - left, top - bottom] * side
    halo = [patheffects.withStroke(linewidth=2.5, foreground="white")]
    for k, text, (across, up) in zip(order, texts, free_places(points, texts, order, side), strict=True):
        axes.annotate(
            text,
            now[places[k]],
            xytext=tuple(to_text(across, up)),
            textcoords="offset points",
            ha=("right", "center", "left")[across + 1],
            va=("top", "center", "bottom")[up + 1],
            fontsize=FONT,
            color=INK,
            path_effects=halo,
            zorder=7,
        )
