"""Flows that have a formula, an energy or a bound, for `behaviours`."""

from typing import TYPE_CHECKING

from ... import Cell

if TYPE_CHECKING:
    import xarray

SYMMETRIC = ((0.5, 0.2), (0.2, -0.3))  # B of the energy, V = ± B
EXPANDING = ((0.5, 0.3), (-0.2, 0.4))  # W with eigenvalues in the right half-plane
CONTRACTING = ((-0.8, 0.1), (0.2, -0.6))  # A with A + Aᵀ < 0


def exact(cell: Cell) -> "xarray.Dataset":
    """One number for every formula: the error of the integrated flow."""
    import xarray

    return xarray.Dataset({**_closed_forms(), **_poles(), **_energy(), **_feedforward(), **_ranks()})


def _accurate() -> dict:
    return {"solver": "dopri8", "rtol": 1e-11, "atol": 1e-13, "trusted_spread": None}


def _closed_forms() -> dict:
    """V = I in three dimensions up to 0.8 t*, from a random law; its mean, for a symmetric B."""
    import numpy as np

    import attnflow as af

    rng = np.random.default_rng(5)
    B, L, alpha = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
    symmetric = B + B.T
    off = []
    for matrix in (B, symmetric):
        ts = np.linspace(0, 0.8, 5) * af.gaussian.closed_form.blow_up_time(L, B=matrix)
        run = af.gaussian.flow(af.Softmax(B=matrix, V=np.eye(3)), alpha, L0=L, ts=ts, **_accurate())
        exact = af.gaussian.closed_form.covariance(ts, L, B=matrix)
        off.append(np.abs(np.asarray(af.gaussian.covariance(run)) - exact).max() / np.abs(exact).max())
    means = af.gaussian.closed_form.mean(ts, alpha, L @ L.T, B=symmetric)
    return {
        "covariance": float(max(off)),
        "mean": float(np.abs(np.asarray(run.xs[:, 0]) - means).max() / np.abs(means).max()),
    }


def _poles() -> dict:
    """Times and orders of blow-ups: on the line, and of L2 attention whose keys see one coordinate."""
    import numpy as np

    import attnflow as af

    options = {"save": 2, "trusted_spread": None}
    line = af.gaussian.flow(af.Softmax(0.5, B=[[1.0]], V=[[0.7]]), [0.0], [[1.3]], t1=5.0, **options)
    flat = af.L2(V=np.diag([0.0, 1.0]), Q=[[0.5, 1.0]], K=[[1.0, 0.0]])
    double = af.gaussian.flow(flat, [0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], t1=5.0, **options)
    return {
        "line_time": float(line.info["t_star"]),
        "line_order": float(line.info["pole_order"]),
        "double_time": float(double.info["t_star"]),
        "double_order": float(double.info["pole_order"]),
    }


def _energy() -> dict:
    """Sinkhorn's energy for V = ± B: its largest step in the wrong direction, and its rate against ± 2∫|Γ|²."""
    import numpy as np

    import attnflow as af

    B, ts = np.array(SYMMETRIC), np.linspace(0, 1, 101)
    errors = {}
    for name, sign in (("ascent", 1), ("descent", -1)):
        attention = af.Sinkhorn(B=B, V=sign * B)
        run = af.gaussian.flow(attention, [0.3, -0.2], [[1.0, 0.3], [0.3, 0.7]], ts=ts, **_accurate())
        E = np.asarray(af.gaussian.energy(run))
        field = af.gaussian.velocity(attention, run.xs[:, 0], L=run.info["L"])
        promised = (
            2 * sign * (np.sum(np.asarray(field.GL) ** 2, axis=(1, 2)) + np.sum(np.asarray(field.c) ** 2, axis=1))
        )
        rate = (E[:-4] - 8 * E[1:-3] + 8 * E[3:-1] - E[4:]) / (12 * (ts[1] - ts[0]))
        errors[f"{name}_least_step"] = float((sign * np.diff(E)).min())
        errors[f"{name}_rate"] = float(np.abs(rate / promised[2:-2] - 1).max())
    return errors


def _feedforward() -> dict:
    """An affine layer beside attention, V = I: the formula, and the equilibrium that attracts or repels."""
    import numpy as np

    import attnflow as af

    W, A = np.array(EXPANDING), np.array(CONTRACTING)
    ts, Sigma0 = np.array([0.0, 0.5, 1.0, 2.0]), np.array([[1.0, 0.3], [0.3, 0.7]])
    arguments = {"feedforward": (W, [0.1, -0.3]), **_accurate()}
    run = af.gaussian.flow(af.Softmax(B=A.T, V=np.eye(2)), [0.0, 0.0], Sigma0, ts=ts, **arguments)
    exact = af.gaussian.closed_form.with_feedforward(ts, Sigma0, B=A.T, W=W)
    rest = np.linalg.inv(af.gaussian.closed_form.feedforward_equilibrium(B=A.T, W=W))
    late = af.gaussian.flow(af.Softmax(B=A.T, V=np.eye(2)), [0.0, 0.0], Sigma0, ts=[0, 10, 20, 40], **arguments)
    # With both signs turned the same equilibrium repels: smaller laws vanish, larger ones blow up.
    arguments["feedforward"] = (-W, None)
    both = [
        af.gaussian.flow(af.Softmax(B=-A.T, V=np.eye(2)), [0.0, 0.0], s * rest, ts=[0, 10, 20, 40], **arguments)
        for s in (0.9, 1.1)
    ]
    last = np.asarray(af.gaussian.final_covariance(both[0]))
    return {
        "feedforward": float(np.abs(np.asarray(af.gaussian.covariance(run)) - exact).max()),
        "attracted": float(np.abs(np.asarray(af.gaussian.final_covariance(late)) - rest).max()),
        "smaller": float(np.trace(last)),
        "larger_blows_up": af.gaussian.outcome(both[1]) == "blow_up",
    }


def _ranks() -> dict:
    """Factors of width 1 and 2 in three dimensions: the width, and the rank of the covariance at the end."""
    import numpy as np

    import attnflow as af

    rng = np.random.default_rng(7)
    B, V = 0.4 * rng.normal(size=(3, 3)), 0.4 * rng.normal(size=(3, 3))
    ranks = []
    for r in (1, 2):
        L0 = rng.normal(size=(3, r))
        run = af.gaussian.flow(af.Softmax(B=B, V=V), np.zeros(3), L0=L0, t1=1.0, save=2, trusted_spread=None)
        L = np.asarray(run.info["L"][-1])
        ranks += [L.shape[1], int(np.linalg.matrix_rank(L @ L.T, tol=1e-12)), af.gaussian.limit_rank(run)]
    return {"ranks": ("entry", ranks)}
