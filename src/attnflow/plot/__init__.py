"""Pictures of runs, in one `style`: `tokens` and `animate`; `energy`, `order_parameter`, `clusters` against time;
`inner_products`, `attention`, `leaders` at one time; `staircase` and `merges` over long times; `polytope` and
`hyperplanes` of rescaled tokens; `hardmax_layers` and `half_space` of leaders; `retrieval_profile`, lost in the middle;
`review`, the words of one; `overview`, a run on one page; `save`.

Every function returns a `matplotlib.figure.Figure` made without pyplot: nothing global is touched, figures vanish with
their last reference, and many processes may draw at once. A notebook shows the returned figure by itself.

>>> figure = tokens(run)                # doctest: +SKIP
>>> save(figure, "tokens.pdf")          # doctest: +SKIP
"""

from ._animate import animate
from ._attention import attention, leaders
from ._clusters import clusters
from ._curves import order_parameter
from ._energy import energy
from ._inner_products import inner_products
from ._leaders import LEADER as LEADER
from ._leaders import corners as corners
from ._leaders import half_space, hardmax_layers
from ._marks import SHADES as SHADES
from ._overview import overview
from ._polytope import hyperplanes, polytope
from ._retrieval import retrieval_profile
from ._review import SIDES as SIDES
from ._review import draw_review as draw_review
from ._review import review
from ._review import review_marks as review_marks
from ._save import save
from ._staircase import merges, staircase
from ._style import HEAT, PALETTE, TIME, new_figure, style
from ._tokens import tokens

__all__ = [
    "HEAT",
    "PALETTE",
    "TIME",
    "animate",
    "attention",
    "clusters",
    "energy",
    "half_space",
    "hardmax_layers",
    "hyperplanes",
    "inner_products",
    "leaders",
    "merges",
    "new_figure",
    "order_parameter",
    "overview",
    "polytope",
    "retrieval_profile",
    "review",
    "save",
    "staircase",
    "style",
    "tokens",
]
