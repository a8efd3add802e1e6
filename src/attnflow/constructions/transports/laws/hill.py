"""How fast the largest of some samples fall off, by Hill's estimate."""

import numpy as np


def hill_exponent(x: np.ndarray) -> tuple[float, float]:
    r"""The $\nu$ of $P(|x| > r) \sim r^{-\nu}$ that the largest $\sqrt n$ samples show, and its standard error."""
    r = np.sort(np.linalg.norm(x - np.median(x, axis=0), axis=1))
    k = max(int(np.sqrt(len(r))), 2)
    if not r[-k - 1 :].min(initial=np.inf) > 0:
        return np.inf, np.inf
    nu = 1 / max(float(np.log(r[-k:] / r[-k - 1]).mean()), 1e-12)
    return nu, nu / np.sqrt(k)


def hill(x: np.ndarray) -> str:
    """What the exponent says of second moments."""
    nu, error = hill_exponent(x)
    if nu + 2 * error < 2:
        return f"the largest fall off like a power {nu:.2g} +- {error:.1g}, and look as if there were no second moment."
    return f"the largest fall off like a power {nu:.2g} +- {error:.1g} or faster."
