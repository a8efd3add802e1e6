"""How smooth attention is."""

import attnflow as af

from .samples import MATRIX, POINTS, SYMMETRIC, WEIGHTS
from .table import Call, ResultOf, arguments

ON_HOST = {"jit": "NumPy and SciPy compute it: values cannot be traced"}


def of_map(**more):
    return lambda: {"attention": af.Softmax(1.0, B=SYMMETRIC), "x": POINTS, "weights": WEIGHTS, **more}


ROWS = [
    Call("diagnostics.smoothness.jvp", arguments=of_map(h=POINTS[::-1].copy()), traced=("x", "h")),
    Call("diagnostics.smoothness.vjp", arguments=of_map(g=POINTS[::-1].copy()), traced=("x", "g")),
    Call("diagnostics.smoothness.jacobian", arguments=of_map(), traced=("x",)),
    Call(
        "diagnostics.smoothness.local_lipschitz",
        arguments=of_map(tol=1e-6, max_iterations=100),
        without={"jit": "it looks at values: power iteration ends when it has converged"},
    ),
    ResultOf("diagnostics.smoothness.LocalLipschitz", row="diagnostics.smoothness.local_lipschitz"),
    Call(
        "diagnostics.smoothness.bounds",
        arguments=arguments(radius=1.0, V=MATRIX, B=SYMMETRIC, beta=1.0, n=4),
        without=ON_HOST,
    ),
    ResultOf("diagnostics.smoothness.Bounds", row="diagnostics.smoothness.bounds"),
    ResultOf(
        "diagnostics.smoothness.Bound", row="diagnostics.smoothness.bounds", part=lambda result: result.entries[0]
    ),
    Call(
        "diagnostics.smoothness.adversarial_tokens",
        arguments=arguments(B=SYMMETRIC, beta=1.0, n=4, radius=1.0),
        without={**ON_HOST, "junk:B:0-d": "a number is a 1 x 1 matrix"},
    ),
    Call(
        "diagnostics.smoothness.lower_bound",
        arguments=arguments(V=MATRIX, B=SYMMETRIC, beta=1.0, n=4, radius=1.0),
        elementwise=("n",),
        without=ON_HOST,
    ),
    Call(
        "diagnostics.smoothness.cesaro_norm",
        arguments=arguments(n=4),
        without={"jit": "its argument is a whole number"},
    ),
    Call(
        "diagnostics.smoothness.large_radius_limit",
        arguments=arguments(x=POINTS, V=MATRIX, B=SYMMETRIC),
        without=ON_HOST,
    ),
    Call(
        "diagnostics.smoothness.stability_factor",
        arguments=arguments(t=0.1, radius=1.0, V=MATRIX, B=SYMMETRIC, beta=1.0),
        elementwise=("t",),
        without=ON_HOST,
    ),
    Call(
        "diagnostics.smoothness.support_radius",
        arguments=arguments(t=0.1, radius=1.0, V=MATRIX),
        elementwise=("t",),
        without={**ON_HOST, "junk:V:0-d": "a number is a 1 x 1 matrix"},
    ),
]
