"""Claims about the mean-field solver, and their measurements on the results of `mean_field`."""

from ... import Claim, Results

BETAS = (1.0, 10.0, 100.0)
CLOCKS = ("SA", "shifted USA")
MODES = (1, 2, 3, 4, 5, 6, 7, 8)
SOFTMAX = {"v": 0.7, "a": 0.2, "s0": 1.3, "mean0": 0.4, "t1": 1.3}  # scores spread by 0.26 initially, by 0.49 at t1
SIGMOID = ((1.0, 0.0, 1.0), (1.0, 0.0, 2.0), (2.0, 0.0, 2.0), (-2.0, 0.5, 1.0))  # a, initial mean, time
MERGER = {"beta": 30.0, "p": 0.3, "turns": 3}  # initially 3/32 of the circle apart
PAGE = "docs/theory/mean-field.md"
SCHEME, TOKENS = f"{PAGE}, The scheme", f"{PAGE}, Tokens as an approximation"
PATTERNS, LINE = f"{PAGE}, Patterns out of the uniform measure", f"{PAGE}, On the line"


def of_laws(variable: str, reduce: str):
    """The largest or the least value of a variable in each of the laws on the circle."""
    return lambda results: [float(getattr(results.select(part="law", beta=beta)[variable], reduce)()) for beta in BETAS]


def least_step_of_energy(results: Results) -> list[float]:
    """Until a hundredth of the mass is in peaks that the grid does not resolve."""
    laws = [results.select(part="law", beta=beta) for beta in BETAS]
    return [float(data["energy"].where(data["unresolved"] < 0.01).diff("time").min()) for data in laws]


def halving(results: Results) -> float:
    data = results.select(part="merger")
    return float(data["measured"] / data["exact"])


def growth(clock: str):
    def measure(results: Results) -> list[float]:
        data = results.select(part="growth", clock=clock)
        return (data["measured"] / data["rate"]).values.tolist()

    return measure


def fourth(results: Results) -> float:
    return float(results.select(part="growth", clock="SA")["measured"].sel(k=4))


def order(results: Results) -> float:
    """The order between the two finest grids."""
    import numpy as np

    cells, error = results.curve("error", over="cells", part="order")
    return float(np.log(error[-2] / error[-1]) / np.log(cells[-1] / cells[-2]))


def finest(results: Results) -> float:
    return float(results.curve("error", over="cells", part="order")[1][-1])


def slope(value: str, error: str, power: float):
    """The exponent of n in a mean over realisations, by weighted least squares, and its standard error.

    `power` turns a mean square into its root.
    """

    def measure(results: Results) -> tuple[float, float]:
        import numpy as np

        n, mean = results.curve(value, over="n", part="random")
        _, stderr = results.curve(error, over="n", part="random")
        x, y, s = np.log(n), power * np.log(mean), power * stderr / mean
        w = 1 / s**2
        centred = x - np.sum(w * x) / np.sum(w)
        weight = np.sum(w * centred**2)
        return float(np.sum(w * centred * y) / weight), float(weight**-0.5)

    return measure


def of_quantiles(results: Results) -> list[float]:
    import numpy as np

    data = results.select(part="quantiles")
    return (data["W1"] * data["n"] / (np.pi / 2)).values[-2:].tolist()


def last(part: str, variable: str, exact: str):
    """The largest difference of two variables over all times."""
    return lambda results: float(abs(results.select(part=part)[variable] - results.select(part=part)[exact]).max())


def sigmoid(moment: int):
    return lambda results: results.select(part="sigmoid")["moments"].values[:, moment].tolist()


def to_characteristics(results: Results) -> float:
    data = results.select(part="sigmoid")
    return float(abs(data["moments"] - data["by_tokens"])[:, :2].max())


def derived(source: str) -> dict:
    return {"source": source, "provenance": "derived"}


CLAIMS = [
    Claim(
        id="mean-field-diracs",
        statement="β = 1, 10, 100, t = 20: the part of the mass in clusters narrower than four cells",
        kind="at_least",
        expected=0.9,
        possible=(0, 1),
        measure=of_laws("unresolved", "max"),
        note="that laws become sums of Diracs is theory; 0.9 at this time is our threshold",
        source=SCHEME,
        provenance="observation",
    ),
    Claim(
        id="mean-field-energy",
        statement="The energy never falls while the law is resolved: its least step at β = 1, 10, 100",
        kind="at_least",
        expected=0.0,
        measure=least_step_of_energy,
        source="arXiv:2312.10794, section 3",
        provenance="theorem",
    ),
    Claim(
        id="mean-field-merger",
        statement="Two Diracs of masses 0.3, 0.7, 3π/16 apart, β = 30: the time to half that angle over its integral",
        kind="equal",
        expected=1.0,
        tolerance=0.1,
        measure=halving,
        note="each is one or two cells wide, which increases the attraction slightly; less so on finer grids",
        **derived(f"{PAGE}, Diracs"),
    ),
    *(
        Claim(
            id=f"mean-field-growth-{clock.lower().replace(' ', '-')}",
            statement=f"Growth rates of cos kθ, k = 1…8, from the uniform measure, over Bessel's; β = 9, {clock}",
            kind="equal",
            expected=[1.0] * len(MODES),
            tolerance=1e-4,
            measure=growth(clock),
            **derived(PATTERNS),
        )
        for clock in CLOCKS
    ),
    Claim(
        id="mean-field-growth-fourth",
        statement="Its fastest mode, k = 4, β = 9 (SA): 16 I₄(9)/(9 I₀(9))",
        kind="equal",
        expected=0.704497,
        tolerance=1e-5,
        measure=fourth,
        **derived(PATTERNS),
    ),
    Claim(
        id="mean-field-order",
        statement="The order of the scheme on the two finest grids, L¹ distance to a Fourier method, β = 4, t = 2",
        kind="at_least",
        expected=3.0,
        tolerance=0.2,
        measure=order,
        note="the order of the steps in time; on grids so coarse it is not quite reached",
        **derived(SCHEME),
    ),
    Claim(
        id="mean-field-fourier",
        statement="That distance on the finest grid",
        kind="at_most",
        expected=1e-6,
        measure=finest,
        **derived(SCHEME),
    ),
    Claim(
        id="mean-field-random-mode",
        statement="Independent tokens: the root mean square error of the mean falls like n to this power, β = 4, t = ½",
        kind="equal",
        expected=-0.5,
        tolerance=4,
        tolerance_kind="sigma",
        detects=1 / 6,
        measure=slope("square", "square_error", 0.5),
        note="the power −½ is distinguished from −⅓, and from the −1 of tokens that start at quantiles",
        **derived(TOKENS),
    ),
    Claim(
        id="mean-field-random-w1",
        statement="The mean of W₁ (arc) between those tokens and the law falls like n to this power",
        kind="equal",
        expected=-0.5,
        tolerance=4,
        tolerance_kind="sigma",
        detects=1 / 6,
        measure=slope("W1", "W1_error", 1.0),
        note="the power −½ is distinguished from −⅓, and from the −1 of tokens that start at quantiles",
        **derived(TOKENS),
    ),
    Claim(
        id="mean-field-quantile-w1",
        statement="Tokens that start at quantiles: n W₁/(π/2), n = 32 and 64",
        kind="equal",
        expected=[1.0, 1.0],
        tolerance=0.01,
        measure=of_quantiles,
        **derived(TOKENS),
    ),
    Claim(
        id="mean-field-quantile-mode",
        statement="64 of them, moved by SciPy: distance of their mean from that of the law",
        kind="at_most",
        expected=1e-6,
        measure=lambda results: float(results.select(part="quantiles")["to_law"][-1]),
        **derived(TOKENS),
    ),
    Claim(
        id="mean-field-gaussian-variance",
        statement="Softmax on the line from N(0.4, 1.3), v = 0.7, a = 0.2: variance less s₀/(1 − 2vas₀t), t up to 1.3",
        kind="at_most",
        expected=1e-5,
        measure=last("softmax", "variance", "closed_variance"),
        **derived(LINE),
    ),
    Claim(
        id="mean-field-gaussian-mean",
        statement="The same: mean less α₀ e^{vt} √(s/s₀)",
        kind="at_most",
        expected=1e-5,
        measure=last("softmax", "mean", "closed_mean"),
        **derived(LINE),
    ),
    Claim(
        id="mean-field-gaussian-kurtosis",
        statement="The same: it stays Gaussian, with no excess kurtosis",
        kind="at_most",
        expected=1e-4,
        measure=lambda results: float(abs(results.select(part="softmax")["kurtosis"]).max()),
        **derived(LINE),
    ),
    Claim(
        id="mean-field-linear",
        statement="Linear attention, a law that is not Gaussian: ⟨x²⟩ less 1/(11 − 0.7t), t up to 8",
        kind="at_most",
        expected=1e-6,
        measure=last("linear", "second", "closed_second"),
        **derived(LINE),
    ),
    Claim(
        id="mean-field-sigmoid-variance",
        statement="Sigmoid attention from Gaussians, four cases: variance, by 2048 midpoint tokens",
        kind="equal",
        expected=[1.4863, 2.4784, 3.5014, 0.6306],
        tolerance=1e-3,
        tolerance_kind="rel",
        measure=sigmoid(1),
        **derived(LINE),
    ),
    Claim(
        id="mean-field-sigmoid-mean",
        statement="The same: mean",
        kind="equal",
        expected=[0.0, 0.0, 0.0, 0.6345],
        tolerance=1e-3,
        measure=sigmoid(0),
        **derived(LINE),
    ),
    Claim(
        id="mean-field-sigmoid-kurtosis",
        statement="The same: excess kurtosis, which a Gaussian does not have",
        kind="equal",
        expected=[-0.354, -0.772, -1.246, 0.531],
        tolerance=0.03,
        measure=sigmoid(2),
        **derived(LINE),
    ),
    Claim(
        id="mean-field-sigmoid-characteristics",
        statement="The same: mean and variance less those of 513 weighted tokens, moved by SciPy",
        kind="at_most",
        expected=1e-5,
        measure=to_characteristics,
        **derived(LINE),
    ),
]
