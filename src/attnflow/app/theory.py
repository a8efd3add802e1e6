r"""Theory curves for the run on the page, drawn over the instruments.

- Orthonormal tokens stay equiangular: $g(t)$ by `equiangular_flow` gives the energy
  $\widehat E = \frac1n + (1 - \frac1n) e^{\beta(g-1)}$ and the order parameter $\sqrt{(1 + (n-1) g)/n}$, exactly.
  Uniform tokens in high dimension follow that curve.
- $n$ independent uniform tokens begin at the energy $\frac1n + (1-\frac1n)\widehat E(\sigma_d)$ on average.
- On the circle, the wave that grows fastest begins like $e^{\lambda t}$ (`growth_rate`); its crests are the clusters
  that form first.
- Inner products of uniform tokens have the density $c\,(1 - s^2)^{(d-3)/2}$.

Separated clusters of masses $W_k$ give the plateau $\sum_k W_k^2$; that changes along the run and comes with the
instruments.
"""

from typing import Any

import numpy as np
from scipy.special import gammaln

from ..models.schedules import depends_on_time
from ..reductions import equiangular_flow, fastest_mode, growth_rate, uniform_energy
from .state import State

HIGH_DIMENSION = 32
LARGEST_BETA = 1e5  # at which the waves on the circle are counted


def overlays(state: State, model: Any, wave: int, first_amplitude: float) -> dict[str, Any]:
    """`{"curves": [{chart, name, x, y}], "levels": [{chart, name, y}], "wave": k}`, as JSON."""
    curves: list[dict[str, Any]] = []
    levels: list[dict[str, Any]] = []
    drawn = {"curves": curves, "levels": levels, "wave": wave}
    if not model.space.unit:
        return drawn
    s = state.settings
    n, d, law = s["n"], s["d"], s["init"]
    if law == "uniform" and d >= 2:
        curves.append(_uniform_products(d))
    if not exact(model) or n < 2 or s["weights"] != "equal":
        return drawn
    zonal = model.attention.zonal
    beta, clock = float(zonal.beta), "SA" if zonal.normalized else "shifted USA"
    faster = float(np.exp(min(float(zonal.log_speed), 40.0)))  # the model's clock, against that one
    if law == "uniform" and d >= 2:
        start = 1 / n + (1 - 1 / n) * float(uniform_energy(d, beta=beta))
        levels.append({"chart": "energy", "name": "uniform law", "y": start})
    if law == "orthonormal" or d >= HIGH_DIMENSION:
        name = "equiangular (exact)" if law == "orthonormal" else "equiangular (d → ∞)"
        curves += _equiangular(name, n, beta, clock, faster)
    if law == "uniform" and d == 2 and beta <= LARGEST_BETA:
        fastest = int(fastest_mode(beta, d=2))
        levels.append({"chart": "clusters", "name": f"fastest wave, k = {fastest}", "y": fastest})
        rate = faster * float(growth_rate(wave, beta=beta, d=2, clock=clock))
        if 0 < first_amplitude < 0.5 and 0 < rate < 1e6:
            t = np.linspace(0, np.log(0.8 / first_amplitude) / rate, 40)
            curves.append(_curve("order", f"exp λt, λ = {rate:.3g}", t, first_amplitude * np.exp(rate * t)))
    return drawn


def first_wave(model: Any, d: int) -> int:
    """The wave that grows first out of uniform tokens on the circle; 1 elsewhere."""
    if d != 2 or not model.space.unit or not exact(model):
        return 1
    beta = float(model.attention.zonal.beta)
    return int(fastest_mode(beta, d=2)) if beta <= LARGEST_BETA else 1


def exact(model: Any) -> bool:
    """Whether the reduced equations are about this model: identity matrices, and every token sees all."""
    if not model.attention_alone or depends_on_time(model.attention) or model.attention.zonal is None:
        return False
    return model.pairs.complete


def _equiangular(name: str, n: int, beta: float, clock: Any, faster: float) -> list[dict[str, Any]]:
    t = np.concatenate([np.linspace(0, 30, 301), np.geomspace(30, 1e4, 120)[1:]])
    g = np.asarray(equiangular_flow(t, n=n, beta=beta, clock=clock), float)
    t = t / faster
    return [
        _curve("energy", name, t, 1 / n + (1 - 1 / n) * np.exp(beta * (g - 1))),
        _curve("order", name, t, np.sqrt((1 + (n - 1) * np.clip(g, 0, 1)) / n)),
        _curve("product", name, t, g),
    ]


def _uniform_products(d: int) -> dict[str, Any]:
    s = np.linspace(-1, 1, 201)[1:-1]
    log_c = gammaln(d / 2) - gammaln((d - 1) / 2) - 0.5 * np.log(np.pi)
    return _curve("products", "uniform law", s, np.exp(log_c + (d - 3) / 2 * np.log1p(-(s**2))))


def _curve(chart: str, name: str, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    finite = np.isfinite(y)
    return {
        "chart": chart,
        "name": name,
        "x": [float(f"{v:.6g}") for v in x[finite]],
        "y": [float(f"{v:.6g}") for v in y[finite]],
    }
