"""A claim: one sentence of a paper, the number it gives, how closely we must find it, and how we measure it.

A claim is declared next to its experiment, before anything has run; `judge` compares it with the results of a run.
What is expected comes from the theory or from an independent computation, never from an earlier output of this
library, and every claim must be able to fail. A threshold that we chose, or set by what our own draws gave, is no
theory: such a claim is an observation, and says so by its provenance.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..errors import AttnflowError, InputError
from ..json_values import plain

Kind = Literal["equal", "at_most", "at_least", "property"]
ToleranceKind = Literal["abs", "rel", "sigma", "factor"]
Provenance = Literal["theorem", "figure", "derived", "observation"]
Status = Literal["holds", "fails", "skipped", "error"]


class Skip(Exception):
    """Raised by `measure` where nothing can be measured, with a sentence that says why: the claim is skipped."""


class TooWide(Exception):
    """The error bar of a measurement lets nothing fail that the claim should detect."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    r"""One checkable statement.

    - `kind`: `measured` must be `"equal"` to `expected`, `"at_most"` or `"at_least"` that, up to the tolerance; a
      `"property"` is measured as True or False and must be True.
    - `expected`: a number or a list; a list is compared entry by entry, a single number with every entry measured.
    - `tolerance` $\tau$ and `tolerance_kind` say how far $m$ may lie from $e$: `"abs"` by $\tau$, `"rel"` by
      $\tau |e|$, `"sigma"` by $\tau$ standard errors of the measurement (which must be finite), `"factor"` by a factor
      $\tau \ge 1$.
    - `measure(results)` gives a number, a list, True or False, or a pair `(value, standard error)`.
    - `detects`, for `"sigma"` alone and required there: the smallest deviation, in the units of `measured`, that must
      make the claim fail, a number or a list like `expected`. It is the distance to what would be wrong (another
      exponent, a forgotten factor, the other scheme), never a multiple of our own error bar. Where $\tau$ standard
      errors are wider than this, the claim cannot fail for what it should detect and is refused: its status is
      `"error"`.
    - `possible`: the least and the greatest value that the measurement can take at all, say `(0, 1)` for a share. A
      claim that all of these would pass is refused.
    - `source`: the paper and its equation, or the page of `docs/theory/` with the derivation. `provenance`: whether
      the number is in a `"theorem"`, was read off a `"figure"`, is `"derived"`, or is an `"observation"`: a threshold
      of our own choice or set by our own draws, which guards against change and confirms no theory.
    - `scales`: the scales at which the claim is judged (`None`: all); at others it is skipped.
    - `for_all`: parameters of the experiment at any value of which it is stated; where a cell that it reads has another
      value of any other parameter, it is skipped.
    - `paper`: key of the paper; left empty, it is the experiment's.
    """

    id: str
    statement: str
    kind: Kind
    measure: Callable[[Any], Any]
    source: str
    provenance: Provenance
    expected: float | int | bool | list = True
    tolerance: float | int = 0.0
    tolerance_kind: ToleranceKind = "abs"
    detects: float | int | list | None = None
    possible: tuple[float | int, float | int] | None = None
    note: str = ""
    scales: tuple[str, ...] | None = None
    for_all: tuple[str, ...] = ()
    paper: str = ""

    def __post_init__(self):
        for name, allowed in (("kind", Kind), ("tolerance_kind", ToleranceKind), ("provenance", Provenance)):
            if getattr(self, name) not in get_args(allowed):
                there = ", ".join(get_args(allowed))
                raise InputError(f"claim {self.id!r}: {name} = {getattr(self, name)!r}; choose one of {there}.")
        least = 1.0 if self.tolerance_kind == "factor" else 0.0
        if not least <= self.tolerance < math.inf:
            raise InputError(f"claim {self.id!r}: tolerance = {self.tolerance}; it must be finite and >= {least:g}.")
        if self.kind == "property" and self.expected is not True:
            raise InputError(f"claim {self.id!r}: a property is expected to be True, not {self.expected!r}.")
        if self.kind != "property" and (isinstance(self.expected, bool) or not _finite(self.expected)):
            raise InputError(f"claim {self.id!r}: expected = {self.expected!r}; it must be finite numbers.")
        self._check_that_it_can_fail()

    def _check_that_it_can_fail(self) -> None:
        """As far as the declaration alone can tell; `judge` looks at the error bar."""
        if self.tolerance_kind == "sigma":
            smallest = _flat(self.detects)
            if not smallest or not all(isinstance(v, float | int) and 0 < v < math.inf for v in smallest):
                raise InputError(
                    f"claim {self.id!r}: detects = {self.detects!r}; a tolerance in standard errors needs the smallest "
                    "deviation that must make the claim fail, finite and > 0."
                )
            if isinstance(self.detects, list) and len(smallest) != len(_flat(self.expected)):
                raise InputError(f"claim {self.id!r}: detects has {len(smallest)} entries; give one for each expected.")
        elif self.detects is not None:
            raise InputError(
                f"claim {self.id!r}: detects = {self.detects!r} belongs to a tolerance in standard errors."
            )
        if self.tolerance_kind == "rel" and self.tolerance >= 1 and self.kind in ("equal", "at_least"):
            raise InputError(
                f"claim {self.id!r}: a relative tolerance of {self.tolerance:g} admits zero; stay below 1."
            )
        if self.possible is not None and self.kind != "property" and self.tolerance_kind != "sigma":
            if any(self._admits_all(e, self._slack(e)) for e in _flat(self.expected)):
                raise InputError(
                    f"claim {self.id!r}: every value from {self.possible[0]:g} to {self.possible[1]:g} would pass; "
                    "take a smaller tolerance or another bound."
                )

    def _slack(self, e: Any) -> Any:
        """How far below and above `e` a measured number may lie; of a factor, and of standard errors, see `_bounds`."""
        return self.tolerance * abs(e) if self.tolerance_kind == "rel" else self.tolerance

    def _admits_all(self, e: Any, slack: Any) -> bool:
        """Whether all that is possible is allowed."""
        least, greatest = self.possible or (-math.inf, math.inf)
        factor = self.tolerance_kind == "factor"
        low, high = (e / slack, e * slack) if factor else (e - slack, e + slack)
        return bool((self.kind == "at_most" or low <= least) and (self.kind == "at_least" or high >= greatest))


def derived_on(page: str, prefix: str) -> Callable[..., Claim]:
    """How claims are written whose derivations stand on one page: `claim(id, statement, expected, measure, section)`.

    Ids get the prefix; the tolerance and its kind may follow, and all else by its name.
    """

    def claim(
        id: str,
        statement: str,
        expected: Any,
        measure: Callable[[Any], Any],
        section: str,
        tolerance: float | int = 0.0,
        tolerance_kind: ToleranceKind = "abs",
        *,
        kind: Kind = "equal",
        provenance: Provenance = "derived",
        **more: Any,
    ) -> Claim:
        return Claim(
            id=f"{prefix}-{id}",
            statement=statement,
            kind=kind,
            measure=measure,
            source=f"{page}, {section}",
            provenance=provenance,
            expected=expected,
            tolerance=tolerance,
            tolerance_kind=tolerance_kind,
            **more,
        )

    return claim


def judge(claim: Claim, results: Any, scale: str) -> dict[str, Any]:
    """Measure `claim` on `results` and compare: the claim as JSON, with `measured`, `status` and `holds` filled in.

    A number that is not finite never holds, and appears as null; an exception while measuring gives the status
    `"error"` with its sentence in the note, and so does an error bar that is too wide for the claim to fail. `holds` is
    true or false, and null where nothing was compared.
    """
    if claim.scales is not None and scale not in claim.scales:
        return verdict(claim, scale, "skipped", note=f"judged only at scale {' or '.join(claim.scales)}")
    measured, stderr = None, None
    try:
        measured, stderr = _split(claim.measure(results))
        good = _compare(claim, measured, stderr)
    except Skip as reason:
        return verdict(claim, scale, "skipped", note=str(reason))
    except TooWide as error:
        return verdict(claim, scale, "error", measured=measured, stderr=stderr, note=str(error))
    except Exception as error:
        return verdict(claim, scale, "error", note=f"could not be measured: {sentence(error)}")
    note = "" if all(good) or len(good) == 1 else _where(good)
    if not _finite(measured):
        note = "a measured number is not finite"
    return verdict(claim, scale, "holds" if all(good) else "fails", measured=measured, stderr=stderr, note=note)


def verdict(
    claim: Claim, scale: str, status: Status, *, measured: Any = None, stderr: Any = None, note: str = ""
) -> dict[str, Any]:
    """The claim as JSON, in the order a person reads it."""
    return {
        "id": claim.id,
        "paper": claim.paper,
        "statement": claim.statement,
        "kind": claim.kind,
        "expected": plain(claim.expected),
        "measured": plain(measured),
        "tolerance": plain(claim.tolerance),
        "tolerance_kind": claim.tolerance_kind,
        "stderr": plain(stderr),
        "detects": plain(claim.detects),
        "source": claim.source,
        "provenance": claim.provenance,
        "scale": scale,
        "status": status,
        "holds": {"holds": True, "fails": False}.get(status),
        "note": "; ".join(part for part in (claim.note, note) if part),
    }


def sentence(error: BaseException) -> str:
    """What an exception says, on one line, with its type where the text alone would not be understood."""
    text = " ".join(str(error).split())
    if isinstance(error, AttnflowError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _split(outcome: Any) -> tuple[Any, Any]:
    if isinstance(outcome, tuple):
        value, stderr = outcome
        return value, stderr
    return outcome, None


def _compare(claim: Claim, measured: Any, stderr: Any) -> list[bool]:
    import numpy as np

    m = np.asarray(measured)
    if m.size == 0:
        raise ValueError("nothing was measured")  # all() of nothing is true: such a claim could not fail
    if claim.kind == "property":
        if m.dtype != bool:
            raise TypeError(f"a property is measured as True or False, not {measured!r}")
        return m.ravel().tolist()
    if m.dtype.kind not in "biuf":
        raise TypeError(f"numbers are measured, not {measured!r}")
    e = np.asarray(claim.expected, dtype=float)
    m = m.astype(float)
    if e.ndim and e.shape != m.shape:
        raise ValueError(f"measured has shape {m.shape} but expected has shape {e.shape}")
    low, high = _bounds(claim, e, stderr)
    # Written so that NaN, which compares false with everything, never holds.
    above = m >= low if claim.kind in ("equal", "at_least") else np.isfinite(m)
    below = m <= high if claim.kind in ("equal", "at_most") else np.isfinite(m)
    return (above & below & np.isfinite(m)).ravel().tolist()


def _bounds(claim: Claim, e: Any, stderr: Any) -> tuple[Any, Any]:
    import numpy as np

    tau = claim.tolerance
    if claim.tolerance_kind == "factor":
        if not np.all(e > 0):
            raise ValueError("a factor tolerance needs a positive expected value")
        return e / tau, e * tau
    if claim.tolerance_kind == "sigma":
        if stderr is None:
            raise ValueError("a sigma tolerance needs measure to return (value, standard error)")
        error = np.asarray(stderr, dtype=float)
        if not np.all(np.isfinite(error) & (error >= 0)):  # with an infinite one the claim could not fail
            raise ValueError(f"a standard error must be finite and not negative, not {stderr!r}")
        slack = tau * error
        _refuse_too_wide(claim, e, slack)
    else:
        slack = claim._slack(e)
    return e - slack, e + slack


def _refuse_too_wide(claim: Claim, e: Any, slack: Any) -> None:
    """An error bar wider than what the claim should detect, or as wide as all that is possible, lets nothing fail."""
    import numpy as np

    detects = np.asarray(_flat(claim.detects), float)
    detects = detects.reshape(np.shape(e)) if isinstance(claim.detects, list) else detects[0]
    e, slack, detects = (a.ravel() for a in np.broadcast_arrays(e, slack, detects))
    wide = np.flatnonzero(slack > detects)
    if wide.size:
        k = wide[np.argmax(slack[wide] / detects[wide])]
        raise TooWide(
            f"refused, since {claim.tolerance:g} standard errors are {slack[k]:.3g} and the claim must detect "
            f"{detects[k]:.3g}; it needs more draws."
        )
    if claim.possible is not None and any(claim._admits_all(*pair) for pair in zip(e, slack, strict=True)):
        raise TooWide("refused, since all that is possible lies within the error bar; it needs more draws.")


def _flat(values: Any) -> list:
    """All entries of a number or a nested list."""
    if isinstance(values, list | tuple):
        return [entry for value in values for entry in _flat(value)]
    return [] if values is None else [values]


def _finite(values: Any) -> bool:
    """Whether no number was lost in turning `values` into JSON."""
    value = plain(values)
    return all(map(_finite, value)) if isinstance(value, list) else value is not None


def _where(good: list[bool]) -> str:
    bad = [i + 1 for i, ok in enumerate(good) if not ok]
    shown = ", ".join(map(str, bad[:6])) + (", …" if len(bad) > 6 else "")
    return f"fails in {'entry' if len(bad) == 1 else 'entries'} {shown} of {len(good)}"
