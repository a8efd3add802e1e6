"""Pictures: they are drawn, and what is no run is refused in a sentence."""

import tempfile
from pathlib import Path

import matplotlib.figure

import attnflow as af

from .language import classifier
from .samples import euclidean_run, hardmax_run, long_run, run
from .table import Call, Constant

PICTURE = {
    "jit": "it draws a picture",
    "float32": "a picture has no numbers to compare",
    "repeats": "a picture has no numbers to compare",
}


def picture(name, case="", **options):
    return Call(f"plot.{name}", case=case, arguments=lambda: {"run": run(), **options}, without=PICTURE)


def folder():
    return Path(tempfile.mkdtemp())


ROWS = [
    Constant("plot.PALETTE", reason="colours"),
    Call(
        "plot.review",
        arguments=lambda: {"explanation": classifier().explain("a good film"), "layers": (0, -1)},
        without=PICTURE,
    ),
    *(picture(name) for name in ("attention", "clusters", "energy", "inner_products", "leaders", "order_parameter")),
    *(picture(name) for name in ("overview", "tokens")),
    Call("plot.half_space", arguments=lambda: {"run": hardmax_run(), "token": 0, "at": 0}, without=PICTURE),
    Call("plot.hardmax_layers", arguments=lambda: {"runs": [hardmax_run()], "layers": (0, 1)}, without=PICTURE),
    Call("plot.hyperplanes", arguments=lambda: {"run": af.rescaled(euclidean_run()), "eps": 0.1}, without=PICTURE),
    Call("plot.polytope", arguments=lambda: {"run": af.rescaled(euclidean_run()), "eps": 0.1}, without=PICTURE),
    Call("plot.staircase", arguments=lambda: {"run": long_run(), "clock": "log"}, without=PICTURE),
    Call("plot.merges", arguments=lambda: {"run": long_run()}, without=PICTURE),
    Call(
        "plot.retrieval_profile",
        arguments=lambda: {"t": 1.0, "beta": 1.0, "context_slope": 1.0, "modes": 4},
        without=PICTURE,
    ),
    Call("plot.new_figure", arguments=lambda: {"width": 3.0, "height": 2.0}, without=PICTURE),
    Call("plot.style", without=PICTURE),
    Call(
        "plot.save",
        arguments=lambda: {"figure": matplotlib.figure.Figure(), "path": folder() / "a.png", "dpi": 20},
        without={**PICTURE, "junk:path": "a text is a path"},
    ),
    Call(
        "animate",
        arguments=lambda: {"run": run(), "path": folder() / "a.gif", "fps": 5, "dpi": 20, "max_frames": 2},
        without={**PICTURE, "junk:path": "a text is a path"},
    ),
]
