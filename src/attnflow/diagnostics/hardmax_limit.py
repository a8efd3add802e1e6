r"""The limit of hardmax layers: every token at a leader, or at the point of a face nearest to the origin.

For $B$ symmetric and positive definite, and tokens that are distinct and not zero, there is a polytope $K$ whose
vertices are the leaders, and every token converges to a point of a finite set in the boundary of $K$. A point of it
that is no vertex is the projection of the origin on a face of $K$, in the norm $|x|_B^2 = x^\top Bx$. The face consists
of the leaders between which the token ties.

??? cite "Clustering in pure-attention hardmax transformers, Alcalde, Fantuzzi, Zuazua (arXiv:2407.01602)"
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import square_matrix
from ..errors import InputError
from ..flows import Run
from ..spaces import Number
from ._final import linking_distance, plural
from .hulls import nearest_weights
from .polytope import Polytope, detect_polytope

CLOSE = 1e-8  # tokens so close to their limit, in units of the longest one, have arrived
ROUNDING = 64  # or, where that is more, so many units in the last place of it


@dataclass(frozen=True, eq=False, repr=False)
class HardmaxLimit:
    r"""The limit of a run, from its last layer. Printed, it is a verdict in words.

    - `leaders (m,)`: the indices of the leaders, in increasing order; `leader_layer (n,)`: from which layer on, -1 for
      other tokens.
    - `at_leader (n,)`: the leader at which a token is, -1 if at none. `faces`: for every other token that has arrived,
      the leaders that span its face.
    - `target (n, d)`: the leader, or the point of the face; NaN of a token that is at none. `distance (n,)`: how far
      the token is from it (of a token that is at none: from the nearest leader).
    - `ahead (n,)`: how far the token is from what it reads in the next layer. Of a token that has arrived this is at
      most twice `eps`; near a leader, or a point of a face, and drawn elsewhere, it has not arrived.
    - `limits`: sentences that say why the run cannot show more; empty if nothing is known.
    - `positive`: whether B is symmetric and positive definite, as the theorem requires. Faces are sought only then.
    - `polytope`: the hull of the last tokens, as `detect_polytope` sees it. `eps`: the distance of what has arrived.

    Tokens of weight zero are not judged; they count as being at no leader.
    """

    leaders: np.ndarray
    leader_layer: np.ndarray
    at_leader: np.ndarray
    faces: dict[int, tuple[int, ...]]
    target: np.ndarray
    distance: np.ndarray
    present: np.ndarray
    positive: bool
    polytope: Polytope
    eps: float
    ahead: np.ndarray
    limits: tuple[str, ...] = ()

    @property
    def missing(self) -> np.ndarray:
        """The tokens, with weight, that are at no leader and on no face."""
        arrived = (self.at_leader >= 0) | np.isin(np.arange(len(self.at_leader)), list(self.faces))
        return np.flatnonzero(self.present & ~arrived)

    @property
    def certified(self) -> bool:
        """Whether every token is where the theorem puts its limit."""
        return self.positive and not len(self.missing)

    @property
    def verdict(self) -> str:
        late = self.leaders[self.leader_layer[self.leaders] > 0]
        parts = [f"{plural(len(self.leaders), 'leader')}"]
        parts[0] += f", {len(late)} of them emerged after layer 0." if len(late) else "."
        count = int((self.at_leader >= 0).sum())
        parts.append(f"{plural(count, 'token')} of {int(self.present.sum())} at a leader, within {self.eps:.2g}.")
        for token, face in self.faces.items():
            parts.append(f"Token {token} at the projection of the origin on the face of leaders {_listed(face)}.")
        if len(self.missing):
            far = float(self.distance[self.missing].max())
            who = f"Token{'' if len(self.missing) == 1 else 's'} {_listed(self.missing)}"
            where = f", {far:.2g} or less from a leader" if len(self.leaders) else ""
            parts.append(f"{who} {'has' if len(self.missing) == 1 else 'have'} not arrived{where}.")
            drawn = self.missing[self.distance[self.missing] <= self.eps]
            if len(drawn):
                who = f"Token{'' if len(drawn) == 1 else 's'} {_listed(drawn)}"
                parts.append(f"{who} {'is' if len(drawn) == 1 else 'are'} near one, and drawn elsewhere.")
        if not self.positive:
            parts.append(
                "B is not symmetric and positive definite: the theorem says nothing, and no faces were sought."
            )
        elif not len(self.missing):
            parts.append("This is a limit as the theorem describes it.")
        return " ".join([*parts, *self.limits])

    def __repr__(self) -> str:
        return self.verdict


def hardmax_limit(run: Run, eps: Number | None = None) -> HardmaxLimit:
    """Certify the limits of the tokens of a run of `HardmaxLayers`, and list the tokens that have not arrived.

    A token has arrived if it is within `eps` of its limit and what it reads in the next layer is not farther than twice
    that, whatever the step is: with a small alpha every token hardly moves, which is no sign of rest.

    **Arguments:** `eps`, the distance within which a token has arrived, by default 1e-8 of the longest initial token,
    in float32 64 units in the last place of it. A layer divides distances by 1 + alpha, so that about
    18 / log(1 + alpha) layers are needed.
    """
    model: Any = run.model if isinstance(run, Run) else None
    if model is None or not model.has_leaders:
        raise InputError("hardmax_limit is for runs of HardmaxLayers; see detect_polytope for other limits.")
    z, spacing = np.asarray(run.single().final, float), float(np.finfo(run.xs.dtype).eps)
    n, d = z.shape
    layers = np.asarray(run.info["leader_layer"])
    leaders = np.flatnonzero((layers >= 0) & (layers <= float(run.ts[-1])))
    present = np.asarray(run.masses) > 0
    size = float(run.info["length_scale"])
    if not np.isfinite(z[present]).all():
        raise InputError("the last tokens of this run are not finite; end it before it overflows.")
    eps = max(CLOSE, ROUNDING * spacing) * (size or 1.0) if eps is None else linking_distance(eps)
    B = np.eye(d) if model.B is None else square_matrix("B", model.B, d)
    root = _root(B, spacing)
    ahead = np.linalg.norm(np.asarray(run.info["ahead"], float), axis=1)  # an upper bound of the next step
    rests = ahead <= 2 * eps

    gaps = np.linalg.norm(z[:, None] - z[leaders][None], axis=2)
    distance = gaps.min(axis=1, initial=np.inf)
    arrived = present & rests & (distance <= eps)
    at_leader = np.full(n, -1)
    if len(leaders):
        at_leader[arrived] = leaders[gaps[arrived].argmin(axis=1)]
    target = np.where(arrived[:, None], z[at_leader], np.nan)
    faces: dict[int, tuple[int, ...]] = {}
    for i in np.flatnonzero(present & ~arrived) if root is not None and len(leaders) else ():
        scores = z[leaders] @ (B @ z[i])
        # A token within eps of the face ties up to eps times a length.
        reach = eps * np.linalg.norm(B @ z[i]) + eps * np.linalg.norm(B, 2) * size
        face = leaders[scores >= scores.max() - reach]
        point = nearest_weights(z[face] @ root, np.zeros(d)) @ z[face]
        if len(face) > 1 and rests[i] and np.linalg.norm(z[i] - point) <= eps:
            faces[int(i)] = tuple(face.tolist())
            target[i], distance[i] = point, np.linalg.norm(z[i] - point)
    polytope = detect_polytope(z[present], B=B, eps=max(eps, 1e-300), speed=ahead[present])
    positive, limits = root is not None, _stuck(run, z, ahead, present, eps)
    return HardmaxLimit(
        leaders, layers, at_leader, faces, target, distance, present, positive, polytope, eps, ahead, limits
    )


def _stuck(run: Run, z: np.ndarray, ahead: np.ndarray, present: np.ndarray, eps: float) -> tuple[str, ...]:
    """A sentence about tokens that have a way to go, and steps too small for what they can hold."""
    model: Any = run.model
    step = float(model.rate(run.ts[-1], run.xs.dtype)) * ahead
    lost = present & (ahead > 2 * eps) & (step <= 0.5 * np.finfo(run.xs.dtype).eps * np.abs(z).max(axis=1))
    if not lost.any():
        return ()
    finer = "" if run.xs.dtype == np.float64 else ", or af.precision('float64')"
    return (
        f"{plural(int(lost.sum()), 'token')} stopped on the way: steps are below the rounding of {run.xs.dtype}; take "
        f"a larger alpha{finer}.",
    )


def _root(B: np.ndarray, spacing: float) -> np.ndarray | None:
    r"""$L$ with $B = LL^\top$, so that $|x|_B = |L^\top x|$; `None` if B is not symmetric and positive definite."""
    if np.abs(B - B.T).max() > max(1e-12, 8 * spacing) * np.abs(B).max():
        return None
    try:
        return np.linalg.cholesky(B)
    except np.linalg.LinAlgError:
        return None


def _listed(tokens: object) -> str:
    words = [str(int(t)) for t in np.ravel(np.asarray(tokens))]
    shown = words if len(words) <= 8 else [*words[:7], f"... ({len(words)} in all)"]
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + (" and " if len(words) <= 8 else ", ") + shown[-1]
