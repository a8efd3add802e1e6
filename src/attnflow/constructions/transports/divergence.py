r"""Divergences between a target and the law that a schedule makes: by quadrature on the line, by samples elsewhere."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, repr=False)
class Divergence:
    """A number with its standard error (0: by quadrature), or `None` where it is not known; `note` says more."""

    value: float | None
    stderr: float | None = 0.0
    note: str = ""

    def __repr__(self) -> str:
        if self.value is None:
            return f"not known: {self.note}"
        error = f" +- {self.stderr:.2g}" if self.stderr else ""
        return f"{self.value:.4g}{error}" + (f" ({self.note})" if self.note else "")


def mean_of(values: np.ndarray, note: str = "") -> Divergence:
    """The mean of independent numbers, with its standard error."""
    if not np.isfinite(values).all():
        share = float(np.mean(~np.isfinite(values)))
        return Divergence(float(values.mean()), None, f"infinite at {share:.2g} of the samples")
    spread = values - values.mean()
    error = float(values.std(ddof=1) / np.sqrt(len(values)))
    # A few terms that carry the variance carry the mean as well: the error bar is then too short.
    if len(values) > 100 and np.sort(spread**2)[-3:].sum() > 0.25 * (spread**2).sum():
        note = "; ".join(filter(None, [note, "a few samples carry it, so that the error may be larger"]))
    return Divergence(float(values.mean()), error, note)
