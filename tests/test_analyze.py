"""The tokens of a text through the layers of a real model: every number against NumPy, the command, the real ALBERT."""

import json
import shutil

import jax
import numpy as np
import pytest
import xarray
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage

import attnflow as af
from attnflow import language, registry
from attnflow.attention import SoftmaxHeads
from attnflow.diagnostics import classify
from attnflow.errors import InputError
from attnflow.experiments import Results
from attnflow.experiments._claim import judge
from attnflow.language import open_model
from attnflow.language.analysis.analysis import _tokens
from attnflow.language.analysis.spectra import factors, restricted, spectrum
from attnflow.models import LayerStack
from fetching import fetched
from tiny_models import CONFIG, TEXT, tiny_albert
from witnesses import tied_layers

HEADS, EPS, BINS = 4, 0.1, 16
DEPTHS = [0, 1, 5, 8]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_albert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def ready(folder):
    return language.load(folder)


@pytest.fixture(scope="module")
def analysis(ready):
    return language.analyze(ready, TEXT, layers=DEPTHS, iterate=8, eps=EPS, bins=BINS, betas=[1.0, 5.0])


@pytest.fixture(scope="module")
def clouds(ready, analysis):
    """The same tokens, by a program in NumPy."""
    tensors = {name: array.astype(float) for name, array in ready.files.tensors.items()}
    return tensors, tied_layers.states(tensors, analysis.data["id"].values, DEPTHS, HEADS)


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_cosines_and_products_of_pairs(analysis, clouds):
    data = analysis.data
    for k, x in enumerate(clouds[1]):
        for first, cloud in (("kept", x), ("dropped", x[1:])):
            off = ~np.eye(len(cloud), dtype=bool)
            cosines = unit(cloud) @ unit(cloud).T
            assert data["mean_cosine"].sel(first=first)[k] == pytest.approx(cosines[off].mean(), abs=1e-5)
            for diagonal, chosen in (("without", cosines[off]), ("with", np.minimum(cosines, 1 - 1e-9).ravel())):
                law = data["cosine_density"][k].sel(view="stream", first=first, diagonal=diagonal).values
                expected = np.histogram(chosen, BINS, (-1, 1), density=True)[0]
                moved = np.abs(law - expected).sum() / BINS * chosen.size  # float32 may carry a pair over an edge
                assert moved <= 4, (k, first, diagonal)
                raw = data["product_density"][k].sel(first=first, diagonal=diagonal).values
                width = np.diff(data["product_edges"][k].values)[0]
                assert raw.sum() * width == pytest.approx(1, rel=1e-3)
        products = x @ x.T
        assert data["product_edges"][k].values[[0, -1]] == pytest.approx([products.min(), products.max()], rel=1e-4)


def test_groups_ranks_norms_energy(analysis, clouds):
    data = analysis.data
    for k, x in enumerate(clouds[1]):
        s = np.linalg.svd(x, compute_uv=False)
        p = s / s.sum()
        assert data["effective_rank"][k, 0] == pytest.approx(np.exp(-(p * np.log(p)).sum()), rel=1e-3)
        assert data["participation_ratio"][k, 0] == pytest.approx((s**2).sum() ** 2 / (s**4).sum(), rel=1e-3)
        np.testing.assert_allclose(data["norm"][k], np.linalg.norm(x, axis=1), rtol=1e-4)
        groups = fcluster(linkage(unit(x), "single"), EPS, "distance")
        assert int(data["clusters"][k]) == groups.max()
        np.testing.assert_allclose(data["merge_distance"][k], linkage(unit(x), "single")[:, 2], atol=2e-5)
        assert len({(a, b) for a, b in zip(data["cluster"][k].values, groups, strict=True)}) == groups.max()
        for j, beta in enumerate((1.0, 5.0)):
            expected = np.exp(beta * (unit(x) @ unit(x).T - 1)).mean()
            assert data["energy"][k, j] == pytest.approx(expected, rel=1e-4)
    assert np.isnan(data["moved"][0])
    (before, after) = (unit(x) for x in clouds[1][:2])
    assert data["moved"][1] == pytest.approx(np.linalg.norm(after - before, axis=1).max(), rel=1e-4)


def test_attention_received_and_its_entropy(analysis, clouds):
    tensors, states = clouds
    name = f"{tied_layers.LAYER}attention."
    for k, x in enumerate(states):
        q, key = (x @ tensors[f"{name}{part}.weight"].T + tensors[f"{name}{part}.bias"] for part in ("query", "key"))
        received, n = np.zeros(len(x)), len(x)
        for h in range(HEADS):
            part = slice(4 * h, 4 * h + 4)
            A = np.exp(q[:, part] @ key[:, part].T / 2)
            A /= A.sum(axis=1, keepdims=True)
            entropy = -(A * np.log(A)).sum(axis=1).mean()
            assert analysis.data["entropy"][k, h] == pytest.approx(entropy, rel=1e-4)
            assert analysis.data["entropy_share"][k, h] == pytest.approx(entropy / np.log(n), rel=1e-4)
            assert int(analysis.data["leader"][k, h]) == A.mean(axis=0).argmax()
            received += A.mean(axis=0) / HEADS
        np.testing.assert_allclose(analysis.data["received"][k], received, rtol=1e-4)
    first = analysis.leaders(0, count=2)
    assert first[0]["received"] >= first[1]["received"] and first[0]["piece"] == analysis.pieces[first[0]["token"]]


def test_groups_with_their_text(analysis):
    groups = analysis.groups()
    assert sorted(token for group in groups for token in group["tokens"]) == list(range(len(analysis.pieces)))
    assert [len(group["tokens"]) for group in groups] == sorted((len(g["tokens"]) for g in groups), reverse=True)
    assert groups[0]["pieces"] == [analysis.pieces[token] for token in groups[0]["tokens"]]
    with pytest.raises(InputError, match="layer 3 was not looked at; those were"):
        analysis.groups(3)


def test_spectra_are_those_of_the_large_matrices():
    rng = np.random.default_rng(0)
    named = {}
    for draw in range(24):
        W, Q, K = rng.normal(size=(7, 2)), rng.normal(size=(2, 7)), rng.normal(size=(2, 7))
        V = np.linalg.pinv(W) + 0.4 * (draw % 3) * rng.normal(size=(2, 7)) if draw % 2 else rng.normal(size=(2, 7))
        V, K = (np.diag([1.0, 0.5]) @ V, K) if draw % 4 else (V, Q)
        heads = SoftmaxHeads(Q[None], K[None], V[None], W[None])
        found = spectrum(heads, 0)
        for small, large in ((found.V, W @ V), (found.B, Q.T @ K)):
            all_of_them = np.linalg.eigvals(large)
            expected = all_of_them[np.argsort(-np.abs(all_of_them))][:2]
            np.testing.assert_allclose(np.sort_complex(small), np.sort_complex(expected), rtol=1e-8, atol=1e-10)
        whole = classify(V=W @ V, B=Q.T @ K).case or "none"
        assert found.case == whole
        named[whole] = named.get(whole, 0) + 1
    assert len(named) >= 2
    # Where keys and values leave no direction out, the whole matrices are asked.
    wide = SoftmaxHeads(np.eye(3)[None], np.eye(3)[None], np.eye(3)[None], np.eye(3)[None])
    assert spectrum(wide, 0).case == "polytope"
    assert [matrix.shape for matrix in restricted(*factors(wide, 0))] == [(3, 3), (3, 3)]


def test_causal_attention_sees_fewer_keys(folder):
    tied = language.load(folder)
    stack = LayerStack(tied.model.blocks, [0, 0], af.Causal(), tied.model.embedding)
    causal = language.Pretrained(stack, tied.files)
    data = language.analyze(causal, TEXT, iterate=2, bins=BINS).data
    share = data["entropy_share"].values
    assert ((share > 0) & (share <= 1 + 1e-6)).all()
    received = data["received"].values
    assert received.sum(axis=1) == pytest.approx(1) and received[0, 0] > received[0, -1]


def test_a_stack_that_ends_and_layers_that_are_run_many_times(ready):
    blocks = [jax.tree.map(lambda a, s=s: s * a[0], ready.model.blocks) for s in (1.0, 0.9)]
    ending = language.Pretrained(LayerStack(blocks, None, None, ready.model.embedding), ready.files)
    data = language.analyze(ending, TEXT, bins=BINS).data
    assert data["layer"].values.tolist() == [0, 1, 2] and np.isnan(data["received"][-1]).all()
    assert data["V_eigenvalues"].dims[0] == "block" and data["block"].values.tolist() == [0, 1]
    with pytest.raises(InputError, match="no layer reads"):
        language.analyze(ending, TEXT, layers=[2], bins=BINS).leaders(-1)
    with pytest.raises(InputError, match="beyond the last"):
        language.analyze(ending, TEXT, iterate=3)
    again = language.analyze(ending, TEXT, layers=[4], block=1, iterate=4, bins=BINS).data
    tied = language.Pretrained(LayerStack(blocks[1], [0] * 4, None, ready.model.embedding), ready.files)
    np.testing.assert_allclose(
        again["norm"], language.analyze(tied, TEXT, layers=[4], bins=BINS).data["norm"], rtol=1e-5
    )


def test_interventions_are_arguments(ready, folder):
    sphere = language.analyze(ready, TEXT, layers=[5], bins=BINS, normalization="sphere")
    norms = sphere.data["norm"].values
    assert np.ptp(norms) < 1e-3 * norms.max() and "normalization='sphere'" in sphere.data.attrs["changes"]
    same = language.load(folder, normalization="sphere")
    np.testing.assert_allclose(language.analyze(same, TEXT, layers=[5], bins=BINS).data["norm"], norms, rtol=1e-6)
    sharp = language.analyze(ready, TEXT, layers=[0], bins=BINS, beta=20).data["entropy"].values
    assert (sharp < language.analyze(ready, TEXT, layers=[0], bins=BINS).data["entropy"].values).all()


def test_limits_are_told(ready, analysis):
    assert "layers beyond 5 are more than the model was trained with" in repr(analysis)
    cut = language.analyze(ready, TEXT, layers=[0], length=10, bins=BINS)
    assert len(cut.pieces) == 10 and cut.limits[0].startswith("of 43 tokens the first 10 were read")
    book = language.analyze(ready, 1000 * f"{TEXT}.", layers=[0], length=10, bins=BINS)
    assert book.pieces == cut.pieces and book.limits[0].startswith("of more than ")
    tokens, limits = _tokens(ready, f"{TEXT}.{TEXT}", 512)
    assert len(tokens.ids) == 64 and limits[0].endswith("the first 64 were read")  # so many positions it has


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": [99]}, "layer = 99 is too large; take at most 5"),
        ({"layers": []}, "layers is empty"),
        ({"layers": 3}, "layers = 3 are no numbers"),
        ({"text": "!!"}, "no SMILES"),
        ({"text": " "}, "no text"),
        ({"bins": 1}, "bins = 1 is too small"),
        ({"eps": -1.0}, "eps"),
        ({"block": 0}, "say how often"),
        ({"sphere": True}, "unexpected keyword"),
    ],
)
def test_bad_input_of_analyze(ready, as_users_run, arguments, message):
    with pytest.raises((InputError, TypeError), match=message):
        language.analyze(**{"model": ready, "text": TEXT, **arguments})


def test_a_config_that_contradicts_the_weights(tmp_path):
    folder = tiny_albert(tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    for changed, message in (
        ({"hidden_size": 8}, "shape"),
        ({"vocab_size": 3}, "shape"),
        ({"num_attention_heads": 3}, "do not divide"),
        ({"model_type": "falcon"}, "no family that is known"),
        ({"hidden_act": "tan"}, "known are"),
    ):
        (folder / "config.json").write_text(json.dumps({**config, **changed}))
        with pytest.raises(InputError, match=message):
            language.load(folder)
    with pytest.raises(InputError, match="no intervention"):
        language.load(folder, normalisation="sphere")


ODD = [0, -1, 2**31 - 1, 10**40, 3, 1.5, True, None, "x", [], {}, float("nan"), float("inf")]


@settings(max_examples=120, deadline=None, derandomize=True)
@given(changed=st.dictionaries(st.sampled_from(sorted(CONFIG)), st.sampled_from(ODD), min_size=1, max_size=3))
def test_spoiled_configs_are_read_or_refused_in_a_sentence(folder, changed):
    files = open_model(folder)
    files.config.update(changed)
    try:
        made = language.load(files)
        assert made.embed([2, 4]).shape == (2, 16) and made.model.depth < 10**6
    except InputError as error:
        assert "\n" not in str(error)


# The command ---------------------------------------------------------------------------------------------------------


def test_the_command_writes_a_report_numbers_and_json(folder, tmp_path, call, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reaction.txt").write_text(TEXT)
    given = (folder, "--text", "reaction.txt", "--iterate", 6, "--layers", "0:6:3", "--bins", BINS)
    code, out, error = call("analyze", *given, "--netcdf", "all.nc")
    assert code == 0 and "tiny-reaction.html" in out and "all.nc" in out and "compiling" in error
    page = (tmp_path / "tiny-reaction.html").read_text()
    assert page.count("<img src=") == 6 and "http" not in page.replace("https://arxiv", "")
    assert "[CLS]" in page and "layers beyond 5" in page.lower() and "<script" not in page
    with xarray.open_dataset(tmp_path / "all.nc", engine="h5netcdf") as data:
        assert data["layer"].values.tolist() == [0, 3, 6] and data.attrs["model"] == "tiny"
        assert data["piece"].values[0] == "[CLS]" and "trained with" in data.attrs["limits"]
    code, _, error = call("analyze", *given)
    assert code == 2 and "already there" in error
    code, out, _ = call("analyze", *given, "--json")
    summary = json.loads(out)
    assert code == 0 and [row["layer"] for row in summary["layers"]] == [0, 3, 6] and summary["written"] == []
    assert summary["cases_of_heads"] and summary["layers"][0]["leaders"][0]["piece"] in summary["pieces"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing", "--text", "a.txt"), "neither a folder or file nor one of rxnmapper"),
        (("FOLDER", "--text", "none.txt"), "cannot read none.txt"),
        (("FOLDER", "--text", "binary"), "not text in UTF-8"),
        (("FOLDER", "--text", "a.txt", "--layers", "1:x"), "--layers '1:x' is no list of layers"),
        (("FOLDER", "--text", "a.txt", "--normalization", "cube"), "no intervention; take 'sphere'"),
        (("FOLDER", "--text", "a.txt", "--dtype", "int8"), "no precision"),
    ],
)
def test_bad_input_of_the_command(folder, tmp_path, call, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\xd8")
    code, out, error = call("analyze", *(str(folder) if a == "FOLDER" else a for a in arguments))
    assert code == 2 and message in error and not out and error.strip().count("\n") <= 1
    assert not list(tmp_path.glob("*.html"))


def test_text_of_a_token_is_escaped_in_the_report(analysis):
    import dataclasses

    from attnflow.report._analysis import analysis_page

    pieces = ("<script>alert(1)</script>", *analysis.pieces[1:])
    page = analysis_page(dataclasses.replace(analysis, pieces=pieces))
    assert "<script>" not in page and "&lt;script&gt;" in page


# The real ALBERT, fetched --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def albert(tmp_path_factory):
    """The ALBERT of 3 MB, fetched by the name of its package."""
    with fetched("rxnmapper", tmp_path_factory.mktemp("cache")):
        yield language.load("rxnmapper", dtype="float64")


@pytest.fixture(scope="module")
def experiment():
    return registry.get("experiment", "perspective-pretrained")


def test_the_real_albert_against_numpy(albert):
    from attnflow.experiments.perspective.pretrained import REACTION

    tokens = albert.encode(REACTION)
    assert len(tokens.ids) == 56 and albert.longest == 512 and "unk" not in "".join(tokens.pieces).lower()
    tensors = {name: array.astype(float) for name, array in albert.files.tensors.items()}
    layers = [0, 1, 12, 48, 150]
    expected = tied_layers.states(tensors, tokens.ids, layers)
    run = af.simulate(albert.model, albert.embed(tokens), ts=layers, solver="layers")
    for x, y in zip(np.asarray(run.xs)[:4], expected, strict=False):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-9 * np.abs(y).max())
    assert [tied_layers.groups(x, 0.1) for x in np.asarray(run.xs)] == [56, 56, 56, 43, 18]


def test_claims_about_the_real_albert(albert, experiment):
    cells = [cell for cell in experiment.seeded_cells("quick", 0) if cell.get("draw", 0) == 0]
    assert {cell["control"] for cell in cells} == {"none", "shuffled", "random"}
    assert {cell["weights"] for cell in cells} == {albert.files.digest[:16]}
    results = Results(cells, experiment.compute, scale="quick")
    for claim in experiment.claims:
        verdict = judge(claim, results, "quick")
        assert verdict["status"] == "holds", verdict
    for figure in experiment.figures:
        assert figure(results).axes or figure.__name__ == "histograms_in_english"


def test_without_the_model_claims_are_skipped_and_say_how_to_fetch_it(experiment, tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNFLOW_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ATTNFLOW_ALBERT", raising=False)
    assert experiment.cells("quick") == []
    record = experiment.reproduce(tmp_path / "out")
    assert {claim["status"] for claim in record["claims"]} == {"skipped"}
    assert all("attnflow models fetch rxnmapper" in claim["note"] for claim in record["claims"])


def test_an_albert_of_ones_own_is_drawn_unchanged(experiment, tmp_path, monkeypatch):
    """Here a tiny one stands for the published model."""
    from attnflow.experiments.perspective import pretrained

    monkeypatch.setenv("ATTNFLOW_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(pretrained, "ENGLISH", TEXT)
    own = tiny_albert(tmp_path / "albert-xlarge-v2", num_hidden_layers=24)
    monkeypatch.setenv("ATTNFLOW_ALBERT", str(own))
    (cell,) = experiment.seeded_cells("quick", 0)
    assert cell["model"] == "albert" and len(cell["weights"]) == 16
    results = Results([cell], experiment.compute, scale="quick")
    assert len(experiment.figures[-1](results).axes) == 5
    shutil.rmtree(own)


def test_frozen_values_are_analysed(tmp_path):
    """V is the identity of each head's share: its spectrum is known, and B has fewer eigenvalues than V."""
    found = language.analyze(language.load(tiny_albert(tmp_path / "m")), TEXT, layers=[0], values="identity", bins=8)
    assert found.data["V_eigenvalues"].shape == found.data["B_eigenvalues"].shape == (1, 4, 16, 2)
    np.testing.assert_allclose(found.data["V_eigenvalues"][..., 0], 0.25)
