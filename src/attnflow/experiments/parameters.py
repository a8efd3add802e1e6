"""Parameters of an experiment that a user may change: `attnflow reproduce ID --set beta=20 --set n=64,128`.

They are entries of its cells, so that default and type are those of the cells, and a changed cell has a name of its
own. Several values make several cells; an entry that is a list is replaced as a whole.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError
from ..registry import Param


@dataclass(frozen=True)
class Parameter:
    """An entry of cells that may be changed: a line of help, its least and greatest value, and in which cells it is.

    `where={"part": "figure"}` leaves cells of other parts as they are.
    """

    help: str
    bounds: tuple[float | int, float | int] | None = None
    where: Mapping[str, Any] = field(default_factory=dict)

    def belongs_to(self, name: str, cell: Mapping[str, Any]) -> bool:
        return name in cell and all(k in cell and cell[k] == v for k, v in self.where.items())


def values_in(cells: list[dict[str, Any]], name: str, parameter: Parameter) -> list[float | int]:
    """The different values that a parameter has in these cells, in their order."""
    found = [cell[name] for cell in cells if parameter.belongs_to(name, cell)]
    return list(dict.fromkeys(v for value in found for v in (value if isinstance(value, list) else [value])))


def changed_cells(
    cells: list[dict[str, Any]], parameters: Mapping[str, Parameter], changed: Mapping[str, list[float | int]]
) -> list[dict[str, Any]]:
    """These cells with the changed values, each once."""
    found = []
    for cell in cells:
        mine = {k: v for k, v in changed.items() if parameters[k].belongs_to(k, cell)}
        choices = [[values] if isinstance(cell[name], list) else values for name, values in mine.items()]
        found += [{**cell, **dict(zip(mine, chosen, strict=True))} for chosen in itertools.product(*choices)]
    return [cell for k, cell in enumerate(found) if cell not in found[:k]]


def checked(experiment: Any, name: str, value: Any) -> list[float | int]:
    """The values of a parameter; one that the experiment does not have, or a value that cannot be, is refused."""
    known = experiment.parameters
    if name not in known:
        which = f"it has: {', '.join(known)}" if known else "it has none (attnflow list shows which have)"
        raise InputError(f"experiment {experiment.id!r} has no parameter {name!r} to set; {which}.")
    usual = values_in(experiment.cells("quick"), name, known[name])
    whole = all(isinstance(v, int) for v in usual)
    param = Param(usual[0] if whole else float(usual[0]), bounds=known[name].bounds)
    values = list(value) if isinstance(value, list | tuple) else [value]
    try:
        values = list(dict.fromkeys(param.check(name, v) for v in values))
        if len(values) != 1 and not (values and _sweeps(experiment, name)):
            raise InputError(f"{name} takes one value, not {len(values)}")
    except InputError as error:
        reason = str(error).rstrip(".")
        raise InputError(f"experiment {experiment.id!r}: {reason}; the default is {described(usual)}.") from None
    return values


def _sweeps(experiment: Any, name: str) -> bool:
    """Whether several values may stand side by side: some cells differ in nothing else, or the value is a list."""
    for scale in ("quick", "full"):
        mine = [c for c in experiment.cells(scale) if experiment.parameters[name].belongs_to(name, c)]
        pairs = itertools.combinations(mine, 2)
        if any(isinstance(c[name], list) for c in mine) or any({**a, name: b[name]} == b for a, b in pairs):
            return True
    return False


def described(values: list[float | int], between: str = ", ") -> str:
    return between.join(f"{v:g}" if isinstance(v, float) and v == float(f"{v:g}") else str(v) for v in values)


def parsed(settings: list[str]) -> dict[str, list[Any]]:
    """`["beta=20", "n=64,128"]` as `{"beta": [20], "n": [64, 128]}`; what is no number stays a word, to be refused."""
    found: dict[str, list[Any]] = {}
    for setting in settings:
        name, equals, values = setting.partition("=")
        if not (name and equals and values) or name in found:
            once = f"{name} is set twice" if name in found else "that is not NAME=VALUE"
            raise InputError(f"--set {setting}: {once}; write --set beta=20, or --set beta=4,20 for several values.")
        found[name] = [_number(value) for value in values.split(",")]
    return found


def _number(text: str) -> float | int | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
