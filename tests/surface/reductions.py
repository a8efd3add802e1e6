"""Exact low-dimensional equations and limits."""

import numpy as np

from .samples import LEADING, MATRIX, SPHERE, SYMMETRIC
from .table import Call, ResultOf, arguments

ON_HOST = {"jit": "NumPy and SciPy compute it: values cannot be traced"}
COUNTS = {"jit": "its arguments are whole numbers, or nothing"}
BETAS = np.array([1.0, 4.0])
TIMES = np.array([0.0, 0.5, 2.0])
BATCH = "one point, or any batch (..., d) of them"
LIMIT = "an infinite time is allowed and gives the limit"


ROWS = [
    # Equiangular tokens, two clusters, plateaus
    Call(
        "reductions.equiangular_flow",
        arguments=arguments(ts=TIMES, n=4, beta=2.0, rho0=0.1, clock="SA"),
        traced=("beta", "rho0"),
        without={"nonfinite:ts:inf": LIMIT},
    ),
    Call(
        "reductions.equiangular_rate",
        arguments=arguments(g=0.3, n=4, beta=2.0, clock="SA"),
        elementwise=("g", "n", "beta"),
        traced=("g", "beta"),
    ),
    Call(
        "reductions.phase_time",
        arguments=arguments(beta=2.0, n=4, delta=1e-3, clock="SA"),
        elementwise=("beta", "n", "delta"),
        without=ON_HOST,
    ),
    Call(
        "reductions.two_cluster_flow",
        arguments=arguments(ts=TIMES, u0=1.0, weight=0.4, beta=2.0, clock="SA"),
        traced=("u0", "weight", "beta"),
        without={"nonfinite:ts:inf": LIMIT},
    ),
    Call(
        "reductions.two_cluster_rate",
        arguments=arguments(u=1.0, weight=0.4, beta=2.0, clock="SA"),
        elementwise=("u", "weight", "beta"),
        traced=("u", "weight", "beta"),
    ),
    Call(
        "reductions.two_cluster_time",
        arguments=arguments(beta=2.0, u0=1.0, u1=0.1, weight=0.4, clock="SA"),
        elementwise=("beta", "u0", "u1", "weight"),
        without=ON_HOST,
    ),
    Call(
        "reductions.merge_time",
        arguments=arguments(beta=9.0, u0=1.0, weights=np.array([0.4, 0.6]), clock="SA", order=1),
        elementwise=("beta", "u0"),
        traced=("beta", "u0", "weights"),
        without={f"junk:weights:{kind}": "p and q may be arrays, and are broadcast" for kind in ("ragged", "shape")},
    ),
    Call(
        "reductions.plateau_height",
        arguments=arguments(weights=np.array([0.4, 0.6])),
        traced=("weights",),
        without={"junk:weights:shape": "masses are along the last axis, other axes are a batch"},
    ),
    Call(
        "reductions.collapse_bound",
        arguments=arguments(beta=2.0, u0=0.5, c=0.5),
        elementwise=("beta", "u0", "c"),
        traced=("beta", "u0", "c"),
    ),
    Call(
        "reductions.collapse_time",
        arguments=arguments(beta=2.0, u0=0.5, c=0.9),
        elementwise=("beta", "u0", "c"),
        traced=("beta", "u0", "c"),
    ),
    Call(
        "reductions.light_token",
        arguments=arguments(ts=TIMES, c0=0.2),
        elementwise=("ts", "c0"),
        traced=("ts", "c0"),
        without={"nonfinite:ts:inf": LIMIT, "nonfinite:ts:-inf": LIMIT},
    ),
    Call(
        "reductions.long_context_cosine",
        arguments=arguments(rho=0.5, c=1.0, n=10),
        elementwise=("rho", "c", "n"),
        traced=("rho", "c"),
    ),
    # Modes, centres, the uniform measure
    Call("reductions.belt", arguments=arguments(n=100, beta=4.0), elementwise=("n", "beta"), without=ON_HOST),
    Call("reductions.belt_modes", arguments=arguments(n=100, beta=5.0), elementwise=("n", "beta"), without=ON_HOST),
    Call("reductions.expected_modes_circle", arguments=arguments(beta=4.0), elementwise=("beta",), without=ON_HOST),
    Call(
        "reductions.expected_modes_line",
        arguments=arguments(n=100, beta=4.0, up_to=2.0),
        elementwise=("n", "beta", "up_to"),
        without=ON_HOST,
    ),
    Call(
        "reductions.kac_rice_density",
        arguments=arguments(t=0.5, n=100, beta=4.0),
        elementwise=("t", "n", "beta"),
        without=ON_HOST,
    ),
    Call(
        "reductions.growth_rate",
        arguments=arguments(k=2, beta=4.0, d=2, clock="SA"),
        elementwise=("k", "beta"),
        without=ON_HOST,
    ),
    Call("reductions.fastest_mode", arguments=arguments(beta=4.0, d=2), elementwise=("beta",), without=ON_HOST),
    Call("reductions.cap_measure", arguments=arguments(delta=0.1, d=3), without=ON_HOST),
    Call("reductions.expected_strong_centers", arguments=arguments(n=100, delta=0.1, d=2), without=ON_HOST),
    Call("reductions.parking_count", arguments=arguments(delta=0.1), without=ON_HOST),
    Call(
        "reductions.strong_center_speed",
        arguments=arguments(j=5, beta=4.0, delta=0.1),
        elementwise=("j",),
        without=ON_HOST,
    ),
    Call("reductions.hemisphere_probability", arguments=arguments(n=6, d=3), without=COUNTS),
    Call(
        "reductions.uniform_energy",
        arguments=arguments(d=3, beta=2.0, scale="Ehat"),
        elementwise=("beta",),
        without=ON_HOST,
    ),
    Call("reductions.uniform_mean", arguments=arguments(kappa=1.5, d=3), elementwise=("kappa",), without=ON_HOST),
    # Low temperature
    Call(
        "reductions.antipodal_pair_rate",
        arguments=arguments(c=SPHERE[0], V=LEADING, B=LEADING, beta=4.0, weights=np.array([0.4, 0.6])),
        without=ON_HOST,
    ),
    Call("reductions.check_low_temperature_assumptions", arguments=arguments(V=LEADING, B=LEADING), without=ON_HOST),
    Call("reductions.cluster_rates", arguments=arguments(V=LEADING, B=LEADING), without=ON_HOST),
    Call("reductions.low_temperature_rates", arguments=arguments(V=LEADING, B=LEADING, p=2), without=ON_HOST),
    Call(
        "reductions.dominant_eigenspace",
        arguments=arguments(M=LEADING, tol=1e-7),
        without={**ON_HOST, "junk:M:0-d": "a number stands for a 1 x 1 matrix"},
    ),
    Call("reductions.limit_space", arguments=arguments(V=LEADING, B=LEADING), without=ON_HOST),
    Call(
        "reductions.projection_map",
        arguments=arguments(x=SPHERE, V=LEADING, B=LEADING),
        without={**ON_HOST, "junk:x:shape": BATCH},
    ),
    Call("reductions.zero_temperature_matrix", arguments=arguments(V=MATRIX, B=SYMMETRIC), without=ON_HOST),
    Call(
        "reductions.zero_temperature_field",
        arguments=arguments(x=SPHERE, V=MATRIX, B=SYMMETRIC),
        traced=("x", "V", "B"),
        without={"junk:x:shape": BATCH},
    ),
    Call(
        "reductions.zero_temperature_flow",
        arguments=arguments(x0=SPHERE, ts=TIMES, V=MATRIX, B=SYMMETRIC),
        without=ON_HOST,
    ),
    ResultOf("reductions.DominantEigenspace", row="reductions.dominant_eigenspace"),
    ResultOf("reductions.LowTemperatureReport", row="reductions.check_low_temperature_assumptions"),
    ResultOf("reductions.ClusterRates", row="reductions.cluster_rates"),
    ResultOf("reductions.LowTemperatureRates", row="reductions.low_temperature_rates"),
]
