"""What a person looks at, computed from a run (or from plain arrays with leading axes)."""

from ._linkage import components as components
from .attention import Leaders as Leaders
from .attention import attention_matrix as attention_matrix
from .attention import leaders as leaders
from .clusters import Clusters as Clusters
from .clusters import clusters as clusters
from .correlations import InnerProducts as InnerProducts
from .correlations import inner_products as inner_products
from .correlations import order_parameter as order_parameter
from .correlations import pair_fraction as pair_fraction
from .energy import dissipation as dissipation
from .energy import energy as energy
from .energy import is_gradient_flow as is_gradient_flow
from .modes import Modes as Modes
from .modes import count_modes as count_modes
from .modes import modes as modes
from .ranks import effective_rank as effective_rank
from .ranks import numerical_rank as numerical_rank
from .separation import Separation as Separation
from .separation import separation_report as separation_report
from .staircase import Plateau as Plateau
from .staircase import Staircase as Staircase
from .staircase import staircase as staircase
