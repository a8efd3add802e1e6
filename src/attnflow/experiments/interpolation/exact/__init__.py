"""Transformers that interpolate exactly: their size, their error, and the effect of softmax.

`attnflow.interpolate` builds the blocks. Their outputs are compared with the desired ones, and their number with the
published bound.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from .claims import BETA, CLAIMS, MODES, TABLE
from .figures import blocks_against_the_bound, softmax_against_hardmax, states_after_each_step

if TYPE_CHECKING:
    import xarray

SEEDS = {"quick": 3, "full": 60}
BETAS = (0.05, 400.0, 60)  # of the curve of errors, in geometric progression


def cells(scale: str) -> list[Cell]:
    from .data_sets import FAMILIES

    rows = [name for name, row in TABLE.items() if scale == "full" or not row.slow]
    return [
        *({"part": "table", "row": row, "mode": mode} for row in rows for mode in TABLE[row].modes),
        *({"part": "fractions", "d": d, "mode": mode} for d in (2, 3) for mode in MODES),
        *({"part": "stress", "family": family, "seeds": SEEDS[scale]} for family in FAMILIES),
        *({"part": "softmax", "mode": mode} for mode in MODES),
        {"part": "symmetry"},
        {"part": "states"},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {
        "table": _table,
        "fractions": _fractions,
        "stress": _stress,
        "softmax": _softmax,
        "symmetry": _symmetry,
        "states": _states,
    }
    return parts[cell["part"]](cell)


def _numbers(report: Any) -> dict[str, float]:
    names = ("sequences", "points", "blocks", "bound", "parameters", "per_point")
    numbers = {name: float(getattr(report, name)) for name in names}
    return numbers | {"error": float(report.error), "relative_error": float(report.relative_error)}


def _table(cell: Cell) -> "xarray.Dataset":
    """One row of the table, and its softmax at a large beta where sequences are short."""
    import time

    import xarray

    import attnflow as af

    from .data_sets import gaussian

    row = TABLE[cell["row"]]
    inputs, outputs = gaussian(row.N, row.n, row.d, row.M, cell["seed"])
    start = time.perf_counter()
    network = af.interpolate(inputs, outputs, mode=cell["mode"])
    report = network.verify()
    numbers = _numbers(report) | {"seconds": time.perf_counter() - start}
    if row.n[1] < 100:
        numbers["soft_error"] = network.verify(beta=BETA).error
    numbers["rounds"] = report.roles.get("round", 0)
    numbers["coded"] = report.roles.get("code", 0)
    return xarray.Dataset(numbers)


def _fractions(cell: Cell) -> "xarray.Dataset":
    """Integer data in rational arithmetic: whether outputs are equal, not nearly equal."""
    import xarray

    import attnflow as af

    from .data_sets import integers

    inputs, outputs = integers(cell["d"], cell["seed"])
    network = af.interpolate(inputs, outputs, mode=cell["mode"], exact=True)
    equal = [
        {tuple(y) for y in network(x)} == {tuple(y) for y in wanted.tolist()} for x, wanted in _pairs(inputs, outputs)
    ]
    return xarray.Dataset(_numbers(network.verify()) | {"equal": ("sequence", [float(e) for e in equal])})


def _stress(cell: Cell) -> "xarray.Dataset":
    """A family of difficult data, both modes: refused networks, and the largest error of the others."""
    import jax
    import numpy as np
    import xarray

    import attnflow as af
    from attnflow.errors import InputError

    from .data_sets import FAMILIES

    errors, over, refused = [], [], 0
    for k in range(cell["seeds"]):
        inputs, outputs = FAMILIES[cell["family"]](np.random.default_rng([cell["seed"], k]))
        for mode in MODES:
            try:
                report = af.interpolate(inputs, outputs, mode=mode, key=jax.random.key(k)).verify()
            except InputError:
                refused += 1
                continue
            errors.append(float(report.relative_error))
            over.append(report.blocks - report.bound)
    return xarray.Dataset({"error": np.max(errors), "over": np.max(over), "refused": refused, "built": len(errors)})


def _softmax(cell: Cell) -> "xarray.Dataset":
    """The error against beta, and the beta from which on it vanishes."""
    import numpy as np
    import xarray

    import attnflow as af

    from .data_sets import gaussian

    inputs, outputs = gaussian(6, (8, 8), 2, 9, cell["seed"])
    network = af.interpolate(inputs, outputs, mode=cell["mode"])
    beta = np.geomspace(*BETAS[:2], BETAS[2])
    softmax = network.softmax()
    return xarray.Dataset(
        {
            "error": ("beta", [network.verify(beta=b).relative_error for b in beta]),
            "threshold": softmax.threshold,
            "sufficient": softmax.sufficient,
            "at_sufficient": network.verify(beta=softmax.sufficient).relative_error,
            "below": network.verify(beta=softmax.threshold / 2).relative_error,
            "gap": softmax.smallest_gap,
        },
        coords={"beta": beta},
    )


def _symmetry(cell: Cell) -> "xarray.Dataset":
    """The images of permuted tokens less the permuted images."""
    import numpy as np
    import xarray

    import attnflow as af

    from .data_sets import gaussian

    rng = np.random.default_rng(cell["seed"])
    inputs, outputs = gaussian(8, (5, 20), 3, 20, cell["seed"])
    network = af.interpolate(inputs, outputs)
    away = []
    for x in [*inputs, rng.standard_normal((30, 3))]:  # a new one, too
        order = rng.permutation(len(x))
        away += [np.abs(network(x[order], beta) - network(x, beta)[order]).max() for beta in (np.inf, 3.0)]
    return xarray.Dataset({"away": np.max(away)})


def _states(cell: Cell) -> "xarray.Dataset":
    """Three sequences in the plane after each step of the construction."""
    import numpy as np
    import xarray

    import attnflow as af

    rng = np.random.default_rng(cell["seed"])
    inputs = [rng.uniform(-1, 1, (9, 2)) + shift for shift in ([0, 0.3], [0.4, -0.3], [-0.3, 0])]
    points = [[[-0.9, 0.8], [-0.3, 0.2], [-0.2, 0.9]], [[0.9, 0.3]], [[0.1, -0.7], [0.7, -0.9]]]
    outputs = [np.array(p) for p in points]
    network = af.interpolate(inputs, outputs, mode="rounds")
    roles = [block.role for block in network.blocks]
    steps = {
        "input": 0,
        "projection": roles.index("projection") + 1,
        "separation": roles.index("reset") + 1,
        "selection": roles.index("collapse"),
        "collapse": roles.index("collapse") + 1,
        "placement": len(roles),
    }
    states = np.stack([network.trace(x)[list(steps.values())] for x in inputs], axis=1)
    return xarray.Dataset(
        {
            "x": (("step", "sequence", "token", "coordinate"), states),
            "wanted": (("point", "coordinate"), np.concatenate(outputs)),
        },
        coords={"step": list(steps)},
    )


def _pairs(inputs: list, outputs: list) -> Any:
    return zip(inputs, outputs, strict=True)


EXPERIMENT = Experiment(
    id="interpolation-exact",
    paper="interpolation",
    title="Transformers that interpolate exactly",
    summary=(
        "From N pairs of sequences a transformer is built, weight by weight, that maps each input to its output. "
        "Counts of blocks are compared with the published bound 2M + 2N + 1, errors are those of rounding, and with "
        "softmax in place of hardmax the same blocks interpolate from some beta on."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[states_after_each_step, blocks_against_the_bound, softmax_against_hardmax],
)
