r"""The spectrum of V: the eigenvalue of largest modulus, its eigenspace F, and the rest G.

The theorems require $\mathbb R^d = F \oplus G$, both invariant under $V$, with

$$ V|_F = \lambda\,\mathrm{Id}, \quad \lambda > 0, \qquad \rho(V|_G) < \lambda, $$

in words: the eigenvalue of largest **modulus** is real, positive, and semisimple. The real part does not decide:
$V = \mathrm{diag}(1, -2)$ is led by $-2$. The projector onto F along G is oblique unless $V$ is normal.
"""

from dataclasses import dataclass

import numpy as np

from ..checks import number, square_matrix
from ..errors import InputError
from ..linear_algebra import InvariantSpace, invariant_space
from ..spaces import Numbers

# A double eigenvalue that is defective splits by the root of round-off, a triple one by the cube root: so many parts of
# |V| apart, eigenvalues are taken for one.
CLOSE = 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class Paranormal:
    r"""Whether V is a positive multiple of the identity on F and of smaller spectral radius on G.

    - `holds`, `reasons`: the answer, and the sentences that give it. `ambiguous`: the answer lies within tolerance.
    - `eigenvalues (d,)`: by modulus, the largest first. `eigenvalue`: $\lambda$, `None` if no real one leads alone.
    - `multiplicity`, `geometric`: the algebraic multiplicity of $\lambda$, and the dimension of $\ker(V - \lambda I)$.
    - `deviation`: $\|V|_F - \lambda I\|$; `radius`: the spectral radius on G, 0 if there is no G.
    - `basis (d, k)`: orthonormal columns that span F; `coordinates (k, d)`: $C$ with $C z$ the coordinates of the
      component of $z$ in F, along G.
    """

    holds: bool
    ambiguous: bool
    reasons: tuple[str, ...]
    eigenvalues: np.ndarray
    eigenvalue: float | None
    multiplicity: int
    geometric: int
    deviation: float
    radius: float
    basis: np.ndarray
    coordinates: np.ndarray

    @property
    def dimension(self) -> int:
        """That of F."""
        return self.basis.shape[1]

    @property
    def projector(self) -> np.ndarray:
        """The projector `(d, d)` onto F along G, oblique unless V is normal."""
        return self.basis @ self.coordinates

    def components(self, z: Numbers) -> np.ndarray:
        """The coordinates `(..., k)` of the F components of tokens `(..., d)`, in the columns of `basis`."""
        self._check()
        return np.asarray(z, float) @ self.coordinates.T

    def restrict(self, B: Numbers | None = None) -> np.ndarray:
        """The scores between components in F: the matrix `(k, k)` of B in the columns of `basis`."""
        self._check()
        d = len(self.basis)
        return self.basis.T @ (np.eye(d) if B is None else square_matrix("B", B, d)) @ self.basis

    @property
    def verdict(self) -> str:
        """Yes or no, and why."""
        head = "V is paranormal" if self.holds else "V is not paranormal"
        return f"{head}: " + "; ".join(self.reasons) + "."

    def _check(self) -> None:
        if self.eigenvalue is None:
            raise InputError(f"there is no leading eigenspace to project on: {'; '.join(self.reasons)}.")

    def __repr__(self) -> str:
        return self.verdict


def detect_paranormal(*, V: Numbers, tol: Numbers = 1e-8) -> Paranormal:
    r"""The leading eigenspace F of V, the projector onto it along G, and whether the theorems may use them.

    **Arguments:** `V`, a matrix (a number is one of size 1 x 1); `tol`, how far from $\lambda\,\mathrm{Id}$ the matrix
    on F may be, in units of $\|V\|$. What lies between `tol` and 1e-5, or a gap below 1e-5, is called ambiguous.

    >>> import numpy as np
    >>> pair = detect_paranormal(V=np.diag([1.0, 1.0, -0.5]))
    >>> pair.holds, pair.dimension, pair.radius
    (True, 2, 0.5)
    """
    V, tol = square_matrix("V", V), number("tol", tol, 0)
    d, norm = len(V), float(np.linalg.norm(V, 2))
    values = np.linalg.eigvals(V)
    values = values[np.argsort(-np.abs(values), kind="stable")]
    lead, why = _leading(values, CLOSE * norm)
    if lead is None:
        empty = np.zeros((d, 0))
        return Paranormal(False, False, (why,), values, None, 0, 0, np.inf, np.inf, empty, empty.T)
    together = np.abs(values - lead) <= _reach(values, CLOSE * norm)
    k = int(together.sum())
    basis, coordinates, block, _ = _invariant(V, lead, k)
    geometric = int(np.sum(np.linalg.svd(V - lead * np.eye(d), compute_uv=False) <= CLOSE * norm))
    deviation = float(np.linalg.norm(block - lead * np.eye(k), 2))
    radius = float(np.abs(values[~together]).max(initial=0.0))
    gap = lead - radius
    name = f"lambda = {lead:.6g}"
    reasons = [f"the eigenvalue of largest modulus is {name} > 0, of multiplicity {k}"]
    semisimple, separated = geometric >= k, gap > 0
    if not semisimple:
        span = f"its eigenvectors span dimension {geometric} only"
        reasons.append(f"{name} is defective: {span}, V on its generalised eigenspace is {deviation:.2g} from lambda I")
    elif deviation > tol * norm:
        reasons.append(f"ambiguous: V on F is lambda I up to {deviation:.2g}, more than {tol:g} |V|")
    if k < d:
        reasons.append(f"the others have modulus {radius:.6g} or less, a gap of {gap:.3g}")
        if gap <= CLOSE * norm:
            reasons.append("ambiguous: that gap is within the accuracy of eigenvalues")
    ambiguous = semisimple and (deviation > tol * norm or gap <= CLOSE * norm)
    holds = semisimple and separated and not ambiguous
    return Paranormal(
        holds, ambiguous, tuple(reasons), values, lead, k, geometric, deviation, radius, basis, coordinates
    )


def _reach(values: np.ndarray, close: float) -> float:
    return close + 1e-14 * float(np.abs(values).max(initial=0.0))


def _leading(values: np.ndarray, close: float) -> tuple[float | None, str]:
    """The real positive eigenvalue that alone has the largest modulus, or the sentence that says why there is none."""
    largest = float(np.abs(values[0]))
    if largest <= close or largest == 0:
        return None, "V is zero, or nilpotent: all its eigenvalues are 0 up to round-off"
    top = values[np.abs(values) >= largest - close]
    # Copies of one real eigenvalue lie around it, perhaps off the axis; their mean is accurate.
    off = np.abs(np.imag(top))
    real = np.real(top[off <= close])
    positive, negative = real[real > 0], real[real < 0]
    pairs = top[off > close]
    if len(positive) == len(top):
        return float(positive.mean()), ""
    if len(pairs) and not len(real):
        a, b = np.real(pairs[0]), abs(np.imag(pairs[0]))
        return None, f"the eigenvalues of largest modulus are the complex pair {a:.6g} +- {b:.6g}i"
    if len(negative) and not len(positive):
        right = float(np.max(np.real(values)))
        note = f" (the largest real part, {right:.6g}, does not count)" if right > 0 else ""
        return None, f"the eigenvalue of largest modulus is {negative[0]:.6g} < 0{note}"
    others = "its negative" if len(negative) else "a complex pair"
    return None, f"the largest modulus {largest:.6g} belongs to a real eigenvalue and also to {others}"


def _invariant(V: np.ndarray, lead: float, k: int) -> InvariantSpace:
    """The invariant space of the k eigenvalues at `lead`."""
    near = np.sort(np.abs(np.linalg.eigvals(V) - lead))
    bound = (near[k - 1] + near[k]) / 2 if k < len(V) else np.inf
    return invariant_space(V, lambda value: abs(value - lead) <= bound)
