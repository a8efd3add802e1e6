"""The claims of `high_dimension`."""

from ... import Claim, Results
from ..._measures import value
from ..tokens import DOCS, PAPER

SOURCE = f"{DOCS}, Components"


def final_rank(results: Results) -> int:
    return int(results.select(part="rank")["rank"][-1])


def final_doubt(results: Results) -> float:
    return float(results.select(part="rank")["doubt"][-1])


def rank_equals_leaders(results: Results) -> bool:
    last = results.select(part="rank").isel(time=-1)
    return int(last["rank"]) == int(last["leaders"])


def wrong_way(results: Results) -> float:
    """The largest relative change of a range in the direction that the sign of its eigenvalue forbids."""
    import numpy as np

    data = results.select(part="coordinates")
    change = np.diff(np.log(data["range"].values), axis=0)
    return float((change * np.sign(data["eigenvalue"].values)).max())


def clustered(results: Results) -> list[bool]:
    """For each component: is it within 1 for all tokens at the end exactly if its eigenvalue is positive?"""
    import numpy as np

    data = results.select(part="coordinates")
    within = np.abs(data["last"].values).max(axis=0) < 1
    started = np.abs(data["first"].values).max(axis=0) < 1  # components that start outside are left out
    agree = within == (data["eigenvalue"].values > 0)
    return agree[started].tolist()


def far_from_identity(results: Results) -> float:
    import numpy as np

    return float(np.abs(results.select(part="leaders")["large"].values - np.eye(2)).max())


def final_leaders(results: Results) -> int:
    return int((results.select(part="leaders")["followers"][-1] > 0).sum())


CLAIMS = [
    Claim(
        id="layers-identity",
        statement="Residual layers rescaled by R⁻ᵏ obey their own equation: largest distance over ten layers",
        kind="at_most",
        expected=1e-12,
        measure=value("off_by", part="leaders"),
        source=f"{DOCS}, Residual layers",
        provenance="derived",
    ),
    Claim(
        id="large-scores",
        statement="Tokens (−30, 0), (25, 10), B = I, whose exponentials overflow: distance of P from the identity",
        kind="at_most",
        expected=1e-12,
        measure=far_from_identity,
        source=f"{DOCS}, Integration",
        provenance="derived",
    ),
    Claim(
        id="high-rank",
        statement="40 tokens in dimension 80, V = W Wᵀ/d, t = 11: rank of P (singular values above 10⁻⁶), n/4 at most",
        kind="at_most",
        expected=10,
        measure=final_rank,
        source=f"{PAPER}, the figure of low rank",
        provenance="observation",
        note="an observation on the true dynamics, and n/4 is ours; the paper's figure shows the linear flow",
    ),
    Claim(
        id="high-boolean",
        statement="The same run: at the end every token attends to one token only; the largest 1 − max P",
        kind="at_most",
        expected=1e-6,
        measure=final_doubt,
        source=f"{PAPER}, the figure of low rank",
        provenance="observation",
    ),
    Claim(
        id="high-rank-is-leaders",
        statement="The same run: the rank of a Boolean matrix is the number of its leaders",
        kind="property",
        measure=rank_equals_leaders,
        source=SOURCE,
        provenance="derived",
    ),
    Claim(
        id="high-monotone",
        statement="Ranges of z along eigenvectors never grow if λ > 0 and never shrink if λ < 0: largest violation",
        kind="at_most",
        expected=1e-12,
        measure=wrong_way,
        source=SOURCE,
        provenance="derived",
        note="relative to the range",
    ),
    Claim(
        id="high-clustered",
        statement="A component of z is below 1 for all tokens at the end exactly if its eigenvalue is positive",
        kind="property",
        measure=clustered,
        source=f"{PAPER}, the figure in dimension 128; {SOURCE}",
        provenance="figure",
        note="components with a token beyond 1 at the start are left out",
    ),
    Claim(
        id="leaders-few",
        statement="20 tokens in the plane, V = W Wᵀ, B = U Uᵀ, t = 10: tokens to which some token attends most",
        kind="at_most",
        expected=3,
        measure=final_leaders,
        source=f"{PAPER}, the figure of leaders",
        provenance="observation",
        note="an observation: the figure shows few leaders, and three is our reading of few",
    ),
]
