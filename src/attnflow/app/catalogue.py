"""What the page draws its controls from: made of the registry, so that later entries appear by themselves."""

from typing import Any

from .. import registry, spaces
from ..matrices import MATRICES, PRESETS, takes
from ..plot import PALETTE
from ..settings import PAIRS, SETTINGS, WEIGHTS
from . import limits
from .scenes import scenes
from .state import SIMULATION, VIEW


def catalogue() -> dict[str, Any]:
    """Models, attention maps, laws with their parameters; settings with their defaults; scenes; limits."""
    return {
        "entries": {
            kind: [_entry(e) for e in registry.entries(kind).values() if e.page]
            for kind in ("model", "attention", "law")
        },
        "settings": {name: {"default": SETTINGS[name].default, "help": SETTINGS[name].help} for name in SIMULATION},
        "view": {name: {"default": c.default, "among": c.among, "help": c.help} for name, c in VIEW.items()},
        "spaces": list(spaces.SPACES),
        "pairs": list(PAIRS),
        "weights": list(WEIGHTS),
        "presets": list(PRESETS),
        "scenes": [scene.as_json() for scene in scenes()],
        "limits": {"n": limits.MAX_TOKENS, "d": limits.MAX_DIMENSION, "integer": limits.MAX_INTEGER},
        "palette": [PALETTE[c] for c in ("blue", "vermillion", "green", "purple", "sky", "orange", "yellow")],
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
