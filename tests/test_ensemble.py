"""Ensembles: equal to single runs, independent of chunks, and streaming statistics equal to NumPy's."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.errors import AttnflowWarning, InputError
from attnflow.pairsums.native_library import native

N, D = 6, 2
TS = [0.5, 1.2]


def sampler(key: jax.Array) -> jax.Array:
    return af.sphere.uniform(n=N, d=D, key=key)


def first(t: jax.Array, x: jax.Array, w: jax.Array | None) -> jax.Array:
    return x[0, 0]


@pytest.mark.parametrize("engine", ["innermost", "batched"])
@pytest.mark.parametrize("solver", ["rk4", "euler", "euler-retract"])
def test_members_equal_single_runs(engine: str, solver: str, key: jax.Array) -> None:
    model = af.SelfAttention(beta=3.0)
    result = af.ensemble(
        model,
        sampler,
        realizations=5,
        ts=TS,
        reduce=af.flows.LastState(),
        key=key,
        engine=engine,
        solver=solver,
        dt=0.01,
    )
    for r in (0, 4):
        x0 = sampler(jax.random.fold_in(key, r))
        run = af.simulate(model, x0, ts=TS, solver=solver, dt=0.01)
        np.testing.assert_allclose(result.values[r], run.xs[-1], atol=1e-11)


@pytest.mark.parametrize("engine", ["innermost", "batched"])
def test_bits_do_not_depend_on_the_chunk(engine: str, key: jax.Array) -> None:
    def run(chunk: int):
        reduce = {"mean": af.flows.Mean(first), "last": af.flows.LastState()}
        model = af.SelfAttention(beta=3.0)
        return af.ensemble(
            model, sampler, realizations=40, ts=TS, reduce=reduce, key=key, engine=engine, chunk=chunk
        ).values

    one, other = run(16), run(48)
    np.testing.assert_array_equal(one["last"], other["last"])
    np.testing.assert_array_equal(one["mean"].mean, other["mean"].mean)
    np.testing.assert_array_equal(one["mean"].stderr, other["mean"].stderr)


def test_many_models_equal_one_by_one(key: jax.Array) -> None:
    models = [af.SelfAttention(beta=b) for b in (0.0, 2.0, 50.0)]
    options = {
        "realizations": 5,
        "ts": TS,
        "reduce": af.flows.LastState(),
        "key": key,
        "engine": "innermost",
        "dt": 0.01,
    }
    together = af.ensemble(models, sampler, **options).values
    assert together.shape == (3, 5, N, D)
    for k, model in enumerate(models):
        alone = af.ensemble(model, sampler, **options).values
        np.testing.assert_allclose(together[k], alone, rtol=0, atol=1e-14)


def test_underflow_of_the_bound_is_mended(key: jax.Array) -> None:
    """With B = -I and strict pairs the best score of a row can lie 2 beta below its upper bound."""
    model = af.SelfAttention(af.Softmax(beta=2000.0, B=-jnp.eye(D)), pairs=af.pairsums.Full(skip=jnp.arange(N)))
    values = {
        engine: af.ensemble(
            model, sampler, realizations=3, ts=[0.3], reduce=af.flows.LastState(), key=key, engine=engine, dt=0.01
        ).values
        for engine in ("innermost", "batched")
    }
    assert np.isfinite(values["innermost"]).all()
    np.testing.assert_allclose(values["innermost"], values["batched"], atol=1e-9)


def test_statistics_equal_numpy(key: jax.Array) -> None:
    reduce = {
        "mean": af.flows.Mean(first),
        "histogram": af.flows.Histogram(lambda t, x, w: x[:, 0], np.linspace(-1, 1, 9)),
        "quantiles": af.flows.Quantiles(first, (0.1, 0.5, 0.9), bounds=(-1.0, 1.0), bins=2000),
        "last": af.flows.LastState(),
    }
    values = af.ensemble(af.SelfAttention(beta=2.0), sampler, realizations=37, ts=TS, reduce=reduce, key=key).values
    x = np.asarray(values["last"])
    seen = x[:, 0, 0]
    np.testing.assert_allclose(values["mean"].mean[-1], seen.mean(), rtol=1e-13)
    np.testing.assert_allclose(values["mean"].stderr[-1], seen.std(ddof=1) / np.sqrt(37), rtol=1e-12)
    np.testing.assert_array_equal(values["histogram"][-1], np.histogram(x[:, :, 0], np.linspace(-1, 1, 9))[0])
    expected = np.quantile(seen, [0.1, 0.5, 0.9], method="inverted_cdf")
    np.testing.assert_allclose(values["quantiles"][-1], expected, atol=1e-3)


def test_one_realisation_has_no_standard_error(key: jax.Array) -> None:
    values = af.ensemble(
        af.SelfAttention(beta=2.0), sampler, realizations=1, ts=[1.0], reduce=af.flows.Mean(first), key=key
    )
    assert np.isinf(values.values.stderr).all()


def test_memory_does_not_grow_with_realisations(key: jax.Array) -> None:
    from attnflow.flows import compiled

    def temporary(realizations: int) -> int:
        model = af.SelfAttention(beta=2.0)
        af.ensemble(model, sampler, realizations=realizations, ts=TS, reduce=STATISTIC, key=key, chunk=16)
        program = next(reversed(compiled._PROGRAMS.values())).value
        return program.memory_analysis().temp_size_in_bytes

    few, many = temporary(64), temporary(6400)
    assert many < few + 8 * 6400 * 2  # the indices of the realisations, and nothing of their size times n


def test_no_recompilation_for_new_numbers(key: jax.Array) -> None:
    def run(beta: float) -> float:
        model = af.SelfAttention(beta=beta)
        return af.ensemble(model, sampler, realizations=4, ts=TS, reduce=STATISTIC, key=key).stats["compile_seconds"]

    run(1.0)
    assert run(7.0) == 0.0


STATISTIC = af.flows.Mean(first)


@pytest.mark.parametrize(
    "change",
    [
        {"realizations": 0},
        {"ts": [2.0, 1.0]},
        {"ts": [-1.0]},
        {"ts": []},
        {"solver": "tsit5"},
        {"engine": "outermost"},
        {"dt": 0.0},
        {"model": []},
        {"model": [af.SelfAttention(beta=1.0), af.SelfAttention(af.Unnormalized(beta=1.0))]},
    ],
)
def test_bad_input_is_refused_in_a_sentence(change: dict, key: jax.Array) -> None:
    arguments = {"model": af.SelfAttention(beta=1.0), "realizations": 2, "ts": TS, "reduce": STATISTIC, "key": key}
    arguments |= change
    model = arguments.pop("model")
    with pytest.raises(InputError, match=r"\.$"):
        af.ensemble(model, sampler, **arguments)


def test_a_model_without_numbers_and_members_that_blow_up(key: jax.Array) -> None:
    """x' = x^2 blows up at t = 1 / x(0): the members that start above 1/3 are gone at t = 3."""
    flow = af.Flow(lambda t, x, w: x**2, af.Euclidean())

    def start(k: jax.Array) -> jax.Array:
        return jax.random.uniform(k, (1, 1), minval=-1.0, maxval=1.0)

    def value(t: jax.Array, x: jax.Array, w: jax.Array | None) -> jax.Array:
        return jnp.where(jnp.isfinite(x[0, 0]), x[0, 0], jnp.nan)

    reduce = {"quantiles": af.flows.Quantiles(value, bounds=(-1.0, 1.0)), "last": af.flows.LastState()}
    result = af.ensemble(flow, start, realizations=20, ts=[0.1, 3.0], reduce=reduce, key=key, dt=0.001)
    first = np.array([float(start(jax.random.fold_in(key, r))[0, 0]) for r in range(20)])
    gone = int(np.sum(first > 1 / 3))
    assert 0 < gone < 20 and result.stats["not_finite"] == gone
    assert np.isfinite(result.values["quantiles"][0]).all() and np.isnan(result.values["quantiles"][1]).all()
    stayed = first < 0
    np.testing.assert_allclose(
        np.asarray(result.values["last"])[stayed, 0, 0], first[stayed] / (1 - 3 * first[stayed]), rtol=1e-9
    )


def test_weights_are_used_and_steps_stop_at_jumps(key: jax.Array) -> None:
    """A jump between the steps costs no order: rk4 at dt = 0.02 against an accurate run."""
    w = jnp.arange(1.0, N + 1) / (N * (N + 1) / 2)
    model = af.SelfAttention(beta=af.Piecewise([0.537], [0.0, 8.0]))
    result = af.ensemble(
        model, sampler, realizations=2, ts=[1.0], reduce=af.flows.LastState(), key=key, weights=w, dt=0.02
    )
    run = af.simulate(model, sampler(jax.random.fold_in(key, 1)), t1=1.0, weights=w, save=1)
    np.testing.assert_allclose(result.values[1], run.xs[-1], atol=1e-7)


def test_large_clouds_do_not_take_a_vector_of_realisations(key: jax.Array) -> None:
    from attnflow.engines import choose
    from attnflow.flows._trajectory_engine import Ensemble
    from attnflow.flows.engines import batched

    model = af.SelfAttention(af.Sigmoid(beta=1.0))  # no kernel of our own sums these
    small, large = (Ensemble(model, jnp.zeros((n, 2), jnp.float32)) for n in (32, 4096))
    assert choose("trajectory engine", small).engine.name == "innermost"
    assert choose("trajectory engine", large).engine.name == "batched"
    assert batched.ENGINE.chunk(large, 100) == 1


LARGE = {"float32": 1e20, "float64": 1e200}
CASES = [(name, dtype) for name in ("innermost", "batched", "native") for dtype in LARGE] + [("fused", "float32")]


@pytest.mark.parametrize("engine, dtype", CASES)
def test_tokens_too_long_to_be_squared(engine: str, dtype: str, key: jax.Array) -> None:
    """One step x <- (x + h V m)/|x + h V m| with V so large that squares overflow, against NumPy; no zero token."""
    if engine == "native" and not native().ready:
        pytest.skip(native().reason)
    V = np.diag([1.0, 0.5])
    model = af.SelfAttention(af.Softmax(beta=1.0, V=LARGE[dtype] * V))
    options = {
        "realizations": 2,
        "ts": [0.1],
        "reduce": af.flows.LastState(),
        "solver": "euler-retract",
        "dtype": dtype,
    }
    result = af.ensemble(model, sampler, key=key, engine=engine, **options)
    for r in range(2):
        x = np.asarray(sampler(jax.random.fold_in(key, r)))
        P = np.exp(x @ x.T)
        moved = (P / P.sum(axis=1)[:, None]) @ x @ V.T  # x itself is below rounding
        np.testing.assert_allclose(result.values[r], moved / np.linalg.norm(moved, axis=1)[:, None], rtol=0, atol=5e-6)
    assert result.stats["not_finite"] == 0


@pytest.mark.parametrize("engine", ["innermost", "batched"])
def test_draws_that_are_no_points_of_the_space_are_counted(engine: str, key: jax.Array) -> None:
    """A zero token has no direction: nothing computed from it is a number."""

    def some(key: jax.Array) -> jax.Array:
        return jnp.where(jax.random.uniform(key) < 0.5, 0.0, 1.0) * sampler(key)

    draws = [np.asarray(some(jax.random.fold_in(key, r))) for r in range(12)]
    missing = np.array([not x.any() for x in draws])
    assert 0 < missing.sum() < 12 and not missing[0]
    reduce = {"last": af.flows.LastState(), "mean": af.flows.Mean(lambda t, x, w: jnp.sum(x))}
    result = af.ensemble(
        af.SelfAttention(beta=1.0), some, realizations=12, ts=TS, reduce=reduce, key=key, engine=engine
    )
    assert isinstance(result, af.flows.EnsembleResult) and result.stats["not_finite"] == missing.sum()
    np.testing.assert_array_equal(np.isnan(result.values["last"]).all(axis=(1, 2)), missing)
    assert np.isnan(result.values["mean"].mean).all() and isinstance(result.values["mean"], af.flows.Estimate)
    with pytest.raises(InputError, match=r"token 0 is zero"):
        af.ensemble(
            af.SelfAttention(beta=1.0), lambda k: 0 * sampler(k), realizations=2, ts=TS, reduce=reduce["last"], key=key
        )


def test_late_clocks(key: jax.Array) -> None:
    """In float32, where 10^4 + 0.3 is off by 5e-4: the flow runs as long as it should; coarser clocks are refused."""
    options = {"realizations": 2, "reduce": af.flows.LastState(), "key": key, "dtype": "float32", "engine": "batched"}
    ends = [
        af.ensemble(af.SelfAttention(beta=2.0), sampler, t0=t0, ts=[t0 + 0.3], **options).values for t0 in (0.0, 1e4)
    ]
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=2e-7)
    with pytest.raises(InputError, match=r"float32 cannot tell the times 1000000 and 1000000\.1 apart.*\.$"):
        af.ensemble(af.SelfAttention(beta=2.0), sampler, t0=1e6, ts=[1e6 + 0.1], **options)


@pytest.mark.parametrize(("engine", "dtype"), [("batched", "float64"), ("innermost", "float32"), ("auto", "float64")])
def test_steps_too_long_for_the_flow_warn(engine: str, dtype: str, key: jax.Array) -> None:
    """A cluster attracts its tokens at rate one, where rk4 is stable up to 2.79 and accurate below."""

    def coarseness(dt: float) -> float:
        draw = lambda key: af.sphere.uniform(n=8, d=2, key=key)  # noqa: E731
        options = {"realizations": 4, "reduce": af.flows.LastState(), "key": key, "engine": engine, "dtype": dtype}
        return af.ensemble(af.SelfAttention(beta=30.0), draw, ts=[100.0], dt=dt, **options).stats["coarseness"]

    with pytest.warns(AttnflowWarning, match="steps were too long to follow the flow"):
        assert coarseness(5.0) > 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 0 < coarseness(0.5) < 1


@pytest.mark.parametrize("solver", ["rk4", "euler"])
def test_an_ensemble_of_one_is_as_coarse_as_its_run(solver: str, key: jax.Array) -> None:
    """One step: the check at the start is the only one."""
    model, options = af.SelfAttention(beta=3.0), {"solver": solver, "dt": 1.0}
    result = af.ensemble(model, sampler, realizations=1, ts=[1.0], reduce=af.flows.LastState(), key=key, **options)
    run = af.simulate(model, sampler(jax.random.fold_in(key, 0)), t1=1.0, **options)
    assert result.stats["coarseness"] == pytest.approx(float(run.stats["coarseness"]), rel=1e-9)
    assert result.stats["coarseness"] > 0


def test_double_precision_is_not_silently_single():
    options = {"realizations": 2, "ts": [0.1], "reduce": af.flows.Mean(lambda t, x, w: x), "key": jax.random.key(0)}
    sampler = lambda key: af.sphere.uniform(n=4, d=3, key=key)  # noqa: E731
    with jax.enable_x64(False), pytest.raises(InputError, match="precision"):
        af.ensemble(af.SelfAttention(beta=1.0), sampler, dtype="float64", **options)


def test_an_ensemble_inside_transformations():
    """Forward mode works, reverse mode is refused in a sentence; a compiled program gives the same numbers."""

    def mean(beta):
        reduce = af.flows.Mean(lambda t, x, w: x[0, 0])
        sampler = lambda key: af.sphere.uniform(n=3, d=2, key=key)  # noqa: E731
        options = {"realizations": 2, "ts": [0.3], "key": jax.random.key(0), "engine": "batched"}
        result = af.ensemble(af.SelfAttention(beta=beta), sampler, reduce=reduce, **options)
        return result.values.mean[0], result.stats["not_finite"]

    with pytest.raises(RuntimeError, match=r"no derivatives in reverse mode; take jax\.jvp"):
        jax.grad(lambda beta: mean(beta)[0])(1.0)
    (value, lost), (slope, _) = jax.jvp(lambda beta: mean(beta), (1.0,), (1.0,))
    h = 1e-4
    together, none_lost = jax.jit(jax.vmap(mean))(jnp.asarray([1.0, 1 + h, 1 - h]))
    np.testing.assert_allclose(value, together[0], rtol=1e-12)
    np.testing.assert_allclose(slope, (together[1] - together[2]) / (2 * h), rtol=1e-6)
    assert lost == 0 and none_lost.tolist() == [0, 0, 0]
