r"""The theorem that applies to a pair of matrices, by the spectrum of V and the signs of B.

Tokens in $\mathbb R^d$ obey $\dot x_i = \sum_j P_{ij}Vx_j$ with $P = \mathrm{softmax}(x_i^\top Bx_j)$, and
$z_i = e^{-tV}x_i$.

| case | V | B |
|---|---|---|
| polytope | $cI$, $c > 0$ | symmetric, positive definite |
| origin | $-cI$, $c > 0$ | symmetric, positive definite |
| hyperplanes | $\lambda_1 > \lvert\lambda_2\rvert$ real, simple | $\varphi_1^\top B\varphi_1 > 0$ |
| mix | $\lambda I$ on $F$, smaller modulus on $G$ | symmetric, positive definite |
| boolean | $d = 1$, $V > 0$ | $B > 0$ |
| codimension (conjecture) | k eigenvalues with real part > 0, the largest simple | symmetric, positive definite |

The theorems are stated for $V = \pm I$, and that of the origin for $B = I$. A positive factor of $V$ is a change of
time, as $P$ does not know $V$. For $V = -cI$ the variables $B^{1/2}x$ have the scores of $B = I$.

??? cite "The emergence of clusters in self-attention dynamics, Geshkovski et al. (arXiv:2305.05465)"
"""

from dataclasses import dataclass

import numpy as np

from ..checks import number, square_matrix
from ..spaces import Numbers
from ._final import plural
from .hyperplanes import GoodTriple, good_triple
from .spectrum import CLOSE, Paranormal

LIMITS = {
    "polytope": "the hull of z shrinks to a convex polytope; every z_i converges to a point of a finite set on it",
    "origin": "all tokens x_i converge to 0, without rescaling, and attention becomes uniform",
    "hyperplanes": "every z_i comes close to one of at most three parallel hyperplanes",
    "mix": "the components of z in F come close to the boundary of a polytope in F, or to 0",
    "boolean": "attention converges to rows that are unit vectors at the two outermost tokens, all but at most one",
    "codimension (conjecture)": "every z_i comes close to one of at most three parallel subspaces of codimension k",
}


@dataclass(frozen=True, eq=False, repr=False)
class Classification:
    """Which theorem applies to V and B, if any. Printed, it says so and why.

    - `case`: "polytope", "origin", "hyperplanes", "mix", "boolean", "codimension (conjecture)" or `None`.
    - `theorem`: what it says of the limit, `None` without one; a conjecture is called so.
    - `reasons`: sentences with numbers: which assumptions hold, which do not.
    - `also`: other cases whose assumptions hold as well.
    - `eigenvalues` of V, by modulus; `positive`: how many have a positive real part (the k of the conjecture).
    - `triple`: the good-triple check, with `triple.spectrum` about the leading eigenspace of V.
    """

    case: str | None
    theorem: str | None
    reasons: tuple[str, ...]
    also: tuple[str, ...]
    eigenvalues: np.ndarray
    positive: int
    triple: GoodTriple

    def __str__(self) -> str:
        lines = [f"case: {self.case or 'none of the theorems applies'}"]
        if self.theorem:
            lines.append(f"limit: {self.theorem}")
        lines += [f"  - {reason}" for reason in self.reasons]
        if self.also:
            lines.append(f"also: {', '.join(self.also)}")
        return "\n".join(lines)

    __repr__ = __str__


def classify(*, V: Numbers, B: Numbers | None = None, tol: Numbers = 1e-8) -> Classification:
    """Say which theorem applies to the flow with these matrices, from their spectra, and why the others do not.

    **Arguments:** `V`, `B` of shape `(d, d)` (numbers for d = 1), `B=None` for the identity; `tol`, relative to the
    norm of the matrix, up to which equalities hold.

    >>> import numpy as np
    >>> classify(V=np.diag([1.0, 1.0, -0.5]), B=np.eye(3)).case
    'mix'
    """
    V, tol = square_matrix("V", V), number("tol", tol, 0)
    d = len(V)
    B = np.eye(d) if B is None else square_matrix("B", B, d)
    triple = good_triple(V=V, B=B, tol=tol)
    spectrum = triple.spectrum
    definite, about_B = _definite(B, tol)
    scalar, about_V = _multiple_of_identity(V, tol)
    values = spectrum.eigenvalues
    norm = float(np.abs(values).max())
    right = values[np.real(values) > CLOSE * norm]
    cases, reasons = [], [about_V, about_B]
    if d == 1:
        cases, more = _on_the_line(float(V[0, 0]), float(B[0, 0]))
        reasons += more
    elif scalar is not None:
        cases, more = _multiple(scalar, B, definite, tol)
        reasons += more
    else:
        reasons += list(triple.reasons)
        if triple.holds:
            cases.append("hyperplanes")
        elif triple.score is not None and not spectrum.ambiguous:
            reasons.append("not the hyperplane case: tokens far out along phi_1 do not attend to themselves")
        if spectrum.holds and spectrum.multiplicity > 1:
            _mix(spectrum, definite, cases, reasons)
    if d > 1 and definite and _conjecture(right, CLOSE * norm, spectrum):
        cases.append("codimension (conjecture)")
        k = len(right)
        reasons.append(f"{plural(k, 'eigenvalue')} of V with positive real part: k = {k} in the conjecture")
    case = cases[0] if cases else None
    theorem = None if case is None else LIMITS[case].replace("codimension k", f"codimension {len(right)}")
    return Classification(case, theorem, tuple(reasons), tuple(cases[1:]), values, len(right), triple)


def _definite(B: np.ndarray, tol: float) -> tuple[bool, str]:
    """Whether B is symmetric and positive definite, and the sentence."""
    norm = float(np.linalg.norm(B, 2))
    odd = float(np.linalg.norm(B - B.T, 2))
    if odd > tol * norm:
        return False, f"B is not symmetric: |B - B^T| = {odd:.3g}"
    least = float(np.linalg.eigvalsh((B + B.T) / 2)[0])
    if abs(least) <= tol * norm:
        return False, f"B is symmetric, and not positive definite: its smallest eigenvalue is 0 up to {tol:g} |B|"
    sign = "positive definite" if least > 0 else "not positive definite"
    return least > 0, f"B is symmetric, {sign}: its smallest eigenvalue is {least:.6g}"


def _multiple_of_identity(V: np.ndarray, tol: float) -> tuple[float | None, str]:
    """c, if V = cI, and the sentence."""
    c = float(np.trace(V)) / len(V)
    off = float(np.linalg.norm(V - c * np.eye(len(V)), 2))
    norm = float(np.linalg.norm(V, 2))
    if off <= tol * norm:
        return c, f"V is a multiple of the identity, cI with c = {c:.6g}"
    ambiguous = " (ambiguous: nearly one)" if off <= CLOSE * norm else ""
    return None, f"V is no multiple of the identity, by {off:.3g}{ambiguous}"


def _on_the_line(v: float, b: float) -> tuple[list[str], list[str]]:
    """One dimension: the signs decide."""
    if v > 0 and b > 0:
        return ["boolean", "polytope"], ["d = 1 with V > 0 and B > 0, for tokens that are pairwise distinct"]
    if v < 0 and b > 0:
        return ["origin"], ["d = 1 with V < 0 and B > 0: time |V| t and tokens sqrt(B) x make it V = -1, B = 1"]
    return [], [f"d = 1: the theorems need B > 0 and V not 0, and V = {v:.6g}, B = {b:.6g}"]


def _multiple(c: float, B: np.ndarray, definite: bool, tol: float) -> tuple[list[str], list[str]]:
    """V = cI in two or more dimensions."""
    if c == 0:
        return [], ["V = 0: tokens do not move"]
    if not definite:
        case = "polytope" if c > 0 else "origin"
        return [], [f"not the {case} case, which needs B symmetric and positive definite; no eigenvalue of V is simple"]
    unit = "-I" if c < 0 else "I"
    reasons = (
        [] if abs(abs(c) - 1) <= tol else [f"in the time {abs(c):.6g} t it is V = {unit}, and the theorem has that"]
    )
    if c > 0:
        return ["polytope"], reasons
    b = float(B[0, 0])
    if np.linalg.norm(B - np.eye(len(B)), 2) > tol:
        change = f"sqrt({b:.6g}) x" if np.linalg.norm(B - b * np.eye(len(B)), 2) <= tol * b else "B^(1/2) x"
        reasons.append(f"the theorem has B = I, and the variables {change} make it so, as V commutes with everything")
    return ["origin"], reasons


def _mix(spectrum: Paranormal, definite: bool, cases: list[str], reasons: list[str]) -> None:
    if definite:
        cases.append("mix")
        reasons.append(f"F has dimension {spectrum.dimension}, G has {len(spectrum.eigenvalues) - spectrum.dimension}")
    else:
        reasons.append("not the mix case, which needs B symmetric and positive definite")


def _conjecture(right: np.ndarray, close: float, spectrum: Paranormal) -> bool:
    """Whether the conjecture says more than the theorems, and is not contradicted by them.

    Where the largest real part belongs to several eigenvalues, limits can be polytopes of more than three vertices:
    V = I is the polytope case, and so is I plus a rotation, invisible to scores with B = I. So it has to be simple.
    """
    k = len(right)
    if spectrum.ambiguous or k == 0 or (k == 1 and spectrum.holds):
        return False
    parts = np.sort(np.real(right))[::-1]
    return k == 1 or bool(parts[0] - parts[1] > close)
