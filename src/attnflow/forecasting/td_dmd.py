r"""Time-delayed dynamic mode decomposition (TD-DMD): a linear map of the last m states to the next one.

$$ x_{k+1} = \sum_{j=0}^{m-1} A_jx_{k-j} + b, \qquad
   C = \begin{pmatrix}A_0 & \cdots & A_{m-1}\\ I & & 0\\ & \ddots & \end{pmatrix}. $$

`n_delays=1` is DMD itself. Eigenvalues $\mu$ of the companion matrix $C$ give frequencies and growth rates,
$\log(\mu)/dt$. A forecast starts at the latest window and iterates the map: it does not extrapolate modes that were
fitted to the whole record.
"""

from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..checks import flag, number, whole
from ..errors import InputError
from ._forecaster import AbstractForecaster, companion
from .linear import decompose
from .rollout import LinearStep
from .windows import blocks


class TDDMD(AbstractForecaster):
    """Time-delayed DMD with the conventions of scikit-learn.

    **Arguments:** `n_delays`, the states in a window; `rank`, how many singular directions of the windows are kept, or
    `tol`, which keeps those above `tol` times the largest (for noisy data take a rank, or a larger `tol`); `bias`,
    whether a constant is fitted; `time_axis=1`, if columns are times.

    **After `fit`:** `lag_matrices_ (m, d, d)`, `input_matrices_ (m, d, q)`, `intercept_`, `singular_values_` (of the
    centred windows), `rank_`, `dt_`; and `companion_`, `eigs_`, `modes_ (d, md)`, `amplitudes_`, `frequencies_` (cycles
    per unit of time), `growth_rates_`, in the order of their amplitude in the training data: a truncated map has
    spurious eigenvalues inside the unit circle, which come last.

    >>> t = np.arange(300) * 0.1
    >>> model = TDDMD(4).fit(np.sin(t), t=t)
    >>> bool(np.abs(model.forecast(100) - np.sin(30 + 0.1 * np.arange(100))).max() < 1e-9)
    True
    """

    papers = ("time-delayed",)

    def __init__(
        self,
        n_delays: int = 1,
        *,
        rank: int | None = None,
        tol: float = 1e-10,
        bias: bool = True,
        time_axis: int = 0,
    ):
        self.n_delays = n_delays
        self.rank = rank
        self.tol = tol
        self.bias = bias
        self.time_axis = time_axis

    def fit(self, X: Any, u: Any = None, t: Any = None) -> "TDDMD":
        """Learn from one trajectory `(n, d)`, or a list of them, with inputs `u` of the same lengths, at times `t`."""
        rank = None if self.rank is None else whole("rank", self.rank)
        tol, bias = number("tol", self.tol, 0), flag("bias", self.bias)
        if not tol < 1:
            raise InputError(f"tol = {tol:g} would keep no direction; take a number below 1.")
        data = self._data(X, u, t)
        d, m = self.n_features_in_, self.n_delays_
        parts = decompose(lambda: blocks(data, m, d), bias)
        found = parts.solve(rank=rank, tol=tol)
        self._A, self.intercept_ = found.A, found.b
        self.singular_values_, self.rank_ = found.singular_values, found.rank
        # What amplitudes need of the training data: a square root of the second moments of the windows' states.
        states = parts.RH.reshape(len(parts.RH), m, -1)[:, :, :d]
        self._spread = states.reshape(len(parts.RH), -1) / np.sqrt(parts.n)
        return self._derive()

    def _derive(self) -> "TDDMD":
        d, m = self.n_features_in_, self.n_delays_
        blocks = self._A.reshape(d, m, -1).transpose(1, 0, 2)
        self.lag_matrices_, self.input_matrices_ = blocks[:, :, :d], blocks[:, :, d:]
        vars(self).pop("_spectrum", None)
        return self

    def _step_map(self) -> LinearStep:
        return LinearStep(jnp.asarray(self._A), jnp.asarray(self.intercept_))

    @property
    def n_parameters_(self) -> int:
        """The entries of all matrices, and of the constant if there is one."""
        self._check_fitted()
        return self._A.size + (self.intercept_.size if self.bias else 0)

    @property
    def companion_(self) -> np.ndarray:
        self._check_fitted()
        return companion(self.lag_matrices_)

    @cached_property
    def _spectrum(self) -> tuple[Any, Any, Any]:
        """Eigenvalues, modes of the newest state of length one, and their size in the training data, largest first."""
        values, vectors = (np.asarray(a, complex) for a in np.linalg.eig(self.companion_))
        d = self.n_features_in_
        # A window is a sum of eigenvectors; its coefficients have these second moments over the training windows.
        coefficients = np.linalg.lstsq(vectors, self._spread.T.astype(complex), rcond=None)[0]
        newest = np.linalg.norm(vectors[:d], axis=0)
        size = np.linalg.norm(coefficients, axis=1) * newest
        order = np.lexsort((-np.imag(values), -np.abs(values), -np.round(size / max(size.max(), 1e-300), 9)))
        modes = vectors[:d] / np.where(newest > 0, newest, 1)
        return values[order], modes[:, order], size[order]

    @property
    def eigs_(self) -> np.ndarray:
        return self._spectrum[0]

    @property
    def modes_(self) -> np.ndarray:
        return self._spectrum[1]

    @property
    def amplitudes_(self) -> np.ndarray:
        return self._spectrum[2]

    @property
    def frequencies_(self) -> np.ndarray:
        return np.angle(self.eigs_) / (2 * np.pi * self.dt_)

    @property
    def growth_rates_(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(np.abs(self.eigs_)) / self.dt_

    def _state(self) -> dict[str, Any]:
        learned = {"A": self._A, "b": self.intercept_, "s": self.singular_values_, "spread": self._spread}
        return {**self._shared_state(), **learned, "rank": self.rank_}

    def _restore(self, state: dict[str, Any]) -> None:
        self._restore_shared(state)
        self._A, self.intercept_, self.singular_values_ = state["A"], state["b"], state["s"]
        self._spread, self.rank_ = state["spread"], int(state["rank"])
        self._derive()
