"""Bad input: the right error, one sentence, which names the value and says what would be right."""

import dataclasses
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.errors import AttnflowError, AttnflowWarning, FileError, InputError, SolveError
from attnflow.spaces import check_tokens, check_weights
from witness import weyl

SA = af.SelfAttention(beta=2.0)
X = weyl(4, 3)


def simulate(x=X, model=SA, **options):
    return af.simulate(model, x, **{"t1": 1.0, **options})


def with_entry(index, value):
    x = X.copy()
    x[index] = value
    return x


TOKENS = {
    "one token as a vector": (X[0], r"shape \(3,\)"),
    "a batch": (np.stack([X, X]), r"shape \(2, 4, 3\).*vmap"),
    "no tokens": (np.zeros((0, 3)), r"shape \(0, 3\)"),
    "no dimensions": (np.zeros((3, 0)), r"shape \(3, 0\)"),
    "a number": (1.0, r"shape \(\)"),
    "NaN": (with_entry((2, 1), np.nan), r"token 2 is not finite.*nan"),
    "infinite": (with_entry((1, 0), np.inf), r"token 1 is not finite.*inf"),
    "zero": (with_entry(3, 0.0), r"token 3 is zero"),
    "long": (with_entry(2, 2 * X[2]), r"token 2 has norm 2,"),
    "short": (with_entry(1, 0.999 * X[1]), r"token 1 has norm 0\.999,"),
    "complex": (X + 0j, r"dtype complex128"),
    "booleans": (X > 0, r"dtype bool"),
    "half precision": (X.astype(np.float16), r"dtype float16"),
    "text": (np.array([["a", "b"]]), r"not an array of numbers"),
    "ragged": ([[1.0, 0.0], [1.0]], r"not an array of numbers"),
}

WEIGHTS = {
    "too few": (np.full(3, 1 / 3), r"shape \(3,\).*\(4,\)"),
    "a column": (np.full((4, 1), 0.25), r"shape \(4, 1\)"),
    "negative": ([0.5, 0.6, -0.1, 0.0], r"weight 2 is -0\.1"),
    "NaN": ([0.5, np.nan, 0.5, 0.0], r"weight 1 is nan"),
    "infinite": ([0.5, 0.0, 0.0, np.inf], r"weight 3 is inf"),
    "not normalised": (np.ones(4), r"sum to 4, not 1"),
    "two per cent off": (np.full(4, 0.255), r"sum to 1\.02, not 1"),
    "all zero": (np.zeros(4), r"sum to 0, not 1"),
    "text": (["a", "b", "c", "d"], r"weights are not .*numbers"),
}

OPTIONS = {
    "solver": (
        {"solver": "heun"},
        r"solver 'heun' is unknown; choose one of tsit5, dopri8, rk4, ifrk4, euler, euler-retract, layers",
    ),
    "no step": ({"solver": "rk4"}, r"solver 'rk4' needs a positive step; got dt = None"),
    "negative step": ({"solver": "rk4", "dt": -0.1}, r"dt = -0\.1"),
    "infinite step": ({"solver": "euler", "dt": np.inf}, r"dt = inf"),
    "step of an adaptive solver": ({"dt": 0.1}, r"'tsit5' chooses its own steps"),
    "tolerance of a fixed one": ({"solver": "rk4", "dt": 0.1, "rtol": 1e-3}, r"'rk4' has a fixed step"),
    "zero tolerance": ({"rtol": 0.0}, r"rtol = 0 is no tolerance"),
    "large tolerance": ({"atol": 2.0}, r"atol = 2 is no tolerance"),
    "too many steps": ({"solver": "euler", "dt": 1e-6}, r"1000000 steps of dt = 1e-06 exceed max_steps = 100000"),
    "no steps": ({"max_steps": 0}, r"max_steps = 0"),
    "no final time": ({"t1": None}, r"final time is missing"),
    "backwards": ({"t1": -1.0}, r"t0 = 0 to t1 = -1"),
    "nowhere": ({"t0": 1.0}, r"t0 = 1 to t1 = 1"),
    "infinite time": ({"t1": np.inf}, r"t1 = inf"),
    "NaN time": ({"t0": np.nan}, r"t0 = nan"),
    "both": ({"ts": [0.5, 1.0], "save": 3}, r"not both"),
    "nothing to keep": ({"save": 0}, r"save = 0 keeps nothing"),
    "decreasing times": ({"ts": [0.5, 0.2]}, r"increasing"),
    "repeated times": ({"ts": [0.5, 0.5]}, r"increasing"),
    "NaN in times": ({"ts": [0.5, np.nan]}, r"finite"),
    "no times": ({"ts": []}, r"ts must be"),
    "a table of times": ({"ts": np.ones((2, 2))}, r"ts must be"),
    "times outside": ({"ts": [0.5, 3.0]}, r"\[0\.5, 3\].*\[0, 1\]"),
    "times before": ({"ts": [-0.5, 0.5]}, r"\[-0\.5, 0\.5\].*\[0, 1\]"),
    "kernel": ({"kernel": "magic"}, r"kernel 'magic' is unknown"),
}

SQUARE = np.eye(3)
BUILDERS = {
    "negative beta": (lambda: af.Softmax(beta=-1.0), r"beta = -1 is negative"),
    "negative beta, USA": (lambda: af.Unnormalized(beta=-0.5), r"beta = -0\.5 is negative"),
    "negative beta, shorthand": (lambda: af.SelfAttention(beta=-2), r"beta = -2 is negative"),
    "no beta": (lambda: af.Softmax(beta=None), r"beta is missing"),
    "NaN beta": (lambda: af.Softmax(beta=np.nan), r"beta .*not finite"),
    "beta as a vector": (lambda: af.Softmax(beta=np.ones(2)), r"beta has shape \(2,\); give a number"),
    "beta as text": (lambda: af.Softmax(beta="warm"), r"beta = 'warm' is not a number"),
    "B as a vector": (lambda: af.Softmax(B=np.ones(3)), r"B has shape \(3,\); give a matrix"),
    "infinite V": (lambda: af.Softmax(V=np.full((3, 3), np.inf)), r"V .*not finite"),
    "B and Q, K": (lambda: af.Softmax(B=SQUARE, Q=SQUARE, K=SQUARE), r"not both"),
    "Q alone": (lambda: af.Softmax(Q=SQUARE), r"K is missing"),
    "K alone": (lambda: af.Unnormalized(K=SQUARE), r"Q is missing"),
    "nothing": (lambda: af.SelfAttention(), r"give an attention map, or beta"),
    "attention and beta": (lambda: af.SelfAttention(af.Softmax(1.0), beta=1.0), r"give an attention map, or beta"),
    "schedule": (lambda: af.Piecewise([1.0], [1.0]), r"one more value"),
    "schedule order": (lambda: af.Piecewise([2.0, 1.0], [1.0, 2.0, 3.0]), r"must increase"),
    "no tokens": (lambda: af.sphere.uniform(n=0, d=3, key=jax.random.key(0)), r"n = 0 tokens in dimension d = 3"),
    "no dimension": (lambda: af.sphere.weyl(n=2, d=0), r"d = 0"),
    "gaussian": (lambda: af.euclidean.gaussian(n=-1, d=2, key=jax.random.key(0)), r"n = -1"),
    "orthonormal": (lambda: af.sphere.orthonormal(n=4, d=3), r"n = 4 .*dimension d = 3"),
    "equiangular n": (lambda: af.reductions.equiangular_flow([0.0, 1.0], n=1, beta=1.0), r"n = 1"),
    "equiangular rho": (lambda: af.reductions.equiangular_flow([0.0, 1.0], n=3, beta=1.0, rho0=-0.8), r"rho0 = -0\.8"),
    "equiangular beta": (lambda: af.reductions.equiangular_flow([0.0, 1.0], n=3, beta=-1.0), r"beta = -1\.0 "),
    "phase delta": (lambda: af.reductions.phase_time(1.0, n=3, delta=1.5), r"delta = 1\.5"),
    "precision": (lambda: af.precision("float16"), r"precision 'float16' is unknown"),
    "registry": (lambda: af.registry.get("attention", "magic"), r"attention 'magic' is unknown; there are: .*softmax"),
}


def refused(call, pattern, error=InputError):
    with pytest.raises(error) as caught:
        call()
    sentence = str(caught.value)
    assert isinstance(caught.value, AttnflowError)
    assert re.search(pattern, sentence), sentence
    assert sentence.endswith(".") and "\n" not in sentence
    # One sentence: a full stop, question or exclamation mark followed by a new sentence appears nowhere.
    assert not re.search(r"[.!?] [A-Z]", sentence), sentence


@pytest.mark.parametrize("case", TOKENS)
def test_tokens(case):
    x, pattern = TOKENS[case]
    refused(lambda: simulate(x), pattern)


@pytest.mark.parametrize("case", WEIGHTS)
def test_weights(case):
    w, pattern = WEIGHTS[case]
    refused(lambda: simulate(weights=w), pattern)


@pytest.mark.parametrize("case", OPTIONS)
def test_options_of_simulate(case):
    options, pattern = OPTIONS[case]
    refused(lambda: simulate(**options), pattern)


@pytest.mark.parametrize("case", BUILDERS)
@pytest.mark.usefixtures("as_users_run")
def test_builders(case):
    call, pattern = BUILDERS[case]
    refused(call, pattern)


@pytest.mark.parametrize(
    "attention, pattern",
    [
        (af.Softmax(B=np.eye(2)), r"B is a 2-by-2 matrix, for tokens of dimension 3"),
        (af.Softmax(V=np.ones((2, 3))), r"velocities of dimension 2 to tokens of dimension 3"),
        (af.Softmax(V=np.ones((3, 2))), r"V is a 3-by-2 matrix, for tokens of dimension 3"),
        (af.Unnormalized(Q=np.ones((2, 4)), K=np.ones((2, 4))), r"Q is a 2-by-4 matrix, for tokens of dimension 3"),
        (af.L2(Q=np.ones((2, 3)), K=np.ones((2, 4))), r"K is a 2-by-4 matrix, for tokens of dimension 3"),
    ],
    ids=["B", "height of V", "V", "Q", "K"],
)
def test_matrices_that_do_not_fit_the_tokens(attention, pattern):
    refused(lambda: simulate(model=af.SelfAttention(attention)), pattern)


def test_weights_close_to_one_are_normalised_with_a_warning():
    with pytest.warns(AttnflowWarning, match=r"the weights summed to 1\.0004 and were normalised\.$"):
        w = check_weights(np.full(4, 0.2501), 4)
    np.testing.assert_allclose(w, 0.25, rtol=1e-15)
    with pytest.warns(AttnflowWarning):
        assert check_weights(np.full(4, 0.24999, np.float32), 4).sum() == pytest.approx(1, abs=1e-6)


def test_weights_to_the_last_digit_are_left_alone():
    """Rounding of a sum is no mistake: no warning, and nothing changes (a second check changes nothing either)."""
    for w in (np.arange(1, 7) / 21, np.full(7, 1 / 7), np.full(7, 1 / 7, np.float32), np.array([0.1] * 10)):
        np.testing.assert_array_equal(check_weights(jnp.asarray(w), len(w)), w)
    np.testing.assert_array_equal(check_weights(jnp.array([0, 1]), 2), [0.0, 1.0])  # integers
    assert check_weights(None, 5) is None


def test_whole_numbers_are_numbers():
    """Integers where a float is meant: tokens, beta, times, steps, weights."""
    run = af.simulate(af.SelfAttention(beta=2), np.eye(3, dtype=int), t0=0, t1=1, save=2, weights=np.array([0, 0, 1]))
    assert run.xs.dtype == jnp.float64 and run.result is af.Outcome.SUCCESSFUL
    af.simulate(af.SelfAttention(beta=2), np.eye(3, dtype=int), t1=1, save=2, solver="euler", dt=1, throw=False)


def test_energies_that_mean_nothing_are_refused():
    run = af.simulate(af.SelfAttention(beta=0.0), X, ts=[0.5, 1.0])
    refused(lambda: af.energy(run, scale="E"), r"beta = 0 the scale 'E' diverges")
    refused(lambda: af.energy(run, scale="joule"), r"has no scale 'joule'; take Ehat or E or E_p or E_B")

    def of(attention, scale=None, space=None, diagnostic=af.energy):
        other = dataclasses.replace(run, model=af.SelfAttention(attention, space=space))
        return lambda: diagnostic(other, scale=scale)

    skew = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    refused(of(af.Softmax(B=skew)), r"no energy: B is not symmetric")
    refused(of(af.Softmax(B=2 * np.eye(3)), "Ehat"), r"no scale 'Ehat'; take E_B")
    refused(of(af.Softmax(B=2 * np.eye(3)), "E"), r"no scale 'E'; take E_B")
    refused(of(af.Softmax(V=2 * np.eye(3)), space=af.Euclidean()), r"no energy: in R\^d")
    refused(of(af.Softmax(beta=af.Piecewise([1.0], [1.0, 2.0]))), r"no energy: its parameters change with time")
    assert not af.diagnostics.is_gradient_flow(af.SelfAttention(af.Softmax(V=2 * skew)), 3)
    refused(
        of(af.Softmax(V=skew), diagnostic=af.diagnostics.dissipation), r"no gradient flow \(V is neither B nor -B\)"
    )


def test_errors_are_what_python_expects():
    """A user who catches ValueError, OSError or RuntimeError catches ours."""
    assert issubclass(InputError, ValueError) and issubclass(FileError, OSError)
    assert issubclass(SolveError, RuntimeError) and issubclass(AttnflowWarning, UserWarning)


def test_restart_of_a_failed_run_is_refused():
    failed = af.simulate(SA, X, t1=30.0, save=2, max_steps=3, throw=False)
    refused(lambda: failed.restart(t1=40.0), r"not finite")


@pytest.mark.parametrize(
    "door",
    ["simulate", "layers", "diagnostics", "weights of an ensemble", "pair sums", "Gaussians", "the sphere", "a field"],
)
def test_double_tokens_taken_as_single_warn_in_every_function(door, as_users_run):
    """NumPy's float64 without precision("float64"): one warning in a call, which names the remedy."""

    def sample(key):
        return jnp.asarray(X, jnp.float32)

    arguments = {
        "realizations": 1,
        "ts": [0.1],
        "reduce": af.flows.LastState(),
        "key": jax.random.key(0),
        "engine": "batched",
    }
    calls = {
        "simulate": lambda: simulate(ts=[0.1], t1=None, solver="euler", dt=0.1),
        "layers": lambda: af.simulate(af.HardmaxLayers(alpha=1.0), X, t1=1.0, solver="layers"),
        "diagnostics": lambda: af.diagnostics.order_parameter(X),
        "pair sums": lambda: af.pairsums.pair_sums(af.pairsums.Inner(1.0), X, X, X),
        "Gaussians": lambda: af.gaussian.flow(af.Softmax(1e-3), np.ones(1), np.zeros((1, 1)), t1=0.1),
        "the sphere": lambda: af.Sphere().project(X, X),
        "a field": lambda: af.reductions.zero_temperature_field(X, V=np.eye(3), B=np.eye(3)),
        "weights of an ensemble": lambda: af.ensemble(SA, sample, weights=np.full(4, 0.25), **arguments),
    }
    with jax.enable_x64(False):
        for _ in range(2):  # the second call loses the same digits
            with pytest.warns(AttnflowWarning) as caught:
                calls[door]()
            assert len(caught) == 1
            assert "taken as float32; call attnflow.precision('float64')" in str(caught[0].message)
        check_tokens(X.astype(np.float32), af.Sphere())  # what is float32, or a list, is meant to be
        check_tokens(X.tolist(), af.Sphere())
        check_tokens(jnp.asarray(X), af.Sphere())
    check_tokens(X, af.Sphere())


HUGE = 10**30  # an integer that no C type holds
CHOICES = np.arange(3)  # comparing it with a name gives an array
KEYS = ("x", 3.5, HUGE, True, [1, 2], np.arange(5), np.zeros(5, np.uint32), np.nan, jax.random.split(jax.random.key(0)))


def ensemble(**options: Any):
    arguments = {"realizations": 2, "ts": [0.1], "reduce": af.flows.LastState(), "key": jax.random.key(0), **options}
    return af.ensemble(SA, lambda key: X, **arguments)


DOORS = {
    "tokens": lambda: simulate([[HUGE, 1], [1, 0]]),
    "weights": lambda: simulate(weights=[HUGE, 1, 1, 1]),
    "queries": lambda: af.pairsums.pair_sums(af.pairsums.Inner(1.0), [[HUGE, 1]], [[1, 1]], 1.0),
    "clouds": lambda: af.inner_products([[HUGE, 1], [1, 0]]),
    "rows": lambda: af.pairsums.pair_weights(af.pairsums.Inner(1.0), X, X, rows=[HUGE]),
    "skip": lambda: af.pairsums.Full(skip=[HUGE, 1]),
    "at": lambda: af.Causal(at=[HUGE]),
    "output matrices": lambda: af.MultiHead([af.Softmax(1.0)], W=[10**400]),
    "points": lambda: af.models.Perceptron(a=np.eye(2)).potential([HUGE, 1]),
    "modes": lambda: af.diagnostics.modes(X[:, :2] / np.linalg.norm(X[:, :2], axis=1)[:, None], 10**400),
    "scale": lambda: af.energy(simulate(t1=0.1), scale=CHOICES),
    "scale of one cloud": lambda: SA.energy().value(jnp.asarray(X), scale=CHOICES),
    "scale by a wrong name": lambda: SA.energy().value(jnp.asarray(X), scale="Eh"),
    "scale of Sinkhorn": lambda: af.SelfAttention(af.Sinkhorn(1.0)).energy().scale(CHOICES),
    "kernel": lambda: af.pairsums.pair_sums(af.pairsums.Inner(1.0), X, X, X, kernel=CHOICES),
    "solver": lambda: simulate(solver=CHOICES),
    "precision": lambda: af.precision(CHOICES),
    "cloud": lambda: af.models.hardmax_cloud(CHOICES),
    "matrix": lambda: af.models.hardmax_matrix(CHOICES),
    "normalize": lambda: af.models.causal_model(4, normalize=CHOICES),
    "kind": lambda: af.registry.entries(CHOICES),
    "entry": lambda: af.registry.get("attention", CHOICES),
    "mode": lambda: af.interpolate([X], [X], mode=CHOICES),
    "solver of an ensemble": lambda: ensemble(solver=CHOICES),
    "engine of an ensemble": lambda: ensemble(engine=CHOICES),
    "dtype of an ensemble": lambda: ensemble(dtype=CHOICES),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.usefixtures("as_users_run")
def test_huge_integers_and_arrays_in_place_of_names(door):
    with pytest.raises(InputError):
        DOORS[door]()


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.usefixtures("as_users_run")
def test_objects_that_are_not_random_keys_are_refused(key):
    for draw in (
        lambda: af.sphere.uniform(n=2, d=2, key=key),
        lambda: af.diagnostics.smoothness.local_lipschitz(af.Softmax(1.0), X, key=key),
        lambda: af.measures.sliced(X, X, key=key),
    ):
        with pytest.raises(InputError, match="is no random key"):
            draw()
