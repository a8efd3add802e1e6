"""Scenes: presets with two sentences of what to look for. One file per paper, found by walking this package."""

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...citations import PAPERS


@dataclass(frozen=True)
class Scene:
    """A state of the page worth looking at: `state` names what differs from the defaults.

    `look` is two sentences of what to look for; `experiment` the id under which the library checks it with numbers.
    `order` says where it stands in the list, the smallest first: that one starts when the page is opened.
    """

    id: str
    title: str
    look: str
    paper: str
    experiment: str
    state: Mapping[str, Any] = field(default_factory=dict)
    order: int = 100

    def as_json(self) -> dict[str, Any]:
        from ...citations import cite

        about = {name: getattr(self, name) for name in ("id", "title", "look", "paper", "experiment")}
        url = next((part for part in PAPERS[self.paper][0].split("{") if part.startswith("https://")), "")
        return {**about, "state": dict(self.state), "url": url.split("}")[0], "bibtex": cite(self.paper)}


def scenes() -> list[Scene]:
    """All scenes, in the order in which they are offered."""
    scenes: list[Scene] = []
    for info in pkgutil.iter_modules(__path__, f"{__name__}."):
        scenes += [s for s in vars(importlib.import_module(info.name)).get("SCENES", ()) if isinstance(s, Scene)]
    return sorted(scenes, key=lambda scene: scene.order)
