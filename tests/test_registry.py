"""Parameters are checked, never bent: what is not of their kind is refused in one sentence."""

import numpy as np
import pytest

from attnflow.errors import InputError
from attnflow.registry import Entry, Param

FLAG = Param(False)
COUNT = Param(2, bounds=(1, 9))
NUMBER = Param(1.0, bounds=(0.0, 10.0))
FREE = Param(1.0)


@pytest.mark.parametrize(
    ("param", "value", "used"),
    [
        (FLAG, True, True),
        (FLAG, np.bool_(False), False),
        (COUNT, 3, 3),
        (COUNT, 3.0, 3),
        (COUNT, np.int32(3), 3),
        (COUNT, np.float32(3), 3),
        (NUMBER, 2, 2.0),
        (NUMBER, 2.5, 2.5),
        (NUMBER, np.float32(2.5), 2.5),
        (NUMBER, np.array(2.5), 2.5),
        (FREE, -1e300, -1e300),
    ],
)
def test_values_of_the_right_kind(param, value, used):
    checked = param.check("p", value)
    assert checked == used and type(checked) is param.type


@pytest.mark.parametrize("value", ["false", "true", "", 0, 1, 1.0, None, [], np.int64(1)])
def test_a_flag_is_a_flag(value):
    with pytest.raises(InputError, match=r"^p = .* should be true or false\.$"):
        FLAG.check("p", value)


@pytest.mark.parametrize("value", [2.7, "2", True, np.bool_(True), None, [2], np.array([2]), 2j, float("nan")])
def test_a_count_is_whole(value):
    with pytest.raises(InputError, match=r"^p = .* should be a whole number\.$"):
        COUNT.check("p", value)


@pytest.mark.parametrize("value", ["2.0", True, None, [2.0], np.array([2.0]), 1j, float("nan"), np.nan])
@pytest.mark.parametrize("param", [NUMBER, FREE])
def test_a_number_is_a_number(param, value):
    with pytest.raises(InputError, match=r"^p = .* should be a number\.$"):
        param.check("p", value)


@pytest.mark.parametrize(
    ("param", "value"), [(COUNT, 0), (COUNT, 10.0), (NUMBER, -0.1), (NUMBER, float("inf")), (COUNT, float("-inf"))]
)
def test_bounds(param, value):
    with pytest.raises(InputError, match=r"^p = .* is outside \[.*\]; choose a value in that range\.$"):
        param.check("p", value)


def test_a_number_without_bounds_is_finite():
    with pytest.raises(InputError, match=r"^p = inf should be a number\.$"):
        FREE.check("p", float("inf"))


def test_an_entry_builds_from_what_was_checked():
    entry = Entry("law", "l", dict, "", params={"flag": FLAG, "count": COUNT, "number": NUMBER})
    assert entry.build(count=3.0, number=2) == {"flag": False, "count": 3, "number": 2.0}
    assert isinstance(entry.build(count=3.0)["count"], int)
    with pytest.raises(InputError, match="flag = 'false'"):
        entry.build(flag="false")
