"""Forecasters: accuracy, parameters, seconds of training and of a step: `python -m benchmarks.forecasting`.

With `make bench RIVALS="pydmd pysindy"` installed, PyDMD and PySINDy take part; they are left out otherwise. A network
on the flat window and an echo-state network are written here, with as many parameters to train as ours has, or about
so. Nobody's settings were searched; those of a rival are in the name of its row or in its defaults below.
"""

import argparse
import importlib
import importlib.util
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import attnflow as af
from attnflow import forecasting as fc
from attnflow.forecasting import systems

LAMBDA, DT = 0.9056, 0.02
WARM = 200  # rows of history, of which a forecaster takes what it needs
STARTS = 25


class Estimator:
    """A forecaster of attnflow, or of the same interface."""

    def __init__(self, model: Any):
        self.model = model

    def fit(self, train: np.ndarray) -> None:
        self.model.fit(train)

    def forecast(self, history: np.ndarray, n: int) -> np.ndarray:
        return self.model.forecast(n, x0=history[-self.model.n_delays :])

    @property
    def parameters(self) -> int:
        known = getattr(self.model, "n_parameters_", None)
        return int(known) if known is not None else self.model.lag_matrices_.size + self.model.intercept_.size


class FlatWindow:
    """A network of two layers on the window as one vector, trained as ours is: increments, Adam, one compiled loop."""

    def __init__(self, m: int, width: int = 48, steps: int = 9000, lr: float = 1e-2):
        self.m, self.width, self.steps, self.lr = m, width, steps, lr

    def fit(self, train: np.ndarray) -> None:
        self.mean, self.std = train.mean(axis=0), train.std(axis=0)
        z = (train - self.mean) / self.std
        windows = np.stack([z[k : len(z) - self.m + k] for k in range(self.m)], axis=1).reshape(len(z) - self.m, -1)
        increments = z[self.m :] - z[self.m - 1 : -1]
        self.scale = increments.std(axis=0)
        data = jnp.asarray(windows, jnp.float32), jnp.asarray(increments / self.scale, jnp.float32)
        sizes = (windows.shape[1], self.width, self.width, train.shape[1])
        keys = jax.random.split(jax.random.key(0), 3)
        start = [
            (jax.random.uniform(k, (a, b), jnp.float32, -1, 1) / np.float32(np.sqrt(a)), jnp.zeros(b, jnp.float32))
            for k, a, b in zip(keys, sizes[:-1], sizes[1:], strict=True)
        ]
        schedule = optax.warmup_cosine_decay_schedule(0.0, self.lr, 200, self.steps)
        optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule))

        def loss(weights, key):
            rows = jax.random.randint(key, (256,), 0, len(windows))
            return jnp.mean((_layers(weights, data[0][rows]) - data[1][rows]) ** 2)

        def step(state, key):
            weights, moments = state
            updates, moments = optimiser.update(jax.grad(loss)(weights, key), moments)
            return (optax.apply_updates(weights, updates), moments), None

        keys = jax.random.split(jax.random.key(1), self.steps)
        (weights, _), _ = jax.jit(lambda s: jax.lax.scan(step, s, keys))((start, optimiser.init(start)))
        self.weights = jax.tree.map(lambda a: jnp.asarray(a, float), weights)
        self._roll = jax.jit(self._rolled, static_argnums=1)

    def _rolled(self, window, n):
        def step(w, _):
            new = w[-1] + self.scale * _layers(self.weights, w.reshape(1, -1))[0]
            return jnp.concatenate([w[1:], new[None]]), new

        return jax.lax.scan(step, window, None, length=n)[1]

    def forecast(self, history: np.ndarray, n: int) -> np.ndarray:
        window = jnp.asarray((history[-self.m :] - self.mean) / self.std)
        return np.asarray(self._roll(window, n)) * self.std + self.mean

    @property
    def parameters(self) -> int:
        return sum(a.size for a in jax.tree.leaves(self.weights))


def _layers(weights, x):
    for k, (W, b) in enumerate(weights):
        x = x @ W + b
        x = jax.nn.silu(x) if k + 1 < len(weights) else x
    return x


class EchoState:
    """A fixed random reservoir of tanh units; a readout of the units and their squares by ridge regression."""

    def __init__(self, size: int = 400, radius: float = 0.9, scale: float = 0.3, ridge: float = 1e-6):
        self.size, self.radius, self.scale, self.ridge = size, radius, scale, ridge

    def fit(self, train: np.ndarray) -> None:
        rng = np.random.default_rng(0)
        self.mean, self.std = train.mean(axis=0), train.std(axis=0)
        z = (train - self.mean) / self.std
        A = rng.uniform(-1, 1, (self.size, self.size)) * (rng.random((self.size, self.size)) < 6 / self.size)
        self.A = A * self.radius / np.abs(np.linalg.eigvals(A)).max()
        self.B = self.scale * rng.uniform(-1, 1, (self.size, z.shape[1]))
        states = np.zeros((len(z) - 1, self.size))
        r = np.zeros(self.size)
        for k in range(len(z) - 1):
            states[k] = r = np.tanh(self.A @ r + self.B @ z[k])
        F = self._features(states, z[:-1])[100:]
        y = (z[1:] - z[:-1])[100:]
        self.W = np.linalg.solve(F.T @ F + self.ridge * len(F) * np.eye(F.shape[1]), F.T @ y)

    def _features(self, r: np.ndarray, z: np.ndarray) -> np.ndarray:
        return np.concatenate([r, r**2, z, np.ones((*z.shape[:-1], 1))], axis=-1)

    def forecast(self, history: np.ndarray, n: int) -> np.ndarray:
        z, r = (history - self.mean) / self.std, np.zeros(self.size)
        for row in z[:-1]:
            r = np.tanh(self.A @ r + self.B @ row)
        now, made = z[-1], np.zeros((n, z.shape[1]))
        for k in range(n):
            r = np.tanh(self.A @ r + self.B @ now)
            made[k] = now = now + self._features(r, now) @ self.W
        return made * self.std + self.mean

    @property
    def parameters(self) -> int:
        return self.W.size


class PyDMD:
    """Hankel DMD. It extrapolates its modes over the whole record, so it forecasts from the end of training alone."""

    only_from_the_end = True

    def __init__(self, d: int, rank: int = 0):
        self.d, self.rank = d, rank

    def fit(self, train: np.ndarray) -> None:
        HankelDMD = importlib.import_module("pydmd").HankelDMD
        self.model, self.n = HankelDMD(d=self.d, svd_rank=self.rank, exact=True, opt=True), len(train)
        self.model.fit(train.T)

    def forecast(self, history: np.ndarray, n: int) -> np.ndarray:
        self.model.dmd_time["tend"] = self.model.original_time["tend"] + n
        rows = np.real(self.model.reconstructed_data.T[self.n : self.n + n])
        self.model.dmd_time["tend"] = self.model.original_time["tend"]
        return rows

    @property
    def parameters(self) -> int:
        return self.model.eigs.size + self.model.modes.size


class PySINDy:
    """Polynomials of degree two, threshold 0.1, finite differences; the equations found by Runge and Kutta."""

    def __init__(self, order: int, dt: float):
        self.order, self.dt = order, dt

    def fit(self, train: np.ndarray) -> None:
        ps = importlib.import_module("pysindy")
        self.model = ps.SINDy(
            optimizer=ps.STLSQ(threshold=0.1),
            feature_library=ps.PolynomialLibrary(degree=2),
            differentiation_method=ps.FiniteDifference(order=self.order),
        )
        self.model.fit(train, t=self.dt)
        self.coefficients = np.asarray(self.model.coefficients())
        powers = self.model.feature_library.powers_

        @jax.jit
        def advance(x):
            field = lambda v: jnp.asarray(self.coefficients) @ jnp.prod(v[None] ** powers, axis=1)  # noqa: E731
            h = self.dt / 4

            def substep(v, _):
                k1 = field(v)
                k2 = field(v + h / 2 * k1)
                k3 = field(v + h / 2 * k2)
                return v + h / 6 * (k1 + 2 * k2 + 2 * k3 + field(v + h * k3)), None

            return jax.lax.scan(substep, x, None, length=4)[0]

        def rolled(x, n):
            return jax.lax.scan(lambda v, _: (advance(v),) * 2, x, None, length=n)[1]

        self._roll = jax.jit(rolled, static_argnums=1)

    def forecast(self, history: np.ndarray, n: int) -> np.ndarray:
        return np.asarray(self._roll(jnp.asarray(history[-1]), n))

    @property
    def parameters(self) -> int:
        return int((self.coefficients != 0).sum())


def transformer(m: int, **options: Any) -> Callable[[], Estimator]:
    return lambda: Estimator(fc.TimeDelayedTransformer(m, **options))


def two_tone() -> tuple[np.ndarray, np.ndarray]:
    x = systems.two_tone(2000).values
    return x[:1000], x[1000:]


def spiral_waves() -> tuple[np.ndarray, np.ndarray]:
    fields = systems.reaction_diffusion().values
    a = fc.PODReducer(4).fit(fields[:300]).transform(fields)
    return a[:300], a[300:]


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def of_signals(m: int, lags: int, hankel: int) -> dict[str, Callable[[], Any]]:
    """Contestants that go on from the end of the training data."""
    made: dict[str, Callable[[], Any]] = {
        f"TD-TF m={m}": transformer(m, loss="plain", linear_skip=False, lr=5e-3),
        f"TD-TF m={lags}, default": transformer(lags, lr=5e-3),
        f"TD-DMD m={lags}": lambda: Estimator(fc.TDDMD(lags)),
        f"MLP, flat window m={lags}": lambda: FlatWindow(lags, lr=5e-3),
        "echo-state network": lambda: EchoState(ridge=1e-9),
    }
    if installed("pydmd"):
        made[f"PyDMD Hankel d={hankel} rank 4, exact"] = lambda: PyDMD(hankel, 4)
    return made


def of_lorenz() -> dict[str, Callable[[], Any]]:
    made: dict[str, Callable[[], Any]] = {
        "TD-TF m=8": transformer(8, loss="plain", linear_skip=False),
        "TD-TF m=8, default": transformer(8),
        "TD-DMD m=8": lambda: Estimator(fc.TDDMD(8)),
        "MLP, flat window m=1": lambda: FlatWindow(1),
        "MLP, flat window m=8": lambda: FlatWindow(8),
        "echo-state network": EchoState,
    }
    if installed("pydmd"):
        made["PyDMD Hankel d=8, exact"] = lambda: PyDMD(8)
    if installed("pysindy"):
        made["PySINDy degree 2, order 2"] = lambda: PySINDy(2, DT)
        made["PySINDy degree 2, order 6"] = lambda: PySINDy(6, DT)
    return made


def of_end(train: np.ndarray, test: np.ndarray) -> Callable[[Any], float]:
    """NRMSE of the whole test part from the end of the training part."""
    return lambda one: fc.nrmse(_quiet(one, train[-WARM:], len(test)), test)


def valid_times(train: np.ndarray) -> Callable[[Any], float]:
    """Median valid prediction time in Lyapunov times over 25 starts; of PyDMD from the end of training, one start."""
    test = systems.lorenz(5000, start=(-5, 3, 20)).values
    goes_on = systems.lorenz(len(train) + 830).values[len(train) :]
    horizon = 830
    starts = np.linspace(WARM, len(test) - horizon, STARTS).astype(int)
    scale = float(np.sqrt(((test - test.mean(axis=0)) ** 2).sum(axis=1).mean()))

    def measured(one: Any) -> float:
        if getattr(one, "only_from_the_end", False):
            made, true = [_full(_quiet(one, train[-WARM:], horizon), horizon)], [goes_on]
        else:
            made = [_full(_quiet(one, test[k - WARM : k], horizon), horizon) for k in starts]
            true = [test[k : k + horizon] for k in starts]
        return fc.valid_prediction_time(np.stack(made), np.stack(true), DT, exponent=LAMBDA, scale=scale).median

    return measured


def _seconds(one: Any, history: np.ndarray) -> float:
    begun = time.perf_counter()
    _quiet(one, history, 500)
    return time.perf_counter() - begun


def _quiet(one: Any, history: np.ndarray, n: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return one.forecast(history, n)


def _full(rows: np.ndarray, n: int) -> np.ndarray:
    return np.concatenate([rows, np.full((n - len(rows), rows.shape[1]), np.nan)])


def raced(
    name: str, measure: Callable[[Any], float], contestants: dict[str, Callable[[], Any]], train: np.ndarray
) -> list[dict[str, Any]]:
    rows = []
    for who, make in contestants.items():
        one = make()
        begun = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one.fit(train)
        fitted = time.perf_counter() - begun
        value = measure(one)
        _quiet(one, train[-WARM:], 500)  # compiles
        step = min(_seconds(one, train[-WARM:]) for _ in range(3)) / 500
        rows.append({"who": who, "value": value, "parameters": one.parameters, "fit_seconds": fitted, "step": step})
        print(f"{name:22} {who:38} {value:9.3g} {one.parameters:8d} {fitted:9.1f} s {1e6 * step:9.1f} µs", flush=True)
    return rows


def slope(batch: int = 256) -> dict[str, float]:
    """Milliseconds of one step for a batch of windows, by the number of delays."""
    from .timing import race

    rng, contestants = np.random.default_rng(0), {}
    for m in (64, 256, 1024):
        X = rng.normal(size=(m + 60, 3)).cumsum(axis=0)
        model = fc.TimeDelayedTransformer(m, loss="plain", linear_skip=False, max_steps=1, validation=0.0).fit(X)
        windows = jnp.asarray(rng.normal(size=(batch, m, 3)))
        step = jax.jit(jax.vmap(model.step))
        contestants[str(m)] = lambda step=step, windows=windows: jax.block_until_ready(step(windows))
    return {m: 1e3 * seconds for m, seconds in race(contestants, rounds=5).items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forecasting", description=__doc__)
    parser.add_argument("--save", metavar="NAME", help="also write benchmarks/results/NAME.json")
    arguments = parser.parse_args()
    af.precision("float64")
    print(f"{'work':22} {'forecaster':38} {'accuracy':>9} {'weights':>8} {'training':>11} {'a step':>12}")
    lorenz = systems.lorenz(5000).values
    record: dict[str, Any] = {}
    record["Lorenz, Lyapunov times"] = raced("Lorenz, valid time", valid_times(lorenz), of_lorenz(), lorenz)
    for name, (train, test), contestants in (
        ("two tones, NRMSE", two_tone(), of_signals(40, 32, 32)),
        ("spiral waves, NRMSE", spiral_waves(), of_signals(10, 10, 10)),
    ):
        record[name] = raced(name, of_end(train, test), contestants, train)
    record["milliseconds by delays"] = by_delays = slope()
    print("a step of 256 windows, ms by delays: " + ", ".join(f"{m}: {ms:.2f}" for m, ms in by_delays.items()))
    if arguments.save:
        from .machine import description

        path = Path(__file__).parent / "results" / f"{arguments.save}.json"
        path.write_text(json.dumps({"machine": description(), **record}, indent=1) + "\n")


if __name__ == "__main__":
    main()
