"""One run of the page: the tokens at a step, the way forward, and the way back."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..errors import SolveError
from ..models import field
from ..reductions import fastest_mode
from ..settings import build
from ..spaces import Sphere
from . import frames, instruments, limits, programs
from .projection import project
from .state import State, axes
from .theory import exact

ENERGY_PAIRS = 4e6


class Simulation:
    """Steps of fixed size with the library's Runge-Kutta method; every state follows from the settings alone."""

    def __init__(self, state: State):
        s = {**state.settings, "dtype": "float64", "solver": "rk4"}
        self.state = state
        self.model, x0, options = build(s)
        # Lanes compute in 64 bits; a run in 32 begins with rounded tokens.
        x0 = self.model.space.check(x0.astype(state.settings["dtype"]))
        w = options["weights"]
        self.w = None if w is None else w.astype(x0.dtype)
        self.masses = None if w is None else np.asarray(w, float)
        self.dt = state.settings["dt"] or chosen_step(self.model, x0, self.w)
        self.step, self.x = 0, x0
        self.scale = instruments.energy_scale(self.model)
        self.wave = self._wave()
        self._kept: dict[int, np.ndarray] = {0: np.asarray(x0)}
        self._stride = 1

    @property
    def t(self) -> float:
        return self.step * self.dt

    def advance(self, steps: int) -> None:
        """Go on by so many steps (compiles at the first call of a shape)."""
        steps = min(steps, limits.MAX_STEPS - self.step)
        if steps <= 0:
            return
        x = programs.advance(self.model, self.x, self.w, self.step, steps, self.dt)
        if not bool(jnp.isfinite(x).all()):
            raise SolveError(
                f"the tokens became infinite or not-a-number after t = {self.t:.4g}; take a smaller dt than "
                f"{self.dt:g}, or a smaller beta."
            )
        self.x, self.step = x, self.step + steps
        self._keep()

    def near(self, step: int) -> None:
        """Go to the last state that is kept at or before a step; the rest of the way is `advance`."""
        at = max(k for k in self._kept if k <= step)
        if self.step > step or at > self.step:
            self.x, self.step = jnp.asarray(self._kept[at]), at

    def _keep(self) -> None:
        if self.step % self._stride == 0:
            self._kept[self.step] = np.asarray(self.x)
        while len(self._kept) * self.x.nbytes > limits.HISTORY_BYTES and len(self._kept) > 2:
            self._stride *= 2  # half of them are enough to find the way to any
            self._kept = {k: x for k, x in self._kept.items() if k % self._stride == 0}

    def _wave(self) -> int:
        """The wave that grows first out of uniform tokens on the circle; 1 elsewhere."""
        on_circle = self.x.shape[1] == 2 and isinstance(self.model.space, Sphere)
        if not on_circle or not exact(self.model) or not float(self.model.attention.beta) <= 1e5:
            return 1
        return int(fastest_mode(float(self.model.attention.beta), d=2))

    def facts(self) -> dict[str, Any]:
        """What the page should know besides the state: where the run ends, and rows worth a jump."""
        return {"last": limits.MAX_STEPS, "merges": []}

    def series(self) -> dict[str, Any] | None:
        """What charts may show of the whole run at its start, where all of it is known: see `LongTime`."""
        return None

    # What is sent

    def frame(self, run: int) -> bytes:
        # Of many tokens the energy takes as long as a stage of the step: now and then is enough.
        scale = self.scale if self.step % (1 + int(self.state.pairs / ENERGY_PAIRS)) == 0 else None
        found = instruments.quick(self.model, self.x, self.w, scale, self.wave)
        shown = np.asarray(self.model.space.nearest(self.x), float)
        points, seen = project(shown, self.masses, axes(self.state.view["axes"], shown.shape[1]))
        return frames.state(run, self.step, self.t, points, found.energy, found.order, seen, found.wave)

    def merged(self, step: int) -> np.ndarray | None:
        """The masses of the clusters, where the run itself knows which have merged: see `LongTime`."""
        return None

    def snapshot(self) -> tuple[int, float, Any]:
        return self.step, self.t, self.x

    def instruments(self, run: int, snapshot: tuple[int, float, Any]) -> bytes:
        step, t, x = snapshot  # what was shown: the run may have gone on
        q = instruments.quick(self.model, x, self.w, self.scale, self.wave)
        s = instruments.slow(self.model, x, self.w, t, self.merged(step))
        return frames.instruments(
            run, step, t, s.labels, s.histogram, s.attention,
            count=s.clusters, energy=q.energy, order=q.order, plateau=s.plateau,
        )  # fmt: skip

    def token(self, index: int) -> dict[str, Any]:
        """Where a token is and whom it attends to."""
        x = np.asarray(self.model.space.nearest(self.x), float)[index]
        row = instruments.attention_row(self.model, self.x, self.w, self.t, index)
        heard = [] if row is None else np.argsort(-row, kind="stable")[:5]
        return {
            "token": index,
            "step": self.step,
            "position": [round(float(v), 4) for v in x[:8]],
            "dimension": int(x.size),
            "weight": None if self.masses is None else float(self.masses[index]),
            "attends": [[int(j), float(row[j])] for j in heard],  # pyright: ignore[reportOptionalSubscript]
        }


def chosen_step(model: Any, x: Any, w: Any) -> float:
    """A step that suits the first velocities and the sharpness of the attention, one or two digits long."""
    speed = float(jnp.max(jnp.linalg.norm(programs.call(_velocity, model, x, w), axis=1)))
    attention = getattr(model, "attention", None)
    sharp = max(
        (float(getattr(attention, name, 0.0)) for name in ("beta", "g") if np.ndim(getattr(attention, name, 0.0)) == 0),
        default=0.0,
    )
    steps = (0.05, 0.1 / speed if speed > 0 else np.inf, 2 / sharp if sharp > 0 else np.inf)
    exponent = np.floor(np.log10(min(steps)))
    return float(f"{max(1, int(min(steps) / 10**exponent * (1 + 1e-9)))}e{int(exponent)}")


def _velocity(model: Any, x: Any, w: Any) -> Any:
    return field(model, 0.0, x, w)
