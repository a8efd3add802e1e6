"""Systems, measures of forecasts, tables and pictures, and the study of a table."""

import functools
import tempfile
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from attnflow import forecasting
from attnflow.forecasting.baselines import persistence

from .table import Call, ResultOf, arguments

NUMPY = {"jit": "it is done by NumPy and SciPy, outside JAX"}
PICTURE = "it draws a picture"
FIGURE = {"jit": PICTURE, "float32": PICTURE, "repeats": PICTURE}
SYSTEM = {**NUMPY, "float32": "exact numbers are computed in float64, whatever JAX does"}
ROWS_OF = np.column_stack([np.sin(0.3 * np.arange(60)), np.cos(0.3 * np.arange(60)) + 0.1 * np.sin(np.arange(60))])
EIGENVALUES = np.array([0.9, 0.5, -0.3])


@functools.cache
def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="attnflow-tables-"))


def table() -> Path:
    path = folder() / "table.csv"
    if not path.exists():
        rows = "".join(f"{k},{x!r},{y!r}\n" for k, (x, y) in enumerate(ROWS_OF.tolist()))
        path.write_text(f"time,x,y\n{rows}")
    return path


def quarter(v):
    return jnp.asarray([0.25, 0.5, 0.4]) * v


ROWS = [
    # Systems
    Call("forecasting.systems.two_tone", arguments=arguments(n=7, dt=0.1), without=SYSTEM),
    Call(
        "forecasting.systems.tones",
        arguments=arguments(n=7, frequencies=[1.0, 2.0], amplitudes=[1.0, 0.5], phases=[0.1, 0.2], dt=0.1),
        without=SYSTEM,
    ),
    *(
        Call(
            f"forecasting.systems.{name}",
            arguments=arguments(n=4, start=np.array(start), dt=0.05, transient=0.0, observed=seen, **parameters),
            without=SYSTEM,
        )
        for name, start, seen, parameters in (
            ("lorenz", (1.0, 2.0, 20.0), "xz", {"sigma": 10.0, "rho": 28.0, "b": 2.5}),
            ("roessler", (1.0, 2.0, 0.5), "xyz", {"a": 0.2, "b": 0.2, "c": 5.7}),
            ("van_der_pol", (1.0, 0.5), "y", {"mu": 1.0}),
            ("wake", (0.5, 0.1, 0.2), "xyz", {"mu": 0.1, "omega": 1.0, "A": -0.1, "lam": 10.0}),
        )
    ),
    Call(
        "forecasting.systems.pitching",
        arguments=arguments(n=9, mean=0.05, amplitude=0.3, phases=np.arange(8.0), dt=0.5),
        without=SYSTEM,
    ),
    Call(
        "forecasting.systems.aerofoil",
        arguments=arguments(angle=0.3 * np.sin(np.arange(9.0)), dt=0.5, stall=True),
        without=SYSTEM,
    ),
    Call(
        "forecasting.systems.reaction_diffusion",
        arguments=arguments(n=2, points=8, dt=0.1, side=20.0, D=0.1, beta=1.0),
        without=SYSTEM,
    ),
    Call(
        "forecasting.systems.kuramoto_sivashinsky",
        arguments=arguments(
            n=3, points=16, length=22.0, dt=0.25, transient=1.0, start=np.sin(np.arange(16) * np.pi / 8)
        ),
        without=SYSTEM,
    ),
    # Measures
    Call("forecasting.nrmse", arguments=arguments(predicted=ROWS_OF + 0.1, true=ROWS_OF), without=NUMPY),
    Call(
        "forecasting.valid_prediction_time",
        arguments=arguments(
            predicted=ROWS_OF + 0.02 * np.arange(60)[:, None], true=ROWS_OF, dt=0.1, exponent=0.9, threshold=0.4,
            scale=1.0,
        ),
        without={**NUMPY, "nonfinite:predicted": "what is not finite is not valid, which shortens the time"},
    ),
    ResultOf("forecasting.ValidTime", row="forecasting.valid_prediction_time"),
    Call(
        "forecasting.histogram_distance",
        arguments=arguments(x=ROWS_OF[:30], reference=ROWS_OF, bins=10),
        without=NUMPY,
    ),
    Call("forecasting.wasserstein1d", arguments=arguments(x=ROWS_OF[:30], reference=ROWS_OF), without=NUMPY),
    Call(
        "forecasting.largest_lyapunov",
        arguments=arguments(
            step=quarter, start=np.array([1.0, 2.0, 3.0]), dt=0.5, steps=100, every=2, size=1e-4, transient=10
        ),
        without={
            "jit": "it compiles a program of its own",
            "float32": "a small difference of two states needs 64 bits",
            "junk:start:shape": "a state may have any shape; whether it fits is known to its map alone",
        },
    ),
    ResultOf("forecasting.LyapunovEstimate", row="forecasting.largest_lyapunov"),
    Call(
        "forecasting.window_step",
        arguments=lambda: {"model": forecasting.TDDMD(3).fit(ROWS_OF)},
        without={"jit": "it gives a function", "float32": "it gives a function"},
    ),
    # Tables, rolling origins and the study
    Call(
        "forecasting.read_table",
        arguments=lambda: {"path": table(), "columns": ["y"], "last": 50, "most_bytes": 10_000},
        without={**NUMPY, "junk:path": "any text may be the name of a file"},
    ),
    ResultOf("forecasting.TimeSeries", row="forecasting.read_table"),
    Call(
        "forecasting.write_table",
        arguments=lambda: {
            "path": folder() / "out.csv", "times": ["a", "b"], "values": ROWS_OF[:2].copy(), "names": ["x", "y"],
        },
        without={**NUMPY, "float32": "it gives a path", "junk:path": "any text may be the name of a file"},
    ),
    Call(
        "forecasting.rolling_origin",
        arguments=arguments(forecasters={"last": persistence}, X=ROWS_OF, horizon=5, first=40, origins=6),
        without={**NUMPY, "nonfinite:X:nan": "NaN is a gap, which no error counts"},
    ),
    ResultOf("forecasting.RollingOrigin", row="forecasting.rolling_origin"),
    Call(
        "forecasting.study",
        arguments=lambda: {
            "series": forecasting.read_table(table()), "n_delays": 3, "horizon": 5, "model": "auto", "origins": 4,
            "held_out": 0.3, "n_seeds": 2, "max_steps": 20, "linear_skip": False, "loss": "plain",
        },
        without={**NUMPY, "float32": "trained in float32 and rolled out in float64, whatever JAX does"},
    ),
    ResultOf("forecasting.ForecastStudy", row="forecasting.study"),
    # Pictures
    Call("forecasting.pictures.singular_values", arguments=arguments(values=EIGENVALUES, rank=2), without=FIGURE),
    Call(
        "forecasting.pictures.eigenvalues",
        arguments=arguments(values=EIGENVALUES, label="TD-DMD"),
        without={**FIGURE, "junk:values:complex": "eigenvalues may be complex", "junk:label": "any text is a label"},
    ),
    Call(
        "forecasting.pictures.modes",
        arguments=arguments(values=ROWS_OF, frequencies=np.array([1.0, 2.0]), most=2),
        without={**FIGURE, "junk:values:complex": "modes may be complex"},
    ),
    Call(
        "forecasting.pictures.attention",
        arguments=arguments(weights=ROWS_OF**2, dt=0.1, times=np.arange(60.0)),
        without=FIGURE,
    ),
    Call(
        "forecasting.pictures.forecast",
        arguments=arguments(
            times=np.arange(60.0), true=ROWS_OF, future=np.arange(60.0, 65.0), forecasts={"last": ROWS_OF[:5]},
        ),
        without={**FIGURE, "nonfinite:true:nan": "NaN is a gap in the line"},
    ),
    Call(
        "forecasting.pictures.phase_portrait",
        arguments=arguments(series={"one": ROWS_OF, "two": ROWS_OF[::-1]}, delay=1),
        without=FIGURE,
    ),
    Call(
        "forecasting.pictures.error_growth",
        arguments=arguments(errors={"one": np.abs(ROWS_OF[:, 0]) + 0.01}, dt=0.1, exponent=0.9),
        without=FIGURE,
    ),
]
