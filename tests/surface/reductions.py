"""Exact low-dimensional equations and limits."""

import numpy as np

from .samples import LEADING, MATRIX, SPHERE, SYMMETRIC
from .table import Call, ResultOf, arguments

ON_HOST = {"jit": "NumPy and SciPy compute it: values cannot be traced"}
COUNTS = {"jit": "its arguments are whole numbers, or nothing"}
BETAS = np.array([1.0, 4.0])
TIMES = np.array([0.0, 0.5, 2.0])


ROWS = [
    # Equiangular tokens, two clusters, plateaus
    Call(
        "equiangular_flow", arguments=arguments(ts=TIMES, n=4, beta=2.0, rho0=0.1, kind="SA"), traced=("beta", "rho0")
    ),
    Call(
        "reductions.equiangular_rate",
        arguments=arguments(g=0.3, n=4, beta=2.0, kind="SA"),
        elementwise=("g", "beta"),
        traced=("g", "beta"),
    ),
    Call(
        "phase_time",
        arguments=arguments(beta=2.0, n=4, delta=1e-3, kind="SA"),
        elementwise=("beta", "delta"),
        without=ON_HOST,
    ),
    Call(
        "two_cluster_flow",
        arguments=arguments(ts=TIMES, u0=1.0, p=0.4, beta=2.0, kind="SA"),
        traced=("u0", "p", "beta"),
    ),
    Call(
        "reductions.two_cluster_rate",
        arguments=arguments(u=1.0, p=0.4, beta=2.0, kind="SA"),
        elementwise=("u", "p", "beta"),
        traced=("u", "p", "beta"),
    ),
    Call(
        "two_cluster_time",
        arguments=arguments(beta=2.0, u0=1.0, u1=0.1, p=0.4, kind="SA"),
        elementwise=("beta", "u0", "u1", "p"),
        without=ON_HOST,
    ),
    Call(
        "merge_time",
        arguments=arguments(beta=9.0, u0=1.0, masses=np.array([0.4, 0.6]), kind="SA"),
        elementwise=("beta", "u0"),
        without=ON_HOST,
    ),
    Call("plateau_height", arguments=arguments(masses=np.array([0.4, 0.6])), traced=("masses",)),
    Call("reductions.collapse_bound", arguments=arguments(beta=2.0, u0=0.5, c=0.5), without=ON_HOST),
    Call("reductions.collapse_time", arguments=arguments(beta=2.0, u0=0.5, c=0.5), without=ON_HOST),
    Call("light_token", arguments=arguments(ts=TIMES, c0=0.2), traced=("ts", "c0")),
    Call(
        "long_context_cosine",
        arguments=arguments(rho=0.5, c=1.0, n=10),
        elementwise=("rho", "c", "n"),
        traced=("rho", "c"),
    ),
    # Modes, centres, the uniform measure
    Call("belt", arguments=arguments(n=100, beta=4.0), without=ON_HOST),
    Call("belt_modes", arguments=arguments(n=100, beta=4.0), without=ON_HOST),
    Call("expected_modes_circle", arguments=arguments(beta=4.0), elementwise=("beta",), traced=("beta",)),
    Call("expected_modes_line", arguments=arguments(n=100, beta=4.0, up_to=2.0), without=ON_HOST),
    Call(
        "kac_rice_density",
        arguments=arguments(t=0.5, n=100, beta=4.0),
        elementwise=("t", "n", "beta"),
        traced=("t", "beta"),
    ),
    Call(
        "growth_rate", arguments=arguments(k=2, beta=4.0, d=2, kind="SA"), elementwise=("k", "beta"), traced=("beta",)
    ),
    Call("fastest_mode", arguments=arguments(beta=4.0, d=2), without=ON_HOST),
    Call("cap_measure", arguments=arguments(delta=0.1, d=3), elementwise=("delta",), traced=("delta",)),
    Call(
        "expected_strong_centers",
        arguments=arguments(n=100, delta=0.1, d=2),
        elementwise=("n", "delta"),
        without=ON_HOST,
    ),
    Call("parking_count", arguments=arguments(delta=0.1), elementwise=("delta",), without=ON_HOST),
    Call(
        "strong_center_speed",
        arguments=arguments(j=5, beta=4.0, delta=0.1),
        elementwise=("j", "beta", "delta"),
        without=ON_HOST,
    ),
    Call("hemisphere_probability", arguments=arguments(n=6, d=3), without=COUNTS),
    Call("uniform_energy", arguments=arguments(d=3, beta=2.0, scale="Ehat"), elementwise=("beta",), traced=("beta",)),
    Call("uniform_mean", arguments=arguments(kappa=1.5, d=3), elementwise=("kappa",), traced=("kappa",)),
    # Low temperature
    Call(
        "antipodal_pair_rate",
        arguments=arguments(c=SPHERE[0], V=LEADING, B=LEADING, beta=4.0, masses=np.array([0.4, 0.6])),
        without=ON_HOST,
    ),
    Call("check_low_temperature_assumptions", arguments=arguments(V=LEADING, B=LEADING), without=ON_HOST),
    Call("cluster_rates", arguments=arguments(V=LEADING, B=LEADING), without=ON_HOST),
    Call("low_temperature_rates", arguments=arguments(V=LEADING, B=LEADING, p=2), without=ON_HOST),
    Call("dominant_eigenspace", arguments=arguments(M=LEADING, tol=1e-7), without=ON_HOST),
    Call("reductions.limit_space", arguments=arguments(V=LEADING, B=LEADING), without=ON_HOST),
    Call("projection_map", arguments=arguments(x=SPHERE, V=LEADING, B=LEADING), without=ON_HOST),
    Call("zero_temperature_matrix", arguments=arguments(V=MATRIX, B=SYMMETRIC), traced=("V", "B")),
    Call("zero_temperature_field", arguments=arguments(x=SPHERE, V=MATRIX, B=SYMMETRIC), traced=("x", "V", "B")),
    Call("zero_temperature_flow", arguments=arguments(x0=SPHERE, ts=TIMES, V=MATRIX, B=SYMMETRIC), without=ON_HOST),
    ResultOf("reductions.DominantEigenspace", row="dominant_eigenspace"),
    ResultOf("reductions.LowTemperatureReport", row="check_low_temperature_assumptions"),
    ResultOf("reductions.ClusterRates", row="cluster_rates"),
    ResultOf("reductions.LowTemperatureRates", row="low_temperature_rates"),
]
