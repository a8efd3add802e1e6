r"""Proper orthogonal decomposition (POD): fields as a mean and a few modes, $q \approx \bar q + \sum_ia_i\varphi_i$.

Modes are the right singular vectors of the centred training snapshots, and a is what a forecaster models. No model of r
coefficients predicts the field better than their projection does: `projection_error` says how well that is.
"""

from typing import Any

import numpy as np
import scipy.linalg

from ..checks import whole
from ..errors import InputError, shown
from ._parameters import Parametric
from ._series import numbers


class PODReducer(Parametric):
    """Snapshots `(n, ...)`, time first, to coefficients `(n, r)` and back.

    **Arguments:** `rank`, the number of modes, or the part of the energy that is kept (a float below 1).

    **After `fit`:** `mean_`, `modes_ (r, ...)`, `singular_values_`, `energy_` (cumulative, of all modes), `rank_`.

    >>> x = np.linspace(0, 1, 50)
    >>> q = np.sin(np.arange(30))[:, None] * x + np.cos(np.arange(30))[:, None] * x**2
    >>> pod = PODReducer(2).fit(q)
    >>> pod.transform(q).shape, bool(pod.projection_error(q) < 1e-12)
    ((30, 2), True)
    """

    papers = ("time-delayed",)

    def __init__(self, rank: int | float = 4):
        self.rank = rank

    def fit(self, X: Any, y: Any = None) -> "PODReducer":
        """Learn mean and modes of snapshots, or of a list of trajectories of them."""
        parts = [self._rows("X", one, None) for one in (X if _several(X) else [X])]
        shapes = {shape for _, shape in parts}
        if len(shapes) > 1:
            raise InputError(f"the trajectories of X have fields of the shapes {sorted(shapes)}; give one.")
        rows, self._shape = np.concatenate([rows for rows, _ in parts]), shapes.pop()
        self.n_features_in_ = rows.shape[1]
        mean = rows.mean(axis=0)
        _, s, Vt = scipy.linalg.svd(rows - mean, full_matrices=False)
        energy = np.cumsum(s**2)
        self.energy_ = energy / energy[-1] if energy[-1] > 0 else np.ones(len(s))
        self.rank_ = self._chosen_rank(len(s))
        # The sign of a mode is free: the largest entry is positive.
        Vt = Vt[: self.rank_]
        sign = np.sign(Vt[np.arange(len(Vt)), np.abs(Vt).argmax(axis=1)])
        self.singular_values_ = s
        self._mean, self._modes = mean, Vt * np.where(sign == 0, 1, sign)[:, None]
        return self

    def _chosen_rank(self, most: int) -> int:
        if isinstance(self.rank, float | np.floating):
            if not 0 < self.rank < 1:
                raise InputError(f"rank = {self.rank:g}; give a number of modes, or a part of the energy below 1.")
            return int(np.searchsorted(self.energy_, self.rank - 1e-15) + 1)
        rank = whole("rank", self.rank)
        if rank > most:
            raise InputError(f"rank = {rank}, but there are {most} modes; take at most {most}.")
        return rank

    @property
    def mean_(self) -> np.ndarray:
        self._check_fitted()
        return self._mean.reshape(self._shape)

    @property
    def modes_(self) -> np.ndarray:
        self._check_fitted()
        return self._modes.reshape(-1, *self._shape)

    def transform(self, X: Any) -> Any:
        """The coefficients of snapshots, `(n, r)`; a list of trajectories gives a list."""
        self._check_fitted()
        if _several(X):
            return [self.transform(one) for one in X]
        return (self._rows("X", X, self._shape)[0] - self._mean) @ self._modes.T

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return self.fit(X).transform(X)

    def inverse_transform(self, A: Any) -> np.ndarray:
        """The fields of coefficients `(n, r)`."""
        self._check_fitted()
        a = numbers("A", A)
        if a.ndim != 2 or a.shape[1] != self.rank_:
            raise InputError(f"A has shape {a.shape}; give coefficients (n, {self.rank_}).")
        return (self._mean + a @ self._modes).reshape(-1, *self._shape)

    def projection_error(self, X: Any) -> float:
        """The error of the projected field, relative to its deviation from the training mean; none can do better."""
        self._check_fitted()
        rows = self._rows("X", X, self._shape)[0] - self._mean
        left = rows - rows @ self._modes.T @ self._modes
        return float(np.linalg.norm(left) / max(np.linalg.norm(rows), np.finfo(float).tiny))

    def _rows(self, name: str, X: Any, shape: tuple[int, ...] | None) -> tuple[np.ndarray, tuple[int, ...]]:
        array = numbers(name, X)
        if array.ndim >= 2 and 0 in array.shape:
            raise InputError(
                f"{name} has {len(array)} sample(s) and 0 feature(s) (shape={array.shape}) while a minimum of 1 is "
                "required."
                if len(array)
                else f"{name} has 0 sample(s) (shape={array.shape}) while a minimum of 1 is required."
            )
        if array.ndim < 2:
            raise InputError(f"{name} has shape {array.shape}. Reshape your data: give snapshots (n, ...), time first.")
        if not np.isfinite(array).all():
            raise InputError(f"{name} has an entry that is not finite (NaN or infinity); leave those snapshots out.")
        if shape is not None and array.shape[1:] != shape:
            if len(shape) == array.ndim - 1 == 1:
                raise InputError(
                    f"{name} has {array.shape[1]} features, but PODReducer is expecting {shape[0]} features as input."
                )
            raise InputError(f"{name} has fields of shape {array.shape[1:]}; the modes have {shown(shape)}.")
        return array.reshape(len(array), -1), array.shape[1:]


def _several(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and getattr(X[0], "ndim", 0) >= 2
