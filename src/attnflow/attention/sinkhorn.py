r"""Sinkhorn attention: rows and columns of the attention matrix sum to one."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..checks import whole
from ..errors import InputError
from ..pairsums import AbstractPairs, Full, Inner, pair_sums
from ..pairsums.algebra import matmul
from ..parameters import Parameter, inverse_temperature, non_negative, parameter, score_matrices
from ..registry import Entry, Param
from ..spaces import AbstractSpace, Count, log_weights
from ._attention import AbstractAttention
from ._energy import AbstractEnergy, check_gradient, direction
from ._gaussian import AffineField, affine_field, gaussian_scores, inverse, transport_coupling

# The step of the averaged update. In L2(w) its Jacobian is 1 - step (1 + P) with P the plan, whose eigenvalues lie in
# [0, 1] because exp(beta <x, y>) is a positive definite kernel: 2/3 makes the worst factor 1/3 at every beta.
AVERAGED_STEP = 2 / 3


class Potentials(NamedTuple):
    """The result of the iteration: `f` of the rows, `h` of the columns, iterations taken, and whether it converged."""

    f: Float[Array, " m"]
    h: Float[Array, " m"]
    iterations: Int[Array, ""]
    converged: Bool[Array, ""]


class Sinkhorn(AbstractAttention):
    r"""$$ \Gamma_\mu(x) = \int \kappa(x, y)\, V y\, d\mu(y), \qquad
           \kappa(x, y) = e^{\beta\langle Qx, Ky\rangle + f(x) + h(y)}, $$

    with potentials $f, h$ such that $\int\kappa\,d\mu(y) = 1$ for all $x$ and $\int\kappa\,d\mu(x) = 1$ for all $y$:
    the entropic transport plan of $\mu$ to itself. The potentials belong to the measure of the keys; a query that is
    no key reads with their $h$ and its own $f$, from the row normalisation.

    By default the potentials are converged, in the log domain, and differentiated implicitly (forward and reverse, in
    memory linear in the number of tokens). `half_steps=N`, odd, makes exactly $N$ alternating normalisations instead,
    rows first and last; $N = 1$ is softmax attention.

    **Arguments:** `beta`, `B`, `V`, `Q`, `K` as for `Softmax`.

    - `half_steps`: an odd number, or `None` (or 0) for converged.
    - `tol`: converged when the potentials change by less (or by round-off, if that is more) in an iteration.
    - `max_iterations`: if that is not reached, the velocity is NaN, so a run ends, with `Outcome.NOT_CONVERGED`;
      `potentials(x, weights).converged` says it for one cloud. (No plan may exist: a token without its self term that
      holds more than half the weight.)

    Converged, it refuses causal pairs: only the identity is triangular with rows and columns summing to one.

    ??? cite "A unified perspective on the dynamics of deep transformers, Castin et al. (arXiv:2501.18322)"

    ??? cite "Sinkformers: transformers with doubly stochastic attention, Sander et al. (arXiv:2110.11773)"
    """

    beta: Any
    B: Any
    V: Any
    Q: Any
    K: Any
    tol: Any
    half_steps: int | None = eqx.field(static=True)
    max_iterations: int = eqx.field(static=True)

    def __init__(
        self,
        beta: Parameter = 1.0,
        *,
        V: Parameter | None = None,
        B: Parameter | None = None,
        Q: Parameter | None = None,
        K: Parameter | None = None,
        half_steps: Count | None = None,
        tol: Parameter = 1e-9,
        max_iterations: Count = 1000,
    ):
        self.beta = inverse_temperature(beta)
        self.B, self.Q, self.K = score_matrices(B, Q, K)
        self.V = parameter("V", V, ndim=2)
        self.tol = non_negative("tol", tol)
        self.half_steps = whole("half_steps", 0 if half_steps is None else half_steps, least=-(2**31)) or None
        if self.half_steps is not None and (self.half_steps < 0 or self.half_steps % 2 == 0):
            raise InputError(
                f"half_steps = {half_steps} does not end on a row step; take an odd number, or 0 for converged."
            )
        self.max_iterations = whole("max_iterations", max_iterations, least=-(2**31))
        if self.max_iterations < 1:
            raise InputError(f"max_iterations = {max_iterations} allows no iteration; take at least 1.")

    @property
    def clock(self) -> str:
        return "SA"

    @property
    def score(self) -> Inner:
        return Inner(self.beta, self.B, Q=self.Q, K=self.K)

    @property
    def reduce(self) -> str:
        return "softmax"

    def __call__(self, x, y, weights=None, *, pairs=Full(), kernel="auto", state=None):
        if len(x) != len(y) and pairs.among_keys is None:
            raise InputError(
                f"Sinkhorn attention does not know how {len(y)} keys see each other from {type(pairs).__name__} pairs "
                f"of {len(x)} queries; give Full, Causal or Positional pairs."
            )
        return super().__call__(x, y, weights, pairs=pairs, kernel=kernel, state=state)

    def log_weights(self, y, weights, *, pairs=Full(), kernel="auto", state=None):
        """The masses times $e^h$; not a number where the potentials did not converge."""
        plan = self._plan(y, weights, pairs, kernel)
        h, _, converged = self._iterated(plan, state)
        return plan.log_w + jnp.where(converged, h, jnp.nan)

    @property
    def closure(self) -> str:
        return "exact"

    def gaussian(self, alpha: Float[Array, " d"], L: Float[Array, "d r"]) -> AffineField:
        r"""Converged, $GL = VLZ^\top$ with $Z$ of `transport_coupling`, and $c = V\alpha$.

        After $N = 2m + 1$ half-steps the potentials are quadratic, too, $h$ with the Hessian $-G_m$ and the gradient
        $c_m$. Then $G = VS_mA$ and $c = V(\alpha + S_mc_m)$, $S_m = L(I + L^\top G_mL)^{-1}L^\top$. Below, `g` and `c`
        are $L^\top G_mL$ and $L^\top c_m$.
        """
        s = gaussian_scores(self.score, alpha, L)
        if self.half_steps is None:
            return affine_field(self.V, matmul(transport_coupling(s.factor), L.T), alpha)

        def step(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
            g, c = carry
            H = inverse(g)
            back = matmul(s.factor.T, inverse(matmul(s.factor, matmul(H, s.factor.T))))
            return (matmul(back, s.factor), matmul(back, matmul(s.factor, matmul(H, c)))), None

        (g, c), _ = jax.lax.scan(step, (jnp.zeros_like(s.factor), s.mean), length=self.half_steps // 2)
        H = inverse(g)
        return affine_field(self.V, matmul(s.factor, matmul(H, L.T)), alpha + matmul(L, matmul(H, c)))

    def potentials(
        self,
        x: Float[Array, "m d"],
        weights: Float[Array, " m"] | None = None,
        *,
        pairs: AbstractPairs = Full(),
        kernel: str = "auto",
        state: Float[Array, " m"] | None = None,
    ) -> Potentials:
        """The potentials of a cloud, NaN if they did not converge; `state` is a first guess of `h`."""
        plan = self._plan(x, weights, pairs, kernel)
        h, iterations, converged = self._iterated(plan, state)
        f, h = (jnp.where(converged, p, jnp.nan) for p in (plan.row(h), h))
        return Potentials(f, h, iterations, converged)

    def warm(
        self,
        x: Float[Array, "m d"],
        weights: Float[Array, " m"] | None,
        state: Float[Array, " m"] | None,
        *,
        pairs: AbstractPairs = Full(),
        kernel: str = "auto",
    ) -> Float[Array, " m"] | None:
        """The `state` for calls near the cloud `(x, weights)`: the potential `h` there, not differentiated.

        `state` is that of a cloud not far away, or `None`. A state that is not finite says: not converged.
        """
        if self.half_steps is not None:
            return None
        frozen = jax.tree.map(jax.lax.stop_gradient, (self, x, weights, state, pairs))
        attention, x, weights, state, pairs = frozen
        return attention.potentials(x, weights, pairs=pairs, kernel=kernel, state=state).h

    def _plan(self, y: Array, w: Array | None, pairs: AbstractPairs, kernel: str) -> "_Plan":
        if self.half_steps is None and pairs.triangular:
            raise InputError(
                "converged Sinkhorn attention cannot be causal: only the identity is triangular with rows and columns "
                "summing to one; give a number of normalisations, for example half_steps=3."
            )
        log_w = jnp.full(y.shape[0], -jnp.log(jnp.asarray(y.shape[0], y.dtype))) if w is None else log_weights(w)
        return _Plan(self.score, y, log_w.astype(y.dtype), pairs.among_keys or pairs, kernel)

    def _iterated(self, plan: "_Plan", state: Any) -> tuple[Array, Array, Array]:
        if self.half_steps is not None:
            return _after(plan, self.half_steps), jnp.asarray(self.half_steps // 2), jnp.asarray(True)
        return _converged(plan, state, self.tol.astype(plan.y.dtype), self.max_iterations)

    @property
    def row_stochastic(self) -> bool:
        return True

    def bounded_growth(self, d: int) -> str | None:
        return "the rates of Sinkhorn attention are bounded by |V|" if self.half_steps is None else None

    def energy(self, space: AbstractSpace) -> AbstractEnergy:
        if self.half_steps is not None:
            raise InputError("this model has no energy: N half-steps of Sinkhorn are no gradient flow; converge them.")
        return TransportEnergy(self, space.unit)

    def gaussian_energy(self, alpha: Float[Array, " d"], L: Float[Array, "d r"]) -> Float[Array, ""]:
        r"""Of a Gaussian law, $\sum_i b_iz_i + \frac12\sum_i\log(1 - z_i^2) + \langle A\alpha, \alpha\rangle$.

        Here $b$ are the singular values of $L^\top AL$, $A = \beta B$, and $z = 2b/(1 + \sqrt{1 + 4b^2})$.
        """
        s = gaussian_scores(self.score, alpha, L)
        b = jnp.linalg.svd(s.factor, compute_uv=False)
        z = 2 * b / (1 + jnp.sqrt(1 + 4 * b * b))
        return jnp.sum(b * z + jnp.log1p(-z * z) / 2) + s.own


class TransportEnergy(AbstractEnergy):
    r"""$E(\mu) = \max_\pi \int \beta\langle x, By\rangle\,d\pi - \mathrm{KL}(\pi\,|\,\mu\otimes\mu)
    = -\int (f + h)\,d\mu$ over plans $\pi$ of $\mu$ to itself."""

    attention: Sinkhorn
    on_sphere: bool = eqx.field(static=True)

    def __check_init__(self) -> None:
        check_gradient(self.attention.score, self.attention.V, self.on_sphere)

    @property
    def scales(self) -> tuple[str, ...]:
        return ("E_S",)

    @property
    def direction(self) -> int:
        return direction(self.attention.score, self.attention.V)

    def value(self, x, weights=None, *, scale=None, kernel="auto"):
        self.scale(scale)
        potentials = self.attention.potentials(x, weights, kernel=kernel)
        total = potentials.f + potentials.h
        return -jnp.mean(total) if weights is None else -jnp.sum(jnp.where(weights > 0, weights * total, 0))

    def log_metric(self, x, weights=None, *, scale=None):
        r"""$\dot E = 2\beta\sum_i w_i|\dot x_i|^2$ for $V = B$: the metric weighs token $i$ by $2\beta w_i$."""
        return jnp.full(x.shape[:1], jnp.log(2 * self.attention.beta.astype(x.dtype)))


class _Plan(NamedTuple):
    """The plan of the keys' measure to itself: its two normalisations, and its potentials.

    A factor per row, as of `normalized` pairs, is absorbed by f.
    """

    score: Inner
    y: Float[Array, "m d"]
    log_w: Float[Array, " m"]
    pairs: AbstractPairs
    kernel: str

    def row(self, h: Float[Array, " m"]) -> Float[Array, " m"]:
        """The `f` that makes rows sum to one; zero in a row without keys."""
        return self._half(self.score, self.pairs, h)

    def column(self, f: Float[Array, " m"]) -> Float[Array, " m"]:
        return self._half(self.score.T, self.pairs.T, f)

    def _half(self, score: Any, pairs: AbstractPairs, potential: Float[Array, " m"]) -> Float[Array, " m"]:
        nothing = jnp.zeros((self.y.shape[0], 0), self.y.dtype)
        log_w = self.log_w + potential
        log_z = pair_sums(score, self.y, self.y, nothing, log_w=log_w, pairs=pairs, reduce="exp", kernel=self.kernel)[1]
        return jnp.where(log_z == -jnp.inf, 0, -log_z)

    @property
    def symmetric(self) -> bool:
        """Whether the score is known to be a symmetric, positive definite kernel, so that f = h."""
        return self.score.isotropic and self.pairs.complete


# Both ways to `h` are programs of their own, so that a call outside of any other compiles its loop once.
@eqx.filter_jit
def _after(plan: _Plan, half_steps: int) -> Float[Array, " m"]:
    """`h` when all of the half-steps but the last, a row step, are done."""
    h = jnp.zeros_like(plan.log_w)
    return jax.lax.scan(lambda h, _: (plan.column(plan.row(h)), None), h, length=half_steps // 2)[0]


@eqx.filter_jit
def _converged(plan: _Plan, guess: Any, tol: Float[Array, ""], max_iterations: int) -> tuple[Array, Array, Array]:
    r"""`h`, the iterations taken, and whether they converged.

    The fixed point is $h = T h$ with $T$ one row and one column step, or, if $f = h$, minus one row step.
    Keys of weight zero take no part: nothing depends on their $h$.
    """
    here = plan.log_w > -jnp.inf
    step = AVERAGED_STEP if plan.symmetric else 1.0

    def image(h: Array) -> tuple[Array, Array]:
        f = plan.row(h)
        return jnp.where(here, f if plan.symmetric else plan.column(f), 0), f

    def iterate(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        h, iterations, _ = carry
        new, f = image(h)
        change = jnp.max(jnp.abs(new - h))
        round_off = 8 * jnp.finfo(h.dtype).eps * (1 + jnp.max(jnp.abs(h)) + jnp.max(jnp.where(here, jnp.abs(f), 0)))
        return h + step * (new - h), iterations + 1, change <= jnp.maximum(tol, round_off)

    def more(carry: tuple[Array, Array, Array]) -> Array:
        h, iterations, done = carry
        return ~done & (iterations < max_iterations) & jnp.isfinite(h).all()

    # In the variable u = sqrt(w) h the Jacobian 1 - T' is symmetric, so that conjugate gradients solve with it and
    # with its transpose. A constant added to h (and taken from f) changes nothing: that direction is pinned.
    root_w = jax.lax.stop_gradient(jnp.where(here, jnp.exp(plan.log_w / 2), 1))
    null = jnp.where(here & (not plan.symmetric), root_w, 0)

    def residual(u: Array) -> Array:
        h = u / root_w
        return root_w * (image(h)[0] - h)

    def solve(_: Any, u: Array) -> tuple[Array, list[Array]]:
        start = (u / root_w, jnp.asarray(0), jnp.asarray(False))
        h, *info = jax.lax.while_loop(more, iterate, start)
        return root_w * h, [i.astype(h.dtype) for i in info]  # custom_root gives floating tangents to all

    def tangent_solve(linear: Any, b: Array) -> Array:
        def negative(v: Array) -> Array:
            return null * jnp.vdot(null, v) - linear(v)

        def inverse(matvec: Any, b: Array) -> Array:
            return _conjugate_gradients(matvec, b, max_iterations)

        return jax.lax.custom_linear_solve(negative, -b, inverse, symmetric=True)

    h = jnp.zeros_like(plan.log_w) if guess is None else jnp.where(here & jnp.isfinite(guess), guess, 0)
    u, (iterations, done) = jax.lax.custom_root(residual, root_w * h, solve, tangent_solve, has_aux=True)
    return u / root_w, iterations.astype(int), done > 0


def _conjugate_gradients(matvec: Any, b: Float[Array, " m"], max_iterations: int) -> Float[Array, " m"]:
    """Solve with a symmetric positive matrix. (JAX's own solver cannot be transposed inside `custom_root`.)"""
    enough = jnp.vdot(b, b) * float(jnp.finfo(b.dtype).eps) ** 1.3

    def step(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        x, r, p, square, iterations = carry
        image = matvec(p)
        length = square / jnp.vdot(p, image)
        x, r = x + length * p, r - length * image
        new = jnp.vdot(r, r)
        return x, r, r + new / square * p, new, iterations + 1

    def more(carry: tuple[Array, ...]) -> Array:
        return (carry[3] > enough) & (carry[4] < max_iterations)

    start = (jnp.zeros_like(b), b, b, jnp.vdot(b, b), jnp.asarray(0))
    return jax.lax.while_loop(more, step, start)[0]


ENTRY = Entry(
    kind="attention",
    name="sinkhorn",
    factory=Sinkhorn,
    summary="doubly stochastic attention, the entropic transport plan of the tokens to themselves",
    params={
        "beta": Param(1.0, bounds=(0.0, 1e6), scale="log", symbol="β", help="inverse temperature"),
        "half_steps": Param(0, bounds=(0, 999), symbol="N", help="Sinkhorn half-steps, an odd number; 0: converged"),
    },
    symmetries=frozenset({"permutation", "rotation", "splitting"}),
    monotone="increasing",
    papers=("unified",),
)
