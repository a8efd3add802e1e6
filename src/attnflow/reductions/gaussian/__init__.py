r"""Gaussian laws under attention: an ordinary differential equation for mean and covariance.

Where attention to $N(\alpha, \Sigma)$ is affine in the query, $\Gamma(x) = c + G(x - \alpha)$, Gaussian laws stay
Gaussian, with $\dot\alpha = c$ and $\dot\Sigma = G\Sigma + \Sigma G^\top$. Softmax, multi-head, L2, Sinkhorn and linear
attention are such; sigmoid attention is projected. The factor $L$ of $\Sigma = LL^\top$ is integrated, $\dot L = GL$.

    run = af.gaussian.flow(af.Softmax(beta=1.0), [0.3, -0.2], [[1.0, 0.3], [0.3, 0.7]], t1=1.0)
    af.gaussian.covariance(run)[-1]
    af.gaussian.describe(run)

Reference: arXiv:2501.18322; docs/theory/gaussian.md.
"""

from . import closed_form as closed_form
from .cloud import cloud as cloud
from .cloud import midpoints as midpoints
from .energy import energy as energy
from .flow import flow as flow
from .masked import masked_linear_velocity as masked_linear_velocity
from .reading import OUTCOMES as OUTCOMES
from .reading import cone_coordinates as cone_coordinates
from .reading import covariance as covariance
from .reading import describe as describe
from .reading import final_covariance as final_covariance
from .reading import limit_rank as limit_rank
from .reading import limits as limits
from .reading import outcome as outcome
from .velocity import score_spread as score_spread
from .velocity import velocity as velocity
