"""Claims about hardmax layers, and their measurements on the results of `leaders`."""

from typing import Any

from ... import Claim, Results

REFERENCE = {  # case: how many leaders, how many tokens on faces
    "emerge": (3, 0),
    "triangle": (3, 0),
    "square": (4, 0),
    "faces": (4, 2),
    "tested faces": (4, 2),
}
ANGLES = (0.7, 1.1, 2.3)
BEYOND = ("minus", "quarter-turn", "saddle", "rank-one", "shear", "eighth-turn")
PAGE = "docs/theory/hardmax.md"
CASES = f"{PAGE}, Reference configurations"
FLOATS = f"{PAGE}, Floating point"
OTHERS = f"{PAGE}, Beyond the theorem"
FACTS = f"{PAGE}, Four invariants"
LIMIT = f"{PAGE}, The limit"


def tokens(case: str, layer: int, *which: int):
    """Coordinates of some tokens at a layer, one after the other."""

    def measure(results: Results) -> list[float]:
        return results.run(part="reference", case=case).xs[layer, list(which)].ravel().tolist()

    return measure


def leader_layers(case: str):
    return lambda results: results.run(part="reference", case=case).info["leader_layer"].tolist()


def described(variable: str, cases: Any = REFERENCE):
    return lambda results: [float(results.select(part="reference", case=case)[variable]) for case in cases]


def leaders_of_all(results: Results) -> list[int]:
    first_layers = [results.run(part="reference", case=case).info["leader_layer"] for case in REFERENCE]
    return [int((layers >= 0).sum()) for layers in first_layers]


def off_the_edges(mode: str):
    """The larger distance of the two tied tokens from the midpoints of their edges, for every angle."""

    def measure(results: Results) -> list[float]:
        last = results.select(part="rotated")[mode][:, -1, 4:6].values
        return abs(last - [[-1.0, 0.0], [1.0, 0.0]]).max(axis=(1, 2)).tolist()

    return measure


def others_arrive(results: Results) -> float:
    last = results.select(part="rotated")["robust"][:, -1].values
    corners = [[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]]
    return float(abs(last[:, [0, 1, 2, 3, 6, 7]] - [*corners, corners[0], corners[2]]).max())


def systems(variable: str, reduce: str):
    return lambda results: float(getattr(results.select(part="systems")[variable], reduce)())


def beyond(variable: str, *names: str):
    return lambda results: results.select(part="beyond")[variable].sel(matrix=list(names)).values.astype(float).tolist()


def longest(name: str, *layers: int):
    """The length of the longest token at some layers."""

    def measure(results: Results) -> list[float]:
        x = results.select(part="beyond")["x"].sel(matrix=name, layer=list(layers)).values
        return ((x**2).sum(axis=-1) ** 0.5).max(axis=1).tolist()

    return measure


def began(name: str):
    """The layers at which leaders emerge, in increasing order."""

    def measure(results: Results) -> list[int]:
        layers = results.select(part="beyond")["leader_layer"].sel(matrix=name).values
        return sorted(layers[layers >= 0].tolist())

    return measure


def extremes(results: Results) -> float:
    """Rank-one matrix: the distance of the last tokens from those of largest and smallest first coordinate."""
    x = results.select(part="beyond")["x"].sel(matrix="rank-one").values
    ends = x[0][[x[0][:, 0].argmax(), x[0][:, 0].argmin()]]
    return float((((x[-1][:, None] - ends[None]) ** 2).sum(axis=-1) ** 0.5).min(axis=1).max())


def special(case: str, layer: int, token: int):
    return lambda results: results.select(part="special")["x"].sel(case=case)[layer, token].values.tolist()


def shrinks_by(results: Results) -> list[float]:
    """The ratio of the distances to the corner, of tokens 6 and 7 of `tested faces`, in layers 0 to 20."""
    import numpy as np

    x = np.asarray(results.run(part="reference", case="tested faces").xs)[:21, [6, 7]]
    far = ((x - [[1.0, 1.0], [-1.0, -1.0]]) ** 2).sum(axis=-1) ** 0.5
    return (far[1:] / far[:-1]).ravel().tolist()


def equal(id: str, statement: str, expected: Any, measure: Any, source: str, tolerance: float = 0.0) -> Claim:
    return Claim(
        id=id,
        statement=statement,
        kind="equal",
        expected=expected,
        tolerance=tolerance,
        measure=measure,
        source=source,
        provenance="derived",
    )


def at_most(id: str, statement: str, bound: float, measure: Any, source: str, provenance: Any = "theorem") -> Claim:
    return Claim(
        id=id,
        statement=statement,
        kind="at_most",
        expected=bound,
        measure=measure,
        source=source,
        provenance=provenance,
    )


CLAIMS = [
    equal(
        "leaders-emerge",
        "T-emerge: the layers from which tokens 0, 1, 2 lead (−1: never); token 1 emerges at layer 1",
        [0, 1, 0, -1, -1, -1, -1, -1],
        leader_layers("emerge"),
        CASES,
    ),
    equal(
        "leaders-emerge-place",
        "T-emerge: the position of token 1 from then on, (−1/18, 5/36)",
        [-1 / 18, 5 / 36],
        tokens("emerge", 30, 1),
        CASES,
        1e-12,
    ),
    equal(
        "leaders-emerge-passed",
        "T-emerge: token 3 passes token 1 and goes to (1, 1/3); after 60 layers",
        [1, 1 / 3],
        tokens("emerge", 60, 3),
        CASES,
        1e-8,
    ),
    equal(
        "leaders-faces",
        "T-faces: tokens 4 and 5, which always tie, at (−1, 0) and (1, 0) after 60 layers",
        [-1, 0, 1, 0],
        tokens("tested faces", 60, 4, 5),
        CASES,
        1e-8,
    ),
    equal(
        "leaders-faces-others",
        "T-faces: tokens 6 and 7 at (1, 1) and (−1, −1) after 60 layers",
        [1, 1, -1, -1],
        tokens("tested faces", 60, 6, 7),
        CASES,
        1e-8,
    ),
    equal(
        "leaders-faces-corners",
        "T-faces: the four corners, and no other token, lead from layer 0 on",
        [0, 0, 0, 0, -1, -1, -1, -1],
        leader_layers("tested faces"),
        CASES,
    ),
    equal(
        "leaders-count",
        "Leaders of the five configurations: emerge, triangle, square, faces, faces with two tokens inside",
        [leaders for leaders, _ in REFERENCE.values()],
        leaders_of_all,
        CASES,
    ),
    equal(
        "leaders-vertices",
        "The hull of the last tokens: the number of vertices, one for every leader",
        [leaders for leaders, _ in REFERENCE.values()],
        described("vertices"),
        LIMIT,
    ),
    Claim(
        id="leaders-limit",
        statement="After 60 layers every token is at a leader, or at the projection of the origin on a face",
        kind="property",
        measure=lambda results: [bool(certified) for certified in described("certified")(results)],
        source="arXiv:2407.01602",
        provenance="theorem",
    ),
    equal(
        "leaders-faces-count",
        "How many tokens of the five end on a face and not on a vertex",
        [faces for _, faces in REFERENCE.values()],
        described("faces"),
        CASES,
    ),
    equal(
        "leaders-rate",
        "T-faces: the ratio of a token's distances to its corner in consecutive layers is 1/(1 + α) = 2/3",
        2 / 3,
        shrinks_by,
        FACTS,
        1e-9,
    ),
    at_most(
        "leaders-turned-robust",
        "T-faces turned by 0.7, 1.1, 2.3, robust, 400 layers: distance of the tied tokens to their edges' midpoints",
        1e-8,
        off_the_edges("robust"),
        FLOATS,
        "derived",
    ),
    at_most(
        "leaders-turned-robust-others",
        "The same: distance of all other tokens to their corners",
        1e-8,
        others_arrive,
        FLOATS,
        "derived",
    ),
    Claim(
        id="leaders-turned-strict",
        statement="The same with exact comparison: a tied token runs to a vertex, at the distance 1",
        kind="at_least",
        expected=0.5,
        measure=off_the_edges("strict"),
        source=FLOATS,
        provenance="derived",
    ),
    at_most(
        "leaders-norm",
        "I1, random systems with B = G Gᵀ + 0.1 I: the largest relative decrease of xᵀBx in a layer",
        1e-14,
        systems("norm_falls_by", "max"),
        FACTS,
        "derived",
    ),
    at_most(
        "leaders-hull",
        "I2: the largest distance of later tokens from earlier hulls, five configurations",
        1e-13,
        described("hull_grows_by"),
        FACTS,
        "derived",
    ),
    at_most(
        "leaders-stay",
        "I3, random systems: the largest distance of a leader from where it began to lead, 400 layers",
        1e-13,
        systems("leader_moves_by", "max"),
        FACTS,
        "derived",
    ),
    Claim(
        id="leaders-exist",
        statement="I4, random systems: the token of largest norm xᵀBx leads from layer 0 on",
        kind="property",
        measure=lambda results: bool(results.select(part="systems")["largest_leads"].values.all()),
        source=FACTS,
        provenance="derived",
    ),
    at_most(
        "leaders-all-arrive",
        "Random systems: the largest distance of a token from a leader after 400 layers",
        1e-10,
        systems("from_a_leader", "max"),
        "arXiv:2407.01602",
    ),
    equal(
        "leaders-twice",
        "A double vertex has twice the weight in a tie: the first step of (1/2, 0) is to (2/3, 1/9)",
        [2 / 3, 1 / 9],
        special("twice", 1, 3),
        FLOATS,
        1e-14,
    ),
    equal(
        "leaders-twice-limit",
        "The same: its limit is (1, 1), after 60 layers",
        [1, 1],
        special("twice", 60, 3),
        FLOATS,
        1e-8,
    ),
    equal(
        "leaders-zero",
        "A token at 0 attends to all tokens: its first step is α/(1 + α) times the mean (5/32, −1/16)",
        [5 / 96, -1 / 48],
        special("zero", 1, 0),
        FLOATS,
        1e-15,
    ),
    # Beyond the theorem
    equal(
        "beyond-minus",
        "A = −I: the length of the longest token at layers 0, 5, 10, 2000",
        [1.6395, 0.1746, 0.0802, 0.0664],
        longest("minus", 0, 5, 10, 2000),
        OTHERS,
        5e-5,
    ),
    at_most(
        "beyond-one-cluster",
        "A = −I and rotation by 90°: the diameter after 2000 layers",
        1e-10,
        beyond("diameter", "minus", "quarter-turn"),
        OTHERS,
        "derived",
    ),
    equal(
        "beyond-quarter-turn",
        "Rotation by 90°: the length of the longest token at layers 10 and 2000",
        [0.105, 0.0145],
        longest("quarter-turn", 10, 2000),
        OTHERS,
        5e-4,
    ),
    *(
        equal(f"beyond-{name}-leaders", f"A = {words}: the layers at which leaders emerge", layers, began(name), OTHERS)
        for name, words, layers in (
            ("minus", "−I", [4]),
            ("quarter-turn", "rotation by 90°", [15]),
            ("saddle", "diag(1, −1)", [1, 2]),
            ("rank-one", "diag(1, 0)", [0, 0]),
            ("shear", "[[1, 1], [0, 1]]", [0, 0, 0]),
            ("eighth-turn", "rotation by 45°", [0, 0, 5]),
        )
    ),
    equal(
        "beyond-clusters",
        "How many clusters are left for the six matrices",
        [1, 1, 2, 2, 3, 3],
        beyond("clusters", *BEYOND),
        OTHERS,
    ),
    at_most(
        "beyond-rank-one",
        "A = diag(1, 0): distance of the last tokens to the first ones with largest and smallest first coordinate",
        1e-12,
        extremes,
        OTHERS,
        "derived",
    ),
    equal(
        "beyond-falls",
        "I1 fails: the largest decrease of ⟨Ax, x⟩ in a layer for diag(1, −1) and for the rotation by 45°",
        [0.13, 0.17],
        beyond("form_falls_by", "saddle", "eighth-turn"),
        OTHERS,
        0.005,
    ),
    at_most(
        "beyond-hull",
        "I2 still holds: the largest distance of later tokens from earlier hulls",
        1e-13,
        beyond("hull_grows_by", *BEYOND),
        FACTS,
        "derived",
    ),
    at_most(
        "beyond-stay",
        "I3 still holds: the largest distance of a leader from where it began to lead",
        1e-13,
        beyond("leader_moves_by", *BEYOND),
        FACTS,
        "derived",
    ),
]
