"""Claims: what holds, what fails, and that NaN and exceptions never pass for success."""

import json

import numpy as np
import pytest

from attnflow.errors import InputError
from attnflow.experiments import Claim, judge

KEYS = "id paper statement kind expected measured tolerance tolerance_kind stderr source provenance scale".split()
KEYS += ["status", "holds", "note"]
KEYS.insert(KEYS.index("source"), "detects")


def claim(kind="equal", expected=1.0, measured=1.0, **more):
    if more.get("tolerance_kind") == "sigma":
        more.setdefault("detects", 10.0)
    measure = measured if callable(measured) else lambda results: measured
    common = {"id": "c", "statement": "a number", "source": "Theorem 1", "provenance": "theorem"}
    return Claim(kind=kind, expected=expected, measure=measure, **{**common, **more})


def status(*args, **more):
    return judge(claim(*args, **more), None, "quick")["status"]


def test_json_has_exactly_the_documented_keys():
    verdict = judge(claim(paper="perspective", tolerance=0.1), None, "quick")
    assert list(verdict) == KEYS
    assert json.loads(json.dumps(verdict, allow_nan=False)) == verdict
    assert verdict["status"] == "holds" and verdict["holds"] is True and verdict["scale"] == "quick"


@pytest.mark.parametrize(
    ("kind", "tolerance_kind", "tolerance", "measured", "expected_status"),
    [
        ("equal", "abs", 0.1, 2.05, "holds"),
        ("equal", "abs", 0.1, 2.15, "fails"),
        ("equal", "abs", 0.1, 1.85, "fails"),
        ("equal", "rel", 0.1, 2.15, "holds"),
        ("equal", "rel", 0.1, 2.25, "fails"),
        ("equal", "sigma", 3, (2.25, 0.1), "holds"),
        ("equal", "sigma", 2, (2.25, 0.1), "fails"),
        ("equal", "factor", 1.5, 2.9, "holds"),
        ("equal", "factor", 1.5, 1.2, "fails"),
        ("at_most", "abs", 0.0, 2.0, "holds"),
        ("at_most", "abs", 0.0, 2.0001, "fails"),
        ("at_most", "rel", 0.1, 2.1, "holds"),
        ("at_most", "factor", 2.0, 3.9, "holds"),
        ("at_most", "abs", 0.0, -np.inf, "fails"),
        ("at_least", "abs", 0.0, 1.9999, "fails"),
        ("at_least", "abs", 0.1, 1.95, "holds"),
        ("at_least", "factor", 2.0, 0.9, "fails"),
        ("at_least", "sigma", 1, (1.95, 0.1), "holds"),
        ("at_least", "abs", 0.0, np.inf, "fails"),
    ],
)
def test_comparison(kind, tolerance_kind, tolerance, measured, expected_status):
    assert status(kind, 2.0, measured, tolerance=tolerance, tolerance_kind=tolerance_kind) == expected_status


@pytest.mark.parametrize("kind", ["equal", "at_most", "at_least"])
@pytest.mark.parametrize("tolerance_kind", ["abs", "rel", "factor"])
def test_nan_never_holds_and_is_null(kind, tolerance_kind):
    wide = 0.999 if tolerance_kind == "rel" else 1e9
    verdict = judge(claim(kind, 1.0, float("nan"), tolerance=wide, tolerance_kind=tolerance_kind), None, "quick")
    assert verdict["status"] == "fails" and verdict["holds"] is False and verdict["measured"] is None
    assert "not finite" in verdict["note"]


@pytest.mark.parametrize("stderr", [float("nan"), float("inf"), -0.1, [0.1, float("inf")], None])
def test_an_infinite_or_nan_standard_error_never_holds(stderr):
    """With an infinite one every number would be within three standard errors."""
    measured = ([1.0, 1.0] if isinstance(stderr, list) else 1.0, stderr)
    verdict = judge(claim("equal", 1.0, measured, tolerance=3, tolerance_kind="sigma"), None, "quick")
    assert verdict["status"] == "error" and verdict["holds"] is None
    assert "standard error" in verdict["note"] and "\n" not in verdict["note"]
    assert status("at_least", 1.0, measured, tolerance=3, tolerance_kind="sigma") == "error"


def test_lists_hold_entry_by_entry():
    assert status("equal", [1, 2, 3], [1.0, 2.0, 3.0]) == "holds"
    verdict = judge(claim("equal", [1, 2, 3], np.array([1.0, 2.0, 4.0])), None, "quick")
    assert verdict["status"] == "fails" and verdict["measured"] == [1.0, 2.0, 4.0]
    assert "entry 3 of 3" in verdict["note"]
    assert judge(claim("equal", [1.0, 2.0], [1.0, np.nan]), None, "quick")["measured"] == [1.0, None]


def test_one_expected_number_bounds_every_entry():
    assert status("at_most", 1.0, [0.1, 0.9]) == "holds"
    assert status("at_most", 1.0, [0.1, 1.1]) == "fails"


def test_property():
    assert status("property", True, True) == "holds"
    assert status("property", True, np.bool_(False)) == "fails"
    assert status("property", True, [True, False]) == "fails"
    assert status("property", True, 0.7) == "error"  # a number is no answer to a yes-or-no question


def test_array_scalars_become_numbers():
    verdict = judge(claim("equal", 3, np.int64(3)), None, "quick")
    assert verdict["measured"] == 3 and isinstance(verdict["measured"], int)
    pair = (np.float32(3), np.float64(0.1))
    verdict = judge(claim("equal", 3.0, pair, tolerance=1, tolerance_kind="sigma"), None, "quick")
    assert verdict["stderr"] == pytest.approx(0.1)


def test_exception_is_an_error_with_its_sentence():
    verdict = judge(claim(measured=lambda results: results["missing"], note="of the demo"), {}, "quick")
    assert verdict["status"] == "error" and verdict["holds"] is None and verdict["measured"] is None
    assert verdict["note"] == "of the demo; could not be measured: KeyError: 'missing'"


@pytest.mark.parametrize("measured", [[], [1.0, 2.0, 3.0], "text", None, 1j])
def test_values_that_cannot_be_compared_are_an_error(measured):
    assert status("equal", [1.0, 2.0], measured) == "error"


def test_sigma_without_standard_error_is_an_error():
    assert status("equal", 1.0, 1.0, tolerance=3, tolerance_kind="sigma") == "error"


def test_skipped_at_other_scales():
    unreachable = claim(measured=lambda results: 1 / 0, scales=("full",))
    verdict = judge(unreachable, None, "quick")
    assert verdict["status"] == "skipped" and verdict["holds"] is None and "full" in verdict["note"]
    assert judge(unreachable, None, "full")["status"] == "error"


@pytest.mark.parametrize(
    "wrong",
    [
        {"tolerance": -1.0},
        {"tolerance": float("nan")},
        {"tolerance": 0.5, "tolerance_kind": "factor"},
        {"expected": float("inf")},
        {"expected": True},
        {"kind": "property", "expected": 1.0},
        # Those that could not fail.
        {"tolerance": 3, "tolerance_kind": "sigma", "detects": None},
        {"tolerance": 3, "tolerance_kind": "sigma", "detects": 0.0},
        {"tolerance": 3, "tolerance_kind": "sigma", "detects": -0.1},
        {"tolerance": 3, "tolerance_kind": "sigma", "detects": float("inf")},
        {"tolerance": 3, "tolerance_kind": "sigma", "detects": float("nan")},
        {"tolerance": 3, "tolerance_kind": "sigma", "detects": []},
        {"tolerance": 3, "tolerance_kind": "sigma", "expected": [1.0, 2.0], "detects": [0.1]},
        {"detects": 0.1},
        {"tolerance": 1.0, "tolerance_kind": "rel"},
        {"kind": "at_least", "tolerance": 1.5, "tolerance_kind": "rel"},
        {"expected": 0.5, "tolerance": 0.5, "possible": (0.0, 1.0)},
        {"expected": [0.1, 0.5], "tolerance": 0.5, "possible": (0.0, 1.0)},
        {"kind": "at_least", "expected": 0.0, "possible": (0.0, float("inf"))},
        {"kind": "at_most", "expected": 1.0, "possible": (0.0, 1.0)},
        {"kind": "at_most", "expected": 0.95, "tolerance": 0.1, "possible": (0.0, 1.0)},
        {"expected": 2.0, "tolerance": 4.0, "tolerance_kind": "factor", "possible": (1.0, 8.0)},
    ],
)
def test_a_claim_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError, match="'c'") as refused:
        claim(**wrong)
    sentence = str(refused.value)
    assert sentence.endswith(".") and "\n" not in sentence


@pytest.mark.parametrize(
    ("measured", "detects", "status_there"),
    [
        ((1.05, 0.1), 0.31, "holds"),  # 3 standard errors, 0.3, are less than what it must detect
        ((1.05, 0.1), 0.29, "error"),
        ((1.5, 0.1), 0.31, "fails"),
        ((9.0, 0.1), 0.29, "error"),  # the number was not measured well enough to call it false
        (([1.0, 1.0], [0.01, 0.2]), 0.31, "error"),
        (([1.0, 1.0], [0.01, 0.2]), [0.31, 0.61], "holds"),
        (([1.0, 1.0], [0.2, 0.01]), [0.31, 0.61], "error"),
        ((1.0, 0.0), 1e-9, "holds"),
    ],
)
@pytest.mark.parametrize("kind", ["equal", "at_least", "at_most"])
def test_an_error_bar_too_wide_to_fail_is_refused(kind, measured, detects, status_there):
    expected = [1.0, 1.0] if isinstance(measured[0], list) else 1.0
    made = claim(kind, expected, measured, tolerance=3, tolerance_kind="sigma", detects=detects)
    verdict = judge(made, None, "quick")
    if kind == "at_least" and status_there == "fails":
        status_there = "holds"
    assert verdict["status"] == status_there
    assert verdict["detects"] == detects
    if status_there == "error":
        assert verdict["holds"] is None and verdict["measured"] == measured[0] and verdict["stderr"] == measured[1]
        assert "refused" in verdict["note"] and "more draws" in verdict["note"]


def test_an_error_bar_as_wide_as_all_that_is_possible_is_refused():
    options = {"tolerance": 4, "tolerance_kind": "sigma", "detects": 1.0, "possible": (0.0, 1.0)}
    assert status("equal", 0.5, (0.5, 0.13), **options) == "error"
    assert status("equal", 0.5, (0.5, 0.12), **options) == "holds"
    assert status("at_least", 0.9, (0.5, 0.24), **options) == "error"
    assert status("at_least", 0.9, (0.5, 0.1), **options) == "holds"


def test_possible_values_allow_what_can_fail():
    assert status("equal", 0.5, 0.9, tolerance=0.4, possible=(0.0, 1.0)) == "holds"
    assert status("at_least", 0.9, 0.8, possible=(0.0, 1.0)) == "fails"
    assert status("at_most", 0.0, 0.1, possible=(0.0, np.inf)) == "fails"


def test_an_observation_says_so():
    made = Claim(id="c", statement="", kind="property", measure=lambda r: True, source="ours", provenance="observation")
    assert judge(made, None, "quick")["provenance"] == "observation"
