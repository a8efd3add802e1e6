r"""Stacks of random layers, reduced: equations for inner products in the limit, without a simulation.

With fresh Gaussian matrices in every layer tokens move by a stochastic equation whose noise all of them share. Two
tokens are then a diffusion of one number, $q = \langle x_1, x_2\rangle$; and in high dimension $n$ equiangular tokens
follow an ordinary equation, in which temperature enters through the probability that two random heads attend to the
same token.

    from attnflow.reductions import homogenized

    law = homogenized.two_token_law(0.0, 1.0, d=4, beta=1.0)     # of q after time 1, from orthogonal tokens
    law.mean, law.sd
    homogenized.antipodal_exponent(3, beta=2.0)                  # negative: opposite tokens attract each other
    homogenized.collapse_time(0.9, n=128, beta=4.0)              # how deep a stack may be

Reference: arXiv:2604.01978 for the setting; everything here is derived in docs/theory/homogenized.md.
"""

from .collapse import collapse_flow as collapse_flow
from .collapse import collapse_rate as collapse_rate
from .collapse import collapse_time as collapse_time
from .collisions import Collisions as Collisions
from .collisions import collisions as collisions
from .covariance import SampledCovariance as SampledCovariance
from .covariance import covariance as covariance
from .covariance import mean_field_covariance as mean_field_covariance
from .covariance import two_token_covariance as two_token_covariance
from .ending import collapse_probability as collapse_probability
from .exponents import antipodal_constants as antipodal_constants
from .exponents import antipodal_exponent as antipodal_exponent
from .exponents import collapse_exponent as collapse_exponent
from .inner_products import inner_product_drift as inner_product_drift
from .inner_products import inner_product_variance as inner_product_variance
from .two_tokens import TwoTokenLaw as TwoTokenLaw
from .two_tokens import two_token_expectation as two_token_expectation
from .two_tokens import two_token_law as two_token_law
