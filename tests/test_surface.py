"""Relations over the table of the public surface: every public name has a row, and what its row declares holds.

Users run without the strict environment of the other tests: types are not checked for them, and arrays are promoted.
"""

import inspect

import jax
import jaxtyping
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surface import relations, rows
from surface.public import public_names
from surface.table import Abstract, Call, Constant, ResultOf

ROWS = rows()
CALLS = {label: row for label, row in ROWS.items() if isinstance(row, Call)}


@pytest.fixture(autouse=True, scope="module")
def as_users_run():
    jaxtyping.config.update("jaxtyping_disable", True)
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        yield
    jaxtyping.config.update("jaxtyping_disable", False)


def every(kind):
    return pytest.mark.parametrize("label", [label for label, row in ROWS.items() if isinstance(row, kind)])


def calls(having):
    return pytest.mark.parametrize("label", [label for label, row in CALLS.items() if having(row)])


def drawn(**strategies):
    """A few examples, the same in every run."""
    quick = settings(max_examples=3, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    return lambda test: quick(given(**strategies)(test))


# The table -----------------------------------------------------------------------------------------------------------


def test_every_public_name_has_a_row():
    named = {row.name for row in ROWS.values()}
    public = set(public_names())
    assert not sorted(public - named), "public names without a row"
    assert not sorted(named - public), "rows of names that are not public"


@every(Abstract)
def test_abstract_classes_are_to_be_derived_from(label):
    thing = ROWS[label].object
    assert inspect.isclass(thing) and inspect.isabstract(thing)


@every(Constant)
def test_constants_are_data(label):
    assert ROWS[label].reason and not inspect.isfunction(ROWS[label].object)


@every(ResultOf)
def test_result_classes_come_out_of_a_call(label):
    row = ROWS[label]
    out = CALLS[row.row].result
    assert isinstance(out if row.part is None else row.part(out), row.object)


# Relations -----------------------------------------------------------------------------------------------------------


@calls(lambda row: "valid" not in row.without)
def test_the_call_is_valid(label):
    """And it is documented, and gives the same numbers twice."""
    row = CALLS[label]
    assert row.object.__doc__
    compared = row.points or row.traced or row.run
    assert not compared or relations.some_finite(row.unchanged), "relations of infinities and NaN cannot fail"
    if "repeats" not in row.without:
        first, again = (relations.numbers(result) for result in (row.result, row()))
        assert all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(first, again, strict=True))


@calls(lambda row: "nonfinite" not in row.without)
def test_nan_and_infinity_are_refused_or_come_out(label):
    relations.check_nonfinite(CALLS[label])


@calls(lambda row: "junk" not in row.without)
def test_junk_is_refused_in_a_sentence(label):
    relations.check_junk(CALLS[label])


@calls(lambda row: "switches" not in row.without)
def test_switches_are_true_or_false(label):
    relations.check_switches(CALLS[label])


@calls(lambda row: "float32" not in row.without)
def test_float32_against_float64(label):
    relations.check_float32(CALLS[label])


@calls(lambda row: row.traced)
def test_jit_vmap_and_derivatives(label):
    relations.check_transformations(CALLS[label])


@calls(lambda row: row.permutation)
@drawn(order=st.permutations(range(12)))
def test_permutation(label, order):
    relations.check_permutation(CALLS[label], order)


@calls(lambda row: row.rotation)
@drawn(seed=st.integers(0, 99))
def test_rotation(label, seed):
    relations.check_rotation(CALLS[label], seed)


@calls(lambda row: row.translation)
@drawn(seed=st.integers(0, 99))
def test_translation(label, seed):
    relations.check_translation(CALLS[label], seed)


@calls(lambda row: row.scale is not None)
@drawn(place=st.sampled_from([0.0, 0.05, 0.3, 0.45, 0.6, 0.95, 1.0]))
def test_scale(label, place):
    low, high = CALLS[label].scales
    relations.check_scale(CALLS[label], low + place * (high - low))


@calls(lambda row: row.splitting)
def test_splitting_a_weight(label):
    relations.check_splitting(CALLS[label])


@calls(lambda row: row.run)
def test_a_run_or_its_array(label):
    relations.check_run(CALLS[label])
