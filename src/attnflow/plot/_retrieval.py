"""Lost in the middle: how well the last token of a prompt finds every source."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..checks import finite_array, number, whole
from ..errors import InputError
from ._style import INK, PALETTE, axes_for, style

LINE, THIN, POINT, LOW = PALETTE["blue"], PALETTE["sky"], INK, PALETTE["vermillion"]


def retrieval_profile(
    t: Any,
    *,
    beta: Any,
    context_slope: Any,
    classes: Any = 8,
    modes: int = 20,
    points: Any = None,
    n: int | None = None,
    ax: Axes | None = None,
) -> Figure:
    r"""Draw the retrieval profile $S_t$ of the closed form against the position of the source.

    - `points`: `(positions, values, standard errors)` of a simulation, as
      `af.reductions.causal.Correlations.profile` gives them, drawn with bars of two standard errors; give it `modes` of
      the simulation, too.
    - `n`: a number of tokens, whose matrix form is drawn as a thin line.

    The minimum between first and last sources is marked where there is one.
    """
    from ..reductions import causal

    arguments = {"beta": beta, "context_slope": context_slope, "classes": classes}
    options: dict[str, Any] = {**{name: number(name, value) for name, value in arguments.items()}, "modes": modes}
    t, s = number("t", t), np.linspace(0.004, 1, 600)
    S = causal.retrieval_profile(s, t, **options)
    least = causal.profile_minimum(t, **options)
    with style():
        ax = axes_for(ax, 7.4, 4.4)
        ax.plot(s, S, color=LINE, lw=2.4, label="closed form, many tokens")
        if n is not None:
            n = whole("n", n, least=2)
            exact = _matrix_form(t, n, **options)
            ax.plot((np.arange(n - 1) + 0.5) / n, exact, color=THIN, lw=1.1, label=f"closed form, {n} tokens")
        if points is not None:
            where, value, error = _points(points)
            ax.errorbar(
                where, value, 2 * error, fmt="o", ms=5, capsize=2.5, lw=1.2, color=POINT, mew=0, zorder=4,
                 label="simulation, ± 2 standard errors",
            )  # fmt: skip
        _limits(ax, S, s, 0.3 if np.isfinite(least.s) else 0.05)
        _words(ax, least, float(S[0]), float(S[-1]))
        ax.set_xlabel(r"position $\sigma_0$ of the source in the prompt")
        ax.set_ylabel("retrieval signal $S$\n" + r"accuracy = chance $\times\;(1 + 2S/N)$")
        # All of two lines: their first ones then stand on one height.
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0\nfirst token", "0.25\n", "0.5\n", "0.75\n", "1\nlast token"])
        ax.grid(axis="y")
        title = (
            rf"depth $t = {t:g}$,  $\beta = {options['beta']:g}$,  $\lambda = {options['context_slope']:g}$,  "
            f"{options['classes']:g} classes"
        )
        legend = ax.legend(loc="upper center", title=title, title_fontsize=9, alignment="left", borderaxespad=0.2)
        legend.set(frame_on=True)
        legend.get_frame().set(edgecolor="none", facecolor="white", alpha=1)
    return ax.get_figure(root=True)  # pyright: ignore[reportReturnType]


def _matrix_form(t: float, n: int, *, beta: Any, context_slope: Any, classes: Any, modes: int) -> np.ndarray:
    from ..pairsums import Causal, weight_matrix
    from ..reductions import causal

    w = np.asarray(weight_matrix(Causal(strict=True, slope=context_slope / n, normalized=True), n))
    return causal.window(classes, modes) @ causal.two_time_matrix(t, causal.rates(beta, modes), w)[:, :-1]


def _points(points: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    try:
        where, value, error = (finite_array("points", part) for part in points)
    except (TypeError, ValueError):
        raise InputError("points are (positions, values, standard errors), three arrays of one length.") from None
    if not where.ndim == value.ndim == error.ndim == 1 or not len(where) == len(value) == len(error):
        raise InputError("points are (positions, values, standard errors), three arrays of one length.")
    return where, value, error


def _limits(ax: Axes, S: np.ndarray, s: np.ndarray, below: float) -> None:
    """From below the lowest to well above what is plotted; the first sources run out of any picture."""
    low, high = float(S.min()), float(max(S[s > 0.02].max(), S[-1]))
    room = high - low or 1.0
    ax.set(xlim=(0, 1.01), ylim=(low - below * room, high + 0.15 * room))


def _words(ax: Axes, least: Any, first: float, last: float) -> None:
    """Primacy (at large slopes it is far to the left), the minimum and recency, in words."""
    low, high = ax.get_ylim()
    note: dict[str, Any] = {"textcoords": "offset points", "fontsize": 11}
    if first > (low + high) / 2:
        ax.annotate("primacy", (0.02, high), xytext=(16, -18), ha="left", color=LINE, fontweight="bold", **note)
    if not np.isfinite(least.s):
        return
    ax.annotate("recency", (1.0, last), xytext=(-4, 14), ha="right", color=LINE, fontweight="bold", **note)
    ax.plot(least.s, least.value, "D", ms=7.5, color=LOW, mec="white", mew=0.9, zorder=5)
    at = (least.s, least.value)
    line = {"arrowstyle": "-", "color": LOW, "lw": 0.9, "shrinkA": 0, "shrinkB": 6}
    ax.annotate("", at, xytext=(0, -26), arrowprops=line, **note)
    side, shift = ("left", -6) if least.s < 0.2 else ("right", 6) if least.s > 0.8 else ("center", 0)
    note.update(ha=side, va="top", color=LOW)
    ax.annotate("lost in the middle", at, xytext=(shift, -28), weight="bold", **note)
    worst = rf"retrieved worst at $\sigma_0 = {least.s:.2g}$"
    ax.annotate(worst, at, xytext=(shift, -43), **{**note, "fontsize": 10})
