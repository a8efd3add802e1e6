"""Bad input gets one clear sentence that names the value; nothing is computed from it."""

import re
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.errors import AttnflowError, AttnflowWarning, InputError

X = af.sphere.weyl(n=4, d=3)
MODEL = af.SelfAttention(beta=1.0)
EQUAL = [0.25] * 4


def simulate(x=X, model=MODEL, **options):
    return af.simulate(model, x, **({"t1": 1.0} | options))


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "one axis": (lambda: simulate(X[0]), r"shape \(3,\)"),
    "three axes": (lambda: simulate(X[None]), r"shape \(1, 4, 3\)"),
    "no tokens": (lambda: simulate(X[:0]), r"shape \(0, 3\)"),
    "words": (lambda: simulate([["one", "two"]]), "not an array of numbers"),
    "complex tokens": (lambda: simulate(X.astype(complex)), "complex128"),
    "NaN": (lambda: simulate(X.at[2, 1].set(jnp.nan)), "token 2 is not finite"),
    "infinity": (lambda: simulate(X.at[1, 0].set(jnp.inf)), "token 1 is not finite"),
    "zero token": (lambda: simulate(X.at[3].set(0.0)), "token 3 is zero"),
    "long token": (lambda: simulate(X.at[0].multiply(2.0)), "token 0 has norm 2"),
    "weights off": (lambda: simulate(weights=[0.5, 0.5, 0.5, 0.5]), "sum to 2"),
    "negative weight": (lambda: simulate(weights=[0.5, -0.5, 0.5, 0.5]), "weight 1 is -0.5"),
    "NaN weight": (lambda: simulate(weights=[0.5, np.nan, 0.5, 0.0]), "weight 1 is nan"),
    "weights of another cloud": (lambda: simulate(weights=[0.5, 0.5]), r"shape \(2,\)"),
    "negative beta": (lambda: af.SelfAttention(beta=-2.0), "beta = -2 is negative"),
    "NaN beta": (lambda: af.Softmax(beta=float("nan")), "beta has entries that are not finite"),
    "beta a vector": (lambda: af.Softmax(beta=jnp.ones(2)), r"beta has shape \(2,\)"),
    "beta a word": (lambda: af.Softmax(beta="hot"), "'hot' is not a number"),
    "no beta": (lambda: af.Softmax(beta=None), "beta is missing"),
    "Q alone": (lambda: af.Softmax(Q=jnp.eye(3)), "K is missing"),
    "B and Q": (lambda: af.Softmax(B=jnp.eye(3), Q=jnp.eye(3), K=jnp.eye(3)), "not both"),
    "V a number": (lambda: af.Softmax(V=2.0), r"V has shape \(\)"),
    "no attention": (lambda: af.SelfAttention(), "give an attention map, or beta"),
    "attention and beta": (lambda: af.SelfAttention(af.Softmax(), beta=1.0), "give an attention map, or beta"),
    "unknown solver": (lambda: simulate(solver="magic"), "'magic'"),
    "fixed step missing": (lambda: simulate(solver="rk4"), "dt = None"),
    "fixed step negative": (lambda: simulate(solver="euler", dt=-0.1), "dt = -0.1"),
    "step for an adaptive solver": (lambda: simulate(dt=0.1), "drop dt"),
    "tolerance for a fixed step": (lambda: simulate(solver="rk4", dt=0.1, rtol=1e-3), "drop rtol"),
    "tolerance zero": (lambda: simulate(rtol=0.0), "rtol = 0"),
    "too many fixed steps": (lambda: simulate(solver="euler", dt=1e-6), "1000000 steps"),
    "no final time": (lambda: simulate(t1=None), "final time is missing"),
    "time backwards": (lambda: simulate(t1=-1.0), "t1 = -1"),
    "time infinite": (lambda: simulate(t1=float("inf")), "t1 = inf"),
    "times decreasing": (lambda: simulate(t1=None, ts=[1.0, 0.5]), "increasing times"),
    "times before the start": (lambda: simulate(ts=[-1.0, 0.5]), r"\[-1, 0.5\]"),
    "times twice": (lambda: simulate(ts=[0.5, 1.0], save=3), "not both"),
    "nothing kept": (lambda: simulate(save=0), "save = 0"),
    "unknown kernel": (lambda: simulate(kernel="magic"), "'magic'"),
    "unknown energy scale": (lambda: af.energy(simulate(), scale="eV"), "'eV'"),
    "energy of a causal model": (
        lambda: af.energy(simulate(model=af.SelfAttention(af.Softmax(), pairs=af.Causal()))),
        "no energy",
    ),
    "bounded scale in R^d": (
        lambda: af.energy(simulate(model=af.SelfAttention(af.Softmax(), space=af.Euclidean())), scale="Ehat"),
        "'Ehat'",
    ),
    "energy of an unsymmetric B": (
        lambda: af.energy(simulate(model=af.SelfAttention(af.Softmax(B=jnp.triu(jnp.ones((3, 3))))))),
        "not symmetric",
    ),
    "energy at infinite temperature": (
        lambda: af.energy(simulate(model=af.SelfAttention(beta=0.0)), scale="E"),
        "beta = 0",
    ),
    "unknown precision": (lambda: af.precision("float16"), "'float16'"),
    "unknown entry": (lambda: af.registry.get("attention", "magic"), "'magic' is unknown; there are: .*softmax"),
    "unknown parameter": (lambda: af.registry.get("attention", "softmax").build(alpha=1.0), "'alpha'"),
    "parameter out of bounds": (lambda: af.registry.get("attention", "softmax").build(beta=-1.0), r"beta = -1"),
    "too many orthonormal tokens": (lambda: af.sphere.orthonormal(n=4, d=3), "n = 4"),
    "no tokens to draw": (lambda: af.sphere.uniform(n=0, d=3, key=jax.random.key(0)), "n = 0"),
    "equiangular alone": (lambda: af.equiangular_flow([0.0, 1.0], n=1, beta=1.0), "n = 1"),
    "impossible angle": (lambda: af.equiangular_flow([0.0, 1.0], n=3, beta=1.0, rho0=-0.9), "rho0 = -0.9"),
    "jumps without values": (lambda: af.Piecewise([1.0, 2.0], [1.0, 2.0]), "one more value"),
    "jumps decreasing": (lambda: af.Piecewise([2.0, 1.0], [1.0, 2.0, 3.0]), "must increase"),
}


@pytest.mark.parametrize("name", CASES)
def test_one_sentence_names_the_value(name: str) -> None:
    call, expected = CASES[name]
    with pytest.raises(AttnflowError) as caught:
        call()
    sentence = str(caught.value)
    assert isinstance(caught.value, InputError)
    assert re.search(expected, sentence), sentence
    assert sentence.endswith(".") and "\n" not in sentence, sentence


def test_weights_close_to_one_are_normalised_with_a_message() -> None:
    with pytest.warns(AttnflowWarning, match="normalised"):
        run = simulate(weights=[0.25, 0.25, 0.25, 0.2505], save=2)
    assert abs(float(jnp.sum(run.weights)) - 1) < 1e-15


def test_weights_that_sum_to_one_up_to_rounding_are_silent() -> None:
    run = simulate(weights=np.full(4, 0.25, np.float32), save=2)
    np.testing.assert_array_equal(run.weights, EQUAL)
