r"""What attention reads at low temperature: closed forms of the field.

From the uniform law a query reads $\rho\,y^*$ with a ratio of Bessel functions; from a smooth density the first
correction is the gradient of its logarithm over $\kappa = \beta|B^\top x|$; from two antipodal clusters and from one
cluster the field is elementary. These equations explain the phases.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from ..nodes import asymmetric, uniform
from .claims import BETAS, CLAIMS, KAPPAS
from .figures import mean_of_the_uniform_law

if TYPE_CHECKING:
    import numpy
    import xarray

NODES = 20_000


def cells(scale: str) -> list[Cell]:
    return [{"part": "circle"}, {"part": "clusters"}]


def compute(cell: Cell) -> "xarray.Dataset":
    return _circle() if cell["part"] == "circle" else _clusters()


def _read(betas: Any, B: Any, queries: Any, density: Any) -> "numpy.ndarray":
    """The means `(betas, queries, 2)` that queries read from a density at 20000 equispaced nodes of the circle."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import attnflow as af

    theta = 2 * np.pi * np.arange(NODES) / NODES
    nodes = jnp.asarray(np.stack([np.cos(theta), np.sin(theta)], axis=-1))
    B, x, w = jnp.asarray(B), jnp.asarray(queries), jnp.asarray(density(theta) / density(theta).sum())
    return np.asarray(jax.jit(jax.vmap(lambda beta: af.Softmax(beta=beta, B=B)(x, nodes, w)))(jnp.asarray(betas)))


def _circle() -> "xarray.Dataset":
    import numpy as np
    import xarray

    import attnflow as af

    B = np.array([[1.3, 0.4], [-0.7, 0.9]])
    x = np.array([[0.6, 0.8]])
    kappa = np.array(KAPPAS)
    read = _read(kappa / np.linalg.norm(x @ B), B, x, uniform)[:, 0]
    star = (x @ B)[0] / np.linalg.norm(x @ B)
    # The direction of the correction, at two angles.
    angles, beta = np.array([0.3, 1.1]), 1000.0
    queries, tangents = (
        np.stack(v, axis=-1) for v in ((np.cos(angles), np.sin(angles)), (-np.sin(angles), np.cos(angles)))
    )
    bent = beta * np.sum(_read([beta], np.eye(2), queries, asymmetric)[0] * tangents, axis=1)
    sheared = _read([1000.0], np.array([[1.0, 0.5], [0.0, 1.0]]), np.array([[1.0, 0.0]]), uniform)[0, 0]
    slope = (-0.4 * np.sin(angles - 0.7) + 0.4 * np.cos(2 * angles + 0.3)) / asymmetric(angles)
    return xarray.Dataset(
        {
            "length": ("kappa", np.linalg.norm(read, axis=1)),
            "along": ("kappa", read @ star),
            "bessel": ("kappa", np.asarray(af.reductions.uniform_mean(kappa, d=2))),
            "convention": ("coordinate", sheared),
            "correction": ("angle", bent),
            "gradient": ("angle", slope),
        },
        coords={"kappa": kappa, "angle": angles},
    )


def _clusters() -> "xarray.Dataset":
    """Two antipodal clusters, for several temperatures; and the linearised rates, from derivatives of the field."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    rng = np.random.default_rng(1)
    V, B, c = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
    c /= np.linalg.norm(c)
    pair, m, betas = jnp.asarray([c, -c]), jnp.asarray([0.3, 0.7]), jnp.asarray(BETAS)

    def error(beta: Any) -> Any:
        field = af.models.field(af.SelfAttention(af.Softmax(beta=beta, B=B, V=V)), 0.0, pair, m)
        return jnp.abs(jnp.stack(af.reductions.antipodal_pair_rate(c, V=V, B=B, beta=beta, weights=m)) - field).max()

    errors = np.asarray(jax.jit(jax.vmap(error))(betas))
    V, B = np.diag([1.0, 2.0]), np.diag([3.0, 1.0])
    rates = af.reductions.cluster_rates(V=V, B=B)
    model = af.SelfAttention(af.Softmax(beta=50.0, B=B, V=V))

    @jax.jit
    def derivatives() -> Any:
        """Of the velocity across e: of one token at zero temperature, and of four tokens of one cluster."""
        free = jax.jacfwd(lambda x: af.reductions.zero_temperature_field(x, V=V, B=B))(jnp.asarray([1.0, 0.0]))[1, 1]
        return free, jax.jacfwd(lambda u: af.models.field(model, 0.0, jnp.stack([jnp.ones(4), u], axis=1))[:, 1])(
            jnp.zeros(4)
        )

    free, tight = derivatives()
    eigenvalues = np.sort(np.linalg.eigvals(np.asarray(tight)).real)
    return xarray.Dataset(
        {
            "antipodal": ("beta", errors),
            "rates": ("rate", [rates.concentration, rates.mean, rates.deviation]),
            "linearised": ("rate", [float(free), eigenvalues[-1], eigenvalues[0]]),
            "spread": float(np.ptp(eigenvalues[:-1])),
        },
        coords={"beta": list(BETAS)},
    )


EXPERIMENT = Experiment(
    id="low-temperature-field",
    paper="low-temperature",
    title="What attention reads at low temperature",
    summary=(
        "Closed forms of the field: the uniform law gives a ratio of Bessel functions, a smooth density corrects it by "
        "the gradient of its logarithm over β, and clusters give elementary functions. They also fix conventions: the "
        "output is along Bᵀx."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[mean_of_the_uniform_law],
)
