"""A third-party package with one small experiment, written into a folder that is put on the path.

Environment variables make it slow or broken: the file, and with it the hash of its cells, stays the same.
"""

import os
from pathlib import Path

import attnflow

SOURCE = '''
"""Squares of integers, with a little noise."""
import os
import time

from attnflow.experiments import Claim, Experiment


def cells(scale):
    return [{"n": n, "kind": "odd" if n % 2 else "even"} for n in range(1, 6 if scale == "quick" else 9)]


def compute(cell):
    import numpy as np
    import xarray

    with open(os.environ.get("TOY_LOG", os.devnull), "a") as log:
        log.write(f"{cell['n']}\\n")
    time.sleep(float(os.environ.get("TOY_SLEEP", 0)))
    if os.environ.get("TOY_BREAK") == str(cell["n"]):
        raise RuntimeError("the toy broke <here>")
    noise = np.random.default_rng([cell["seed"], cell["n"]]).normal(size=4)
    attrs = {"exact": True, "remark": None}
    return xarray.Dataset({"square": cell["n"] ** 2, "noise": ("k", noise)}, attrs=attrs)


def squares(results):
    """The squares, drawn: x < y & z."""
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot(*results.curve("square", over="n"), "o")
    return figure


def noise(results):
    return max(abs(data["noise"].values).max() for _, data in results)


def squares_measured(results):
    return [float(data["square"]) for _, data in results][:5] if not os.environ.get("TOY_LIE") else [0.0] * 5


TOY = Experiment(
    id="toy-squares",
    paper="perspective",
    title="Squares & <noise>",
    cells=cells,
    compute=compute,
    figures=[squares],
    claims=[
        Claim(id="toy-squares-exact", statement="n times n", kind="equal", expected=[1, 4, 9, 16, 25],
              measure=squares_measured, source="Euclid", provenance="theorem"),
        Claim(id="toy-noise-small", statement="the noise is < 10", kind="at_most", expected=10, measure=noise,
              source="Gauss", provenance="derived"),
        Claim(id="toy-full-only", statement="more cells", kind="property", measure=lambda r: len(r) == 8,
              source="Peano", provenance="derived", scales=("full",)),
    ],
)
'''


def install(folder: Path) -> Path:
    """Write the package into `folder`, as an installer would; `folder` then has to be on the path."""
    info = folder / "toy-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[attnflow.experiments]\nsquares = toy_squares:TOY\n")
    (folder / "toy_squares.py").write_text(SOURCE)
    return folder


def search_path(site: Path) -> str:
    """`PYTHONPATH` of another process that has the package in `site`, and the library as this process has it."""
    return os.pathsep.join([str(site), str(Path(attnflow.__file__).parents[1])])
