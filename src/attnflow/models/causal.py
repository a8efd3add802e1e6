r"""Causal attention with the weights of the theory of prompts: tokens that see the past, fading with distance."""

import numpy as np

from ..attention import Softmax, Unnormalized
from ..checks import flag, whole
from ..errors import InputError
from ..pairsums import Causal
from ..parameters import Parameter, non_negative
from ..spaces import Count, is_concrete
from .schedules import is_schedule
from .self_attention import SelfAttention


def causal_model(
    n: Count,
    beta: Parameter = 1.0,
    slope: Parameter = 1.0,
    normalize: str = "positional",
    strict: bool = True,
) -> SelfAttention:
    r"""Causal self-attention on the sphere for prompts of `n` tokens. With $w_{jk} \propto e^{-(\lambda/n)(j-k)}$,

    $$ \text{positional:}\quad \dot x_j = \beta\, P_{x_j} \sum_{k<j} w_{jk}\, e^{\beta\langle x_j, x_k\rangle}\, x_k,
       \quad \sum_{k<j} w_{jk} = 1; \qquad
       \text{softmax:}\quad \dot x_j = P_{x_j}\,
       \frac{\sum_{k<j} w_{jk}\, e^{\beta\langle x_j, x_k\rangle} x_k}
            {\sum_{k<j} w_{jk}\, e^{\beta\langle x_j, x_k\rangle}} . $$

    The first is unnormalised attention in the time of its gradient (the clock beta-USA); the factor $\beta$ is absent
    in the second. A token that sees no token, as the first one with `strict`, stays where it is.

    **Arguments:**

    - `n`: the length of the whole prompt; a shorter one is simulated by the same model, with the same $\lambda/n$, a
      longer one is refused (without a slope nothing depends on `n`, and any prompt will do).
    - `slope`: $\lambda \ge 0$, per whole prompt; 0 is no positional bias.
    - `normalize`: what sums to one, the positional weights or the whole attention.
    - `strict=False`: a token sees itself, too. `causal_model(n, beta, 0.0, "softmax", strict=False)` is
      `SelfAttention(Softmax(beta), pairs=Causal())`; $V$, $Q$ and $K$ are given there.

    ??? cite "Kinetic theory for transformers, Duerinckx, Geshkovski, Rossi (arXiv:2605.09213)"
    """
    n = whole("n", n, most=2**31 - 1)
    whole_slope = non_negative("slope", slope)
    if is_schedule(whole_slope):
        raise InputError("slope is one number for a whole prompt; a schedule of it is not offered.")
    strict = flag("strict", strict)
    if not isinstance(normalize, str) or normalize not in ("positional", "softmax"):
        raise InputError(f"normalize = {normalize!r} is unknown; choose 'positional' or 'softmax'.")
    # Without a slope there is no bias to compute; inside a transformation the slope cannot be looked at.
    per_token = None if is_concrete(whole_slope) and np.asarray(whole_slope) == 0 else whole_slope / n
    longest = None if per_token is None else n
    if normalize == "softmax":
        return SelfAttention(Softmax(beta=beta), pairs=Causal(strict=strict, slope=per_token), longest=longest)
    pairs = Causal(strict=strict, slope=per_token, normalized=True)
    return SelfAttention(Unnormalized(beta=beta, gradient=True), pairs=pairs, longest=longest)
