"""A second computation of the law of two tokens, sharing nothing with the library: polynomials instead of a grid."""

from typing import Any


def covariance_as_printed(q: Any, beta: float) -> Any:
    """`(C_11, C_12)` by the trapezoidal rule on logistic functions, for an array of inner products."""
    import numpy as np
    from scipy.special import expit

    z = np.linspace(-8, 8, 161)
    weight = np.exp(-(z**2) / 2)
    weight /= weight.sum()
    q = np.asarray(q, float)[..., None, None]
    sd = beta * np.sqrt(2 * (1 - q))
    one, other = z[:, None], -q * z[:, None] + np.sqrt(np.maximum(1 - q**2, 0)) * z[None, :]
    A, B = expit(sd * one), expit(sd * other)
    both = weight[:, None] * weight[None, :]
    own = (both * (A**2 + (1 - A) ** 2)).sum((-1, -2))
    cross = (both * (A * (1 - B) + (1 - A) * B)).sum((-1, -2))
    q = q[..., 0, 0]
    return q + (1 - q) * own, q + (1 - q) * cross


def spectral_moments(d: int, beta: float, T: float, drift: float, degree: int = 64) -> tuple[float, float]:
    """Mean and standard deviation of q at T from q = 0, by Chebyshev collocation of the backward equation."""
    import numpy as np
    from scipy.linalg import expm

    q = np.cos(np.pi * np.arange(degree + 1) / degree)
    ends = np.r_[2.0, np.ones(degree - 1), 2.0] * (-1.0) ** np.arange(degree + 1)
    apart = q[:, None] - q[None, :] + np.eye(degree + 1)
    D = np.outer(ends, 1 / ends) / apart
    D -= np.diag(D.sum(axis=1))
    own, cross = covariance_as_printed(q, beta)
    speed = (cross * (d - 2 + q**2) - (d - 1) * own * q) / d + drift * (1 - q**2)
    spread = (1 - q**2) * (2 * own - 2 * q * cross) / d
    exponential = expm(T * (speed[:, None] * D + spread[:, None] / 2 * (D @ D)))
    row = exponential[degree // 2]  # the middle node is q = 0
    mean = float(row @ q)
    return mean, float(np.sqrt(row @ q**2 - mean**2))
