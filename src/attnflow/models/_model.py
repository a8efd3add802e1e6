r"""The contract of a dynamical system of tokens: data plus a force.

$$ \dot x_i = P_{x_i}\, F_i(t, x, w), $$

where $F$ is `force`, unprojected, and $P$ the tangent projection of the model's space. A model knows no solver.
"""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..attention import AbstractAttention, AbstractEnergy
from ..checks import is_concrete, real_array
from ..errors import InputError, shown
from ..pairsums import AbstractPairs
from ..spaces import AbstractSpace, checked_key


class AbstractModel(eqx.Module):
    """A system of `n` tokens in a space; `clock` says which time it runs in, and is kept with every stored time."""

    space: eqx.AbstractVar[AbstractSpace]
    clock: eqx.AbstractVar[str]

    @abc.abstractmethod
    def force(
        self,
        t: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None,
        *,
        key: PRNGKeyArray | None = None,
        kernel: str = "auto",
    ) -> Float[Array, "n d"]: ...

    @property
    def attention_alone(self) -> bool:
        """Whether the force is what the map `attention` reads from the tokens by `pairs`, and nothing else.

        Kernels of trajectories, spectral sums, `long_time` and reduced equations take such models.
        """
        return False

    @property
    def moves_to_means(self) -> bool:
        """Whether the force is a mean of tokens less the token itself, and so known up to the rounding of tokens."""
        return False

    @property
    def has_leaders(self) -> bool:
        r"""Whether this is a map and no flow, whose layers take tokens towards what they score highest, till they lead.

        It then has `queries(t, x)`, whose inner products with the tokens are the scores, `rate(t, dtype)`, the part of
        the way that a layer goes, the matrix `B`, and `tie_tol` and `merge_tol`, as `HardmaxLayers`. `simulate` runs
        its layers and keeps their history, which attention matrices and `hardmax_limit` read.
        """
        return False

    def warm(
        self,
        t: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None,
        state: Any,
        *,
        kernel: str = "auto",
    ) -> Any:
        """The `state` for calls of `force` near `(t, x)`, if the force iterates."""
        return None

    def linear_part(self, d: int) -> Float[Array, "d d"] | None:
        r"""A constant $V$ such that the force is $Vx_i$ and a sum of differences, $\sum_j P_{ij}V(x_j - x_i)$.

        `None`: there is none, or the model does not say. Integrating-factor schemes and `rescaled` need it.
        """
        return None

    def exact_flow(
        self, t0: Float[Array, ""], t1: Float[Array, ""], x: Float[Array, "n d"]
    ) -> Float[Array, "n d"] | None:
        """The tokens at `t1` from those at `t0`, in closed form, for `solver="exact"`; `None`: there is none."""
        return None

    def energy(self) -> AbstractEnergy:
        """The energy that the flow climbs or descends; a model without one is refused in a sentence."""
        raise InputError(f"{type(self).__name__} declares no energy.")


def check_parts(**parts: Any) -> None:
    """Refuse something that is no attention map, space or pairs where one is meant; `None` stands for the default."""
    for name, part in parts.items():
        kind, example = PARTS[name]
        if part is not None and not isinstance(part, kind):
            raise InputError(f"{name} = {shown(part)} is none; give for example {example}.")


PARTS = {
    "attention": (AbstractAttention, "af.Softmax(beta=1.0)"),
    "space": (AbstractSpace, "af.Sphere()"),
    "pairs": (AbstractPairs, "af.Causal()"),
}


def field(
    model: AbstractModel,
    t: ArrayLike,
    x: Float[Array, "n d"],
    weights: Float[Array, " n"] | None = None,
    *,
    key: PRNGKeyArray | None = None,
    kernel: str = "auto",
    **state: Any,
) -> Float[Array, "n d"]:
    """The velocity of the tokens: the force, projected on the space. Evaluated at the nearest point of the space.

    A model that iterates in its force takes the `state` to start from, as its `warm` gives it.
    """
    if not isinstance(model, AbstractModel):
        raise InputError(f"{shown(model)} is no model; an attention map becomes one as SelfAttention(map).")
    real_array("t", t, 0)
    x, weights = real_array("x", x, 2), None if weights is None else real_array("weights", weights, 1)
    if weights is not None and len(weights) != len(x):
        raise InputError(f"weights have shape {weights.shape} and there are {len(x)} tokens; give one weight for each.")
    if key is not None:
        checked_key(key)
    if unknown := sorted(set(state) - {"state"}):
        raise InputError(f"field takes no {unknown[0]}; there are key, kernel and state.")
    x = model.space.nearest(x)
    if state.get("state") is not None and is_concrete(x) and model.warm(t, x, weights, None, kernel=kernel) is None:
        raise InputError(f"this {type(model).__name__} does not iterate and starts from no state; leave out state=.")
    return model.space.project(x, model.force(t, x, weights, key=key, kernel=kernel, **state))
