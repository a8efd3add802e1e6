r"""Flows of the perceptron block: the energy is monotone, repelling tokens gather in atoms where theory says atoms, and
attracting ones may stay apart.

All runs use the classical Runge-Kutta method with fixed steps. Tokens start from fixed clouds: how many clusters
are left at a time, and how fast the last ones settle, depends on the start.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from .claims import CIRCLE, CLAIMS, SPHERE
from .figures import energy_along_flows, from_tokens_to_atoms, tokens_over_the_potential

if TYPE_CHECKING:
    import xarray

    from attnflow import Run

STEP = 0.2  # of runs on the circle
TOKENS, NEURONS = 64, 6  # on the sphere
OMEGA, BIAS = 2.0, -0.3
DRAW = 0  # of tokens and neurons on the sphere: how fast the last tokens settle depends on it, and so not on the seed


def cells(scale: str) -> list[Cell]:
    quick = scale == "quick"
    return [
        *({"part": "circle", "case": case, "t1": 500.0 if quick else 4000.0} for case in CIRCLE),
        *({"part": "sphere", "case": case, "t1": 100.0 if quick else 400.0} for case in SPHERE),
        {"part": "signs"},
        {"part": "poles"},
    ]


def compute(cell: Cell) -> Any:
    return {"circle": _circle, "sphere": _sphere, "signs": _signs, "poles": _poles}[cell["part"]](cell)


def _circle(cell: Cell) -> "tuple[xarray.Dataset, Run]":
    import numpy as np
    import xarray

    import attnflow as af

    run = descent(cell["case"], cell["t1"])
    data = {
        "energy": ("time", np.asarray(af.energy(run))),
        "clusters": ("time", af.clusters(run, eps=0.05).count),
        "points": ("time", af.clusters(run, eps=0.02).count),
        "criticality": af.reductions.localization.criticality(run),
    }
    return xarray.Dataset(data, coords={"time": np.asarray(run.ts)}), run


def descent(case: str, t1: float) -> Any:
    """Repulsion at beta = 1, 100 tokens: ReLU with both signs, and the controls, no potential and a linear one."""
    import numpy as np

    import attnflow as af

    activation, omega = CIRCLE[case]
    model = af.PerceptronBlock(1.0, af.models.Perceptron([[1.0, 0.0]], 0.0, omega, activation), repulsive=True)
    ts = np.append(0.0, STEP * np.unique(np.round(np.geomspace(1, t1 / STEP, 60))))
    return af.simulate(model, af.sphere.weyl(n=100, d=2), ts=ts, solver="rk4", dt=STEP)


def _sphere(cell: Cell) -> "tuple[xarray.Dataset, Run]":
    """Attraction on S², 64 tokens, 6 neurons with random directions (one draw); without them; or two opposite ones."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    activation, omega = SPHERE[cell["case"]]
    a = af.sphere.uniform(n=NEURONS, d=3, key=jax.random.key(DRAW))
    weight = np.full(NEURONS, omega)
    if cell["case"] == "two maxima":  # the others have no weight: one program serves all
        a = a.at[:2].set(np.array([[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]))
        weight[2:] = 0
    perceptron = af.models.Perceptron(a, BIAS, weight, activation)
    x0 = af.sphere.uniform(n=TOKENS, d=3, key=jax.random.key(DRAW))
    ts = np.append(np.linspace(0.0, 10.0, 51), cell["t1"])
    run = af.simulate(af.PerceptronBlock(1.0, perceptron), x0, ts=ts, solver="rk4", dt=0.1)
    grid = np.stack(np.meshgrid(np.linspace(-np.pi, np.pi, 121), np.linspace(-np.pi / 2, np.pi / 2, 61)), axis=-1)
    out = np.stack(
        [
            np.cos(grid[..., 0]) * np.cos(grid[..., 1]),
            np.sin(grid[..., 0]) * np.cos(grid[..., 1]),
            np.sin(grid[..., 1]),
        ],
        axis=-1,
    )
    external = np.asarray(perceptron.potential(out))
    data = {
        "energy": ("time", np.asarray(af.energy(run))),
        "clusters": af.clusters(run, at=-1).count,
        "criticality": af.reductions.localization.criticality(run),
        "external": (("latitude", "longitude"), external),
        # The maximum of U, on the grid or where tokens found a larger value.
        "largest": max(float(external.max()), float(perceptron.potential(run.final).max())),
    }
    return xarray.Dataset(data, coords={"time": np.asarray(run.ts)}), run


def _signs(cell: Cell) -> "xarray.Dataset":
    """Ascent and descent, plain and divided by Z, with random weights: dE/dt by formula and by central differences."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af

    keys = jax.random.split(jax.random.key(cell["seed"]), 3)
    a, b, omega = af.sphere.uniform(n=5, d=3, key=keys[0]), *jax.random.normal(keys[1], (2, 5))
    x0 = af.sphere.uniform(n=16, d=3, key=keys[2])
    energy, error = jax.jit(_four_flows)(a, b, omega, x0, np.arange(1.0, 17) / 136)
    dims = ("model", "time")
    return xarray.Dataset({"energy": (dims, np.asarray(energy)), "error": (dims, np.asarray(error))})


def _four_flows(a: Any, b: Any, omega: Any, x0: Any, w: Any, h: float = 1e-5) -> tuple[Any, Any]:
    """Energies along the four flows; and dE/dt from energies a little ahead and behind, less ±Σ wᵢ mᵢ |vᵢ|²."""
    import jax
    import jax.numpy as jnp

    import attnflow as af

    energies, errors = [], []
    for repulsive, divided in ((False, False), (False, True), (True, False), (True, True)):
        model = af.PerceptronBlock(1.0, af.models.Perceptron(a, b, omega, "gelu"), repulsive, divided)

        def seen(x: Any, model: Any = model) -> tuple[Any, Any]:
            v = af.models.field(model, 0.0, x, w)
            moved = model.space.retract(jnp.stack([x, x, x]), jnp.array([0.0, h, -h])[:, None, None] * v)
            declared = model.energy()
            energy, ahead, behind = jax.lax.map(lambda y: declared.value(y, w, scale="E+U"), moved)
            metric = w * jnp.exp(declared.log_metric(x, w, scale="E+U"))
            rate = declared.direction * jnp.sum(metric * jnp.sum(v**2, axis=1))
            return energy, (ahead - behind) / (2 * h) - rate

        energy, error = jax.lax.map(seen, runge_kutta(model, x0, w, step=0.05, between=5, saved=24))
        energies.append(energy)
        errors.append(error)
    return jnp.stack(energies), jnp.stack(errors)


def runge_kutta(model: Any, x0: Any, w: Any, *, step: float, between: int, saved: int) -> Any:
    """The start and `saved` later states, `between` classical steps apart: a program much smaller than a solver's."""
    import jax
    import jax.numpy as jnp

    import attnflow as af

    ahead, weight = jnp.array([1 / 2, 1 / 2, 1, 0]), jnp.array([1 / 6, 1 / 3, 1 / 3, 1 / 6])

    def one(_: Any, x: Any) -> Any:
        def stage(k: Any, state: Any) -> Any:
            y, total = state
            v = af.models.field(model, 0.0, y, w)
            return model.space.nearest(x + step * ahead[k] * v), total + weight[k] * v

        return model.space.nearest(x + step * jax.lax.fori_loop(0, 4, stage, (x, jnp.zeros_like(x)))[1])

    def on(x: Any, _: Any) -> tuple[Any, Any]:
        x = jax.lax.fori_loop(0, between, one, x)
        return x, x

    return jnp.concatenate([x0[None], jax.lax.scan(on, x0, length=saved)[1]])


def _poles(cell: Cell) -> "xarray.Dataset":
    """Two clusters at opposite maxima of U, one of them turned a little: how fast it comes back, or leaves."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    angle, mass = 1e-5, jnp.array([0.7, 0.3])
    x = jnp.array([[np.sin(angle), 0.0, np.cos(angle)], [0.0, 0.0, -1.0]])

    def rate(omega: Any) -> Any:
        perceptron = af.models.Perceptron([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], BIAS, omega, "relu")
        return af.models.field(af.PerceptronBlock(1.0, perceptron), 0.0, x, mass)[0, 0] / angle

    rates = np.asarray(jax.jit(jax.vmap(rate))(jnp.array([OMEGA, 0.0])))
    return xarray.Dataset({"rate": ("potential", rates)}, coords={"potential": ["two maxima", "zero"]})


EXPERIMENT = Experiment(
    id="perceptron-flow",
    paper="perceptron",
    title="Flows of attention with a perceptron",
    summary=(
        "Unnormalised attention with a perceptron is a gradient flow, with both signs, also when the whole velocity "
        "is divided by the normalisation of softmax. Repelling tokens on the circle gather in atoms under ReLU, at a "
        "critical law that need not be the minimiser; without a potential, or with a linear one, they stay apart. "
        "Attracting tokens on S² meet in one point without a potential; where it has several maxima they may not."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[from_tokens_to_atoms, energy_along_flows, tokens_over_the_potential],
)
