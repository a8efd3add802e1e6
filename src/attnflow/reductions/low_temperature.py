r"""Low temperature: the rate at which a law concentrates, the length of its plateau, and its limit.

With $M = VB^\top$, its leading eigenspace $E$ of dimension $k$ and $f_j$ the other eigenvectors:

- near $E$ points approach at the rate $c = (\lambda_1 - \mathrm{Re}\,\lambda_2)/\max_{e\in E}|B^\top e|$;
- mass that starts near $f_j$ leaves it at the rate
  $r_j = \sum_{\lambda_i > \lambda_j}(\lambda_i - \lambda_j)/|B^\top f_j|$, the $\lambda_i$ counted with multiplicity;
  $r_2 = k c_u$ with $c_u = (\lambda_1 - \lambda_2)/|B^\top f_2|$;
- so $W_p$ to the limit decays at the rate $\min(c, \min_j r_j/p)$ for a bounded density.

At a finite temperature a cluster at $e$ with $y^*(e) = e$ is seen as one point once its width $e^{-ct}$ is below
$\beta^{-1/2}$. From then on its mean moves by the value matrix alone and deviations from the mean shrink.
Derivations: docs/theory/low-temperature.md. Reference: arXiv:2605.10931.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from ..checks import finite_array, number
from ..errors import AttnflowWarning, InputError
from ..spaces import Number, Numbers
from ._spectral_projector import both, dominant_eigenspace
from .zero_temperature import limit_space

SAME = 1e-7  # eigenvalues that differ by less than this, of the norm of the matrix, count as equal


@dataclass(frozen=True)
class LowTemperatureReport:
    r"""The assumptions of the theory of low temperatures on $V$ and $B$, and their consequences.

    - `invertible`: $B$ is (A2), with the `condition` number.
    - `leading`: the leading eigenvalue $\lambda_1$ of $VB^\top$ is real and semisimple (A3); `eigenvalue`, `dimension`
      of $E$ and `gap` to the next real part.
    - `attends_itself`: the least $e^\top B e$ over unit $e \in E$; if it is positive, each cluster reads itself.
    - `moved`: the largest $|y^*(e) - e|$ of the basis vectors of $E$ and their sums by two; zero if every cluster
      reads where it is.
    - `commuting`: $VB^\top = B^\top V$.
    - `reasons`: what fails of A2 and A3, in sentences; `ok` if nothing does.
    - `limits`: restrictions although A2 and A3 hold, in sentences: where $e^\top Be$ is not positive, clusters
      attend to each other, and no rule for the last phase holds.

    The assumptions on the law of the tokens are not checked: a density bounded above and below (A1), Lipschitz near
    $\ker\Pi_E$ or zero there (A4). A1 to A4 are assumptions of this library's derivation.
    """

    invertible: bool
    condition: float
    leading: bool
    eigenvalue: float
    dimension: int
    gap: float
    attends_itself: float
    moved: float
    commuting: bool
    reasons: tuple[str, ...]
    limits: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.reasons


@dataclass(frozen=True)
class LowTemperatureRates:
    r"""`c` near $E$, `c_u` away from $f_2$, `k` = $\dim E$, `escape` = $\min_j r_j$ with all `r`; `rate` of $W_p$.

    With complex eigenvalues among the others `c_u`, `escape` and `rate` are NaN: there is no formula for them here.
    Where `c` equals `escape / p` the decay has a logarithmic factor besides.
    """

    c: float
    c_u: float
    k: int
    r: tuple[float, ...]
    escape: float
    rate: float
    p: float


@dataclass(frozen=True)
class ClusterRates:
    r"""Linearised rates at a cluster $e$ with $y^*(e) = e$.

    - `concentration` $-c$: of the deviations from $e$ before $t_1 = \frac1{2c}\log\beta$, when it reads through $B$;
    - `mean` $\mu$: of the mean's deviation after $t_1$, the largest real part of $V$ across $e$ less $v_e$;
    - `deviation` $-v_e$: of deviations from the mean after $t_1$.

    `concentration_time` and `exit_time` follow; the second is a heuristic, infinite if $e$ is stable for $V$.
    """

    concentration: float
    mean: float
    deviation: float

    def concentration_time(self, beta: Numbers) -> np.ndarray | np.floating:
        r"""$t_1 = \frac1{2c}\log\beta$, for $\beta \ge 1$."""
        return np.log(_cold(beta)) / (-2 * self.concentration)

    def exit_time(self, beta: Numbers) -> np.ndarray | np.floating:
        r"""$\big(\frac1{2c} + \frac1{2\mu}\big)\log\beta$."""
        if self.mean <= 0:
            return np.full(np.shape(_cold(beta)), np.inf)
        return self.concentration_time(beta) + np.log(_cold(beta)) / (2 * self.mean)


def _cold(beta: Numbers) -> np.ndarray:
    """Inverse temperatures at which a cluster is narrower than one radian."""
    cold = finite_array("beta", beta)
    if (cold < 1).any():
        raise InputError(f"beta = {cold.min():g} is no low temperature; take numbers from 1 on.")
    return cold


def check_low_temperature_assumptions(*, V: Numbers, B: Numbers) -> LowTemperatureReport:
    """Whether the derivation applies to these matrices; failures and restrictions are also a warning."""
    V, B = both(V, B)
    space = dominant_eigenspace(V @ B.T)
    singular = np.linalg.svd(B, compute_uv=False)
    condition = float(singular[0] / singular[-1]) if singular[-1] > 0 else np.inf
    invertible = bool(singular[-1] > len(B) * np.finfo(float).eps * singular[0])
    E = space.basis
    # Sums of basis vectors too: B^T may have different eigenvalues on E, and then it fixes the basis alone.
    i, j = np.triu_indices(space.dimension)
    seen = (E[:, i] + E[:, j]) / np.linalg.norm(E[:, i] + E[:, j], axis=0)
    read = B.T @ seen
    lengths = np.linalg.norm(read, axis=0)
    moved = np.linalg.norm(read / np.where(lengths > 0, lengths, 1) - seen, axis=0).max()
    reasons = []
    if not invertible:
        reasons.append("B is singular (A2): some queries see no direction at all.")
    if not space.real:
        reasons.append("the leading eigenvalues of V B^T are a complex pair (A3): tokens turn for ever.")
    elif not space.semisimple:
        reasons.append("the leading eigenvalue of V B^T is defective (A3): the limit is no projection.")
    own = float(np.linalg.eigvalsh(E.T @ (B + B.T) @ E / 2).min())
    limits = []
    if not reasons and own <= len(B) * np.finfo(float).eps * singular[0]:
        limits.append(
            f"the least e^T B e on the leading eigenspace is {own:.3g}, not positive: a cluster there attends to its "
            "opposite and not to itself, so that the last phase follows no known rule."
        )
    report = LowTemperatureReport(
        invertible=invertible,
        condition=condition,
        leading=space.real and space.semisimple,
        eigenvalue=space.eigenvalue,
        dimension=space.dimension,
        gap=space.gap,
        attends_itself=own,
        moved=float(moved),
        commuting=bool(np.abs(V @ B.T - B.T @ V).max() <= SAME * max(np.abs(V @ B.T).max(), np.finfo(float).tiny)),
        reasons=tuple(reasons),
        limits=tuple(limits),
    )
    if reasons or limits:
        warnings.warn(f"low temperature: {' '.join(reasons + limits)}", AttnflowWarning, stacklevel=2)
    return report


def low_temperature_rates(*, V: Numbers, B: Numbers, p: Number = 2) -> LowTemperatureRates:
    r"""Rates at which attention at zero temperature concentrates, for a law with a bounded density.

    Where eigenvalues coincide the largest $|B^\top f|$ of their space counts: the slowest direction. Refused where
    there is no limit, and where nothing moves ($VB^\top = \lambda I$).
    """
    V, B = both(V, B)
    M = V @ B.T
    space = limit_space(V=V, B=B)
    k = space.dimension
    if k == len(M):
        raise InputError(
            "V B^T is a multiple of the identity: at zero temperature nothing moves, and there is no rate."
        )
    p = number("p", p)
    if p < 1:
        raise InputError(f"p = {p} is no order of a Wasserstein distance; take a finite number, at least 1.")
    c = space.gap / float(np.linalg.norm(B.T @ space.basis, 2))
    slack = SAME * np.linalg.norm(M, 2)
    if np.abs(np.imag(space.others)).max() > slack:
        return LowTemperatureRates(c, np.nan, k, (), np.nan, np.nan, float(p))
    r, speeds = [], []
    others = np.real(space.others)
    every = np.concatenate([np.full(k, space.eigenvalue), others])
    values = [v for i, v in enumerate(others) if i == 0 or others[i - 1] - v > slack]
    for value in values:
        _, sizes, right = np.linalg.svd(M - value * np.eye(len(M)))
        F = right[sizes <= 100 * slack].T  # the eigenvectors: what M - value takes to zero
        speeds.append(float(np.linalg.norm(B.T @ F, 2)))
        if speeds[-1] <= np.finfo(float).eps * np.linalg.norm(B, 2):
            raise InputError("B is singular: queries in the kernel of B^T read no direction, and leave at no rate.")
        above = every[every - value > slack] - value
        r.append(float(above.sum()) / speeds[-1])
    c_u = (space.eigenvalue - values[0]) / speeds[0]
    return LowTemperatureRates(c, float(c_u), k, tuple(r), min(r), min(c, min(r) / p), float(p))


def cluster_rates(*, V: Numbers, B: Numbers) -> ClusterRates:
    r"""The linearised rates at a cluster in $E$, for $\dim E = 1$ and $e$ an eigenvector of $V$ and of $B^\top$."""
    V, B = both(V, B)
    space = limit_space(V=V, B=B)
    if space.dimension != 1 or len(V) == 1:
        raise InputError(
            f"E has dimension {space.dimension} in R^{len(V)}; the rates are those of one direction of many."
        )
    e = space.basis[:, 0]
    v, b = float(e @ V @ e), float(e @ B.T @ e)
    off = max(
        np.linalg.norm(V @ e - v * e) / np.linalg.norm(V, 2), np.linalg.norm(B.T @ e - b * e) / np.linalg.norm(B, 2)
    )
    if off > SAME or b <= 0:
        raise InputError(
            "a cluster at e does not read where it is: e must be an eigenvector of V and, positively, of B^T."
        )
    across = np.linalg.svd(e[None, :])[2][1:]  # an orthonormal basis of what is orthogonal to e
    mean = float(np.real(np.linalg.eigvals(across @ V @ across.T)).max()) - v
    c = space.gap / b
    return ClusterRates(concentration=-c, mean=mean, deviation=-v)
