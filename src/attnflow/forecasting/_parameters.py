"""Conventions of scikit-learn, without it: a constructor that stores only, `get_params`, `set_params`, a repr."""

import inspect
from typing import Any

import numpy as np

from ..errors import InputError


class NotFittedError(InputError, AttributeError):
    """An estimator is used before `fit`."""


class Parametric:
    """The constructor's arguments are attributes of the same names; what `fit` learns ends in `_`."""

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Any:
        """Change constructor's arguments; the estimator is returned."""
        for name, value in params.items():
            if name not in self._names():
                raise InputError(
                    f"{type(self).__name__} has no parameter {name!r}; there are: {', '.join(self._names())}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {n: p.default for n, p in inspect.signature(type(self).__init__).parameters.items()}
        changed = [f"{n}={v!r}" for n, v in self.get_params().items() if not _same(v, defaults[n])]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise _not_fitted()(f"this {type(self).__name__} is not fitted yet; call fit first.")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator; it is imported only when it asks."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags  # pyright: ignore[reportMissingImports]

        return Tags(
            estimator_type="transformer" if hasattr(self, "transform") else None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags() if hasattr(self, "transform") else None,
            input_tags=InputTags(allow_nan=not hasattr(self, "transform")),
        )


def _not_fitted() -> type:
    """scikit-learn's own error, where it is loaded, so that its tools recognise it."""
    import sys

    exceptions = sys.modules.get("sklearn.exceptions")
    if exceptions is None:
        return NotFittedError
    return type("NotFittedError", (NotFittedError, exceptions.NotFittedError), {})


def _same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    try:
        return bool(np.all(value == default)) and type(value) is type(default)
    except (TypeError, ValueError):
        return False
