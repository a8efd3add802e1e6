r"""The landscape of attention with a perceptron: which laws minimise $E + U$ on the circle, atoms or a density.

$$ E(\mu) = \frac1{2\beta}\iint e^{\beta\langle x, y\rangle}\,d\mu\,d\mu + \int U\,d\mu, \qquad
   p = K*\mu + U, \qquad K(x, y) = e^{\beta\langle x, y\rangle}/\beta . $$

The energy is strictly convex in $\mu$: the minimiser is unique, and $p \ge \min p$ with equality on its support
certifies it.

    perceptron = af.models.Perceptron([[1.0, 0.0]], omega=3.0, activation="relu")
    law = af.reductions.localization.minimizer(perceptron, beta=1.0)
    law.angles, law.masses, law.energy, law.verdict
    af.reductions.localization.expected_localization(perceptron, beta=1.0).reason

Setting: arXiv:2601.21366; everything here is derived in docs/theory/perceptron.md.
"""

from .certificate import Certificate as Certificate
from .certificate import certificate as certificate
from .critical import criticality as criticality
from .density import Density as Density
from .density import density as density
from .expected import Expected as Expected
from .expected import expected_localization as expected_localization
from .minimizer import minimizer as minimizer
