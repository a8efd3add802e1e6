"""Flows of ReLU neurons by other routes: an adaptive solver of differential equations, a matrix exponential, NumPy."""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm


def by_solver(x, w, a, b, t, rtol=1e-12):
    """Points after the field w (a.x + b)_+ has run for a time t, by Dormand and Prince's method of eighth order."""

    def field(_, flat):
        s = np.maximum(flat.reshape(x.shape) @ a + b, 0)
        return np.outer(s, w).ravel()

    return solve_ivp(field, (0, t), x.ravel(), "DOP853", rtol=rtol, atol=1e-14).y[:, -1].reshape(x.shape)


def by_exponential(x, w, a, b, t):
    """Points after the linear field w (a.x + b), without a switch, has run for a time t."""
    d = len(w)
    generator = np.zeros((d + 1, d + 1))
    generator[:d, :d], generator[:d, d] = np.outer(w, a), b * w
    return (np.column_stack([x, np.ones(len(x))]) @ expm(t * generator).T)[:, :d]


def through(x, neurons):
    """Points after all neurons (w, a, b, t), and log determinants, one formula after the other."""
    x, log_det = np.array(x, float), np.zeros(len(x))
    for w, a, b, t in neurons:
        s, c = x @ a + b, a @ w
        factor = t if abs(c * t) < 1e-12 else np.expm1(c * t) / c
        x = x + np.outer(np.where(s > 0, factor * s, 0), w)
        log_det += np.where(s > 0, c * t, 0)
    return x, log_det


def log_det_by_differences(map_, x, h=1e-6):
    """log |det| of the Jacobian of a map at every row, by central differences."""
    d = x.shape[1]
    columns = [(map_(x + h * e) - map_(x - h * e)) / (2 * h) for e in np.eye(d)]
    return np.linalg.slogdet(np.stack(columns, axis=-1))[1]


def piecewise_linear(s, x, y, left, right):
    """T(s) by looking for the interval of every s in a loop."""
    out = np.empty(len(s))
    for i, at in enumerate(s):
        if at <= x[0]:
            out[i] = y[0] + left * (at - x[0])
        elif at >= x[-1]:
            out[i] = y[-1] + right * (at - x[-1])
        else:
            k = max(j for j in range(len(x)) if x[j] <= at)
            out[i] = y[k] + (y[k + 1] - y[k]) * ((at - x[k]) / (x[k + 1] - x[k]))
    return out
