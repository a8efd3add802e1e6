"""Spaces, their laws, and the checks of what users give."""

import jax
import numpy as np

import attnflow as af

from .samples import OTHERS, SPHERE, WEIGHTS
from .table import Abstract, Call, Constant, arguments, rows_permuted, turned

NO_ARRAY = {"jit": "its arguments are whole numbers"}
EMPTY = {"jit": "it has no numbers", "float32": "it has no numbers"}
DRAWN = {**NO_ARRAY, "float32": "other bits draw other numbers"}

ROWS = [
    Abstract("spaces.AbstractSpace"),
    Call("Sphere", without=EMPTY),
    Call("Euclidean", without=EMPTY),
    Call("sphere.uniform", arguments=lambda: {"n": 3, "d": 2, "key": jax.random.key(0)}, without=DRAWN),
    Call("sphere.weyl", arguments=arguments(n=3, d=2), without=NO_ARRAY),
    Call("sphere.orthonormal", arguments=arguments(n=2, d=3), without=NO_ARRAY),
    Call("euclidean.gaussian", arguments=lambda: {"n": 3, "d": 2, "key": jax.random.key(0)}, without=DRAWN),
    Call(
        "sphere.on_circle",
        arguments=arguments(angles=np.array([0.1, 2.0])),
        elementwise=("angles",),
        traced=("angles",),
    ),
    Call("sphere.circle_nodes", arguments=arguments(n=16), without=NO_ARRAY),
    Constant("sphere.UNIFORM", reason="an entry of the registry"),
    Constant("sphere.WEYL", reason="an entry of the registry"),
    Constant("sphere.ORTHONORMAL", reason="an entry of the registry"),
    Constant("euclidean.GAUSSIAN", reason="an entry of the registry"),
    Constant("spaces.SPACES", reason="the spaces by name"),
    Call(
        "spaces.check_tokens",
        arguments=lambda: {"x": SPHERE, "space": af.Sphere()},
        traced=("x",),
        points=("x",),
        permutation=rows_permuted,
        rotation=turned,
        without={
            "translation": "the sphere is not translated",
            "scale": "the sphere is not scaled",
            "splitting": "it takes no weights",
        },
    ),
    Call(
        "spaces.check_tokens", case="euclidean", arguments=lambda: {"x": OTHERS, "space": af.Euclidean()}, traced=("x",)
    ),
    Call(
        "spaces.check_weights",
        arguments=arguments(weights=WEIGHTS, n=5),
        traced=("weights",),
        differentiable=False,
        without={
            "grad": "weights that do not sum to one are normalised",
            "junk:n": "the library counts the tokens",
        },
    ),
    Call(
        "spaces.is_concrete",
        without={"jit": "it says whether it is inside jit"},
    ),
]
