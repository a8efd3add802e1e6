"""Claims about the tokens of a real ALBERT. Their numbers are those of the NumPy program in tests/witnesses/
tied_layers.py, which reads the same weights."""

from collections.abc import Callable
from typing import Any

from ... import Claim, Results, Skip

Measure = Callable[[Results], list[float | int]]

PAGE = "docs/language-models.md, Groups far beyond the depth"
HOW = "the model 'rxnmapper' was not in the cache; attnflow models fetch rxnmapper fetches it"


def data(results: Results, **cell: Any) -> Any:
    """The analysis of one cell; where the model is not in the cache, the claim is skipped."""
    if not len(results.where(model="rxnmapper")):
        raise Skip(HOW)
    return results.select(model="rxnmapper", **cell)


def at(variable: str, layers: list[int], control: str = "none", **chosen: Any) -> Measure:
    """A variable at some depths."""

    def measure(results: Results) -> list[float | int]:
        return data(results, control=control)[variable].sel(layer=layers, **chosen).values.tolist()

    return measure


def in_every_draw(variable: str, layer: int, control: str) -> Measure:
    """A variable at one depth in every draw of a control."""

    def measure(results: Results) -> list[float | int]:
        cells = results.where(model="rxnmapper", control=control)
        if not len(cells):
            raise Skip(HOW)
        return [float(found[variable].sel(layer=layer)) for _, found in cells]

    return measure


CLAIMS = [
    Claim(
        id="pretrained-mean-cosine",
        statement="Inner products grow with depth: mean cosine of different tokens after 0, 12, 24, 48 layers",
        kind="equal",
        expected=[0.0901, 0.1405, 0.1757, 0.2179],
        tolerance=0.002,
        measure=at("mean_cosine", [0, 12, 24, 48], first="kept"),
        source=PAGE,
        provenance="observation",
        possible=(-1, 1),
    ),
    Claim(
        id="pretrained-no-groups-in-depth",
        statement="Within its 12 layers the model merges no two of the 56 tokens",
        kind="equal",
        expected=[56, 56],
        measure=at("clusters", [0, 12]),
        source=PAGE,
        provenance="observation",
        possible=(1, 56),
    ),
    Claim(
        id="pretrained-groups-48",
        statement="Groups after 48 layers",
        kind="equal",
        expected=43,
        tolerance=1,
        measure=at("clusters", [48]),
        source=PAGE,
        provenance="observation",
        possible=(1, 56),
    ),
    Claim(
        id="pretrained-groups-150",
        statement="Groups after 150 layers",
        kind="equal",
        expected=18,
        tolerance=1,
        measure=at("clusters", [150]),
        source=PAGE,
        provenance="observation",
        possible=(1, 56),
    ),
    Claim(
        id="pretrained-groups-late",
        statement="Groups after 400 and 500 layers: few, and more than one",
        kind="equal",
        expected=[6.5, 6.5],
        tolerance=2,
        measure=at("clusters", [400, 500]),
        source=PAGE,
        provenance="observation",
        possible=(1, 56),
        note="weights changed by 1e-12 lead to 6 or 7 after 400 layers, and to 5, 6, 7 or 8 after 500",
    ),
    Claim(
        id="pretrained-random-weights",
        statement="With random weights of the same variances all tokens have met after 12 layers",
        kind="equal",
        expected=1,
        measure=in_every_draw("clusters", 12, "random"),
        source=PAGE,
        provenance="observation",
        possible=(1, 56),
    ),
    Claim(
        id="pretrained-shuffled",
        statement="Shuffled tokens gather more slowly: groups after 150 layers",
        kind="at_least",
        expected=24,
        measure=in_every_draw("clusters", 150, "shuffled"),
        source=PAGE,
        provenance="observation",
        possible=(1, 56),
    ),
]
