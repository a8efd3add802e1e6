"""The classical Runge-Kutta method of order four."""

from ..tableaux import Tableau

# Against (k_2 + 2 k_3)/3, of order 2, and 3 for linear equations: too crude to choose steps by, but free, and it shows
# steps that do not follow the flow.
TABLEAU = Tableau("rk4", 4, (0.0, 1 / 2, 1 / 2, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6), (1 / 6, 0.0, -1 / 3, 1 / 6))
