"""Exact interpolation: from pairs of sequences to a transformer."""

from typing import Any, Literal, get_args

import jax

from ...checks import flag
from ...errors import InputError
from ...spaces import Key, draws, key_or_fixed
from ._arithmetic import FLOATS, RATIONALS
from ._build import build
from ._data import Sequences, problem, sequences
from ._strip import Unseparated
from .transformer import InterpolatingTransformer

Mode = Literal["auto", "code", "rounds"]
DRAWS = 8  # of directions, before data are refused
TOLERANCE = 1e-7  # relative to the outputs: what is returned has been verified to this


def interpolate(
    inputs: Sequences, outputs: Sequences, *, mode: Mode = "auto", exact: bool = False, key: Key | None = None
) -> InterpolatingTransformer:
    r"""A transformer that maps every input sequence to its output sequence, as sets.

    **Arguments:**

    - `inputs`: N sequences, arrays `(n, d)` of any lengths, $d \ge 2$. No two may be equal as sets, unless their
      outputs agree: without positions, order is invisible.
    - `outputs`: for each input an array `(m, d)` of points, or one point `(d,)`; no more distinct points than the
      input has distinct tokens.
    - `mode`: `"code"` separates sequences by one block where the data allow it; `"rounds"` takes one block for each
      split, with better margins; `"auto"` tries them in this order.
    - `exact`: compute with fractions; `inputs` and `outputs` may then hold fractions, and the error is exactly 0. For
      small data.
    - `key`: for the random directions, by default the same at every call; where they leave tokens too close, others
      are drawn.

    At most $2M + 2N + 1$ blocks, M the number of output points, whatever the lengths. Every network was verified
    on the data before it is returned, to 1e-7 of the largest entry of all outputs (1e-15 is usual); data that float64
    cannot hold apart are refused in a sentence.

    Alcalde, Fantuzzi, Zuazua, *Exact Sequence Interpolation with Transformers*, arXiv:2502.02270.

    >>> network = interpolate([[[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]], [[3.0, 4.0], [-1.0, 0.0]])
    >>> network([[1.0, 0.0], [0.0, 0.0]]).round(9).tolist()
    [[3.0, 4.0], [3.0, 4.0]]
    """
    if not isinstance(mode, str) or mode not in get_args(Mode):
        raise InputError(f"mode = {mode!r}; choose auto, code or rounds.")
    key = key_or_fixed(key)
    arithmetic = RATIONALS if flag("exact", exact) else FLOATS
    x, y = sequences("inputs", inputs, arithmetic), sequences("outputs", outputs, arithmetic)
    known = problem(x, y)

    def attempt(code: bool, draw: int) -> InterpolatingTransformer:
        rng = draws(jax.random.fold_in(key, draw) if draw else key)
        blocks, kappa, isolation = build(known, arithmetic, code=code, rng=rng)
        network = InterpolatingTransformer(blocks, arithmetic, x, y, _plain(kappa), _plain(isolation))
        error = network.verify().relative_error
        if not error <= (0 if exact else TOLERANCE):
            raise Unseparated(f"the network built has the relative error {float(error):.1g}; {arithmetic.remedy}.")
        return network

    attempts = [(mode == "code", draw) for draw in range(DRAWS)]
    refused = None
    for code, draw in [(True, 0), *attempts] if mode == "auto" else attempts:
        try:
            return attempt(code, draw)
        except Unseparated as error:
            refused = error
    assert refused is not None
    raise refused


def _plain(value: Any) -> float | None:
    return None if value is None else float(value)
