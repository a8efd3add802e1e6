r"""What `match_measures` returns: one transformer, and the measures it was built for."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from ...checks import whole
from ...flows import Info, Outcome, Run
from ...models import TransformerBlock
from ...spaces import Count, Key, Number, key_or_fixed
from ._measure import Measure
from ._problem import Problem
from ._report import Another, MatchingReport, Verification, distance, report, verification
from .schedule import TransformerSchedule

Camera = tuple[float | int, float | int]  # elevation and azimuth in degrees


@final
@dataclass(frozen=True, eq=False, repr=False)
class MeasureMatching:
    """One transformer that takes N measures to N measures.

    `matching(clouds)` moves any clouds by closed forms; `schedule` holds the weights, `model` is the transformer for
    `af.simulate`. `sources` and `targets` are the measures it was built for, pairs of points and weights; where a
    source was a law, that is the sample that was drawn. `clearance` is the smallest distance of an atom from the middle
    of a band that must not move it; `another` is where another sample of the laws among the sources comes to; `steps`
    says what was done, `seconds` how long it took.
    """

    schedule: TransformerSchedule
    problem: Problem
    eps: float
    clearance: float
    steps: tuple[str, ...]
    seconds: dict[str, float]
    another: Another

    @property
    def sources(self) -> list[Measure]:
        return self.problem.sources

    @property
    def targets(self) -> list[Measure]:
        return self.problem.targets

    @property
    def model(self) -> TransformerBlock:
        r"""$\theta(t) = (V, B, W, U, b)$ as a model, to run for the time `schedule.T`."""
        return self.schedule.model

    def __call__(self, clouds: Sequence[Any]) -> list[np.ndarray]:
        """The tokens of every cloud `(n, d)`, or pair of it and weights, at the end; each moves by itself."""
        return self.schedule.run(clouds)

    def distances(self) -> np.ndarray:
        """$W_2$ of every source, moved by closed forms, to its target."""
        return np.array([distance(x, one.w, target) for x, one, target in self._ends()])

    def _ends(self):
        return zip(self.schedule.run(self._given()), self.sources, self.targets, strict=True)

    def _given(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(one.x, one.w) for one in self.sources]

    def report(self) -> MatchingReport:
        """Counts of pieces against those of the theorems, norms, clearance, distances, and where the time goes."""
        return report(self)

    def verify(
        self, *, rtol: Number | None = None, atol: Number | None = None, key: Key | None = None
    ) -> Verification:
        """Integrate the model by `af.simulate` with an adaptive solver, and measure $W_2$ to every target.

        `rtol` is by default $10^{-10}$, less where bands are narrow, and `atol` a hundredth of it. Of a law another
        sample is drawn with `key`, moved by closed forms, and compared as well.
        """
        return verification(self, rtol, atol, key_or_fixed(key))

    def fresh(self, n: Count, *, key: Key) -> list[Measure]:
        """Sources again: another sample of n tokens of every law, and measures as they were given."""
        return self.problem.fresh(whole("n", n), key)

    def run(self, frames: Count = 4) -> Run:
        """All measures side by side as one `Run`, for `af.plot.tokens` and `af.animate`; `frames` times in a piece.

        Its states are those of the closed forms, its model sees every measure by itself (`pairsums.Groups`), and
        `run.info["measure"]` is the number of the measure of every token.
        """
        ts, xs = self.schedule.trace(self._given(), frames)
        owner = np.repeat(np.arange(len(xs)), [x.shape[1] for x in xs])
        return Run(
            ts=jnp.asarray(ts),
            xs=jnp.asarray(np.concatenate(xs, axis=1)),
            weights=jnp.asarray(np.concatenate([one.w for one in self.sources]) / len(xs)),
            code=jnp.asarray(Outcome.SUCCESSFUL.code),
            stats={},
            model=self.schedule.side_by_side(owner),
            clock="SA",
            provenance={"made_by": "closed forms of match_measures", "pieces": len(self.schedule)},
            info=Info({"measure": (("token",), jnp.asarray(owner))}),
        )

    def timeline(self) -> Figure:
        """One bar for each piece in the colour of its purpose, and below the distances of all measures."""
        from ._pictures import timeline

        return timeline(self)

    def stages(self, *, camera: Camera | None = None) -> Figure:
        """The measures on the sphere of R^3 at the start, on the way and at the end; rings are the targets.

        `camera`: elevation and azimuth in degrees, by default such that the targets are in front.
        """
        from ._pictures import stages

        return stages(self, camera)

    def animate(
        self,
        path: str | os.PathLike,
        *,
        frames: Count = 3,
        fps: Number = 25,
        dpi: Number = 110,
        camera: Camera | None = None,
    ) -> Path:
        """Write a film, MP4 (needs ffmpeg) or GIF by the path's ending: `frames` pictures for every band."""
        from ._film import animate

        return animate(self, path, frames, fps, dpi, camera)

    def save(self, path: str | os.PathLike) -> Path:
        """Write the schedule as JSON, or as NetCDF if the name ends with `.nc`; `TransformerSchedule.load` reads it."""
        return self.schedule.save(path)

    def __repr__(self) -> str:
        N, count = len(self.sources), sum(len(one.x) for one in self.sources)
        return (
            f"MeasureMatching: {N} measure{'s' if N > 1 else ''} of {count} tokens in all, {len(self.schedule)} pieces "
            f"on the sphere of R^{self.problem.d}, clearance {self.clearance:.2g}"
        )
