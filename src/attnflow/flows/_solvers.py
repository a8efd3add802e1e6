r"""The solvers of `simulate`, by name.

Adaptive solvers and `rk4`, `euler` integrate the field, that is the force projected on the space. `euler-retract` is
the scheme of the papers' own scripts, $x \leftarrow (x + hF)/|x + hF|$ with the force $F$ *not* projected; it differs
visibly from the flow at their step size. `layers` is the same step as a residual layer with $h$ the weight
of its branch, which has no error: in $\mathbb R^d$ it is $x \leftarrow x + hF(x)$; there are no states
between two layers. `ifrk4` solves the linear part of the model exactly. A scheme of another package is a `Tableau`,
which integrates the field as `rk4` does.
"""

import functools
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import diffrax
import jax.numpy as jnp
import numpy as np
from diffrax import LocalLinearInterpolation, ThirdOrderHermitePolynomialInterpolation
from jaxtyping import Array

from ..errors import InputError
from ..models import AbstractModel
from ..spaces import AbstractSpace
from ._integrating_factor import IntegratingFactor
from .schemes.rk4 import TABLEAU as RK4
from .tableaux import Tableau, tableaux


def _butcher(tableau: Tableau) -> diffrax.ButcherTableau:
    nodes = tableau.nodes[1:]
    return diffrax.ButcherTableau(
        c=np.array(nodes, float),
        a_lower=tuple(np.eye(len(nodes))[s, : s + 1] * c for s, c in enumerate(nodes)),
        b_sol=np.array(tableau.weights, float),
        b_error=np.array(tableau.error, float),
    )


@functools.cache
def _explicit(numbers: Tableau) -> type[diffrax.AbstractERK]:
    """The solver of diffrax with the numbers of a scheme; once for each, because another class compiles again."""

    class Explicit(diffrax.AbstractERK):
        tableau: ClassVar[diffrax.ButcherTableau] = _butcher(numbers)
        interpolation_cls: ClassVar[Callable[..., Any]] = ThirdOrderHermitePolynomialInterpolation.from_k

        def order(self, terms: Any) -> int:
            return numbers.order

    return Explicit


def euler_error(velocity: Array, step: Any) -> Array:
    """How far a step is from the trapezoidal rule, once the velocity after it is known; the step is what it moved
    beyond half of its first velocity, and its length."""
    beyond, length = step
    return beyond - length / 2 * velocity


class Euler(diffrax.AbstractSolver):
    """Euler's method, or with a `space` one step with the unprojected force, then back to it.

    The error of a step, half the change of velocity along it, is seen one step later.
    """

    space: AbstractSpace | None = None
    term_structure: ClassVar = diffrax.ODETerm
    interpolation_cls: ClassVar[Callable[..., Any]] = LocalLinearInterpolation

    def order(self, terms: Any) -> int:
        return 1

    def init(self, terms: Any, t0: Any, t1: Any, y0: Array, args: Any) -> tuple[Array, Array]:
        return jnp.zeros_like(y0), jnp.zeros((), y0.dtype)

    def step(self, terms: Any, t0: Any, t1: Any, y0: Array, args: Any, solver_state: Any, made_jump: Any) -> Any:
        velocity = terms.vf(t0, y0, args)
        h = jnp.asarray(terms.contr(t0, t1), y0.dtype)
        if self.space is None:
            y1, moved = y0 + h * velocity, h * velocity
        else:
            y1 = self.space.retract(y0, h * velocity)
            velocity, moved = self.space.project(y0, velocity), y1 - y0
        error = jnp.where(made_jump, 0, euler_error(velocity, solver_state))
        return y1, error, {"y0": y0, "y1": y1}, (moved - h / 2 * velocity, h), diffrax.RESULTS.successful

    def func(self, terms: Any, t0: Any, y0: Array, args: Any) -> Array:
        return terms.vf(t0, y0, args)


class Layer(diffrax.AbstractSolver):
    """One explicit step with the unprojected force, then back to the space; it has no error.

    As a class of its own: a program with layers keeps no velocities.
    """

    space: AbstractSpace
    term_structure: ClassVar = diffrax.ODETerm
    interpolation_cls: ClassVar[Callable[..., Any]] = LocalLinearInterpolation

    def order(self, terms: Any) -> int:
        return 1

    def init(self, terms: Any, t0: Any, t1: Any, y0: Array, args: Any) -> None:
        return None

    def step(self, terms: Any, t0: Any, t1: Any, y0: Array, args: Any, solver_state: None, made_jump: Any) -> Any:
        y1 = self.space.retract(y0, terms.vf_prod(t0, y0, args, terms.contr(t0, t1)))
        return y1, None, {"y0": y0, "y1": y1}, None, diffrax.RESULTS.successful

    def func(self, terms: Any, t0: Any, y0: Array, args: Any) -> Array:
        return terms.vf(t0, y0, args)


class Scheme(NamedTuple):
    """How to make a solver for a model, whether it chooses its own steps, and whether it steps with the bare force.

    `continuous`: whether it follows the flow, as far as its step allows, so that growth may be taken out of the tokens.
    `exact_times`: whether its steps end at the saved times. `estimates_error`: whether the error of its steps is
    estimated, and `late`, that this is one step later.
    """

    make: Callable[[AbstractModel], diffrax.AbstractSolver]
    adaptive: bool
    steps_with_force: bool = False
    continuous: bool = True
    exact_times: bool = False
    estimates_error: bool = True
    late: bool = False


SCHEMES: dict[str, Scheme] = {
    "tsit5": Scheme(lambda model: diffrax.Tsit5(), adaptive=True),
    "dopri8": Scheme(lambda model: diffrax.Dopri8(), adaptive=True),
    "rk4": Scheme(lambda model: _explicit(RK4)(), adaptive=False),
    "ifrk4": Scheme(IntegratingFactor, adaptive=False, exact_times=True),
    "euler": Scheme(lambda model: Euler(), adaptive=False, continuous=False, late=True),
    "euler-retract": Scheme(
        lambda model: Euler(model.space), adaptive=False, steps_with_force=True, continuous=False, late=True
    ),
    "layers": Scheme(
        lambda model: Layer(model.space), adaptive=False, steps_with_force=True, continuous=False, estimates_error=False
    ),
}


def get_scheme(name: Any) -> Scheme:
    others = {other: tableau for other, tableau in tableaux().items() if other not in SCHEMES}
    if isinstance(name, str) and name in others:
        # Its last stage may be inside of the step, so that nothing is interpolated.
        return Scheme(lambda model: _explicit(others[name])(), adaptive=False, exact_times=True)
    if not isinstance(name, str) or name not in SCHEMES:
        raise InputError(f"solver {name!r} is unknown; choose one of {', '.join([*SCHEMES, *others])}.")
    return SCHEMES[name]
