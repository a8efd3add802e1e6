r"""One ReLU neuron whose weights depend on time, a residual network of width one in continuous depth.

$$ \dot x = w(t)\,\big(\langle a(t), x\rangle + b(t)\big)_+ . $$

Tokens do not feel one another: the flow moves densities. Between jumps of the weights it is known in closed form.

Setting: arXiv:2412.19366, arXiv:2602.08606; derivations: docs/theory/relu-schedules.md.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..checks import number, whole
from ..errors import InputError
from ..pairsums.algebra import matmul
from ..parameters import Parameter, parameter
from ..registry import Entry, Param
from ..spaces import AbstractSpace, Euclidean
from ._model import AbstractModel
from .schedules import Piecewise, at_time, is_schedule, jump_times


class ReluFlow(AbstractModel):
    r"""$\dot x = w(t)\,(\langle a(t), x\rangle + b(t))_+$ in $\mathbb R^d$.

    **Arguments:** `w (d,)`, `a (d,)`, `b`, each a constant, or a schedule of time such as `Piecewise`. With constants
    and `Piecewise` alone the flow is known in closed form, and `simulate` takes `solver="exact"`.

    >>> import attnflow as af
    >>> model = ReluFlow(w=Piecewise([1.0], [[1.0], [-1.0]]), a=[1.0], b=0.0)
    >>> run = af.simulate(model, [[1.0], [-1.0]], t1=2.0, solver="exact")
    >>> abs(float(run.final[0, 0]) - 1) < 1e-6, float(run.final[1, 0])
    (True, -1.0)
    """

    papers: ClassVar[tuple[str, ...]] = ("relu-transport", "diffeomorphism")

    w: Any
    a: Any
    b: Any

    def __init__(self, w: Parameter, a: Parameter, b: Parameter = 0.0):
        self.w, self.a, self.b = parameter("w", w, ndim=1), parameter("a", a, ndim=1), parameter("b", b, ndim=0)
        for name, value, example in (("w", self.w, "[1.0, 0.0]"), ("a", self.a, "[0.0, 1.0]"), ("b", self.b, "0.0")):
            if value is None:
                raise InputError(f"{name} is missing; give for example {name}={example}.")
        shapes = [jnp.shape(_first(value)) for value in (self.w, self.a)]
        if shapes[0] != shapes[1] or len(shapes[0]) != 1:
            raise InputError(f"w has shape {shapes[0]} and a {shapes[1]} at a time; give two vectors of one dimension.")

    @property
    def space(self) -> AbstractSpace:
        return Euclidean()

    @property
    def clock(self) -> str:
        return "t"

    def force(
        self,
        t: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None,
        *,
        key: PRNGKeyArray | None = None,
        kernel: str = "auto",
    ) -> Float[Array, "n d"]:
        w, a, b = self._neuron(t, x)
        return jnp.maximum(matmul(x, a) + b, 0)[:, None] * w[None, :]

    def exact_flow(
        self, t0: Float[Array, ""], t1: Float[Array, ""], x: Float[Array, "n d"]
    ) -> Float[Array, "n d"] | None:
        if any(is_schedule(value) and not isinstance(value, Piecewise) for value in (self.w, self.a, self.b)):
            return None
        known = jump_times(self)
        jumps = jnp.zeros(0, t0.dtype) if known is None else known.astype(t0.dtype)
        starts, ends = jnp.append(-jnp.inf, jumps), jnp.append(jumps, jnp.inf)

        def piece(k: Array, x: Array) -> Array:
            start = jnp.maximum(starts[k], t0)
            duration = jnp.minimum(ends[k], t1) - start
            w, a, b = self._neuron(start, x)
            s = jnp.maximum(matmul(x, a) + b, 0)
            return x + (duration * _phi(duration * jnp.sum(a * w)) * s)[:, None] * w[None, :]

        first, last = jnp.searchsorted(jumps, t0, side="right"), jnp.searchsorted(jumps, t1, side="left")
        return jax.lax.fori_loop(first, last + 1, piece, x)

    def _neuron(self, t: ArrayLike, x: Float[Array, "n d"]) -> tuple[Array, Array, Array]:
        here = at_time(self, t)
        w, a, b = (value.astype(x.dtype) for value in (here.w, here.a, here.b))
        if w.shape != x.shape[1:]:
            raise InputError(f"the neuron has dimension {w.size} and tokens {x.shape[1]}; make them equal.")
        return w, a, b


def _first(value: Any) -> Any:
    """A value of a schedule, or the constant."""
    return value(0.0) if is_schedule(value) else value


def _phi(z: Float[Array, ""]) -> Float[Array, ""]:
    small = jnp.abs(z) < 1e-8
    safe = jnp.where(small, 1, z)
    return jnp.where(small, 1 + z / 2, jnp.expm1(safe) / safe)


def drawn_flow(d: int = 2, *, pieces: int = 12, strength: float = 1.0, draw: int = 0) -> ReluFlow:
    """Neurons with Gaussian weights, one in each unit of time, as long as there are pieces."""
    count, size = whole("pieces", pieces), number("strength", strength)
    w, a, b = jax.random.split(jax.random.key(whole("draw", draw, least=0)), 3)
    jumps = jnp.arange(1.0, count)
    return ReluFlow(
        Piecewise(jumps, size * jax.random.normal(w, (count, d)) / d**0.5),
        Piecewise(jumps, jax.random.normal(a, (count, d)) / d**0.5),
        Piecewise(jumps, jax.random.normal(b, (count,))),
    )


ENTRY = Entry(
    kind="model",
    name="relu-flow",
    factory=drawn_flow,
    summary="a neuron with random weights that jump once in each unit of time",
    params={
        "pieces": Param(12, bounds=(1, 1000), help="number of neurons, one after another"),
        "strength": Param(1.0, bounds=(-20.0, 20.0), help="scale of the output weights"),
        "draw": Param(0, bounds=(0, 64), help="which random weights"),
    },
    spaces=("euclidean",),
    symmetries=frozenset({"permutation", "splitting"}),
    papers=("relu-transport", "diffeomorphism"),
    page=False,  # its steps would have to stop at the jumps
)
