"""Claims about the field at low temperature, and their measurements on the results of `field`."""

from ... import Claim
from ..._measures import difference, value

KAPPAS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
BETAS = (0.3, 1.0, 4.0, 20.0, 100.0)
PAGE = "docs/theory/low-temperature.md"
READS = f"{PAGE}, What attention reads"
PHASES = f"{PAGE}, Three phases"


CLAIMS = [
    Claim(
        id="field-bessel",
        statement="Uniform law on 20 000 nodes, any B: the length of the output less I₁(κ)/I₀(κ), κ from 0.1 to 1000",
        kind="equal",
        expected=0.0,
        tolerance=1e-10,
        measure=difference("length", "bessel", part="circle"),
        source=READS,
        provenance="derived",
    ),
    Claim(
        id="field-direction",
        statement="The same: it points along Bᵀx (its component there less its length)",
        kind="equal",
        expected=0.0,
        tolerance=1e-10,
        measure=difference("along", "length", part="circle"),
        source=READS,
        provenance="derived",
    ),
    Claim(
        id="field-convention",
        statement="B = [[1, ½], [0, 1]], x = (1, 0), uniform law, β = 1000: the output",
        kind="equal",
        expected=[0.894027, 0.447014],
        tolerance=1e-5,
        measure=value("convention", part="circle"),
        source=f"{PAGE}, The model",
        provenance="derived",
        note="with a transposed B it would be (1, 0)",
    ),
    Claim(
        id="field-laplace",
        statement="A smooth density, B = I, β = 1000, θ = 0.3 and 1.1: β times the tangential part of the output",
        kind="equal",
        expected=[0.26517, -0.32002],
        tolerance=0.002,
        tolerance_kind="rel",
        measure=value("correction", part="circle"),
        source=READS,
        provenance="derived",
        note="the expansion gives the derivative of log ρ, up to a relative error of order 1/β",
    ),
    Claim(
        id="field-antipodal",
        statement="Two antipodal clusters of masses 0.3 and 0.7: the field less the closed form, β from 0.3 to 100",
        kind="equal",
        expected=0.0,
        tolerance=1e-12,
        measure=value("antipodal", part="clusters"),
        source=PHASES,
        provenance="derived",
    ),
    Claim(
        id="field-linearised",
        statement="V = diag(1, 2), B = diag(3, 1): rates −c, of a cluster's mean, of deviations from it",
        kind="equal",
        expected=[-1 / 3, 1.0, -1.0],
        tolerance=1e-14,
        measure=value("rates", part="clusters"),
        source=PHASES,
        provenance="derived",
    ),
    Claim(
        id="field-derivatives",
        statement="The same from derivatives of the field at zero temperature, and of four tokens that coincide",
        kind="equal",
        expected=[-1 / 3, 1.0, -1.0],
        tolerance=1e-10,
        measure=value("linearised", part="clusters"),
        source=PHASES,
        provenance="derived",
    ),
]
