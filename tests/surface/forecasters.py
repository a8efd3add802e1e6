"""Estimators of forecasting: their constructors store only, as scikit-learn has it, and `fit` checks."""

from pathlib import Path

import numpy as np

from .table import Call, Constant, arguments

STORED = {
    **dict.fromkeys(("nonfinite", "junk", "switches"), "a constructor stores only; fit refuses, see test_forecasting"),
    "jit": "an estimator learns from numbers, outside JAX",
    "float32": "it trains in float32 and forecasts in float64, whatever JAX does",
}
X = np.column_stack([np.sin(0.3 * np.arange(40)), np.cos(0.3 * np.arange(40))])


def learned(model):
    return model.fit(X).forecast(5)


ROWS = [
    Call(
        "TDDMD",
        arguments=arguments(n_delays=3, rank=4, tol=1e-10, bias=True, time_axis=0),
        read=learned,
        without=STORED,
    ),
    Call(
        "TimeDelayedTransformer",
        arguments=arguments(
            n_delays=3, width=4, ff_width=4, max_steps=20, loss="plain", linear_skip=False, lr=0.01, n_seeds=1
        ),
        read=learned,
        without={**STORED, "repeats": "test_forecasting.py compares two fits"},
    ),
    Call("forecasting.PODReducer", arguments=arguments(rank=1), read=lambda pod: pod.fit_transform(X), without=STORED),
    Call(
        "forecasting.load",
        arguments=lambda: {"path": Path("nothing.nc")},
        without={
            **STORED,
            "valid": "there is no such file; test_forecasting.py writes one",
            "junk": "a text is a path",
        },
    ),
    Constant("forecasting.NotFittedError", reason="an error class"),
]
