"""The base case of the Gaussian closures: one law in the plane, one set of matrices, every attention map."""

from typing import Any

Q = ((0.6, 0.2), (-0.1, 0.5))
K = ((0.5, -0.3), (0.2, 0.4))
V = ((0.4, -0.5), (0.3, 0.2))
A2, V2 = ((-0.3, 0.2), (0.1, 0.25)), ((0.2, 0.1), (-0.3, 0.3))  # the second head
ALPHA, SIGMA = (0.3, -0.2), ((1.0, 0.3), (0.3, 0.7))
OTHER_ALPHA, OTHER_SIGMA = (0.32, -0.18), ((1.05, 0.28), (0.28, 0.72))

# Mean and covariance (s11, s12, s22) at t = 1, by SciPy: tests/witnesses/gaussian_laws.py.
AT_ONE = {
    "softmax": (0.613363, -0.090838, 1.314554, 0.477435, 0.943425),
    "two heads": (0.675556, -0.293722, 1.209221, 0.598047, 1.001507),
    "L2": (0.558941, -0.155322, 1.472307, 0.532652, 1.024053),
    "linear": (0.346924, -0.204219, 1.413060, 0.521953, 0.966943),
    "Sinkhorn-3": (0.552161, -0.102925, 1.277040, 0.445289, 0.909684),
    "Sinkhorn-5": (0.548748, -0.105785, 1.276511, 0.444800, 0.909217),
    "Sinkhorn": (0.548355, -0.106249, 1.276502, 0.444792, 0.909209),
}


def base_map(name: str, tol: float = 1e-9) -> Any:
    """An attention map of the base case by its name in the table; `tol` is that of Sinkhorn's potentials."""
    import numpy as np

    import attnflow as af

    arguments: dict[str, Any] = {"Q": np.array(Q), "K": np.array(K), "V": np.array(V)}
    A = np.array(K).T @ np.array(Q)
    makers = {
        "softmax": lambda: af.Softmax(**arguments),
        "two heads": lambda: af.MultiHead([af.Softmax(B=A.T, V=V), af.Softmax(B=np.array(A2).T, V=V2)]),
        "L2": lambda: af.L2(**arguments),
        "linear": lambda: af.Linear(**arguments),
        "Sinkhorn-3": lambda: af.Sinkhorn(**arguments, half_steps=3),
        "Sinkhorn-5": lambda: af.Sinkhorn(**arguments, half_steps=5),
        "Sinkhorn": lambda: af.Sinkhorn(**arguments, tol=tol),
    }
    return makers[name]()
