"""What a person looks at: energies, clusters, leaders, polytopes, modes, ranks."""

import numpy as np

import attnflow as af

from .samples import CIRCLE, LEADING, MATRIX, POINTS, SPHERE, SYMMETRIC, WEIGHTS, hardmax_run, long_run, run
from .table import Call, ResultOf, arguments, entries_permuted, first_entries, same

VALUES = {"jit": "it looks at values: its answer is a verdict or a count"}
ON_HOST = {"jit": "NumPy and SciPy compute it: values cannot be traced"}
BITS = {"float32": "it needs 64 bits, and refuses in a sentence without them"}
OF_RUN = {"jit": "it reads a run; its numbers are traced in the rows of arrays"}
SPHERICAL = {"translation": "the sphere is not translated", "scale": "the sphere is not scaled"}
BATCH = {"junk:tokens:shape": "one token more or less is another cloud"}
STOCHASTIC = np.array([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]])
WIDE = (2.0 + np.sin(np.arange(16.0).reshape(2, 8))) / (2.0 + np.sin(np.arange(16.0).reshape(2, 8))).sum(1)[:, None]
FALLING = np.array([0.5, 0.1, 0.01, 0.02, 0.4])


def of_cloud(**more):
    return lambda: {"tokens": SPHERE, "weights": WEIGHTS, **more}


def of_run(**more):
    return lambda: {"run": run(weighted=True), **more}


CLOUD = dict(points=("tokens",), weights="weights", permutation=same, rotation=same)
PAIRS = {**SPHERICAL, "splitting": "the parts of a token that is split are one more pair of different tokens"}

ROWS = [
    Call("energy", arguments=of_run(scale="E"), without=OF_RUN),
    Call("diagnostics.dissipation", arguments=of_run(scale="E"), without=OF_RUN),
    Call(
        "diagnostics.is_gradient_flow", arguments=lambda: {"model": af.SelfAttention(beta=1.0), "d": 3}, without=VALUES
    ),
    Call("attention_matrix", arguments=of_run(at=-1), without=OF_RUN),
    Call("attention_matrix", case="log", arguments=of_run(at=-1, log=True), without=OF_RUN),
    Call(
        "diagnostics.log_partition",
        arguments=lambda: {"tokens": SPHERE, "weights": WEIGHTS, "attention": af.Softmax(2.0)},
        traced=("tokens",),
        points=("tokens",),
        weights="weights",
        permutation=entries_permuted,
        rotation=same,
        splitting=first_entries,
        without={
            "translation": "inner products see the origin",
            "scale": "the exponential is not homogeneous",
            "junk:tokens:shape": "leading axes are a batch",
        },
    ),
    Call("leaders", arguments=of_run(at=-1), without=OF_RUN),
    Call(
        "leaders",
        case="matrix",
        arguments=arguments(run=STOCHASTIC),
        traced=("run",),
        differentiable=False,
        without={"grad": "it counts followers"},
    ),
    ResultOf("diagnostics.Leaders", row="leaders"),
    Call(
        "clusters",
        arguments=lambda: {"tokens": SPHERE, "weights": WEIGHTS, "space": af.Sphere(), "eps": 0.5},
        points=("tokens",),
        weights="weights",
        permutation=same,
        rotation=same,
        translation=same,
        scale=None,
        splitting=None,
        read=lambda result: result.masses,
        without={**VALUES, "scale": "eps is a distance and does not scale", "splitting": "labels belong to tokens"},
    ),
    Call(
        "clusters",
        case="run",
        arguments=lambda: {"tokens": run(weighted=True), "eps": 0.5},
        run="tokens",
        read=lambda result: (result.count, result.masses),
        without=VALUES,
    ),
    ResultOf("diagnostics.Clusters", row="clusters"),
    Call(
        "diagnostics.components",
        arguments=arguments(x=SPHERE, eps=0.5),
        read=lambda labels: 1.0 * labels,
        traced=("x",),
        differentiable=False,
        without={"grad": "labels are whole numbers", "nonfinite:x": "tokens that are not finite are alone"},
    ),
    Call(
        "diagnostics.order_parameter",
        arguments=of_cloud(),
        traced=("tokens", "weights"),
        **CLOUD,
        splitting=same,
        without=SPHERICAL,
    ),
    Call(
        "diagnostics.order_parameter",
        case="run",
        arguments=lambda: {"tokens": run(weighted=True)},
        run="tokens",
        without=OF_RUN,
    ),
    Call(
        "diagnostics.pair_fraction",
        arguments=of_cloud(delta=0.3),
        **CLOUD,
        without={**PAIRS, "jit": "a share of pairs is a step function"},
    ),
    Call(
        "diagnostics.pair_fraction",
        case="run",
        arguments=lambda: {"tokens": run(weighted=True), "delta": 0.3},
        run="tokens",
        without=OF_RUN,
    ),
    Call(
        "inner_products",
        arguments=of_cloud(bins=4),
        **CLOUD,
        without={**PAIRS, "jit": "a histogram is a step function", "junk:bins:array": "an array has the edges of bins"},
    ),
    ResultOf("diagnostics.InnerProducts", row="inner_products"),
    Call("diagnostics.renyi_centers", arguments=arguments(tokens=SPHERE, delta=0.3), without=VALUES),
    ResultOf("diagnostics.RenyiCenters", row="diagnostics.renyi_centers"),
    Call("diagnostics.boolean_structure", arguments=arguments(P=STOCHASTIC, tol=1e-6), without=VALUES),
    ResultOf("diagnostics.BooleanStructure", row="diagnostics.boolean_structure"),
    Call("classify", arguments=arguments(V=LEADING, B=SYMMETRIC, tol=1e-8), without=VALUES),
    ResultOf("diagnostics.Classification", row="classify"),
    Call(
        "diagnostics.detect_paranormal",
        arguments=arguments(V=LEADING, tol=1e-8),
        without={**VALUES, "junk:V:0-d": "a number is a 1 x 1 matrix"},
    ),
    ResultOf("diagnostics.Paranormal", row="diagnostics.detect_paranormal"),
    Call("diagnostics.good_triple", arguments=arguments(V=LEADING, B=SYMMETRIC, tol=1e-8), without=VALUES),
    ResultOf("diagnostics.GoodTriple", row="diagnostics.good_triple"),
    Call(
        "diagnostics.detect_hyperplanes",
        arguments=arguments(z=POINTS, V=LEADING, B=SYMMETRIC, eps=0.1, speed=np.zeros(5)),
        without=VALUES,
    ),
    ResultOf("diagnostics.Hyperplanes", row="diagnostics.detect_hyperplanes"),
    Call(
        "diagnostics.detect_polytope",
        arguments=arguments(z=POINTS, B=SYMMETRIC, eps=0.1, speed=np.zeros(5)),
        without=VALUES,
    ),
    ResultOf("diagnostics.Polytope", row="diagnostics.detect_polytope"),
    Call("diagnostics.hull_nonincreasing", arguments=arguments(zs=np.stack([POINTS, 0.9 * POINTS])), without=VALUES),
    ResultOf("diagnostics.MonotoneHull", row="diagnostics.hull_nonincreasing"),
    Call("diagnostics.hardmax_limit", arguments=lambda: {"run": hardmax_run()}, without=VALUES),
    ResultOf("diagnostics.HardmaxLimit", row="diagnostics.hardmax_limit"),
    Call(
        "diagnostics.modes",
        arguments=lambda: {"tokens": CIRCLE, "weights": WEIGHTS, "beta": 4.0, "space": af.Sphere()},
        without={**VALUES, **BITS},
    ),
    ResultOf("diagnostics.Modes", row="diagnostics.modes"),
    Call(
        "diagnostics.count_modes",
        arguments=lambda: {"tokens": CIRCLE, "weights": WEIGHTS, "beta": 4.0, "space": af.Sphere()},
        without={**VALUES, **BITS},
    ),
    Call(
        "diagnostics.phase_report",
        arguments=arguments(ts=np.arange(5.0), W2=FALLING, overlap=np.array([0.0, 0.5, 0.9, 0.95, 0.99])),
        without=VALUES,
    ),
    ResultOf("diagnostics.PhaseReport", row="diagnostics.phase_report"),
    Call("diagnostics.effective_rank", arguments=arguments(matrix=MATRIX), traced=("matrix",)),
    Call("diagnostics.participation_ratio", arguments=arguments(matrix=MATRIX), traced=("matrix",)),
    Call("diagnostics.numerical_rank", arguments=arguments(matrix=MATRIX, tol=1e-6), without=VALUES),
    Call("diagnostics.effective_sample_size", arguments=arguments(P=WIDE), without=ON_HOST),
    Call(
        "diagnostics.separation_report",
        arguments=arguments(x=SPHERE, centres=SPHERE, eps=0.01, beta=50.0),
        without=VALUES,
    ),
    ResultOf("diagnostics.Separation", row="diagnostics.separation_report"),
    Call("diagnostics.staircase", arguments=lambda: {"run": long_run(), "clock": "log"}, without=VALUES),
    ResultOf("diagnostics.Staircase", row="diagnostics.staircase"),
    ResultOf("diagnostics.Plateau", row="diagnostics.staircase", part=lambda result: result.plateaus[0]),
]
