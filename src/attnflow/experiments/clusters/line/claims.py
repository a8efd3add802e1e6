"""The claims of `line`."""

from typing import TYPE_CHECKING

from ... import Claim, Results
from ..tokens import DOCS, NUMBERS, PAPER

if TYPE_CHECKING:
    import numpy

    from attnflow import Run

SOURCE = f"{DOCS}, The line"


def positions(run: "Run") -> "numpy.ndarray":
    """`(T, n)`: the positions of the tokens of positive weight."""
    import numpy as np

    return np.asarray(run.xs)[:, np.asarray(run.weights) > 0, 0]


def gap(results: Results) -> float:
    x = positions(results.run(part="four"))[-1]  # t = 6
    return float(x[3] - x[2])


def doubts(results: Results) -> list[float]:
    data = results.select(part="four")
    return [-float(data["log_doubt"].sel(time=t, method="nearest")) for t in (1, 2, 3, 4)]


def last_square(part: str, t: float):
    def measure(results: Results) -> float:
        run = results.run(part=part)
        return float(positions(run)[abs(run.ts - t).argmin(), -1]) ** 2

    return measure


def pair_against_equation(results: Results) -> float:
    """The largest relative distance from w' = 2 w tanh w, solved by SciPy."""
    return _against(results, "pair", lambda w: 2 * w * _np().tanh(w))


def triple_against_equation(results: Results) -> float:
    """The same for w' = 4 w sinh w / (1 + 2 cosh w)."""
    return _against(results, "triple", lambda w: 4 * w * _np().sinh(w) / (1 + 2 * _np().cosh(w)))


def _np():
    import numpy

    return numpy


def _against(results: Results, part: str, rate) -> float:
    from scipy.integrate import solve_ivp

    np = _np()
    run = results.run(part=part)
    ts = np.asarray(run.ts)
    ts = ts[ts <= 3 + 1e-9]
    squares = positions(run)[: len(ts), -1] ** 2
    exact = solve_ivp(lambda t, w: rate(w), (0, ts[-1]), [0.25], "DOP853", t_eval=ts, rtol=1e-12, atol=1e-14).y[0]
    return float(np.abs(squares / exact - 1).max())


def middle_row(results: Results) -> float:
    """Its largest distance from (1/3, 1/3, 1/3) until t = 3."""
    return float(abs(results.select(part="triple")["P"].sel(time=slice(0, 3.01))[:, 1] - 1 / 3).max())


def exceptional(results: Results) -> list[int]:
    return results.select(part="draws")["exceptional"].sel(time=14).values.tolist()


def ranks(results: Results) -> list[int]:
    return results.select(part="draws")["rank"].sel(time=14).values.tolist()


def led_by_the_ends(results: Results) -> list[bool]:
    return results.select(part="draws")["at_the_ends"].values.astype(bool).tolist()


CLAIMS = [
    Claim(
        id="line-gap",
        statement="Tokens −1, −.4, .3, 1.2: the distance of the two largest converges; at t = 6",
        kind="equal",
        expected=1.543634,
        tolerance=1e-4,
        measure=gap,
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="line-doubly-exponential",
        statement="The same tokens: −log(1 − P) of the largest token for itself, t = 1, 2, 3, 4; ratios tend to e",
        kind="equal",
        expected=[4.3329, 11.9878, 32.5863, 88.5789],
        tolerance=1e-2,
        measure=doubts,
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="line-pair",
        statement="Tokens ∓1/2: the square at t = 3",
        kind="equal",
        expected=14.16441,
        tolerance=1e-4,
        measure=last_square("pair", 3.0),
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="line-pair-equation",
        statement="Tokens ∓u: w = u² solves w' = 2w tanh w; largest relative distance until t = 3",
        kind="at_most",
        expected=1e-7,
        measure=pair_against_equation,
        source=SOURCE,
        provenance="derived",
    ),
    Claim(
        id="line-triple",
        statement="Tokens −1/2, 0, 1/2: the square of the largest at t = 3",
        kind="equal",
        expected=2.709878,
        tolerance=1e-5,
        measure=last_square("triple", 3.0),
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="line-triple-equation",
        statement="Tokens −u, 0, u: w = u² solves w' = 4w sinh w / (1 + 2 cosh w); largest relative distance",
        kind="at_most",
        expected=1e-7,
        measure=triple_against_equation,
        source=SOURCE,
        provenance="derived",
    ),
    Claim(
        id="line-exceptional-row",
        statement="Tokens −u, 0, u: the middle row of P stays (1/3, 1/3, 1/3), the exceptional one; distance, t ≤ 3",
        kind="at_most",
        expected=1e-12,
        measure=middle_row,
        source=SOURCE,
        provenance="derived",
        note="exact for all t; but 0 is unstable, and the rounding error of an asymmetric sum grows",
    ),
    Claim(
        id="line-boolean",
        statement="20 tokens from [−1, 1], eight draws, t = 14: rows of P that are not unit vectors",
        kind="equal",
        expected=[0] * 8,
        measure=exceptional,
        source=f"{PAPER}, the Boolean theorem; {NUMBERS}",
        provenance="theorem",
        note="the theorem allows one such row",
    ),
    Claim(
        id="line-rank",
        statement="20 tokens from [−1, 1], eight draws, t = 14: rank of P, singular values above 10⁻⁶",
        kind="equal",
        expected=[2, 2, 2, 2, 1, 2, 2, 2],
        measure=ranks,
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="line-leaders",
        statement="The tokens that rows of P point to are the smallest or the largest, in each draw",
        kind="property",
        measure=led_by_the_ends,
        source=f"{PAPER}, the Boolean theorem",
        provenance="theorem",
    ),
]
