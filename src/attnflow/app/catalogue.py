"""The data of the page's controls, made from the registry, so that new entries appear by themselves."""

from typing import Any

from .. import registry, spaces
from ..matrices import MATRICES, PRESETS, takes
from ..palette import PALETTE
from ..settings import PAIRS, SLOPED, WEIGHTS
from . import limits
from .scenes import scenes
from .state import FIELDS, Choice


def catalogue() -> dict[str, Any]:
    """The fields of a state with their defaults; models, attention maps, laws with their parameters; scenes; limits."""
    return {
        "fields": {
            name: {
                "default": field.default,
                "word": field.type is str,
                "among": field.among if isinstance(field, Choice) else None,
                "help": field.help,
            }
            for name, field in FIELDS.items()
        },
        "entries": {
            kind: [_entry(e) for e in registry.entries(kind).values() if e.page]
            for kind in ("model", "attention", "law")
        },
        "spaces": list(spaces.SPACES),
        "pairs": list(PAIRS),
        "sloped": list(SLOPED),
        "weights": list(WEIGHTS),
        "matrices": list(MATRICES),
        "presets": list(PRESETS),
        "scenes": [scene.as_json() for scene in scenes()],
        "limits": {"n": limits.MAX_TOKENS, "d": limits.MAX_DIMENSION, "integer": limits.MAX_INTEGER},
        "palette": [colour for name, colour in PALETTE.items() if name != "black"],
    }


def _entry(entry: Any) -> dict[str, Any]:
    params = {
        name: {
            "default": p.default,
            "bounds": list(p.bounds) if p.bounds else None,
            "scale": p.scale,
            "symbol": p.symbol,
            "help": p.help,
            "type": p.type.__name__,
        }
        for name, p in entry.params.items()
    }
    return {
        "name": entry.name,
        "summary": entry.summary,
        "params": params,
        "spaces": list(entry.spaces),
        "takes": [name for name in ("attention", "pairs", "key", *MATRICES) if takes(entry.factory, name)],
    }
