r"""`TimeDelayedTransformer`: the time-delayed transformer as an estimator with the conventions of scikit-learn."""

import warnings
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import flag, number, whole
from ..errors import AttnflowWarning, InputError, shown
from ..spaces import Key, checked_key
from . import candidates, losses, network, rollout
from ._forecaster import AbstractForecaster
from ._progress import progress as progress_bar
from ._series import is_list, read
from .candidates import Candidate
from .fitting import Fitting, Options, Trained, normalised
from .holding_back import Stretch, split
from .holding_back import held as held_rollouts
from .losses import Base
from .network import Form
from .training import Held
from .windows import Piece, pieces


class NetworkStep(eqx.Module):
    """A fitted network as a map of windows of tokens `(m, d + q)` in the user's units."""

    theta: Float[Array, " p"]
    base: Base
    mean: Float[Array, " c"]
    std: Float[Array, " c"]
    form: Form = eqx.field(static=True)

    def __call__(self, window: Float[Array, "m c"]) -> Float[Array, " d"]:
        d, z = self.form.d, self.normalised(window)
        return self.mean[:d] + self.std[:d] * losses.advance(self.theta, self.base, z, self.form)[0]

    def normalised(self, window: Float[Array, "m c"]) -> Float[Array, "1 m c"]:
        return ((window.astype(self.theta.dtype) - self.mean[None, :]) / self.std[None, :])[None]


class TimeDelayedTransformer(AbstractForecaster):
    r"""A nonlinear forecaster: one attention head over the last `n_delays` states, and one feed-forward layer.

    $$ z_{k+1} = z_k + Lw_k + l + s\,\big(Cg(w_k) + c_0\big), \qquad w_k = (z_k, \dots, z_{k-m+1}), $$

    on normalised states, with g as in docs/theory/time-delayed.md and a linear part $(L, l)$, zero unless wanted.

    **Arguments:**

    - `n_delays`, the states in a window; `width` and `ff_width`, of tokens and of the layer; `values`: `"shared"`, as
      attention has them, or `"per_delay"`, a matrix for every lag, which contains TD-DMD; `activation`: `"silu"`,
      `"gelu"`, `"tanh"` or `"relu"`.
    - `loss`: `"plain"`, `"relative"` (to the size of the increment: for slow growth away from an unstable state), or
      `"auto"`; `linear_skip`: whether there is a linear part, or `"auto"`, which also tries it alone. What is left to
      be chosen is chosen by roll-outs on a part of the training data that is held back, see `selection_`.
    - `validation`: the part of the data that is held back for this choice and for early stopping; 0 for none.
      `refit` trains once more at the end, on everything, for as many steps as were best.
    - `rollout_steps`: of how many steps the loss is the mean; `input_noise`, in standard deviations: 0.01 to 0.03
      helps with few data. `max_steps`, `lr`, `batch_size`, `weight_decay`: of the optimiser.
    - `finish="levenberg-marquardt"` follows with a second-order method on all windows in float64, for a thousand or so.
    - `n_seeds`: how many are trained, at once; the best on the held-back part forecasts, and `forecast(spread=True)`
      or `forecast_ensemble` give all of them. `key`, or `random_state` (a whole number): by default the same at every
      fit. `progress` shows a bar. `time_axis=1`, if columns are times.

    **After `fit`:** `loss_` and `linear_` (what was chosen), `network_` (false where nothing was left for one),
    `selection_` (what was tried, with the error of every seed), `n_parameters_`, `loss_curve_` and `validation_curve_`
    `(looks, n_seeds)`, `validation_scores_` (roll-out errors of the seeds; after `refit` of data they have seen),
    `best_seed_`, `dt_`, `diverged_at_`.

    Training is in float32 and forecasts are in float64, whatever precision JAX is in.

    Alcalde, Widhalm, Yılmaz, *Time-Delayed Transformers for Data-Driven Modeling of Low-Dimensional Dynamics*,
    arXiv:2602.08478. Widths, loss, normalisation and optimiser are ours.
    """

    papers = ("time-delayed",)

    def __init__(
        self,
        n_delays: int = 8,
        *,
        width: int = 16,
        ff_width: int = 64,
        values: Literal["shared", "per_delay"] = "shared",
        activation: str = "silu",
        loss: Literal["auto", "plain", "relative"] = "auto",
        linear_skip: bool | Literal["auto"] = "auto",
        input_noise: float = 0.0,
        rollout_steps: int = 1,
        max_steps: int = 9000,
        lr: float = 1e-2,
        batch_size: int = 256,
        weight_decay: float = 0.0,
        n_seeds: int = 1,
        validation: float = 0.1,
        refit: bool = True,
        finish: Literal["levenberg-marquardt"] | None = None,
        key: Key | None = None,
        random_state: int | None = None,
        progress: bool = False,
        time_axis: int = 0,
    ):
        self.n_delays = n_delays
        self.width = width
        self.ff_width = ff_width
        self.values = values
        self.activation = activation
        self.loss = loss
        self.linear_skip = linear_skip
        self.input_noise = input_noise
        self.rollout_steps = rollout_steps
        self.max_steps = max_steps
        self.lr = lr
        self.batch_size = batch_size
        self.weight_decay = weight_decay
        self.n_seeds = n_seeds
        self.validation = validation
        self.refit = refit
        self.finish = finish
        self.key = key
        self.random_state = random_state
        self.progress = progress
        self.time_axis = time_axis

    # Fit -------------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, u: Any = None, t: Any = None, *, X_val: Any = None, u_val: Any = None) -> Any:
        """Learn from one trajectory `(n, d)`, or a list of them, with inputs `u` of the same lengths, at times `t`.

        `X_val`, `u_val`: trajectories to choose and to stop by, in place of a part of X.
        """
        self._check_options()
        found = self._data(X, u, t)
        self._form = Form(
            self.n_features_in_,
            self.n_features_in_ + self.n_inputs_,
            self.n_delays,
            *(self.width, self.ff_width, self.values, self.activation),
        )
        kept, stretch = self._hold_back(found, X_val, u_val)
        with progress_bar(flag("progress", self.progress), "training"):
            self._choose_and_train(found, kept, stretch)
        return self

    def _hold_back(self, found: list[Piece], X_val: Any, u_val: Any) -> tuple[list[Piece], Held | None]:
        m = self.n_delays
        if X_val is not None:
            given = read("X_val", X_val, **self._expected(self.n_features_in_))
            inputs = None if u_val is None else read("u_val", u_val, **self._expected(self.n_inputs_))
            if (inputs is None) != (self.n_inputs_ == 0):
                raise InputError("give u_val with X_val if, and only if, the model has inputs u.")
            stretches = [Stretch(p, m) for p in pieces(given, inputs) if len(p) > m]
            if not stretches:
                raise InputError(f"X_val has no n_delays + 1 = {m + 1} samples in a row; give more.")
            kept = found
        else:
            kept, stretches = split(found, self.validation, m)
        return kept, held_rollouts(stretches, kept, m, self._centre, self._size) if stretches else None

    def _choose_and_train(self, found: list[Piece], kept: list[Piece], stretch: Held | None) -> None:
        listed = candidates.listed(self.loss, self.linear_skip)
        if stretch is None and len(listed) > 1:
            listed = [Candidate("plain" if self.loss == "auto" else self.loss, self.linear_skip is True, True)]
            warnings.warn(
                f"nothing is held back (too few data, or validation=0), so nothing was chosen: {listed[0].name}.",
                AttnflowWarning,
                stacklevel=4,
            )
        options = self._options()
        fitting = Fitting(options, [self._normal(piece) for piece in kept], stretch)
        if not fitting.n:
            needed = self.n_delays + self.rollout_steps
            raise InputError(f"X has no n_delays + rollout_steps = {needed} samples in a row; take fewer of either.")
        self.selection_: list[dict[str, Any]] = []
        errors: dict[Candidate, float] = {}
        for candidate in listed if len(listed) > 1 else []:
            of_seeds = fitting.tried(candidate)
            errors[candidate] = float(np.median(of_seeds))
            self.selection_.append({"candidate": candidate.name, "errors": of_seeds.tolist()})
        chosen = candidates.best(errors) if errors else listed[0]
        for row in self.selection_:
            row["chosen"] = row["candidate"] == chosen.name
        done = fitting.trained(chosen)
        if self.refit or not done.network:  # a linear part is fitted to everything in no time
            every = Fitting(options, [self._normal(piece) for piece in found], stretch, fitting.tol)
            done = _better(done, every.trained(chosen, done.steps or None))
        self.loss_, self.linear_, self.network_ = chosen.loss, chosen.linear, done.network
        self._theta, self._base = done.theta, done.base
        self.loss_curve_, self.validation_curve_, self.validation_scores_ = done.losses, done.scores, done.errors
        self.best_seed_ = int(np.argmin(np.where(np.isfinite(done.errors), done.errors, np.inf)))

    def _normal(self, piece: Piece) -> Piece:
        return normalised(piece, self._centre, self._size)

    def _options(self) -> Options:
        return Options(
            self._form,
            self.rollout_steps,
            self.max_steps,
            float(self.lr),
            float(self.input_noise),
            float(self.weight_decay),
            self.batch_size,
            self.n_seeds,
            self._key(),
            self.finish is not None,
            bool(self.progress),
        )

    def _check_options(self) -> None:
        for name in ("n_delays", "width", "ff_width", "rollout_steps", "max_steps", "batch_size", "n_seeds"):
            whole(name, getattr(self, name))
        for name in ("input_noise", "weight_decay", "lr"):
            number(name, getattr(self, name), 0)
        share = number("validation", self.validation, 0)
        if share > 0.5:
            raise InputError(f"validation = {share:g} leaves less than half of the data; take at most 0.5.")
        choices = {
            "values": network.VALUES,
            "activation": network.ACTIVATIONS,
            "loss": ("auto", *losses.LOSSES),
            "finish": (None, "levenberg-marquardt"),
        }
        for name, allowed in choices.items():
            value = getattr(self, name)
            if not (value is None or isinstance(value, str)) or value not in allowed:
                raise InputError(f"{name} = {shown(value)}; choose one of {', '.join(map(str, allowed))}.")
        if not isinstance(self.linear_skip, str):
            flag("linear_skip", self.linear_skip)
        elif self.linear_skip != "auto":
            raise InputError(f"linear_skip = {self.linear_skip!r}; choose True, False or 'auto'.")
        flag("refit", self.refit)

    def _key(self) -> Any:
        if self.key is not None:
            return checked_key(self.key)
        if self.random_state is None:
            return jax.random.key(0)
        if isinstance(self.random_state, np.random.RandomState):
            return jax.random.key(int(self.random_state.randint(2**31)))
        return jax.random.key(whole("random_state", self.random_state, least=0))

    # The fitted map --------------------------------------------------------------------------------------------------

    @property
    def n_parameters_(self) -> int:
        """Those of the network, if there is one, and of the linear part, if there is one."""
        self._check_fitted()
        linear = self._base.L.size + self._base.l.size if self.linear_ else 0
        return (self._form.size if self.network_ else 0) + linear

    def _step_map(self) -> NetworkStep:
        return self._step_of(self._theta[self.best_seed_])

    def _step_of(self, theta: Any) -> NetworkStep:
        base = Base(*(jnp.asarray(a) for a in self._base))
        return NetworkStep(jnp.asarray(theta), base, jnp.asarray(self._centre), jnp.asarray(self._size), self._form)

    def forecast(self, n_steps: Any, x0: Any = None, u: Any = None, *, spread: bool = False) -> Any:
        """As for all forecasters, by the best seed; `spread=True`: the pair of it and of all, `(n_seeds, n, d)`."""
        forecast = super().forecast(n_steps, x0, u)
        return (forecast, self.forecast_ensemble(n_steps, x0, u)) if flag("spread", spread) else forecast

    simulate = forecast

    def forecast_ensemble(self, n_steps: Any, x0: Any = None, u: Any = None) -> np.ndarray:
        """The roll-outs of all seeds, `(n_seeds, n_steps, d)`; NaN after one has diverged."""
        n, window, inputs, _ = self._start(n_steps, x0, u)
        with rollout.double():
            steps = eqx.filter_vmap(self._step_of, in_axes=0)(jnp.asarray(self._theta))
        return rollout.ensemble(steps, window, inputs, n, self._d_centre, self._d_size)

    # Looking inside --------------------------------------------------------------------------------------------------

    def attention(self, X: Any, u: Any = None) -> Any:
        """The weight of every lag, `(windows, n_delays)`, in each window of X; column j is lag j. Lists give lists."""
        series, inputs = self._read(X, u)
        out = []
        for i, one in enumerate(series):
            rows, _ = self._tokens(one, None if inputs is None else inputs[i], i)
            view = np.lib.stride_tricks.sliding_window_view(rows, self.n_delays_, axis=0)[:, :, ::-1].transpose(0, 2, 1)
            with rollout.double():
                parts = network.unpacked(jnp.asarray(self._theta[self.best_seed_]), self._form)
                z = jnp.asarray((view - self._centre) / self._size)
                out.append(np.asarray(network.weights(parts, z)[0]))
        return out if is_list(X) else out[0]

    def softmax(self) -> Any:
        """The attention of the best seed as `af.Softmax`, on the tokens that `tokens` gives."""
        self._check_fitted()
        return network.softmax(network.unpacked(jnp.asarray(self._theta[self.best_seed_]), self._form))

    def tokens(self, window: Any) -> Array:
        """The tokens of a window `(n_delays, d + q)`, newest first, that attention sees."""
        self._check_fitted()
        step = self._step_map()
        parts = network.unpacked(step.theta, self._form)
        return network.tokens(parts, step.normalised(jnp.asarray(window))[0])

    # Files -----------------------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        base = {f"base_{name}": value for name, value in self._base._asdict().items()}
        learned = {"theta": self._theta, "losses": self.loss_curve_, "scores": self.validation_curve_}
        chosen = {"best": self.best_seed_, "loss": self.loss_, "linear": self.linear_, "network": self.network_}
        return {
            **self._shared_state(),
            **base,
            **learned,
            **chosen,
            "errors": self.validation_scores_,
            "selection": self.selection_,
            "form": list(self._form),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self._restore_shared(state)
        self._form = Form(*state["form"])
        self._theta = state["theta"]
        self._base = Base(*(state[f"base_{name}"] for name in Base._fields))
        self.loss_curve_, self.validation_curve_ = state["losses"], state["scores"]
        self.validation_scores_, self.best_seed_ = state["errors"], int(state["best"])
        self.loss_, self.linear_, self.network_ = state["loss"], state["linear"], state["network"]
        self.selection_ = state["selection"]
        if self._theta.shape[1:] != (self._form.size,) or not 0 <= self.best_seed_ < len(self._theta):
            raise ValueError("its parameters do not fit its widths")


def _better(before: Trained, after: Trained) -> Trained:
    """What was trained again has seen what was held back; if it is worse there, something went wrong."""
    return before if before.network and np.median(after.errors) > np.median(before.errors) else after
