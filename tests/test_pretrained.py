"""Transformers as layers: a NumPy loop, Hugging Face transformers at every layer, interventions, and what is refused.

How the references were made: tests/witnesses/pretrained.py.
"""

import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.models import families

FAMILIES = ("albert", "bert", "gpt2", "llama")
DATA = np.load(Path(__file__).parent / "data" / "pretrained.npz")


def part(family, name):
    return DATA[f"{family}/{name}"]


def config(family):
    return json.loads(str(part(family, "config")))


def tensors(family):
    start = f"{family}/weights/"
    return {name.removeprefix(start): DATA[name] for name in DATA.files if name.startswith(start)}


@pytest.fixture(scope="module")
def models():
    return {family: families.from_tensors(config(family), tensors(family)) for family in FAMILIES}


@pytest.fixture(scope="module")
def runs(models):
    """The runs of the texts of the references, in float32."""
    return {f: af.simulate(m, m.embed(part(f, "ids")), solver="layers") for f, m in models.items()}


def relative(actual, expected):
    """The largest error of a token, relative to its length."""
    off = np.linalg.norm(np.asarray(actual, float) - expected, axis=-1)
    return float(np.max(off / np.linalg.norm(expected, axis=-1)))


# Hugging Face transformers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_every_layer_agrees_with_transformers_in_float32(runs, family):
    run, states = runs[family], part(family, "states")
    assert run.xs.dtype == jnp.float32
    assert run.xs.shape == states.shape
    assert max(relative(x, y) for x, y in zip(run.xs, states, strict=True)) < 1e-5
    assert relative(run.model.output(run.final), part(family, "output")) < 1e-5


@pytest.mark.parametrize("family", FAMILIES)
def test_every_layer_agrees_with_transformers_in_float64(family):
    """Llama's rotary angles and normalisations are float32 in transformers."""
    model = families.from_tensors(config(family), tensors(family), dtype="float64")
    run = af.simulate(model, model.embed(part(family, "ids")), solver="layers")
    assert run.xs.dtype == jnp.float64
    tolerance = 1e-6 if family == "llama" else 1e-12
    assert max(relative(x, y) for x, y in zip(run.xs, part(family, "states"), strict=True)) < tolerance


@pytest.mark.parametrize("family", FAMILIES)
def test_attention_matrices_agree_with_transformers(runs, family):
    expected = part(family, "attention")  # (layers, heads, n, n)
    for head in range(expected.shape[1]):
        A = af.attention_matrix(runs[family], head=head)
        np.testing.assert_allclose(A[:-1], expected[:, head], atol=2e-6)
        assert np.isnan(A[-1]).all()  # no layer reads the last tokens
    assert af.leaders(runs[family], at=0, head=1).received.sum() == pytest.approx(1, abs=1e-5)
