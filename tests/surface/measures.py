"""Distances of measures."""

import jax
import numpy as np

from .samples import OTHER_WEIGHTS, OTHERS, POINTS, SYMMETRIC, WEIGHTS
from .table import Call, ResultOf, arguments, same

ON_HOST = {"jit": "NumPy and SciPy compute it: values cannot be traced"}
ANGLES = np.array([0.1, 1.2, 2.0, 3.5, 5.9])
OTHER_ANGLES = np.array([0.4, 2.2, 4.1, 5.0])
LAWS = np.stack([POINTS, 1.3 * POINTS[::-1]], axis=1)  # five sequences of two tokens
PLACES = "weights are those of positions, which both sequences share"


def clouds(**more):
    return arguments(x=POINTS, y=OTHERS, weights=WEIGHTS, other_weights=OTHER_WEIGHTS, **more)


MOVES = dict(permutation=same, rotation=same, translation=same, scale=1, splitting=same)
DISTANCE = dict(points=("x", "y"), weights="weights", **MOVES)

ROWS = [
    *(
        Call("measures.wasserstein", case=f"p={p}", arguments=clouds(p=p), **DISTANCE, without=ON_HOST)
        for p in (1, 2, 50)
    ),
    Call(
        "measures.wasserstein",
        case="equal masses",
        arguments=arguments(x=POINTS[:4], y=OTHERS),
        points=("x", "y"),
        **{**MOVES, "splitting": None},
        without={**ON_HOST, "splitting": "without weights there is none to split"},
    ),
    Call(
        "measures.sliced",
        arguments=clouds(p=2, key=jax.random.key(0)),
        points=("x", "y"),
        weights="weights",
        **{**MOVES, "rotation": None},
        without={
            **ON_HOST,
            "rotation": "the directions are drawn in fixed coordinates",
            "float32": "other bits draw other directions",
        },
    ),
    Call(
        "measures.wasserstein_1d",
        arguments=arguments(x=ANGLES, y=OTHER_ANGLES, p=2, weights=WEIGHTS, other_weights=OTHER_WEIGHTS),
        points=("x", "y"),
        weights="weights",
        **{**MOVES, "rotation": None},
        without={
            **ON_HOST,
            "rotation": "there is nothing to rotate on a line",
            "junk:x:shape": "leading axes are a batch",
            "junk:y:shape": "leading axes are a batch",
        },
    ),
    Call(
        "measures.wasserstein_circle",
        arguments=arguments(x=ANGLES, y=OTHER_ANGLES, p=2, weights=WEIGHTS, other_weights=OTHER_WEIGHTS),
        points=("x", "y"),
        weights="weights",
        permutation=same,
        translation=same,
        splitting=same,
        without={
            **ON_HOST,
            "rotation": "angles are translated, which rotates",
            "scale": "a circle is not scaled",
            "junk:x:shape": "leading axes are a batch",
            "junk:y:shape": "leading axes are a batch",
        },
    ),
    *(
        Call(
            "measures.conditional_wasserstein",
            case=case,
            arguments=arguments(xs=xs, ys=ys, p=2, **more),
            points=("xs", "ys"),
            rotation=same,
            translation=same,
            scale=1,
            without={**ON_HOST, "permutation": "tokens of a sequence have an order", "splitting": PLACES},
        )
        for case, xs, ys, more in (
            ("sequences", POINTS, POINTS[::-1].copy(), {"weights": WEIGHTS}),
            ("laws", LAWS[:3], LAWS[2:], {"weights": np.array([0.4, 0.6])}),
            ("piecewise", POINTS, OTHERS, {"relax": "piecewise"}),
        )
    ),
    Call(
        "measures.two_diracs",
        arguments=arguments(x=POINTS, e=POINTS[0], other_weights=np.array([0.4, 0.6]), p=2, weights=WEIGHTS),
        without={**ON_HOST, "junk:x:shape": "leading axes are a batch"},
    ),
    Call(
        "measures.synchronous",
        arguments=arguments(x=POINTS, y=POINTS[::-1].copy(), weights=WEIGHTS, p=2),
        points=("x", "y"),
        rotation=same,
        translation=same,
        scale=1,
        without={**ON_HOST, "permutation": "points belong to each other in pairs", "splitting": "points come in pairs"},
    ),
    Call(
        "measures.sinkhorn_divergence",
        arguments=clouds(eps=0.5, tol=1e-9),
        read=lambda result: result.value,
        traced=("x", "y"),
        tolerance=1e-6,
        points=("x", "y"),
        weights="weights",
        permutation=same,
        rotation=same,
        translation=same,
        splitting=same,
        without={
            "scale": "the regularisation is a squared distance and does not scale",
            "float32": "its tolerance is below the rounding of float32, and it says that it has not converged",
        },
    ),
    ResultOf("measures.SinkhornDivergence", row="measures.sinkhorn_divergence"),
    Call(
        "measures.gaussian_w2",
        arguments=arguments(mean_x=POINTS[0], mean_y=POINTS[1], cov_x=SYMMETRIC, cov_y=np.eye(3)),
        without=ON_HOST,
    ),
]
