"""Pictures of forecasters and their forecasts, over plain arrays, in the style of `attnflow.plot`.

Every function returns a `matplotlib.figure.Figure`; nothing global is touched.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..checks import finite_array, number, whole
from ..errors import InputError, shown
from ..plot import PALETTE, new_figure, style
from ..spaces import Numbers
from .gaps import table_with_gaps, with_gaps

__all__ = [
    "attention",
    "eigenvalues",
    "error_growth",
    "forecast",
    "modes",
    "phase_portrait",
    "singular_values",
]

GREY = "#8A949E"
MOST_CHANNELS = 6
COLOURS = [PALETTE[name] for name in ("blue", "vermillion", "green", "purple", "orange", "sky", "black")]
LOOKS = {  # a forecaster looks the same in all pictures
    "TD-TF": (PALETTE["blue"], "-"),
    "TD-DMD": (PALETTE["vermillion"], (0, (5, 2))),
    "persistence": (PALETTE["green"], (0, (1.5, 1.5))),
    "seasonal mean": (PALETTE["purple"], (0, (5, 1.5, 1.5, 1.5))),
}
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (5, 1.5, 1.5, 1.5)), (0, (8, 3)), (0, (3, 1)))


def singular_values(values: Numbers, *, rank: int | None = None) -> Figure:
    """Singular values of the windows against their number, over the first one; a line where they are cut off."""
    s = _vector("values", values)
    if not s.max() > 0:
        raise InputError("values has no entry above zero, and singular values are drawn over the largest.")
    rank = None if rank is None else whole("rank", rank)
    with style():
        figure = new_figure(4.8, 3.2)
        ax = figure.subplots()
        ax.semilogy(np.arange(1, len(s) + 1), s / s.max(), "o", ms=4, color=COLOURS[0], mec="white", mew=0.4)
        if rank is not None:
            ax.axvline(rank + 0.5, color=GREY, lw=0.9, ls=(0, (4, 3)))
            place = {"xytext": (4, -2), "textcoords": "offset points", "fontsize": 9, "va": "top"}
            ax.annotate(f"rank {rank}", (rank + 0.5, 1), **place)
        ax.set(xlabel="number", ylabel="singular value / the first")
        ax.grid()
    return figure


def eigenvalues(values: Any, *, others: Any = None, label: str = "TD-DMD", other_label: str = "TD-TF") -> Figure:
    """Eigenvalues of the step from window to window, on the unit circle: outside is growth, inside is decay.

    `others`: a second set, drawn as rings, such as those of a nonlinear model's Jacobian at the last window.
    """
    sets = [(label, _complex("values", values), "o")]
    if others is not None:
        sets.append((other_label, _complex("others", others), "D"))
    with style():
        figure = new_figure(4.3, 4.1)
        ax = figure.subplots()
        turn = np.linspace(0, 2 * np.pi, 361)
        ax.plot(np.cos(turn), np.sin(turn), color=GREY, lw=0.9)
        for k, (name, eigs, marker) in enumerate(sets):
            colour = _look(name, k)[0]
            face = colour if k == 0 else "none"
            edge, width = ("white", 0.5) if k == 0 else (colour, 1.1)
            about = f"{name}, largest {abs(eigs).max():.4g}"
            marks = {"ms": 5 + k, "mfc": face, "mec": edge, "mew": width, "ls": "none", "label": about}
            ax.plot(np.real(eigs), np.imag(eigs), marker, **marks)
        reach = 1.12 * max(1.0, *(min(2.0, float(abs(eigs).max())) for _, eigs, _ in sets))
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="real part", ylabel="imaginary part")
        ax.grid()
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=len(sets), handletextpad=0.2)
    return figure


def modes(values: Any, *, frequencies: Numbers | None = None, most: int = 4) -> Figure:
    """Real and imaginary parts of modes, the columns of `values (d, k)`, against the number of the channel."""
    table = _complex("values", values, 2)
    shown_modes = min(table.shape[1], whole("most", most))
    known = None if frequencies is None else _vector("frequencies", frequencies)
    if known is not None and len(known) < shown_modes:
        raise InputError(f"frequencies has {len(known)} entries; give one for each mode.")
    with style():
        figure = new_figure(2.5 * shown_modes, 2.6)
        axes = figure.subplots(1, shown_modes, sharey=True, squeeze=False)[0]
        channels = np.arange(1, len(table) + 1)
        for k, ax in enumerate(axes):
            ax.axhline(0, color=GREY, lw=0.7)
            ax.plot(channels, np.real(table[:, k]), "o-", ms=3.5, lw=1.1, color=COLOURS[0], label="real")
            ax.plot(channels, np.imag(table[:, k]), "D--", ms=3, lw=1.1, color=COLOURS[1], label="imaginary")
            name = f"mode {k + 1}"
            if known is not None:
                name += f", f = {known[k]:.3g}"
            ax.set(xlabel="channel", title=name)
        axes[0].legend(loc="best")
    return figure


def attention(weights: Numbers, *, dt: float | int = 1.0, times: Numbers | None = None) -> Figure:
    """Attention of windows `(window, lag)`: mean and quartiles against the lag, and along the series.

    It says what this model looks at, and no more: other seeds may look elsewhere and forecast as well.
    """
    alpha, dt = finite_array("weights", weights), number("dt", dt)
    if alpha.ndim != 2 or not alpha.size:
        raise InputError(f"weights has shape {alpha.shape}; give (window, lag).")
    lags = dt * np.arange(alpha.shape[1])
    when = np.arange(len(alpha)) if times is None else _vector("times", times)
    if len(when) != len(alpha) or (alpha < 0).any():
        raise InputError(f"weights has {len(alpha)} windows at {len(when)} times; give weights >= 0 at each time.")
    low, high = np.quantile(alpha, (0.25, 0.75), axis=0)
    with style():
        figure = new_figure(7.8, 3.1)
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.35))
        left.fill_between(lags, low, high, color=COLOURS[0], alpha=0.22, lw=0, label="half of all windows")
        left.plot(lags, alpha.mean(axis=0), "o-", ms=3.5, color=COLOURS[0], label="mean")
        left.axhline(1 / len(lags), color=GREY, lw=0.9, ls=(0, (4, 3)), label="equal weights")
        left.set(xlabel="lag", ylabel="attention", ylim=(0, 1.25 * max(high.max(), alpha.mean(axis=0).max())))
        left.legend(loc="best")
        left.grid()
        from ..plot import HEAT

        step = max(1, len(alpha) // 600)
        half = dt / 2 if dt else 0.5
        until = float(when[-1]) if len(when) > 1 else float(when[0]) + 1
        extent = (float(when[0]), until, lags[0] - half, lags[-1] + half)
        shown_as = {"aspect": "auto", "origin": "lower", "cmap": HEAT, "vmin": 0, "interpolation": "nearest"}
        image = right.imshow(alpha[::step].T, extent=extent, **shown_as)
        for axis in (left.xaxis, right.yaxis) if dt == 1 else ():
            axis.get_major_locator().set_params(integer=True)
        right.set(xlabel="time", ylabel="lag")
        figure.colorbar(image, ax=right, label="attention", pad=0.02)
    return figure


def forecast(
    times: Numbers,
    true: Any,
    future: Numbers,
    forecasts: Mapping[str, Any],
    *,
    names: Sequence[str] = (),
    low: Any = None,
    high: Any = None,
    error: Any = None,
    held_out: Any = None,
    time_label: str = "time",
) -> Figure:
    """The last part of a series, forecasts `(k, channel)` that go on from it, and what came, if that is known.

    `low`, `high (k, channel)`: a band around the first forecast, such as the range of several seeds. `error
    (k, channel)`: what such forecasts were off by elsewhere, drawn to both sides of the first one. `held_out`: the true
    rows at the times of the forecast. A forecast with fewer rows diverged and ends there.
    """
    past, t, ahead = table_with_gaps("true", true), _vector("times", times), _vector("future", future)
    if len(t) != len(past) or not isinstance(forecasts, Mapping) or not forecasts:
        raise InputError("give true a row for each of times, and forecasts as a mapping of names to rows.")
    d = min(past.shape[1], MOST_CHANNELS)
    with style():
        figure = new_figure(7.8, 1.0 + 1.55 * d)
        axes = figure.subplots(d, 1, sharex=True, squeeze=False)[:, 0]
        for k, ax in enumerate(axes):
            ax.axvspan(ahead[0], ahead[-1], color="#F3F4F1", lw=0, zorder=0)
            ax.plot(t, past[:, k], color="#333333", lw=1.2, label="series")
            if held_out is not None:  # broad, so that it is seen below a forecast that is right
                came = np.concatenate([past[-1:, k], table_with_gaps("held_out", held_out)[:, k]])
                ax.plot(np.concatenate([t[-1:], ahead]), came, color="#B8BEC4", lw=4.5, label="what came")
            first = table_with_gaps("forecasts", next(iter(forecasts.values())))[:, k]
            if error is not None:
                off = table_with_gaps("error", error)[: len(first), k]
                band = {"color": "#8A9097", "alpha": 0.22, "lw": 0, "label": "error on held-out rows (rms)"}
                ax.fill_between(ahead[: len(first)], first - off, first + off, **band)
            if low is not None and high is not None:
                bottom, top = table_with_gaps("low", low)[:, k], table_with_gaps("high", high)[:, k]
                band = {"color": COLOURS[0], "alpha": 0.22, "lw": 0, "label": "all seeds"}
                ax.fill_between(ahead[: len(bottom)], bottom, top, **band)
            for j, (name, rows) in enumerate(forecasts.items()):
                rows = table_with_gaps(name, rows)
                joined = np.concatenate([past[-1:, k], rows[:, k]])
                colour, dash = _look(name, j)
                line = {"color": colour, "ls": dash, "lw": 1.5, "label": name}
                ax.plot(np.concatenate([t[-1:], ahead])[: len(joined)], joined, **line)
            known = past if held_out is None else np.concatenate([past, table_with_gaps("held_out", held_out)])
            _limit(ax, known[:, k])
            ax.set_ylabel(names[k] if k < len(names) else f"channel {k + 1}")
            ax.grid(axis="y")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 6))
        axes[-1].set(xlabel=time_label, xlim=(t[0], ahead[-1]))
        figure.align_ylabels(list(axes))
    return figure


def phase_portrait(series: Mapping[str, Any], *, names: Sequence[str] = (), delay: int = 1) -> Figure:
    """Trajectories `(time, channel)` in the plane of the first two channels; of one channel, against its past."""
    if not isinstance(series, Mapping) or not series:
        raise InputError(f"series = {shown(series)}; give a mapping of names to rows.")
    delay = whole("delay", delay)
    with style():
        figure = new_figure(3.2 * len(series), 3.3)
        axes = figure.subplots(1, len(series), sharex=True, sharey=True, squeeze=False)[0]
        for k, (ax, (name, rows)) in enumerate(zip(axes, series.items(), strict=True)):
            rows = table_with_gaps(name, rows)
            x, y = (rows[:, 0], rows[:, 1]) if rows.shape[1] > 1 else (rows[delay:, 0], rows[:-delay, 0])
            ax.plot(x, y, lw=0.6, color=COLOURS[k % 7])
            first = names[0] if names else "channel 1"
            second = (names[1] if len(names) > 1 else "channel 2") if rows.shape[1] > 1 else f"{first}, {delay} earlier"
            ax.set(title=name, xlabel=first, ylabel=second if k == 0 else "")
            ax.grid()
    return figure


def error_growth(errors: Mapping[str, Any], *, dt: float | int = 1.0, exponent: float | int | None = None) -> Figure:
    """Errors `(lead,)`, or `(start, lead)` with the median and quartiles, against the lead time.

    With the largest Lyapunov `exponent` the lead is in Lyapunov times, and a line grows as the exponent says.
    """
    if not isinstance(errors, Mapping) or not errors:
        raise InputError(f"errors = {shown(errors)}; give a mapping of names to errors.")
    dt = number("dt", dt)
    factor = dt if exponent is None else dt * number("exponent", exponent)
    lowest, highest = np.inf, 0.0
    with style():
        figure = new_figure(7.0, 3.5)
        ax = figure.subplots()
        for k, (name, values) in enumerate(errors.items()):
            rows = np.atleast_2d(with_gaps(name, values, infinite=True))
            lead = factor * np.arange(1, rows.shape[1] + 1)
            middle = _quantile(rows, 0.5)
            colour, dash = _look(name, k)
            ax.semilogy(lead, middle, color=colour, ls=dash, label=name)
            if len(rows) > 3:
                low, high = _quantile(rows, 0.25), _quantile(rows, 0.75)
                ax.fill_between(lead, low, high, color=colour, alpha=0.15, lw=0)
            drawn = middle[np.isfinite(middle) & (middle > 0)]
            lowest, highest = min(lowest, drawn.min(initial=np.inf)), max(highest, drawn.max(initial=0.0))
            if exponent is not None and k == 0 and len(drawn):
                guide = drawn[0] * np.exp(lead - lead[0])
                dashed = {"color": GREY, "lw": 0.9, "ls": (0, (4, 3)), "label": r"$e^{\lambda t}$"}
                ax.semilogy(lead[guide < 2], guide[guide < 2], **dashed)
        if np.isfinite(lowest) and highest > 0:
            ax.set_ylim(max(lowest / 2, 1e-16), min(2 * highest, 1e3))
        if exponent is None:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(xlabel="lead time" if exponent is None else "lead time in Lyapunov times", ylabel="NRMSE")
        ax.grid()
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _look(name: str, k: int) -> tuple[Any, Any]:
    """Colour and dashes of a forecaster, or of the k-th curve."""
    return LOOKS.get(name, (COLOURS[k % len(COLOURS)], DASHES[k % len(DASHES)]))


def _quantile(rows: np.ndarray, q: float) -> np.ndarray:
    """Of what is infinite, too: the nearest one, since infinities cannot be interpolated."""
    return np.quantile(np.where(np.isnan(rows), np.inf, rows), q, axis=0, method="nearest")


def _limit(ax: Any, seen: np.ndarray) -> None:
    """The range of the series with room around it: a forecast that runs away must not flatten it."""
    known = seen[np.isfinite(seen)]
    if known.size:
        low, high = known.min(), known.max()
        room = 0.35 * (high - low) or max(abs(high), 1.0)
        ax.set_ylim(low - room, high + room)


def _vector(name: str, values: Any) -> np.ndarray:
    array = finite_array(name, values)
    if array.ndim != 1 or not array.size:
        raise InputError(f"{name} has shape {array.shape}; give a list of numbers.")
    return array


def _complex(name: str, values: Any, ndim: int = 1) -> np.ndarray:
    """Finite numbers, which may be complex."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.zeros(0)
    if not array.size or array.dtype.kind not in "fiuc" or not np.isfinite(array).all() or array.ndim != ndim:
        what = "a list" if ndim == 1 else "a matrix"
        raise InputError(f"{name} = {shown(values)}; give {what} of finite numbers, which may be complex.")
    return array.astype(complex)
