"""The whole state of a page: what is simulated, which step is shown, how it is drawn; and the fields that it may have.

The address of the page, `#beta=9&n=256&step=120&trails=false`, names what differs from the defaults. The page itself
writes and reads it, by the `FIELDS` that the catalogue sends: here a state is JSON.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import registry
from ..errors import InputError
from ..settings import SETTINGS, Setting, complete, parameters
from . import limits

# The settings of `attnflow simulate` that the page has; the solver is fixed, and times follow from steps.
SIMULATION = (
    "model",
    "attention",
    "pairs",
    "slope",
    "space",
    "Q",
    "K",
    "V",
    "init",
    "weights",
    "n",
    "d",
    "dt",
    "seed",
    "dtype",
)


@dataclass(frozen=True)
class Choice:
    """A setting of the picture: its default, and the values or the range it may have."""

    default: Any
    among: tuple[Any, ...] | None = None
    bounds: tuple[float | int, float | int] | None = None
    help: str = ""

    @property
    def type(self) -> type:
        return type(self.default)


VIEW: dict[str, Choice] = {
    "scene": Choice("", help="the preset this began with"),
    "speed": Choice(1, bounds=(1, limits.MAX_STEPS_AT_ONCE), help="steps from one picture to the next"),
    "trails": Choice(True, among=(True, False), help="where the tokens come from"),
    "colour": Choice("cluster", among=("cluster", "index"), help="what the colours mean"),
    "axes": Choice("pca", help="in higher dimension: pca, mean, or three coordinates as 1,2,3"),
    "yaw": Choice(0.6, bounds=(-1e3, 1e3)),
    "pitch": Choice(0.35, bounds=(-1.6, 1.6)),
    "zoom": Choice(1.0, bounds=(0.05, 50.0)),
    "long": Choice(False, among=(True, False), help="follow the run until one cluster is left, in logarithmic time"),
}

FIELDS: dict[str, Choice | Setting] = {
    **{name: SETTINGS[name] for name in SIMULATION},
    **VIEW,
    "step": Choice(0, help="the step that is shown"),
}
"""All that a state may name, but for the parameters of models, attention maps and initial laws."""


@dataclass(frozen=True)
class State:
    """`settings` as `attnflow.settings` completes them, the `step` shown, and the `view`."""

    settings: dict[str, Any]
    step: int = 0
    view: dict[str, Any] = field(default_factory=lambda: {name: c.default for name, c in VIEW.items()})

    @classmethod
    def of(cls, request: Any) -> "State":
        """Parse untrusted JSON; raise `InputError` if it is invalid."""
        if not isinstance(request, Mapping) or not all(isinstance(name, str) for name in request):
            raise InputError('a state is a JSON object of settings, for example {"beta": 9}.')
        known = {*FIELDS, *parameters()}
        if unknown := sorted(set(request) - known):
            raise InputError(f"setting {unknown[0][:40]!r} is unknown; there are: {', '.join(sorted(known))}.")
        request = {name: value for name, value in request.items() if value is not None}
        simulation = {name: value for name, value in request.items() if name not in VIEW and name != "step"}
        _check_values(simulation)
        settings = complete(simulation)
        if not registry.get("model", settings["model"]).page:
            raise InputError(f"model {settings['model']!r} is not for the page; run it with attnflow simulate.")
        _check_sizes(settings)
        view = {name: _view_value(name, request.get(name, c.default)) for name, c in VIEW.items()}
        axes(view["axes"], settings["d"])
        return cls(settings, _whole("step", request.get("step", 0), 0, limits.MAX_STEPS), view)

    def as_json(self, *, whole: bool = True) -> dict[str, Any]:
        """All settings by name, or those alone that differ from their defaults."""
        everything = {name: self.settings.get(name) for name in SIMULATION}
        everything |= {name: value for name, value in self.settings.items() if name not in SETTINGS}
        everything |= {"step": self.step, **self.view}
        if whole:
            return everything
        return {k: v for k, v in everything.items() if v is not None and (k not in FIELDS or v != FIELDS[k].default)}

    @property
    def pairs(self) -> float:
        """Interactions in one step, up to a factor: what it costs."""
        n, d = self.settings["n"], self.settings["d"]
        heads = self.settings.get("heads", 1)
        return 4.0 * n * n * (1 + d / 16) * heads


def axes(text: str, d: int) -> tuple[int, ...] | str:
    """Along what a cloud in higher dimension is seen: `pca`, `mean`, or three coordinates counted from 1."""
    if text in ("pca", "mean"):
        return text
    try:
        chosen = tuple(int(part) - 1 for part in text.split(","))
    except ValueError:
        chosen = ()
    if len(chosen) != 3 or len(set(chosen)) != 3 or not all(0 <= k < max(d, 3) for k in chosen):
        raise InputError(
            f"axes = {text[:40]!r}: write pca, mean, or three different coordinates between 1 and {d} as 1,2,3."
        )
    return chosen


def _check_values(settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        if isinstance(value, str) and len(value) > 16_000:
            raise InputError(f"{name} has {len(value)} characters; type at most 16000.")
        if isinstance(value, (dict, list)):
            raise InputError(f"{name} should be a number, a word, true or false.")
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 32:
            raise InputError(f"{name} = {float(value):g} is too large; take a number below 2^32.")
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{name} = {value} is not finite; take a number.")


def _check_sizes(s: Mapping[str, Any]) -> None:
    for name, most in (("n", limits.MAX_TOKENS), ("d", limits.MAX_DIMENSION)):
        _whole(name, s[name], 1, most)
    if s["n"] * s["d"] > limits.MAX_COORDINATES:
        raise InputError(
            f"{s['n']} tokens in dimension {s['d']} are more than the page shows; take n d <= {limits.MAX_COORDINATES}."
        )
    if s["seed"] < 0:
        raise InputError(f"seed = {s['seed']} is negative; choose a whole number from 0.")
    if s["dt"] is not None and not 1e-9 <= s["dt"] <= 10:
        raise InputError(f"dt = {s['dt']:g} is no step; take a number between 1e-9 and 10.")
    if s["dtype"] not in ("float32", "float64"):
        raise InputError(f"dtype {s['dtype'][:40]!r} is unknown; choose float64 or float32.")
    for name, value in s.items():
        if name not in SETTINGS and isinstance(value, int) and value > limits.MAX_INTEGER:
            raise InputError(f"{name} = {value} is more than the page computes; take at most {limits.MAX_INTEGER}.")


def _view_value(name: str, value: Any) -> Any:
    choice = VIEW[name]
    if choice.among is not None:
        if not any(value is c or (isinstance(c, str) and value == c) for c in choice.among):
            raise InputError(f"{name} should be one of {', '.join(map(str, choice.among)).lower()}.")
        return value
    if choice.bounds is not None:
        low, high = choice.bounds
        if isinstance(choice.default, int):
            return _whole(name, value, int(low), int(high))
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise InputError(f"{name} should be a number between {low:g} and {high:g}.")
        return float(value)
    if not isinstance(value, str) or len(value) > 100:
        raise InputError(f"{name} should be a word.")
    return value


def _whole(name: str, value: Any, low: int, high: int) -> int:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not good or value != int(value) or not low <= value <= high:
        shown = f" = {value:g}" if good else ""
        raise InputError(f"{name}{shown} should be a whole number between {low} and {high}.")
    return int(value)
