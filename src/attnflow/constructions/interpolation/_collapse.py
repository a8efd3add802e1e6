r"""Step F: every sequence collapses to its own points.

$\rho = 0$, $V = I$ and $Q = K$ the first coordinate, or the first two if tokens stand on the circle. A token $(a, 0)$
prefers the largest $a$ of its sequence, since circle points give negative scores. A circle point prefers itself:
$R^2 > R^2\cos$ of any angle.
"""

from ._blocks import Attention
from ._draft import Draft


def collapse(draft: Draft, circle: bool) -> Attention:
    one = draft.arithmetic.array(1)[()]
    axes = draft.arithmetic.zeros(2 if circle else 1, draft.d)
    for k in range(len(axes)):
        axes[k] = draft.axis(k + 1)
    return Attention(rho=one * 0, Q=axes, K=axes, multiple=one)
