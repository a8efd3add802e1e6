"""The computations of `smoothness` at given tokens: the derivative, and its norm."""

from typing import TYPE_CHECKING, Any

from ... import Cell
from .claims import BETAS, CESARO, GAMMAS, LENGTHS, SLOPE

if TYPE_CHECKING:
    import numpy
    import xarray


def derivative(cell: Cell) -> "xarray.Dataset":
    """The derivative by the library, by its formula, and by differences; masked and not, a random case."""
    import numpy as np
    import xarray

    import attnflow as af

    from .witness import derivative, differences

    rng = np.random.default_rng(cell["seed"])
    x, h, g = rng.normal(size=(3, 7, 3))
    V, B = rng.normal(size=(2, 3, 3))
    softmax = af.Softmax(beta=0.7, B=B, V=V)
    errors = []
    for masked, pairs in ((False, af.pairsums.Full()), (True, af.Causal())):
        J = derivative(x, 0.7 * B.T, V, masked)
        by_formula, transposed = (J @ h.ravel()).reshape(h.shape), (J.T @ g.ravel()).reshape(g.shape)
        errors.append(
            (
                np.abs(by_formula - differences(x, h, 0.7 * B.T, V, masked)).max(),
                np.abs(np.asarray(af.diagnostics.smoothness.jvp(softmax, x, h, pairs=pairs)) - by_formula).max(),
                np.abs(np.asarray(af.diagnostics.smoothness.vjp(softmax, x, g, pairs=pairs)) - transposed).max(),
            )
        )
    return xarray.Dataset({"difference": (("masked", "what"), np.array(errors))})


def adversarial(cell: Cell) -> "xarray.Dataset":
    """The norm at adversarial tokens for B = -I; and as a curve in n, from two tokens with weights 1/n and 1 - 1/n."""
    import numpy as np
    import xarray

    import attnflow as af

    B, sm = -np.eye(2), af.diagnostics.smoothness
    norm = np.array([[_norm_at_adversarial(B, gamma, n) for n in LENGTHS] for gamma in GAMMAS])
    uppers = [[sm.bounds(1.0, B=B, beta=gamma, n=n) for n in LENGTHS] for gamma in GAMMAS]
    many = np.union1d(np.geomspace(2, 3000, 90).round().astype(int), LENGTHS)
    curve = _two_weighted(B, many)
    return xarray.Dataset(
        {
            "norm": (("gamma", "n"), norm),
            "lower": (("gamma", "n"), [sm.lower_bound(B=B, beta=g, n=np.array(LENGTHS)) for g in GAMMAS]),
            **{name: (("gamma", "n"), [[u[name] for u in row] for row in uppers]) for name in ("columns", "root-n")},
            "kantorovich": ("gamma", [row[0]["kantorovich"] for row in uppers]),
            "two": (("gamma", "n"), curve[:, np.isin(many, LENGTHS)]),
            "curve": (("gamma", "many"), curve),
            "lower curve": (("gamma", "many"), [sm.lower_bound(B=B, beta=g, n=many) for g in GAMMAS]),
            "upper curve": (
                ("gamma", "many"),
                [[sm.bounds(1.0, B=B, beta=g, n=int(n))["columns"] for n in many] for g in GAMMAS],
            ),
            "peak": ("gamma", [float(sm.lower_bound(B=B, beta=g, n=np.arange(2, 2000)).max()) for g in GAMMAS]),
        },
        coords={"gamma": list(GAMMAS), "n": list(LENGTHS), "many": many},
    )


def _norm_at_adversarial(B: "numpy.ndarray", beta: float, n: int) -> float:
    import attnflow as af

    x = af.diagnostics.smoothness.adversarial_tokens(B=B, beta=beta, n=n)
    return float(af.diagnostics.smoothness.local_lipschitz(af.Softmax(beta=beta, B=B), x).value)


def _two_weighted(B: "numpy.ndarray", lengths: Any) -> "numpy.ndarray":
    """n - 1 tokens at one place are one token of weight 1 - 1/n: the same norm, as long as it is not |C A|."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import attnflow as af

    x = jnp.asarray(af.diagnostics.smoothness.adversarial_tokens(B=B, n=2))

    def norm(beta: Any, w: Any) -> Any:
        J = af.diagnostics.smoothness.jacobian(af.Softmax(beta=beta, B=B), x, w)
        root = jnp.sqrt(w)[:, None]
        return jnp.linalg.norm((root[:, :, None, None] * J / root[None, None]).reshape(4, 4), 2)

    share = 1 / jnp.asarray(np.asarray(lengths, float))
    w = jnp.stack([share, 1 - share], axis=1)
    both = jax.vmap(jax.vmap(norm, (None, 0)), (0, None))
    return np.asarray(jax.jit(both)(jnp.asarray(GAMMAS), w))


def slope(cell: Cell) -> "xarray.Dataset":
    """log-norm against log(n - 1) at adversarial tokens, as long as n is far below e^{2γR²}."""
    import numpy as np
    import xarray

    norm = [_norm_at_adversarial(-np.eye(2), SLOPE["gamma"], n) for n in SLOPE["lengths"]]
    slope = np.polyfit(np.log(np.array(SLOPE["lengths"]) - 1), np.log(norm), 1)[0]
    return xarray.Dataset({"norm": ("n", norm), "slope": slope}, coords={"n": list(SLOPE["lengths"])})


def counterexample(cell: Cell) -> "xarray.Dataset":
    """Tokens at ±3 on the first axis, and A = e₁e₂ᵀ: queries vanish, and the derivative does not."""
    import numpy as np
    import xarray

    import attnflow as af

    x, A = 3.0 * np.array([[1.0, 0.0], [-1.0, 0.0]] * 2), np.array([[0.0, 1.0], [0.0, 0.0]])
    return xarray.Dataset({"norm": float(af.diagnostics.smoothness.local_lipschitz(af.Softmax(B=A.T), x).value)})


def cesaro(cell: Cell) -> "xarray.Dataset":
    """Masked attention without scores, and without mask."""
    import jax.numpy as jnp
    import xarray

    import attnflow as af

    free = af.Softmax(beta=0.0)
    masked = [
        float(af.diagnostics.smoothness.local_lipschitz(free, jnp.ones((n, 1)), pairs=af.Causal()).value)
        for n in CESARO
    ]
    many = [2**k for k in range(1, 15)]
    return xarray.Dataset(
        {
            "norm": ("n", masked),
            "unmasked": float(af.diagnostics.smoothness.local_lipschitz(free, jnp.ones((CESARO[0], 1))).value),
            "curve": ("many", [af.diagnostics.smoothness.cesaro_norm(n) for n in many]),
        },
        coords={"n": list(CESARO), "many": many},
    )


def gaussian_law(cell: Cell) -> "xarray.Dataset":
    """The law N(0, 1) as 40 Gauss-Hermite nodes with weights, against the operator in Hermite polynomials."""
    import numpy as np
    import xarray

    import attnflow as af

    from .witness import gaussian_law_norm

    nodes, w = np.polynomial.hermite_e.hermegauss(40)
    norm = [
        float(af.diagnostics.smoothness.local_lipschitz(af.Softmax(beta=beta), nodes[:, None], w / w.sum()).value)
        for beta in BETAS
    ]
    fine = np.linspace(0.02, 0.66, 33)
    return xarray.Dataset(
        {
            "norm": ("beta", norm),
            "operator": ("beta", [gaussian_law_norm(beta) for beta in BETAS]),
            "curve": ("fine", [gaussian_law_norm(beta, 200) for beta in fine]),
        },
        coords={"beta": list(BETAS), "fine": fine},
    )


def gaussian_tokens(cell: Cell) -> "xarray.Dataset":
    """Independent tokens of N(0, 1): the norm against their number, mean of its logarithm and standard error."""
    import numpy as np
    import xarray

    import attnflow as af

    rng = np.random.default_rng(cell["seed"])
    x = rng.normal(size=(cell["draws"], cell["largest"], 1))
    lengths = [n for n in (16, 32, 64, 128, 256, 512) if n <= cell["largest"]]
    betas = (0.3, 0.6, 1.0, 2.0)

    def norms(beta: float, n: int) -> "numpy.ndarray":
        return np.asarray(
            af.diagnostics.smoothness.local_lipschitz(af.Softmax(beta=beta), x[:, :n], method="power", tol=1e-5).value
        )

    logs = np.log([[norms(beta, n) for n in lengths] for beta in betas])
    return xarray.Dataset(
        {
            "log norm": (("beta", "n"), logs.mean(axis=-1)),
            "stderr": (("beta", "n"), logs.std(axis=-1, ddof=1) / np.sqrt(cell["draws"])),
        },
        coords={"beta": list(betas), "n": lengths},
    )


def radius(cell: Cell) -> "xarray.Dataset":
    """The norm at R X for 16 clouds of 20 tokens in the plane and a random B, over six decades of R."""
    import numpy as np
    import xarray

    import attnflow as af

    rng = np.random.default_rng(cell["seed"])
    x, B = rng.normal(size=(16, 20, 2)), rng.normal(size=(2, 2))
    R = np.geomspace(0.1, 1e5, 121)
    norm = af.diagnostics.smoothness.local_lipschitz(af.Softmax(B=B), R[:, None, None, None] * x).value
    return xarray.Dataset(
        {
            "norm": (("R", "draw"), np.asarray(norm)),
            "limit": ("draw", af.diagnostics.smoothness.large_radius_limit(x, B=B)),
            "hardmax": ("draw", np.asarray(af.diagnostics.smoothness.local_lipschitz(af.Hardmax(B=B), x).value)),
        },
        coords={"R": R},
    )
