"""Rescaled tokens and what they converge to: hulls that shrink to a polytope, or parallel hyperplanes."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

from ..checks import finite_array, whole
from ..errors import InputError, shown
from ..spaces import Numbers
from ._data import Camera, Frames, camera_of, read
from ._flat import Plane
from ._marks import SHADES, limits, time_share
from ._solid import Space
from ._style import PALETTE, axes_for, style

LIMIT = PALETTE["green"]
SEEN = 0.02  # tokens closer than this part of the largest one cannot be distinguished in a picture


def polytope(
    run: Any,
    *,
    B: Numbers | None = None,
    eps: float | None = None,
    detected: Any = None,
    hulls: int = 4,
    ts: Numbers | None = None,
    ax: Axes | None = None,
    camera: Camera | None = None,
) -> Figure:
    """Draw the paths of rescaled tokens, their hull at a few times, and the polytope where they end.

    - `run`: what `rescaled` gives, or tokens `(T, n, d)` with their times `ts`; d = 2 or 3.
    - `B`: the matrix of scores, for the verdict; a run knows its own. `eps`: the linking distance of clusters, by
      default what the eye cannot resolve, a fiftieth of the largest token. `detected`: what `detect_polytope` gave, if
      that was computed already, perhaps for a later time.
    - `hulls`: at how many times the hull is drawn, from the first on; it darkens with time as the paths do.
    - `camera` is (elevation, azimuth) in degrees; `ax` draws into given axes (three-dimensional ones for d = 3).
    """
    from ..diagnostics import detect_polytope

    frames, hulls = _frames(run, ts), whole("hulls", hulls, 0)
    if detected is None:
        eps = SEEN * float(np.linalg.norm(frames.xs[-1], axis=1).max()) if eps is None else eps
        detected = detect_polytope(frames.xs[-1] if ts is not None or not hasattr(run, "xs") else run, B=B, eps=eps)
    _check_detected(detected, ("vertices", "corners", "count", "converged"), "detect_polytope")
    _check_dimension(detected.corners.shape[-1], frames)
    with style():
        own, axes = ax is None, _stage(frames, ax, camera)
        last = len(frames.ts) - 1
        for at in np.unique(np.linspace(0, last, hulls + 1).astype(int)[:-1] if last else [0]):
            shade = SHADES[int(time_share(frames, int(at)) * (len(SHADES) - 1))]
            _outline(axes, _faces(frames.xs[at]), frames.d, edgecolors=[shade], linewidths=0.9, zorder=1.5)
        ends = f"polytope, {len(detected.vertices)} {'vertex' if len(detected.vertices) == 1 else 'vertices'}"
        fill = (*_rgb(LIMIT), 0.12)
        _outline(
            axes, _faces(detected.corners), frames.d, edgecolors=[LIMIT], facecolors=[fill], linewidths=1.4, zorder=2.5
        )
        axes.scatter(
            *detected.corners.T,
            s=64,
            marker="D",
            facecolors="none",
            edgecolors=LIMIT,
            linewidths=1.4,
            label=ends,
            zorder=4,
        )
        _finish(axes, frames, "clusters", detected.count, detected.converged, own)
    return axes.get_figure(root=True)


def hyperplanes(
    run: Any,
    *,
    V: Numbers | None = None,
    B: Numbers | None = None,
    eps: float | None = None,
    detected: Any = None,
    ts: Numbers | None = None,
    ax: Axes | None = None,
    camera: Camera | None = None,
) -> Figure:
    """Draw the paths of rescaled tokens and the parallel hyperplanes near which they end; arguments as for `polytope`.

    The matrix `V` gives the direction of the hyperplanes; a run knows its own.
    """
    from ..diagnostics import detect_hyperplanes

    frames = _frames(run, ts)
    if detected is None:
        last = frames.xs[-1] if ts is not None or not hasattr(run, "xs") else run
        detected = detect_hyperplanes(last, V=V, B=B, eps=eps)
        if eps is None and detected.count:
            detected = detect_hyperplanes(last, V=V, B=B, eps=SEEN * float(np.abs(detected.u).max()) or 1.0)
    _check_detected(detected, ("triple", "values", "count", "converged"), "detect_hyperplanes")
    if detected.triple.phi_star is None:
        raise InputError(f"there are no hyperplanes to draw. {detected.triple.verdict}")
    _check_dimension(len(detected.triple.phi_star), frames)
    with style():
        own, axes = ax is None, _stage(frames, ax, camera)
        box = np.array([limits(frames.xs[..., k]) for k in range(frames.d)])
        planes = [_slice(box, detected.triple.phi_star, value) for value in detected.values]
        fill = (*_rgb(LIMIT), 0.16)
        _outline(axes, planes, frames.d, edgecolors=[LIMIT], facecolors=[fill], linewidths=1.6, zorder=2.5)
        axes.plot(*[[np.nan]] * frames.d, color=LIMIT, label=r"$\varphi_1^*(z) = $" + _values(detected.values))
        _finish(axes, frames, "hyperplanes", detected.count, detected.converged, own)
    return axes.get_figure(root=True)


def _check_detected(detected: Any, parts: tuple[str, ...], verb: str) -> None:
    if not all(hasattr(detected, part) for part in parts):
        raise InputError(f"detected = {shown(detected)} is no result of {verb}; leave it out, or give one.")


def _check_dimension(d: int, frames: Frames) -> None:
    if d != frames.d:
        raise InputError(f"detected is of tokens of dimension {d}, and these have dimension {frames.d}.")


def _frames(run: Any, ts: Numbers | None) -> Frames:
    """The frames of a run, or of plain tokens along time."""
    if ts is None and hasattr(run, "xs"):
        frames = read(run)
    else:
        xs = finite_array("run", run)
        times = np.arange(float(xs.shape[0] if xs.ndim else 0)) if ts is None else finite_array("ts", ts)
        n = xs.shape[1] if xs.ndim == 3 else 0
        if xs.ndim != 3 or times.shape != xs.shape[:1] or 0 in xs.shape:
            raise InputError(f"tokens have shape {xs.shape} at times {times.shape}; give (T, n, d) and ts (T,).")
        frames = Frames(times, xs, np.full(n, 1 / n), "euclidean", "time $t$")
    if frames.d not in (2, 3):
        raise InputError(f"tokens have dimension {frames.d}; this picture is for 2 or 3, for example their components.")
    return frames


def _stage(frames: Frames, ax: Any, camera: Camera | None) -> Any:
    """Axes with the tokens, their paths and the bar of times."""
    ax = axes_for(ax, 5.4, 4.6, in_space=frames.d == 3)
    view = (Plane if frames.d == 2 else Space)(frames, True, camera_of(camera))
    view.stage(ax)
    view.actors(ax, len(frames.ts) - 1)
    ax.set(**{f"{axis}label": f"$z_{k + 1}$" for k, axis in enumerate("xyz"[: frames.d])})
    return ax


def _finish(ax: Any, frames: Frames, what: str, count: int, converged: bool | None, own: bool) -> None:
    rest = ", not converged" if converged is False else ""
    ax.set_title(f"{frames.caption(len(frames.ts) - 1)}: {count} {what[:-1] if count == 1 else what}{rest}")
    options: Any = {"ncols": 3, "handletextpad": 0.4, "columnspacing": 1.4}
    if own:
        ax.figure.legend(loc="outside lower center", **options)
    else:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14 if frames.d == 2 else 0.0), **options)


def _faces(points: np.ndarray) -> list[np.ndarray]:
    """The polygons that bound the hull of points in the plane or in space: one if it is flat."""
    from ..diagnostics.hulls import hull

    body = hull(points)
    corners = body.corners
    if body.dimension < 3 or body.normals is None or body.offsets is None:
        return [_around(corners)]
    depth = body.offsets - corners @ body.normals.T  # (vertices, facets)
    near = depth <= 1e-7 * np.abs(corners).max()
    return [_around(corners[on]) for on in near.T if on.sum() >= 3]


def _around(points: np.ndarray) -> np.ndarray:
    """Points of a plane convex polygon, in order around it."""
    centred = points - points.mean(axis=0)
    plane = np.linalg.svd(centred, full_matrices=False)[2][:2]
    y = centred @ plane.T
    return points if len(points) < 3 else points[np.argsort(np.arctan2(y[:, 1], y[:, 0]))]


def _slice(box: np.ndarray, normal: np.ndarray, value: float) -> np.ndarray:
    """The part of the hyperplane <normal, z> = value inside a box `(d, 2)`, as a polygon or a segment."""
    d = len(box)
    corners = np.stack(np.meshgrid(*box, indexing="ij"), axis=-1).reshape(-1, d)
    bits = np.arange(2**d)
    pairs = [(i, i | 1 << k) for i in bits for k in range(d) if not i >> k & 1]
    start, end = corners[[i for i, _ in pairs]], corners[[j for _, j in pairs]]
    a, b = start @ normal - value, end @ normal - value
    cut = a * b < 0
    share = (a[cut] / (a[cut] - b[cut]))[:, None]
    points = start[cut] + share * (end[cut] - start[cut])
    return _around(points) if len(points) else np.full((2, d), np.nan)


def _outline(ax: Any, polygons: list[np.ndarray], d: int, **options: Any) -> None:
    """Polygons, or segments where they have two corners, in the plane or in space; unfilled by default."""
    options = {"facecolors": "none", **options}
    solid = [p for p in polygons if len(p) > 2]
    lines = [p for p in polygons if len(p) == 2]
    line_options = {k: v for k, v in options.items() if k not in ("facecolors", "edgecolors")}
    if d == 2:
        if solid:
            ax.add_collection(PolyCollection(solid, **options), autolim=False)
        if lines:
            ax.add_collection(LineCollection(lines, colors=options["edgecolors"], **line_options), autolim=False)
        return
    if solid:
        # "none" is not a face colour in space; a transparent one is.
        faces = [(0, 0, 0, 0)] if options["facecolors"] == "none" else options["facecolors"]
        ax.add_collection3d(Poly3DCollection(solid, **{**options, "facecolors": faces}), autolim=False)
    if lines:
        ax.add_collection3d(Line3DCollection(lines, colors=options["edgecolors"], **line_options), autolim=False)


def _rgb(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)


def _values(values: np.ndarray) -> str:
    shown = ", ".join(f"{v:.3g}" for v in values[:3]).replace("-", "\N{MINUS SIGN}")
    return shown if len(values) <= 3 else f"{shown}, ... ({len(values)} values)"
