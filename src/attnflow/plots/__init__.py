"""Pictures of runs: `tokens`, `energy`, `animate`, and `save`, in one `style`.

Every function returns a `matplotlib.figure.Figure` made without pyplot: nothing global is touched, figures vanish with
their last reference, and many processes may draw at once. A notebook shows the returned figure by itself.

>>> figure = tokens(run)                # doctest: +SKIP
>>> save(figure, "tokens.pdf")          # doctest: +SKIP
"""

from ._animate import animate
from ._energy import energy
from ._save import save
from ._style import PALETTE, new_figure, style
from ._tokens import tokens

__all__ = ["PALETTE", "animate", "energy", "new_figure", "save", "style", "tokens"]
