"""The data of an interpolation problem as a user gives them, checked; what no network can do is refused here."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...checks import finite_array
from ...errors import InputError
from ...spaces import is_concrete
from ._arithmetic import Arithmetic
from ._cloud import Cloud, gathered
from ._fixed_order import distinct

SMALLEST, LARGEST = 1e-100, 1e100  # squares of these are numbers


class Problem(NamedTuple):
    """`cloud`: the different inputs; `outputs`: the distinct output points of each; `of`: for every input that was
    given, which of these it is.
    """

    cloud: Cloud
    outputs: list[np.ndarray]
    of: np.ndarray


def problem(inputs: list[np.ndarray], outputs: list[np.ndarray]) -> Problem:
    """What is to be solved: inputs that are equal as sets count once, if their outputs agree."""
    if len(inputs) != len(outputs):
        raise InputError(f"there are {len(inputs)} inputs and {len(outputs)} outputs; give one output for each input.")
    d = inputs[0].shape[1]
    if d < 2:
        raise InputError("tokens have dimension 1; the construction needs d >= 2: append a coordinate 0.")
    wanted = [_distinct_rows(y) for y in outputs]
    if wanted[0].shape[1] != d:
        raise InputError(f"inputs have dimension {d} and outputs {wanted[0].shape[1]}; they must live in one space.")
    cloud = gathered(inputs)
    known: dict[bytes, int] = {}
    of = np.empty(len(inputs), int)
    for j, ids in enumerate(np.split(cloud.ids, cloud.starts[1:])):
        of[j] = known.setdefault(ids.tobytes(), j)
        if of[j] < j and not np.array_equal(wanted[of[j]], wanted[j]):
            raise InputError(
                f"inputs {of[j]} and {j} are equal as sets but their outputs differ; attention sees neither the order "
                "nor, where it takes a maximum, the number of equal tokens: change one of them."
            )
        if len(wanted[j]) > len(ids):
            raise InputError(
                f"output {j} has {len(wanted[j])} distinct points and input {j} only {len(ids)} distinct tokens; "
                "tokens that are equal stay equal: ask for fewer points."
            )
    kept = np.unique(of)
    if len(kept) < len(inputs):
        cloud = gathered([inputs[j] for j in kept])
    return Problem(cloud, [wanted[j] for j in kept], np.searchsorted(kept, of))


def sequences(name: str, values: Any, arithmetic: Arithmetic) -> list[np.ndarray]:
    """Sequences `(n, d)` of one dimension; a vector `(d,)` stands for a sequence of one token."""
    # An array: sequences of one length, one point for each input, or objects.
    ndim, kind = getattr(values, "ndim", 0), getattr(getattr(values, "dtype", None), "kind", "")
    if ndim == 3 or (name, ndim) == ("outputs", 2) or (ndim, kind) == (1, "O"):
        values = list(np.asarray(values))
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence) or len(values) == 0:
        raise InputError(f"{name} should be a list of sequences, arrays of shape (n, d); at least one.")
    found = [sequence(f"{name}[{j}]", one, arithmetic) for j, one in enumerate(values)]
    d = found[0].shape[1]
    for j, one in enumerate(found):
        if one.shape[1] != d:
            raise InputError(
                f"{name}[{j}] has dimension {one.shape[1]} and {name}[0] {d}; they must live in one space."
            )
    largest = 0.0 if arithmetic.exact else max(float(abs(one).max()) for one in found)
    if not (largest == 0 or SMALLEST <= largest <= LARGEST):
        raise InputError(f"{name} have entries of size {largest:.1g}; rescale to between {SMALLEST:g} and {LARGEST:g}.")
    return found


def sequence(name: str, values: Any, arithmetic: Arithmetic) -> np.ndarray:
    """One sequence: finite numbers in float64, or fractions."""
    given = _array(name, values)
    if given.dtype.kind in "fV" and given.dtype.itemsize != 8:
        raise InputError(
            f"{name} is in {given.dtype}, and exact interpolation needs float64: load or cast the data in 64 bit."
        )
    objects = given.ravel() if given.dtype == object else ()
    # Text, dates and complex numbers would be converted without a word.
    if given.dtype.kind not in "biufO" or any(isinstance(one, (str, bytes)) for one in objects):
        raise InputError(f"{name} does not hold real numbers; convert it, to float for example.")
    found = np.atleast_2d(finite_array(name, given))
    if found.ndim != 2 or 0 in found.shape:
        raise InputError(f"{name} has shape {given.shape}; give tokens as rows, (n, d), at least one.")
    if arithmetic.exact:
        return np.atleast_2d(arithmetic.array(given))
    if given.dtype.kind in "iu" and max(int(given.max()), -int(given.min())) > 2**53:
        raise InputError(f"{name} has integers beyond 2^53, which float64 would round; rescale, or use exact=True.")
    return found + 0.0  # a copy, and -0.0 becomes 0.0


def _array(name: str, values: Any) -> np.ndarray:
    """What was given, as it is."""
    if not is_concrete(values):
        raise InputError(f"{name} is being traced, and this is done by NumPy: call it outside jit, grad and vmap.")
    if np.ma.is_masked(values):
        raise InputError(f"{name} has masked entries; leave them out: sequences may have any lengths.")
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is not an array of numbers; give tokens as rows (n, d) of one length.") from None


def _distinct_rows(y: np.ndarray) -> np.ndarray:
    return y[np.unique(distinct(y), return_index=True)[1]]
