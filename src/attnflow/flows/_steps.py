"""One explicit step of fixed size, as a plain function: what ensembles and layers are made of."""

from collections.abc import Callable
from typing import Any

from jaxtyping import Array, Float

from ..models import AbstractModel, field


def euler_retract(model: AbstractModel, t: Any, h: Any, x: Float[Array, "n d"], w: Any, **kw: Any):
    """The authors' scheme: the unprojected force, then back to the space."""
    return model.space.retract(x, h * model.force(t, x, w, **kw))


def euler(model: AbstractModel, t: Any, h: Any, x: Float[Array, "n d"], w: Any, **kw: Any):
    return model.space.nearest(x + h * field(model, t, x, w, **kw))


def rk4(model: AbstractModel, t: Any, h: Any, x: Float[Array, "n d"], w: Any, **kw: Any):
    k1 = field(model, t, x, w, **kw)
    k2 = field(model, t + h / 2, x + h / 2 * k1, w, **kw)
    k3 = field(model, t + h / 2, x + h / 2 * k2, w, **kw)
    k4 = field(model, t + h, x + h * k3, w, **kw)
    return model.space.nearest(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


STEPS: dict[str, Callable[..., Float[Array, "n d"]]] = {"rk4": rk4, "euler": euler, "euler-retract": euler_retract}
