"""Independent witnesses: the formulas of the theory in plain NumPy and SciPy, written from the text, not from the code.

Nothing here imports attnflow; loops are loops, so that a reader can check them against the page.
"""

import numpy as np
from scipy.integrate import solve_ivp


def on_circle(angles):
    """Unit vectors at these angles, with one more axis at the end."""
    angles = np.asarray(angles, float)
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def weyl(n, d):
    """The helper data G(n, d) of theory/01, section 6."""
    u = np.empty((n, d))
    for i in range(1, n + 1):
        for k in range(1, d + 1):
            phase = i * i * np.sqrt(2.0) + k * i * np.sqrt(3.0) + k * k * np.sqrt(5.0)
            u[i - 1, k - 1] = np.cos(2 * np.pi * (phase - np.floor(phase)))
    return u / np.linalg.norm(u, axis=1)[:, None]


def rotation(d, seed=0):
    """A rotation matrix (determinant one)."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))
    q = q * np.sign(np.diag(r))
    q[:, 0] *= np.sign(np.linalg.det(q))
    return q


def velocity(x, w, beta, *, B=None, V=None, normalised=True, shift=0.0, sphere=True):
    """Theory/01, 1.1: the field of SA (normalised) and USA, token by token."""
    n, d = x.shape
    B = np.eye(d) if B is None else B
    V = np.eye(d) if V is None else V
    v = np.zeros_like(x)
    for i in range(n):
        logits = beta * x[i] @ B @ x.T - shift
        e = w * np.exp(logits - (logits.max() if normalised else 0.0))
        v[i] = (e @ x @ V.T) / (e.sum() if normalised else 1.0)
        if sphere:
            v[i] -= (v[i] @ x[i]) * x[i]
    return v


def flow(x0, ts, w, beta, **options):
    """The particle system by SciPy's DOP853 near round-off, from ts[0]; states at all of `ts`."""
    shape = x0.shape

    def rhs(t, flat):
        return velocity(flat.reshape(shape), w, beta, **options).ravel()

    solution = solve_ivp(rhs, (ts[0], ts[-1]), x0.ravel(), "DOP853", t_eval=ts, rtol=1e-13, atol=1e-14)
    assert solution.success
    return solution.y.T.reshape(len(ts), *shape)


def energy(x, w, beta, B=None):
    """Theory/01, section 0 and 1.4, on the GLPR scale: (1/2 beta) sum_ij w_i w_j exp(beta <x_i, B x_j>)."""
    B = np.eye(x.shape[1]) if B is None else B
    total = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            total += w[i] * w[j] * np.exp(beta * x[i] @ B @ x[j])
    return total / (2 * beta)


def equiangular_rate(g, n, beta, kind="SA"):
    """Theory/01, 2.3, as printed."""
    top = np.exp(beta * g) * (1 - g) * ((n - 1) * g + 1)
    if kind == "SA":
        return 2 * top / (np.exp(beta) + (n - 1) * np.exp(beta * g))
    return 2 / n * top * (np.exp(-beta) if kind == "shifted USA" else 1.0)
