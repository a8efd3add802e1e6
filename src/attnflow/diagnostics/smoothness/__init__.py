r"""The smoothness of attention: how much $f(X)_i = \Gamma_{\mu_X}(x_i)$ changes when the tokens $X$ change.

| function | gives |
|---|---|
| `jvp`, `vjp`, `jacobian` | the derivative $Df(X)$, applied, transposed, or as a matrix; of any attention map |
| `local_lipschitz` | the norm $\|Df(X)\|$, by singular values or by power iteration |
| `bounds` | what is proven of that norm for all tokens in a ball |
| `support_radius`, `stability_factor` | where the flow takes tokens, how far two clouds can part |
| `adversarial_tokens`, `lower_bound` | tokens with a large derivative, and how large it is at least |
| `large_radius_limit` | the limit of $\|Df(RX)\|$ as $R$ grows |
| `cesaro_norm` | the norm of masked attention without scores, which bounds in the masked case rest on |

Norms are those of $L^2(\mu)$: $|h|^2 = \sum_i w_i|h_i|^2$, for equal weights the Euclidean norm up to a factor.
Derivations: docs/theory/smoothness.md. Reference: How smooth is attention?, Castin, Ablin, Peyré
(arXiv:2312.14820).
"""

from .adversarial import adversarial_tokens as adversarial_tokens
from .adversarial import lower_bound as lower_bound
from .bounds import Bound as Bound
from .bounds import Bounds as Bounds
from .bounds import bounds as bounds
from .cesaro import cesaro_norm as cesaro_norm
from .derivative import jacobian as jacobian
from .derivative import jvp as jvp
from .derivative import vjp as vjp
from .large_radius import large_radius_limit as large_radius_limit
from .lipschitz import LocalLipschitz as LocalLipschitz
from .lipschitz import local_lipschitz as local_lipschitz
from .stability import stability_factor as stability_factor
from .stability import support_radius as support_radius
