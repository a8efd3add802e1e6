r"""Normalisation schemes of a transformer: four flows with one attention map.

Let $\theta = x/|x|$ be the direction of a token, $r = |x|$ its length, and $A(\theta)$ what it reads from the
directions of all.

$$ \text{Post-LN:}\ \dot\theta = P_\theta A, \qquad
   \text{Pre-LN:}\ \dot x = A(\theta), \qquad
   \text{Peri-LN:}\ \dot x = \frac{A(\theta)}{|A(\theta)|}, \qquad
   \text{nGPT:}\ \dot\theta = \frac{\alpha}{|A|} P_\theta A . $$

All four move directions by $\dot\theta = \frac1s P_\theta A$, at different speeds: $s = 1$; $s = r$ with
$\dot r = \langle\theta, A\rangle$; $s = r|A|$ with $\dot r = \langle\theta, A\rangle/|A|$; $s = |A|/\alpha$.
Lengths grow like $t$, so tokens under Pre-LN and Peri-LN cluster at a rate that falls like $1/t$.

Reference: arXiv:2510.22026; arXiv:2512.01868; docs/theory/sphere.md, Where to normalise.
"""

import functools
from typing import Any

import equinox as eqx
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..attention import AbstractAttention, Softmax
from ..errors import InputError
from ..pairsums import AbstractPairs, Full
from ..parameters import Parameter, non_negative
from ..registry import Entry, Param
from ..spaces import AbstractSpace, Euclidean, Sphere
from ._model import AbstractModel, check_parts
from .schedules import at_time

NAMES = {"post": "Post-LN", "pre": "Pre-LN", "peri": "Peri-LN", "ngpt": "nGPT"}
LENGTHS_GROW = ("pre", "peri")


class NormalizedAttention(AbstractModel):
    r"""Tokens that move by attention to one another's directions, under one of four normalisation schemes.

    `NormalizedAttention(beta=4.0, scheme="pre")` takes softmax attention. Tokens live on the sphere for `"post"` and
    `"ngpt"`, in $\mathbb R^d$ for `"pre"` and `"peri"`; there directions are `af.Sphere().nearest(x)`.

    **Arguments:** `attention`, the map; `scheme`; `alpha`, the step of nGPT, a number or a schedule, which the other
    schemes do not read; `pairs`, the visible pairs.
    """

    attention: AbstractAttention
    scheme: str = eqx.field(static=True)
    alpha: Any
    pairs: AbstractPairs

    def __init__(
        self,
        attention: AbstractAttention | None = None,
        scheme: str = "post",
        alpha: Parameter = 1.0,
        pairs: AbstractPairs | None = None,
        *,
        beta: Parameter | None = None,
    ):
        if (attention is None) == (beta is None):
            raise InputError("give an attention map, or beta for softmax attention: NormalizedAttention(beta=1.0).")
        if not isinstance(scheme, str) or scheme not in NAMES:
            raise InputError(f"scheme {scheme!r} is unknown; choose one of {', '.join(NAMES)}.")
        check_parts(attention=attention, pairs=pairs)
        self.attention = Softmax(beta=beta) if attention is None else attention  # pyright: ignore[reportArgumentType]
        self.scheme = scheme
        self.alpha = non_negative("alpha", alpha)
        self.pairs = Full() if pairs is None else pairs

    @property
    def space(self) -> AbstractSpace:
        return Euclidean() if self.scheme in LENGTHS_GROW else Sphere()

    @property
    def clock(self) -> str:
        # Post-LN is self-attention on the sphere, and runs in its time.
        return self.attention.clock if self.scheme == "post" else f"{NAMES[self.scheme]} {self.attention.clock}"

    def force(
        self,
        t: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None,
        *,
        key: PRNGKeyArray | None = None,
        kernel: str = "auto",
    ) -> Float[Array, "n d"]:
        direction = Sphere().nearest  # a token at the origin has none and keeps 0, as layer normalisation does
        theta = direction(x) if self.scheme in LENGTHS_GROW else x
        read = at_time(self.attention, t)(theta, theta, weights, pairs=self.pairs, kernel=kernel)
        if read.shape != x.shape:
            raise InputError(
                f"the attention map gives velocities of dimension {read.shape[-1]} to tokens of dimension "
                f"{x.shape[-1]}; take a square V."
            )
        if self.scheme in ("post", "pre"):
            return read
        return direction(read) if self.scheme == "peri" else at_time(self.alpha, t).astype(x.dtype) * direction(read)


def _entry(scheme: str, summary: str, **params: Param) -> Entry:
    return Entry(
        kind="model",
        name=NAMES[scheme].lower(),
        factory=functools.partial(NormalizedAttention, scheme=scheme),
        summary=summary,
        params=params,
        spaces=("euclidean",) if scheme in LENGTHS_GROW else ("sphere",),
        symmetries=frozenset({"permutation", "rotation", "splitting"}),
        papers=("perspective",),
    )


POST = _entry("post", "attention with post-normalisation: the flow on the sphere")
PRE = _entry("pre", "attention that reads directions; lengths grow and slow the tokens down")
PERI = _entry("peri", "as pre-ln, what is read normalised too")
NGPT = _entry(
    "ngpt",
    "on the sphere, what is read normalised",
    alpha=Param(1.0, bounds=(0.0, 1e3), symbol="α", help="step of nGPT"),
)
