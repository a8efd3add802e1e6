"""Euler's method."""

from ..tableaux import Tableau

# Against the trapezoidal rule: half the change of velocity along the step.
TABLEAU = Tableau("euler", 1, (0.0, 1.0), (1.0, 0.0), (-1 / 2, 1 / 2))
