r"""Critical points of the landscape, in any dimension: $\nabla_S(K*\mu + U) = 0$ on the support of $\mu$."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...checks import whole
from ...errors import InputError
from ...flows import Run
from ...models import Perceptron, PerceptronBlock, field
from ...models.schedules import depends_on_time
from ...spaces import Count, Number, Numbers, Sphere, check_tokens, check_weights


def criticality(
    tokens: Run | Numbers,
    weights: Numbers | None = None,
    *,
    perceptron: Perceptron | None = None,
    beta: Number | None = None,
    at: Count = -1,
) -> float:
    r"""$\max_i|\nabla_S(K*\mu + U)(x_i)|$ over tokens with weight: zero exactly at critical laws.

    **Arguments:** a run of a `PerceptronBlock`, at the saved time of index `at`; or tokens `(n, d)` with their weights,
    and `perceptron` and `beta`.
    """
    if isinstance(tokens, Run):
        if weights is not None or perceptron is not None or beta is not None:
            raise InputError("a run has its own weights, perceptron and beta; leave them out.")
        run = tokens.single()
        if not isinstance(run.model, PerceptronBlock):
            raise InputError(f"this run is of {type(run.model).__name__}; give one of a PerceptronBlock.")
        at = whole("at", at, least=-len(run.xs), most=len(run.xs) - 1)
        x, w, model = run.xs[at], run.weights, run.model
    else:
        if perceptron is None or beta is None:
            raise InputError("the energy of tokens depends on the potential; give perceptron= and beta=.")
        if not (isinstance(at, int) and at == -1):
            raise InputError(f"at = {at!r} is for runs, and these are tokens at one time; leave at out.")
        x = check_tokens(tokens, Sphere())
        w = check_weights(weights, x.shape[0])
        model = PerceptronBlock(beta, perceptron)
    if depends_on_time(model):
        raise InputError("beta or the perceptron changes with time, and so do critical points; give both at one time.")
    largest = float(_steepest(model, x, None if w is None else w.astype(x.dtype)))
    if not np.isfinite(largest) and bool(jnp.isfinite(x).all()):
        beta = float(model.attention.score.beta)  # pyright: ignore[reportAttributeAccessIssue]
        raise InputError(f"e^beta overflows in {x.dtype} at beta = {beta:g}; take a smaller one, or float64.")
    return largest


@eqx.filter_jit
def _steepest(model: PerceptronBlock, x: Float[Array, "n d"], w: Float[Array, " n"] | None) -> Float[Array, ""]:
    slope = jnp.sqrt(jnp.sum(field(model, 0.0, x, w) ** 2, axis=-1))
    if model.softmax_preconditioned:  # the field is divided by the metric
        slope = slope * jnp.exp(model.energy().log_metric(x, w))
    return jnp.max(slope if w is None else jnp.where(w > 0, slope, 0))
