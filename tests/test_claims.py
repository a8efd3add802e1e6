"""Claims: what holds, what fails, and that NaN and exceptions never pass for success."""

import json

import numpy as np
import pytest

from attnflow.errors import InputError
from attnflow.experiments import Claim, judge

KEYS = "id paper statement kind expected measured tolerance tolerance_kind stderr source provenance scale".split()
KEYS += ["status", "holds", "note"]


def claim(kind="equal", expected=1.0, measured=1.0, **more):
    measure = measured if callable(measured) else lambda results: measured
    common = {"id": "c", "statement": "a number", "source": "Theorem 1", "provenance": "theorem"}
    return Claim(kind=kind, expected=expected, measure=measure, **common, **more)


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
    verdict = judge(claim(kind, 1.0, float("nan"), tolerance=1e9, tolerance_kind=tolerance_kind), None, "quick")
    assert verdict["status"] == "fails" and verdict["holds"] is False and verdict["measured"] is None
    assert "not finite" in verdict["note"]


@pytest.mark.parametrize("stderr", [float("nan"), float("inf"), -0.1, [0.1, float("inf")], None])
def test_a_standard_error_that_is_none_never_holds(stderr):
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
def test_what_cannot_be_compared_is_an_error(measured):
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
    ],
)
def test_a_claim_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError, match="'c'"):
        claim(**wrong)
