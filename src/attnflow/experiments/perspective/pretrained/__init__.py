"""Tokens through the layers of a real ALBERT, which uses one layer many times: figure 1 of the paper, and beyond.

By default this is an ALBERT of 3 MB that reads chemical reactions (`attnflow models fetch rxnmapper`); the published
model is too large to come as a package. Where the variable ATTNFLOW_ALBERT names a folder that holds it, or another
ALBERT for English, its histograms through 24 and 48 layers are drawn, too. Models that are not there are left out, and
claims about them are skipped.
"""

import os
from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from .claims import CLAIMS
from .figures import groups_against_depth, histograms, histograms_in_english, who_is_in_which_group

if TYPE_CHECKING:
    import xarray

REACTION = "CC(C)S.CN(C)C=O.Fc1cccnc1F.O=C([O-])[O-].[K+].[K+]>>CC(C)Sc1ncccc1F"
ENGLISH = (
    "A transformer reads a text as a cloud of points. Each point is a word, or a part of one, and from layer to layer "
    "the points move: every one of them is drawn towards those that it attends to. Nothing in training asks for it, "
    "and yet words gather. After a few layers some of them have met, and move on together as if they were one. Later "
    "such groups meet as well, more and more slowly, and for a long time the picture hardly changes. In the end, if "
    "the layers went on for ever, there would be a single point left. Real models stop long before that. What they "
    "compute lies in between, in the groups that form early and last for long, and in the few words that lead them."
)
DEPTHS = (*range(0, 49, 4), 60, 75, 100, 125, 150, 175, 200, 250, 300, 350, 400, 450, 500)
DRAWS = 3
VARIABLE = "ATTNFLOW_ALBERT"


def cells(scale: str) -> list[Cell]:
    from ....language import MODELS, open_model

    listed: list[Cell] = []
    if MODELS["rxnmapper"].present:
        weights = open_model("rxnmapper").digest[:16]
        listed.append({"model": "rxnmapper", "control": "none", "weights": weights})
        for control in ("shuffled", "random"):
            listed += [{"model": "rxnmapper", "control": control, "draw": k, "weights": weights} for k in range(DRAWS)]
    if os.environ.get(VARIABLE):
        weights = open_model(os.environ[VARIABLE]).digest[:16]
        listed.append({"model": "albert", "control": "none", "weights": weights})
    return listed


def compute(cell: Cell) -> "xarray.Dataset":
    import numpy as np

    from ....language import analyze, load, open_model
    from ....models.families import from_tensors

    english = cell["model"] == "albert"
    files = open_model(os.environ[VARIABLE] if english else "rxnmapper")
    ready = load(files, dtype="float32" if english else "float64")
    rng = np.random.default_rng((cell["seed"], cell.get("draw", 0)))
    tokens = ready.encode(ENGLISH if english else REACTION)
    if cell["control"] == "shuffled":  # all but the marks for the beginning and the end
        order = np.arange(len(tokens.ids))
        order[1:-1] = rng.permutation(order[1:-1])
        tokens = type(tokens)(tokens.ids[order], tuple(tokens.pieces[k] for k in order))
    if cell["control"] == "random":
        drawn = {name: _random(array, rng) for name, array in files.tensors.items()}
        ready = type(ready)(from_tensors(files.config, drawn, dtype="float64"), files)
    depths = [k for k in DEPTHS if k <= 48] if english else list(DEPTHS)
    data = analyze(ready, tokens, layers=depths, iterate=depths[-1]).data
    return data.drop_attrs().assign_coords(piece=("token", np.array(tokens.pieces, dtype=str)))


def _random(array: Any, rng: Any) -> Any:
    """A matrix with independent Gaussian entries of the same variance; gains and biases stay."""
    return rng.normal(size=array.shape) * array.std() if array.ndim > 1 else array


EXPERIMENT = Experiment(
    id="perspective-pretrained",
    paper="perspective",
    title="Tokens gather in a real transformer",
    summary=(
        "An ALBERT uses one layer many times, so it can go on past its depth. Inner products of its tokens sharpen "
        "with depth, tokens gather in groups, and groups merge, ever more slowly. With random weights of the same size "
        "all tokens meet at once; in a text whose tokens are shuffled they gather more slowly."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[histograms, groups_against_depth, who_is_in_which_group, histograms_in_english],
)
