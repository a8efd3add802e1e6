r"""Causal attention: how the last token depends on the first ones, and the U-shape of lost-in-the-middle.

Tokens start independent and uniform and move by attention to the tokens before them, with ALiBi weights. Correlations
of order $1/N$ build up, mode by mode, in closed form; a decoder reads them as a retrieval profile, which falls from the
first sources to a minimum in the middle and rises again towards the last.

    c = af.reductions.causal
    s = np.linspace(0.02, 1, 200)
    S = c.retrieval_profile(s, 1.0, beta=1.0, context_slope=1.0)
    c.profile_minimum(1.0, beta=1.0, context_slope=1.0)
    c.critical_time(beta=1.0, context_slope=1.0)
    estimate = c.estimate_correlations(jax.random.key(0), n=128, t=1.0, beta=1.0, context_slope=1.0, modes=6)
    bins = np.linspace(0, 127, 12).astype(int)
    af.plot.retrieval_profile(1.0, beta=1.0, context_slope=1.0, modes=6, points=estimate.profile(edges=bins), n=128)

Times are those of $\dot x_j = \sum_{k<j} w_{jk}\nabla e^{\beta\langle x_j, x_k\rangle}$ (the clock beta-USA).
Reference: arXiv:2605.09213; docs/theory/lost-in-the-middle.md.
"""

from .closed_forms import equal_time as equal_time
from .closed_forms import psi as psi
from .closed_forms import psi_derivative as psi_derivative
from .closed_forms import two_time as two_time
from .closed_forms import two_time_total as two_time_total
from .matrix_forms import equal_time_matrix as equal_time_matrix
from .matrix_forms import two_time_matrix as two_time_matrix
from .monte_carlo import Correlations as Correlations
from .monte_carlo import bin_means as bin_means
from .monte_carlo import estimate_correlations as estimate_correlations
from .rates import rates as rates
from .rates import zonal as zonal
from .retrieval import DOUBLE_WELL as DOUBLE_WELL
from .retrieval import Head as Head
from .retrieval import critical_time as critical_time
from .retrieval import multi_head_profile as multi_head_profile
from .retrieval import retrieval_profile as retrieval_profile
from .retrieval import window as window
from .shape import Point as Point
from .shape import TurningPoints as TurningPoints
from .shape import profile_minimum as profile_minimum
from .shape import profile_shape as profile_shape
from .shape import turning_points as turning_points
