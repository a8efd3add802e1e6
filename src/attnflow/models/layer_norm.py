r"""Normalisations of a token by its own coordinates, as transformers have them, and the one of the theory.

| `form` | $N(x)$ |
|---|---|
| `"layer"` | $g \odot (x - \bar x)/\sqrt{\operatorname{var}(x) + \varepsilon} + b$ |
| `"rms"` | $g \odot x/\sqrt{\tfrac1d\lvert x\rvert^2 + \varepsilon}$ |
| `"sphere"` | $r\,x/\lvert x\rvert$ |

The first maps onto an ellipsoid in the hyperplane of mean zero, the second onto an ellipsoid, both up to $\varepsilon$.
With $g = 1$, $b = 0$ and $r = \sqrt d$ the last two agree.

Reference: arXiv:1607.06450 (layer), arXiv:1910.07467 (rms), arXiv:2312.10794 (sphere).
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import is_concrete, real
from ..errors import InputError, shown
from ..parameters import weight_array
from ..spaces import Numbers, Sphere

FORMS = ("layer", "rms", "sphere")


class Normalization(eqx.Module):
    """One normalisation; see this module's text.

    **Arguments:** `form`; `gain (d,)` and `bias (d,)`, `None` for one and zero; `eps`; `radius`, that of the sphere,
    which has neither gain nor bias. Arrays may have one more axis in front, for a stack of layers.

    >>> import jax.numpy as jnp
    >>> Normalization("sphere", radius=5.0)(jnp.array([[0.0, 2.0]])).tolist()
    [[0.0, 5.0]]
    """

    form: str = eqx.field(static=True)
    gain: Float[Array, "*L d"] | None
    bias: Float[Array, "*L d"] | None
    eps: float = eqx.field(static=True)
    radius: Float[Array, "*L"] | None

    def __init__(
        self,
        form: str = "layer",
        gain: Numbers | None = None,
        bias: Numbers | None = None,
        eps: float = 1e-5,
        radius: Numbers | None = None,
    ):
        if not isinstance(form, str) or form not in FORMS:
            raise InputError(f"form = {shown(form)} is no normalisation; choose one of {', '.join(FORMS)}.")
        self.form = form
        self.gain, self.bias = weight_array("gain", gain), weight_array("bias", bias)
        self.radius = weight_array("radius", radius)
        self.eps = real("eps", eps)
        if not 0 <= self.eps < np.inf:
            raise InputError(f"eps = {self.eps:g} must be finite and not negative.")
        if (form == "sphere") != (radius is not None) or (form == "sphere" and (gain is not None or bias is not None)):
            raise InputError("the sphere has a radius, and neither gain nor bias; the other forms have no radius.")
        if form == "rms" and bias is not None:
            raise InputError('form = "rms" has no bias; leave it out, or take form="layer".')
        if self.gain is not None and (self.gain.ndim not in (1, 2)):
            raise InputError(f"gain has shape {self.gain.shape}; give (d,), or (L, d) for L layers.")
        if self.bias is not None and (self.bias.ndim not in (1, 2)):
            raise InputError(f"bias has shape {self.bias.shape}; give (d,), or (L, d) for L layers.")
        if self.radius is not None and (
            self.radius.ndim > 1 or (is_concrete(self.radius) and not (np.asarray(self.radius) > 0).all())
        ):
            raise InputError("radius is one positive number for all tokens, or one for each of L layers.")

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        if self.radius is not None:
            return self.radius.astype(x.dtype) * Sphere().nearest(x)
        for name, row in (("gain", self.gain), ("bias", self.bias)):
            if row is not None and row.shape != x.shape[1:]:
                raise InputError(
                    f"{name} has shape {row.shape} and tokens have dimension {x.shape[1]}; make them equal."
                )
        if self.form == "layer":
            x = x - jnp.mean(x, axis=1, keepdims=True)
        x = x / jnp.sqrt(jnp.mean(x * x, axis=1, keepdims=True) + jnp.asarray(self.eps, x.dtype))
        x = x if self.gain is None else self.gain.astype(x.dtype)[None, :] * x
        return x if self.bias is None else x + self.bias.astype(x.dtype)[None, :]

    def on_sphere(self, d: int) -> "Normalization":
        r"""The sphere in place of this one, of radius $\sqrt d$ times the root mean square of its gain.

        So what comes after it sees tokens of the size it was trained for.
        """
        if self.radius is not None:
            return self
        gain = jnp.ones(d) if self.gain is None else self.gain
        return Normalization("sphere", radius=jnp.sqrt(jnp.sum(gain * gain, axis=-1)))
