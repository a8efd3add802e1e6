"""Claims about two tokens under random layers, and their measurements on the results of `two_tokens`."""

from typing import Any

from ... import Claim, Results
from ..tables import CONSTANTS, LAYERS, REPLICAS

BETA = 2.0
GAP = 1e-8  # 1 - |q| at the start, where exponents are measured
SIDES = {1: "log_apart", -1: "log_against"}  # the variable measured near each end
LATE = {d: T for d, (T, *_) in LAYERS.items()}  # time of the counts, after 1200 layers
ENDS = {d: shares for d, (_, *shares) in LAYERS.items()}  # near 1, near -1, of 1500 pairs
C_0, K = CONSTANTS[BETA]

PAGE = "docs/theory/random-layers.md"


def collapse(d: Any) -> Any:
    return -(d - 1) / d


def antipodal(d: Any) -> Any:
    return ((d - 3) * K - (d - 1) * C_0) / d


def rate(side: int, d: int):
    def measure(results: Results) -> tuple[float, float]:
        data = results.select(part="exponents", d=d, side=side)
        return float(data["rate"]), float(data["stderr"])

    return measure


def fraction(name: str, d: int):
    return lambda results: float(results.select(part="ends", d=d)[name])


def count(name: str, d: int):
    return lambda results: round(REPLICAS * fraction(name, d)(results))


def _scales(d: int) -> tuple[str, ...] | None:
    return None if d in (2, 6) else ("full",)


CLAIMS = [
    *(
        Claim(
            id=f"two-tokens-collapse-{d}",
            statement=f"The rate of log(1 - q) from 1 - q = 1e-8, d = {d}, β = 2: -(d - 1)/d at every β",
            kind="equal",
            expected=collapse(d),
            tolerance=0.03 if d == 6 else 4,
            tolerance_kind="abs" if d == 6 else "sigma",
            detects=None if d == 6 else 0.08,
            measure=rate(1, d),
            source=f"{PAGE}, Two tokens",
            provenance="derived",
            note="the rates of neighbouring dimensions differ by 0.083 or more" if d < 6 else "",
            scales=_scales(d),
        )
        for d in ENDS
    ),
    *(
        Claim(
            id=f"two-tokens-antipodal-{d}",
            statement=f"The rate of log(1 + q) from 1 + q = 1e-8, d = {d}, β = 2",
            kind="equal",
            expected=antipodal(d),
            tolerance=0.1,
            measure=rate(-1, d),
            source=f"{PAGE}, Two tokens",
            provenance="derived",
            scales=_scales(d),
        )
        for d in ENDS
    ),
    *(
        Claim(
            id=f"two-tokens-ends-{name.split('_')[1]}-{d}",
            statement=f"The part of 1500 orthogonal pairs with 1 {sign} q < 0.05 at time {LATE[d]:g}, d = {d}, β = 2",
            kind="equal",
            expected=ENDS[d][k],
            # Four standard errors of the difference of two samples of 1500.
            tolerance=round(4 * (2 * max(ENDS[d][k] * (1 - ENDS[d][k]), 1 / 1500) / 1500) ** 0.5, 4),
            measure=fraction(name, d),
            source=f"{PAGE}, Two tokens",
            provenance="derived",
            scales=_scales(d),
        )
        for d in ENDS
        for k, (name, sign) in enumerate((("near_plus", "-"), ("near_minus", "+")))
        if (name, d) != ("near_minus", 6)
    ),
    Claim(
        id="two-tokens-none-opposite",
        statement="Orthogonal pairs in dimension 6 with 1 + q < 0.05 at time 48, of 1500",
        kind="at_most",
        expected=2,
        measure=count("near_minus", 6),
        source=f"{PAGE}, Two tokens",
        provenance="observation",
    ),
]
