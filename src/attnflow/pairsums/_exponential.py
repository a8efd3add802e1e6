r"""The exponential of the pair sums.

On a processor, in float32, it is written out: $e^x = 2^k e^r$ with $k$ the whole number next to $x / \log 2$ and
$|r| \le \log(2)/2$. XLA's own has to work for all arguments; ours is for what the sums need, from $-\infty$ to a little
above zero, and a whole step of an ensemble gains a sixth to a third by it. It errs by less than $2\cdot10^{-7}$ of the
value, is exactly 1 at 0, and 0 below the smallest normal number.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# e^r = 1 + r + r^2 q(r) to 1.05e-7: q has the least greatest relative error on the interval (linear programming).
_Q = (0.008312501376070348, 0.041890331599788236, 0.16667115387828668, 0.4999923030887648)
# log 2 in two parts, the first with so few digits that its product with k is exact.
_LOG_2_HIGH = 0.693359375
_LOG_2_LOW = float(np.log(2.0)) - _LOG_2_HIGH
# Adding this number rounds to a whole one and leaves it in the last bits, counted from the second number on.
_ROUND, _ROUND_BITS = 12582912.0, 0x4B400000
_LOWEST = -87.3  # e to this is the smallest normal number, nearly


def exp(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """$e^x$, for arguments that are at most a little above zero."""
    return _exp(x) if x.dtype == jnp.float32 and jax.default_backend() == "cpu" else jnp.exp(x)


@jax.custom_jvp
def _exp(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    bits = jax.lax.bitcast_convert_type(x * np.float32(1 / np.log(2.0)) + np.float32(_ROUND), jnp.int32)
    whole = bits - np.int32(_ROUND_BITS)
    # Through the bits, for as a difference of two sums the compiler would simplify the rounding away.
    k = whole.astype(jnp.float32)
    r = (x - k * np.float32(_LOG_2_HIGH)) - k * np.float32(_LOG_2_LOW)
    q = np.float32(_Q[0]) * r + np.float32(_Q[1])
    for c in _Q[2:]:
        q = q * r + np.float32(c)
    power = jax.lax.bitcast_convert_type(jax.lax.shift_left(whole + np.int32(127), np.int32(23)), jnp.float32)
    # A comparison with not-a-number is false, which keeps it.
    return jnp.where(x < np.float32(_LOWEST), np.float32(0), (1 + (r + r * r * q)) * power)


@_exp.defjvp
def _exp_jvp(primals, tangents):
    e = _exp(primals[0])
    return e, e * tangents[0]
