"""Forecasting: dynamics learned from time series, by attention over the last states or by a linear map of them.

`TimeDelayedTransformer` and `TDDMD` follow the conventions of scikit-learn: `fit`, `predict` (one step), `forecast`
(many), `score`, `score_rollout`, `save` and `load`. `PODReducer` takes fields to a few coefficients and back. The
mathematics is in docs/theory/time-delayed.md.
"""

from ._files import load
from ._parameters import NotFittedError
from .pod import PODReducer
from .td_dmd import TDDMD
from .transformer import TimeDelayedTransformer

__all__ = ["TDDMD", "NotFittedError", "PODReducer", "TimeDelayedTransformer", "load"]
