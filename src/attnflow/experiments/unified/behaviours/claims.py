"""Claims about the fate of Gaussian laws, and their measurements on the results of `behaviours`."""

from ... import Claim, Results
from ..._measures import value

SIGMA0 = ((0.5, 0.1), (0.1, 0.5))
SLOPES = (-0.133403, -1.609321)  # of the two lines of F3: the roots of uᵀAu = 0, u = (1, k)
PAGE = "docs/theory/gaussian.md"
FIGURES, EXACT = f"{PAGE}, Figures of the paper", f"{PAGE}, Exact solutions"
RANKS = f"{PAGE}, Low rank"


def exact(*names: str):
    def measure(results: Results) -> list[float]:
        return [float(results.select(part="exact")[name]) for name in names]

    return measure


def slopes(results: Results) -> list[float]:
    """For each line the most distant slope among the limits nearest to it; NaN if there is none."""
    import numpy as np

    vectors = np.linalg.eigh(results.select(part="cone", case="two lines")["covariance"].values)[1][:, :, -1]
    ratios = vectors[:, 1] / vectors[:, 0]
    nearest = np.argmin(np.abs(ratios[:, None] - np.array(SLOPES)), axis=1)
    groups = [ratios[nearest == k] for k in (0, 1)]
    return [float(g[np.argmax(np.abs(g - s))]) if g.size else np.nan for g, s in zip(groups, SLOPES, strict=True)]


def flatness(case: str):
    """The largest ratio of the smaller eigenvalue of a limit to the larger one."""

    def measure(results: Results) -> float:
        import numpy as np

        values = np.linalg.eigvalsh(results.select(part="cone", case=case)["covariance"].values)
        return float((values[:, 0] / values[:, 1]).max())

    return measure


def fates(results: Results) -> list[int]:
    words = results.select(part="fates", side=7)["outcome"].values
    return [int((words == "converged").sum()), int((words == "blow_up").sum()), int(words.size)]


def fate_times(results: Results) -> list[float]:
    """Cone coordinates and times of those that blow up, in the order of their times."""
    data = results.select(part="fates", side=7)
    order = data["t_star"].values.argsort()[: int((data["outcome"].values == "blow_up").sum())]
    return [float(v) for k in order for v in (*data["start"].values[k, :2], data["t_star"].values[k])]


def decay_slopes(results: Results) -> list[float]:
    import numpy as np

    trace = results.select(part="decay")["trace"]
    late = trace["time"].values >= 1e4
    return [float(np.polyfit(np.log(trace["time"].values[late]), np.log(t[late]), 1)[0]) for t in trace.values]


def disc_error(results: Results) -> float:
    data = results.select(part="disc")
    return float(abs(data["t_star"].values / data["formula"].values - 1).max())


def ranks(d: int, variable: str):
    def measure(results: Results) -> list[int]:
        return results.select(part="ranks", d=d, value="identity")[variable].values.tolist()

    return measure


def histogram(d: int):
    """How many of the hundred limits have 0, 1, 2, 3 eigenvalues above 0.1."""

    def measure(results: Results) -> list[int]:
        values = results.select(part="ranks", d=d, value="identity")["closed_eigenvalues"].values
        count = (values > 0.1).sum(axis=1)
        return [int((count == k).sum()) for k in range(4)]

    return measure


def _exact(
    id: str, statement: str, names: tuple[str, ...], expected: list, tolerance: float, source: str, **more
) -> Claim:
    return Claim(
        id=f"behaviours-{id}",
        statement=statement,
        kind=more.pop("kind", "equal"),
        expected=expected,
        tolerance=tolerance,
        measure=exact(*names),
        source=source,
        provenance="derived",
        **more,
    )


CLAIMS = [
    _exact(
        "closed-form",
        "V = I, d = 3, random: relative error of Σ up to 0.8 t*",
        ("covariance",),
        [0.0],
        1e-8,
        EXACT,
    ),
    _exact("closed-mean", "The same, B symmetric: relative error of the mean", ("mean",), [0.0], 1e-8, EXACT),
    _exact(
        "line-time",
        "Line, v = 0.7, a = 0.5, s₀ = 1.3: t* = 1/(2vas₀)",
        ("line_time",),
        [1.0989011],
        1e-6,
        EXACT,
    ),
    _exact(
        "double-pole",
        "L2 with singular K: t* = ln(1 + q₁s₁₁/(q₂s₁₂))/(κq₁s₁₁)",
        ("double_time",),
        [2.0794415],
        1e-4,
        f"{PAGE}, Blow-up",
    ),
    _exact(
        "pole-orders",
        "Orders of the poles: one on the line, two for L2 with singular K",
        ("line_order", "double_order"),
        [1.0, 2.0],
        0.01,
        f"{PAGE}, Blow-up",
    ),
    _exact(
        "energy-monotone",
        "Sinkhorn, V = B and V = −B symmetric: the least step of ±E along the run, t up to 1",
        ("ascent_least_step", "descent_least_step"),
        [0.0, 0.0],
        0.0,
        f"{PAGE}, Energy",
        kind="at_least",
    ),
    _exact(
        "energy-rate",
        "The same: relative error of dE/dt = ±2∫|Γ|²dμ, by differences of E",
        ("ascent_rate", "descent_rate"),
        [0.0, 0.0],
        1e-5,
        f"{PAGE}, Energy",
    ),
    _exact(
        "feedforward",
        "Affine feed-forward layer, V = I: largest error of Σ against the Riccati formula, t up to 2",
        ("feedforward",),
        [0.0],
        1e-9,
        f"{PAGE}, Feed-forward layer",
    ),
    _exact(
        "feedforward-rest",
        "W expanding, A + Aᵀ < 0: Σ(40) less the equilibrium; signs turned: trace of Σ(40) from 0.9 times it",
        ("attracted", "smaller"),
        [0.0, 0.0],
        1e-6,
        f"{PAGE}, Feed-forward layer",
    ),
    Claim(
        id="behaviours-feedforward-above",
        statement="W contracting, A + Aᵀ > 0: from 1.1 times the equilibrium the covariance blows up",
        kind="property",
        measure=lambda results: bool(results.select(part="exact")["larger_blows_up"]),
        source=f"{PAGE}, Feed-forward layer",
        provenance="derived",
    ),
    Claim(
        id="behaviours-rank-kept",
        statement="d = 3, factors of width 1 and 2, t = 1: width, rank of Σ, rank to one in 1e8",
        kind="equal",
        expected=[1, 1, 1, 2, 2, 2],
        measure=lambda results: results.select(part="exact")["ranks"].values.tolist(),
        source=f"{PAGE}, Closures",
        provenance="derived",
    ),
    Claim(
        id="behaviours-line",
        statement="F2, from (0.5, 0.1, 0.5): the limit (s11, s12, s22), of rank one",
        kind="equal",
        expected=[0.348933, -0.155166, 0.069000],
        tolerance=1e-4,
        measure=value("line", part="numbers"),
        source=FIGURES,
        provenance="derived",
    ),
    Claim(
        id="behaviours-line-flat",
        statement="F2, all starts: largest ratio of eigenvalues of Σ(1e5), which vanishes like 1/t",
        kind="at_most",
        expected=3.42e-5,
        measure=flatness("line"),
        source=EXACT,
        provenance="derived",
        note="the smaller eigenvalue is at most 1/2t = 5e-6, the larger one at least that of the start, 0.1464",
    ),
    Claim(
        id="behaviours-two-lines",
        statement="F3, all starts: slopes of the two lines that limits lie on",
        kind="equal",
        expected=list(SLOPES),
        tolerance=1e-4,
        measure=slopes,
        source=f"{PAGE}, Two lines",
        provenance="derived",
    ),
    Claim(
        id="behaviours-two-lines-limit",
        statement="F3, from I/2: s11 of the limit",
        kind="equal",
        expected=0.20567,
        tolerance=1e-4,
        measure=lambda results: value("lines", part="numbers")(results)[0],
        source=FIGURES,
        provenance="derived",
    ),
    Claim(
        id="behaviours-blow-up",
        statement="F4, from (0.5, 0.1, 0.5): t* of softmax, and of two heads",
        kind="equal",
        expected=[0.631073, 0.604472],
        tolerance=1e-4,
        measure=lambda results: value("t_star", part="numbers")(results)[:2],
        source=FIGURES,
        provenance="derived",
    ),
    Claim(
        id="behaviours-no-blow-up",
        statement="F4 with L2 and with Sinkhorn attention: the covariance grows exponentially",
        kind="property",
        measure=lambda results: [word == "exponential" for word in value("outcome", part="numbers")(results)[2:]],
        source=f"{PAGE}, Behaviours",
        provenance="derived",
    ),
    Claim(
        id="behaviours-blow-up-times",
        statement="F4, all starts: relative error of t* against 1/λ_max(L₀ᵀ(A + Aᵀ)L₀)",
        kind="at_most",
        expected=1e-6,
        measure=disc_error,
        source=EXACT,
        provenance="derived",
    ),
    Claim(
        id="behaviours-fates",
        statement="F5, 7 × 7 grid of [−0.9, 0.9]²: number of starts that converge, that blow up, and of all",
        kind="equal",
        expected=[33, 4, 37],
        measure=fates,
        source=FIGURES,
        provenance="derived",
    ),
    Claim(
        id="behaviours-fate-times",
        statement="F5, those that blow up: coordinates (x, y) and t*",
        kind="equal",
        expected=[-0.9, -0.3, 10.49, -0.9, 0.0, 11.27, -0.9, 0.3, 11.28, -0.3, 0.9, 20.19],
        tolerance=0.006,
        measure=fate_times,
        source=FIGURES,
        provenance="derived",
    ),
    Claim(
        id="behaviours-decay",
        statement="F1: slope of log tr Σ in log t for t from 1e4 to 1e6, under softmax, L2, Sinkhorn",
        kind="equal",
        expected=-1.0,
        tolerance=0.02,
        measure=decay_slopes,
        source=f"{PAGE}, Behaviours",
        provenance="derived",
    ),
    *(
        Claim(
            id=f"behaviours-rank-{d}",
            statement=f"F6, V = I, d = {d}: rank of the closed-form limit to one in 1e8, all hundred",
            kind="equal",
            expected=d - d // 2,
            measure=ranks(d, "closed_rank"),
            source=RANKS,
            provenance="derived",
        )
        for d in (3, 4, 5)
    ),
    *(
        Claim(
            id=f"behaviours-rank-{d}-flow",
            statement=f"F6, V = I, d = {d}: the same of the flow at t = 1e14",
            kind="equal",
            expected=d - d // 2,
            measure=ranks(d, "rank"),
            source=RANKS,
            provenance="derived",
        )
        for d in (3, 4, 5)
    ),
    *(
        Claim(
            id=f"behaviours-rank-{d}-threshold",
            statement=f"F6, V = I, d = {d}: limits with 0, 1, 2, 3 eigenvalues above 0.1",
            kind="equal",
            expected=values,
            measure=histogram(d),
            source=RANKS,
            provenance="derived",
            note="ranks below the maximal one are due to the threshold",
        )
        for d, values in ((3, [1, 31, 68, 0]), (4, [0, 32, 68, 0]), (5, [0, 0, 46, 54]))
    ),
]
