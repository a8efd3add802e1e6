"""What all forecasters share: data in, one step, roll-outs with their guard, scores, and the same kind out."""

import abc
import warnings
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..checks import whole
from ..errors import AttnflowWarning, InputError
from . import rollout
from ._parameters import Parametric
from ._series import ArrayKind, Series, is_list, read
from .windows import Piece, enough, latest, pieces, standard, stream, views, wide_enough

SCORED = 4096  # at most so many roll-outs are scored at once


class AbstractForecaster(Parametric, abc.ABC):
    """An autonomous or driven map of the last `n_delays` states to the next one, learned from trajectories."""

    n_delays: int
    n_delays_: int
    time_axis: int
    n_features_in_: int
    n_inputs_: int
    dt_: float
    diverged_at_: int | None

    @abc.abstractmethod
    def _step_map(self) -> Any:
        """The map of a window of tokens `(m, d + q)`, newest first, to the next state."""

    def _in_double(self) -> Any:
        with rollout.double():
            return self._step_map()

    # Data in ---------------------------------------------------------------------------------------------------------

    def _data(self, X: Any, u: Any, t: Any) -> list[Piece]:
        """The stretches of training data without gaps; what is known of their kind is kept."""
        m = whole("n_delays", self.n_delays)
        series = read("X", X, t, time_axis=self.time_axis)
        wide_enough(series)
        inputs = None if u is None else read("u", u, time_axis=self.time_axis)
        if inputs is not None and len(inputs) != len(series):
            raise InputError(f"X has {len(series)} trajectories and u {len(inputs)}; give inputs for each of them.")
        found = pieces(series, inputs)
        enough(found, m)
        self.n_delays_ = m  # a parameter that is set later holds from the next fit on
        self.n_features_in_ = series[0].values.shape[1]
        self.n_inputs_ = found[0].u.shape[1]
        clocks = [s.clock.step for s in series if s.clock.given]
        self.dt_ = float(np.median(clocks)) if clocks else 1.0
        self._keep_names(X)
        self._kind = series[-1].wrap
        end = found[-1]
        usable = end.trajectory == len(series) - 1 and end.last and len(end) >= m
        self._history = (end.x[-m:].copy(), end.u[-m:].copy()) if usable else None
        mean, std = standard(found)
        self._centre, self._size = mean, std
        self.diverged_at_ = None
        return found

    def _keep_names(self, X: Any) -> None:
        """The names of columns, as scikit-learn keeps them."""
        first = X[0] if is_list(X) else X
        names = getattr(first, "columns", None)
        if names is not None and all(isinstance(c, str) for c in names):
            self.feature_names_in_ = np.asarray(names, object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_names(self, X: Any) -> None:
        known = getattr(self, "feature_names_in_", None)
        for one in X if is_list(X) else [X]:
            names = getattr(one, "columns", None)
            if known is not None and names is not None and list(names) != list(known):
                raise InputError(
                    f"The feature names should match those that were passed during fit: {list(known)}, in this order."
                )

    def _expected(self, columns: int) -> dict[str, Any]:
        return {"time_axis": self.time_axis, "columns": columns, "owner": type(self).__name__}

    def _read(self, X: Any, u: Any) -> tuple[list[Series], list[Series] | None]:
        self._check_fitted()
        series = read("X", X, **self._expected(self.n_features_in_))
        self._check_names(X)
        self._check_inputs(u)
        return series, None if u is None else read("u", u, **self._expected(self.n_inputs_))

    def _check_inputs(self, u: Any) -> None:
        if u is None and self.n_inputs_:
            raise InputError(f"the model was fitted with {self.n_inputs_} inputs; give u.")
        if u is not None and not self.n_inputs_:
            raise InputError("the model was fitted without inputs; leave u out, or fit it with u.")

    # One step --------------------------------------------------------------------------------------------------------

    def predict(self, X: Any, u: Any = None) -> Any:
        """One step from every full window: row i is the prediction of sample `n_delays + i`.

        Without inputs the last row, one more than X has, is the state after the end of X; with inputs it is there if u
        has one row more than X. Rows that need a missing sample are NaN. A list of trajectories gives a list.
        """
        series, inputs = self._read(X, u)
        m, out = self.n_delays_, []
        for i, one in enumerate(series):
            if len(one.values) < m:
                raise InputError(f"X has {len(one.values)} samples; a window has n_delays = {m} of them.")
            rows, after = self._tokens(one, None if inputs is None else inputs[i], i)
            view = np.lib.stride_tricks.sliding_window_view(rows, m, axis=0)[:, :, ::-1].transpose(0, 2, 1)
            predicted = self._one_step(view if after else view[:-1])
            torn = one.at[m - 1 :] - one.at[: len(view)] > m - 1  # a sample is missing inside the window
            torn[:-1] |= np.diff(one.at[m - 1 :]) > 1  # or the one that is predicted
            predicted[torn[: len(predicted)]] = np.nan
            out.append(one.wrap(predicted, m - len(one.values) + 1))
        return out if is_list(X) else out[0]

    def _tokens(self, one: Series, u: Series | None, i: int) -> tuple[np.ndarray, bool]:
        """The tokens of a trajectory with its gaps, and whether the input after its end is known."""
        x = one.values
        if u is None:
            return x, True
        if len(u.values) not in (len(x), len(x) + 1):
            raise InputError(f"trajectory {i} has {len(x)} samples and u has {len(u.values)} rows; give one for each.")
        known = len(u.values) == len(x) + 1
        last = u.values[-1:] if known else np.zeros((1, u.values.shape[1]))
        return stream(Piece(x, u.values[: len(x)], i, True), after=last), known

    def _one_step(self, tokens: np.ndarray) -> np.ndarray:
        if not len(tokens):
            return np.zeros((0, self.n_features_in_))
        return rollout.steps_of(self._in_double(), tokens)

    def step(self, window: Any, u: Any = None) -> Any:
        """The next state `(d,)` from a window `(n_delays, d)`, NEWEST FIRST, in JAX: for `jit`, `jvp`, `scan`.

        `u (n_delays, q)`: row j is the input of the step that leads from state j of the window to the next one.
        """
        self._check_fitted()
        tokens = jnp.asarray(window)
        if tokens.shape != (self.n_delays_, self.n_features_in_):
            raise InputError(
                f"window has shape {tokens.shape}; give the last {self.n_delays_} states of {self.n_features_in_} "
                "features, newest first."
            )
        self._check_inputs(u)
        if u is not None:
            tokens = jnp.concatenate([tokens, jnp.asarray(u, tokens.dtype)], axis=1)
        return self._step_map()(tokens)

    # Roll-outs -------------------------------------------------------------------------------------------------------

    def forecast(self, n_steps: Any, x0: Any = None, u: Any = None) -> Any:
        """Roll the model out from the end of the training data, or of a history `x0`.

        **Arguments:** `x0`, at least `n_delays` states in time order; `u`, the inputs of the steps to come `(n_steps,
        q)`, with `x0` after those of the history, `(len(x0) + n_steps, q)`.

        **Returns** `n_steps` states, of the kind the data had, with its own times. A roll-out that leaves the data by
        more than a thousand standard deviations is stopped: what was finite is returned, `diverged_at_` says how many
        steps that are, and a warning tells.
        """
        n, window, inputs, kind = self._start(n_steps, x0, u)
        rows, lost = rollout.roll(self._in_double(), window, inputs, n, self._d_centre, self._d_size)
        return kind(self._guarded(rows, lost, n), 1)

    simulate = forecast

    def _guarded(self, rows: np.ndarray, lost: int | None, n: int) -> np.ndarray:
        self.diverged_at_ = lost
        if lost is not None:
            warnings.warn(
                f"the roll-out diverged: of {n} steps {lost} are returned; a smaller n_delays, more data or "
                "input_noise may help.",
                AttnflowWarning,
                stacklevel=3,
            )
        return rows if lost is None else rows[:lost]

    @property
    def _d_centre(self) -> np.ndarray:
        return self._centre[: self.n_features_in_]

    @property
    def _d_size(self) -> np.ndarray:
        return self._size[: self.n_features_in_]

    def _start(self, n_steps: Any, x0: Any, u: Any) -> tuple[int, np.ndarray, np.ndarray, Any]:
        """The number of steps, the first window, the inputs of all steps but the first, the kind of the answer."""
        self._check_fitted()
        n, m = whole("n_steps", n_steps), self.n_delays_
        self._check_inputs(u)
        future = np.zeros((n, 0)) if u is None else self._inputs(u)
        if x0 is None:
            if self._history is None:
                raise InputError(
                    f"the training data do not end with {m} samples in a row; give a history x0 of at least {m} states."
                )
            x, past = self._history
            kind = self._kind
        else:
            series = read("x0", x0, **self._expected(self.n_features_in_))
            self._check_names(x0)
            if len(series) > 1:
                raise InputError(f"x0 holds {len(series)} trajectories; give one history.")
            x, kind = series[0].values[-m:], series[0].wrap
            if len(x) < m or not np.isfinite(x).all() or (np.diff(series[0].at[-m:]) > 1).any():
                raise InputError(
                    f"x0 has {len(series[0].values)} states; it should end with n_delays = {m} without a gap."
                )
            before = len(series[0].values)
            if u is not None and len(future) != before + n:
                raise InputError(
                    f"u has {len(future)} rows; with a history of {before} states and {n} steps it needs {before + n}."
                )
            past, future = (np.zeros((m, 0)), future) if u is None else (future[before - m : before], future[before:])
        if len(future) != n:
            raise InputError(f"u has {len(future)} rows; give one for each of the {n} steps to come.")
        window = latest(Piece(x, past, 0, True), m, after=future[:1])
        return n, np.ascontiguousarray(window), future[1:], kind

    def _inputs(self, u: Any) -> np.ndarray:
        values = read("u", u, **self._expected(self.n_inputs_))[0].values
        if not np.isfinite(values).all():
            raise InputError("u has a missing entry (NaN); the inputs of a forecast must be known.")
        return values

    # Linearised -----------------------------------------------------------------------------------------------------

    def effective_lag_matrices(self, x0: Any = None, u: Any = None) -> np.ndarray:
        r"""$\partial x_{k+1}/\partial x_{k-j}$, `(n_delays, d, d)`, at the end of a history, `x0` or the training data.

        Of TD-DMD they are its lag matrices. `u`, with inputs: as for one step of `forecast`.
        """
        if u is None and self.n_inputs_ and x0 is None:
            u = self._centre[None, self.n_features_in_ :]
        window = self._start(1, x0, u)[1]
        with rollout.double():
            J = np.asarray(rollout.jacobian(self._step_map(), jnp.asarray(window)))
        return J.transpose(1, 0, 2)[:, :, : self.n_features_in_]

    def jacobian_eigs(self, x0: Any = None, u: Any = None) -> np.ndarray:
        """The eigenvalues of the linearised map of windows, the largest first: stable where all are below one."""
        values = np.linalg.eigvals(companion(self.effective_lag_matrices(x0, u)))
        return values[np.argsort(-np.abs(values), kind="stable")]

    # Scores ----------------------------------------------------------------------------------------------------------

    def score(self, X: Any, u: Any = None) -> float:
        r"""$R^2$ of one-step predictions, the mean over the columns.

        It does not rank forecasters: of two models the one with the better one-step error may lose the trajectory ten
        times earlier. `score_rollout` does.
        """
        both = list(views(self._found(X, u), self.n_delays_))
        if not both:
            raise InputError(f"X has no n_delays + 1 = {self.n_delays_ + 1} samples in a row; give more.")
        true = np.concatenate([future[:, 0, : self.n_features_in_] for _, future in both])
        return _r_squared(true, np.concatenate([self._one_step(tokens) for tokens, _ in both]))

    def score_rollout(self, X: Any, horizon: Any, u: Any = None) -> float:
        r"""$R^2 = 1 - \mathrm{NRMSE}^2$ of roll-outs of `horizon` steps, the mean over the columns.

        They start every `horizon` samples, each from the true states before it. One that diverges makes it $-\infty$.
        """
        self._check_fitted()
        horizon, m = whole("horizon", horizon), self.n_delays_
        both = list(views(self._found(X, u), m, horizon))
        if not both:
            raise InputError(f"X has no n_delays + horizon = {m + horizon} samples in a row; take a shorter horizon.")
        every = max(horizon, -(-sum(len(tokens) for tokens, _ in both) // SCORED))
        tokens, future = (np.concatenate([pair[k][::every] for pair in both]) for k in (0, 1))
        d = self.n_features_in_
        done = rollout.rolls(self._in_double(), tokens, future[:, :-1, d:], horizon, self._d_centre, self._d_size)
        predicted = np.stack([rows for rows, _ in done])
        if not np.isfinite(predicted).all():
            return -np.inf
        return _r_squared(future[:, :, :d].reshape(-1, d), predicted.reshape(-1, d))

    def _found(self, X: Any, u: Any) -> list[Piece]:
        series, inputs = self._read(X, u)
        return pieces(series, inputs)

    # Files -----------------------------------------------------------------------------------------------------------

    def save(self, path: Any) -> Path:
        """Write the fitted model to a NetCDF file, every number to the last digit; a loaded one forecasts arrays."""
        from ._files import write

        self._check_fitted()
        return write(path, self)

    @classmethod
    def load(cls, path: Any) -> Any:
        """Read a fitted model that `save` wrote; nothing in the file is executed."""
        from ._files import read_model

        return read_model(path, cls)

    @abc.abstractmethod
    def _state(self) -> dict[str, Any]:
        """What `fit` learned: arrays, and whatever JSON can hold."""

    @abc.abstractmethod
    def _restore(self, state: dict[str, Any]) -> None: ...

    def _shared_state(self) -> dict[str, Any]:
        x, u = self._history if self._history is not None else (np.zeros((0, self.n_features_in_)), np.zeros((0, 0)))
        kind = self._kind if isinstance(self._kind, ArrayKind) else ArrayKind()
        shape = {"flat": kind.flat, "turned": kind.turned, "m": self.n_delays_}
        return {**shape, "dt": self.dt_, "centre": self._centre, "size": self._size, "history_x": x, "history_u": u}

    def _restore_shared(self, state: dict[str, Any]) -> None:
        self.n_delays_ = whole("n_delays", state.get("m", self.n_delays))
        self.dt_, self._centre, self._size = float(state["dt"]), state["centre"], state["size"]
        x, u = state["history_x"], state["history_u"]
        self.n_features_in_ = x.shape[1]
        self.n_inputs_ = len(self._centre) - self.n_features_in_
        self._history = (x, u) if len(x) else None
        self._kind, self.diverged_at_ = ArrayKind(bool(state["flat"]), bool(state["turned"])), None


def companion(lags: np.ndarray) -> np.ndarray:
    """The matrix that takes a window to the next one, `(m d, m d)`, from lag matrices `(m, d, d)`."""
    m, d, _ = lags.shape
    C = np.eye(m * d, k=-d)
    C[:d] = np.concatenate(list(lags), axis=1)
    return C


def _r_squared(true: np.ndarray, predicted: np.ndarray) -> float:
    """The mean over columns; one that is constant counts 1 where it is predicted to rounding, else 0."""
    wrong = ((predicted - true) ** 2).sum(axis=0)
    whole = ((true - true.mean(axis=0)) ** 2).sum(axis=0)
    constant = whole <= 1e-24 * (true**2).sum(axis=0)
    exact = wrong <= 1e-18 * np.maximum((true**2).sum(axis=0), np.finfo(float).tiny)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(constant, np.where(exact, 1.0, 0.0), 1 - wrong / whole).mean())
