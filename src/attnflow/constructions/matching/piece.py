r"""One interval of constant weights of a transformer on the sphere.

$$ \dot x = P_x\big(V A_B[\mu](x) + W(Ux + b)_+\big), \qquad
   A_B[\mu](x) = \frac{\int e^{\langle x, By\rangle}\,y\,\mu(dy)}{\int e^{\langle x, By\rangle}\,\mu(dy)} . $$
"""

from dataclasses import dataclass
from typing import Literal, final, get_args

import numpy as np

from ...checks import finite_array, number
from ...errors import InputError, shown
from ...spaces import Number, Numbers

Role = Literal["gather", "separate", "cluster", "match", "merge", "undo", "other"]
ROLES = get_args(Role)


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class TransformerPiece:
    """Weights `V, B (d, d)`, `W (d, m)`, `U (m, d)`, `b (m,)`, kept for the time `T`.

    What is not given is zero (`W`, `U` and `b` come together); at most d neurons, as many as the theorems have. `role`
    says what the piece is for. The score of query i for key j is $x_i^\\top Bx_j$.
    """

    V: np.ndarray
    B: np.ndarray
    W: np.ndarray
    U: np.ndarray
    b: np.ndarray
    T: float
    role: Role

    def __init__(
        self,
        V: Numbers | None = None,
        B: Numbers | None = None,
        W: Numbers | None = None,
        U: Numbers | None = None,
        b: Numbers | None = None,
        T: Number = 1.0,
        role: Role = "other",
    ):
        given = {name: finite_array(name, a) for name, a in (("V", V), ("B", B), ("W", W)) if a is not None}
        d = next((len(a) for a in given.values() if a.ndim == 2), 0)
        if d == 0:
            raise InputError("a piece without weights has no dimension; give V (d, d), or W (d, m), U (m, d), b (m,).")
        neurons = [part is None for part in (W, U, b)]
        if any(neurons) and not all(neurons):
            raise InputError("W, U and b are one layer; give all three, or none of them.")
        m = 0 if W is None or given["W"].ndim != 2 else given["W"].shape[1]
        if U is not None and b is not None:
            given |= {"U": finite_array("U", U), "b": finite_array("b", b)}
        shapes = {"V": (d, d), "B": (d, d), "W": (d, m), "U": (m, d), "b": (m,)}
        for name, shape in shapes.items():
            array = given.get(name, np.zeros(shape))
            if array.shape != shape or m > d:
                raise InputError(f"{name} has shape {array.shape} in place of {shape}; take m <= d neurons.")
            given[name] = array + 0.0  # a copy: a piece does not change with the user's array; and no zero has a sign
        if not isinstance(role, str) or role not in ROLES:
            raise InputError(f"role = {shown(role)}; choose one of {', '.join(ROLES)}.")
        time = number("T", T)
        if not time > 0:
            raise InputError(f"T = {time:g} is no duration; take a number greater than 0.")
        vars(self).update(given, T=time, role=role)

    @property
    def d(self) -> int:
        """The dimension of tokens."""
        return len(self.V)

    @property
    def width(self) -> int:
        """The number of neurons."""
        return len(self.b)

    @property
    def attends(self) -> bool:
        """Whether the piece depends on the measure: V is not zero."""
        return bool(self.V.any())

    @property
    def norm(self) -> float:
        """The largest of the norms of the weights: spectral norms of matrices, the length of b."""
        matrices = (self.V, self.B, self.W, self.U)
        return max(float(np.linalg.norm(self.b)), *(float(np.linalg.norm(a, 2)) for a in matrices if a.size))

    @property
    def speed(self) -> float:
        """The larger of the norms of V and W, which grow if the piece is to take less time."""
        return float(max(np.linalg.norm(self.V, 2), np.linalg.norm(self.W, 2) if self.width else 0.0))

    def field(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The velocities of the tokens `x (n, d)` with `weights (n,)`, by the definition."""
        force = np.maximum(x @ self.U.T + self.b, 0) @ self.W.T
        if self.attends:
            if self.B.any():
                score = x @ self.B @ x.T
                share = np.exp(score - score.max(axis=1, keepdims=True)) * weights
                force = force + (share / share.sum(axis=1, keepdims=True)) @ x @ self.V.T
            else:
                force = force + self.V @ (weights @ x)
        return force - np.sum(x * force, axis=1, keepdims=True) * x

    def lasting(self, T: Number) -> "TransformerPiece":
        """The same map in another time: V and W are faster or slower."""
        time = number("T", T)
        speed = self.T / time if time > 0 else 1.0
        return replace_weights(self, V=speed * self.V, W=speed * self.W, T=time)

    def reversed(self, role: Role = "undo") -> "TransformerPiece":
        """The inverse map, for attention as for neurons: the velocity with the other sign."""
        return replace_weights(self, V=-self.V, W=-self.W, role=role)

    def __repr__(self) -> str:
        parts = [f"|V| = {np.linalg.norm(self.V, 2):.3g}"] if self.attends else []
        parts += [f"{self.width} neurons"] if self.width else []
        return f"TransformerPiece: {self.role}, {', '.join(parts) or 'at rest'}, d = {self.d}, T = {self.T:.4g}"


def replace_weights(piece: TransformerPiece, **changed: object) -> TransformerPiece:
    """The piece with other weights, duration or role."""
    fields = ("V", "B", "W", "U", "b", "T", "role")
    return TransformerPiece(**{name: changed.get(name, getattr(piece, name)) for name in fields})  # pyright: ignore
