"""Theory/03, section 2: reviews read by a hardmax transformer; rows 8 and 9."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import check_grad

import attnflow as af
from attnflow.errors import InputError
from attnflow.experiments import Results
from attnflow.experiments.hardmax import sentiment as experiment
from attnflow.experiments.hardmax.sentiment.planted_reviews import BLAME, PRAISE, planted_reviews
from attnflow.language import Reviews
from attnflow.language.sentiment import STOP, Vocabulary, train, train_ids, vocabulary, words
from attnflow.language.sentiment._progress import TrainingProgress
from attnflow.language.sentiment.layers import Parameters, logits, states
from attnflow.language.sentiment.leaders import Led, counts, histogram, leads, once
from judging import computed, holds, verdicts
from reviews import use_imdb, use_vader

# Compiled once for each choice: op by op would take longer.
LOGITS = jax.jit(logits, static_argnames=("layers", "temperature", "masked"))
STATES = jax.jit(states, static_argnames=("layers", "temperature", "masked", "keep"))
TINY = np.array([[3, 1, 2, 3, 0, 0], [1, 4, 4, 2, 5, 1], [5, 0, 0, 0, 0, 0]], np.int32)


def parameters(d=3, rows=6, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, d)), np.asarray(0.7), rng.normal(size=d), np.asarray(0.3)
    return Parameters(*(jnp.asarray(value) for value in values))


def by_loops(p, ids, layers, temperature, masked):
    """The classifier token by token; states after each layer, and the logit."""
    values, paths = [], []
    for row in ids:
        tokens = [i for i in row if i or not masked]
        z = [np.asarray(p.embedding)[i] for i in tokens]
        path = [z]
        for _ in range(layers):
            moved = []
            for x in z:
                s = np.array([x @ y for y in z])
                w = (s == s.max()).astype(float) if temperature == 0 else np.exp((s - s.max()) / temperature)
                mean = sum(a * y for a, y in zip(w / w.sum(), z, strict=True))
                moved.append((x + float(p.alpha) * mean) / (1 + float(p.alpha)))
            z = moved
            path.append(z)
        paths.append(np.array(path))
        values.append(float(np.mean(z, axis=0) @ np.asarray(p.v) + float(p.b)))
    return np.array(values), paths


# Words ---------------------------------------------------------------------------------------------------------------


def test_words():
    text = "I can't believe it's <b>NOT</b> soooo-o bad!!! www.x.org/y Café 10/10."
    assert words(text) == ["cant", "believe", "not", "soo", "o", "bad", "cafe"]
    assert words("") == [] and not {"not", "no", "never"} & STOP


@pytest.mark.usefixtures("as_users_run")
def test_vocabulary():
    result = vocabulary(["good film good", "bad film", "rare"], at_least=2)
    assert result.words == ("<padding>", "film", "good") and len(result) == 3
    ids = result.ids(["film good good film", "rare bad", "good"], 3)
    assert ids.tolist() == [[1, 2, 2], [0, 0, 0], [2, 0, 0]] and ids.dtype == np.int32
    for wrong, message in (
        (lambda: vocabulary("one text"), "a list of texts"),
        (lambda: result.ids(["x"], 0), "length = 0"),
    ):
        with pytest.raises(InputError, match=message):
            wrong()
    with pytest.raises(InputError, match="no word is seen 9 times in these 1 texts"):
        vocabulary(["a good film"], at_least=9)


# The model -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("temperature", [0.0, 0.05])
def test_the_classifier_is_that_of_plain_loops(temperature, masked):
    p, how = parameters(), {"layers": 3, "temperature": temperature, "masked": masked}
    expected, paths = by_loops(p, TINY, **how)
    np.testing.assert_allclose(LOGITS(p, jnp.asarray(TINY), **how), expected, rtol=1e-12)
    path = np.asarray(STATES(p, jnp.asarray(TINY), **how, keep=True)[1])
    for k, own in enumerate(paths):
        np.testing.assert_allclose(path[:, k, : own.shape[1]], own, rtol=0, atol=1e-13)


def test_small_temperatures_stand_for_hardmax():
    p, ids = parameters(), jnp.asarray(TINY)
    hard = LOGITS(p, ids, layers=3, temperature=0.0, masked=False)
    gaps = [float(np.abs(LOGITS(p, ids, layers=3, temperature=tau, masked=False) - hard).max()) for tau in (0.05, 1e-3)]
    assert gaps[0] > 1e-4 and gaps[1] < 1e-10


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_are_those_of_finite_differences(masked):
    start = parameters()
    flat, back = jax.flatten_util.ravel_pytree(start)

    @jax.jit
    def loss(x):
        actual = logits(back(x), jnp.asarray(TINY), layers=3, temperature=0.5, masked=masked)
        return jnp.sum(actual**2) / 3

    slope = jax.jit(jax.grad(loss))
    assert check_grad(lambda x: float(loss(x)), lambda x: np.asarray(slope(x)), np.asarray(flat)) < 1e-5
    assert np.abs(np.asarray(slope(flat))).max() > 0.1


def test_masked_padding_has_no_effect():
    """More of it changes nothing, and a review without a known word gets the bias alone, with a finite gradient."""
    p, how = parameters(), {"layers": 3, "temperature": 0.05, "masked": True}
    longer = np.pad(TINY, ((0, 0), (0, 3)))
    np.testing.assert_allclose(LOGITS(p, jnp.asarray(longer), **how), LOGITS(p, jnp.asarray(TINY), **how), rtol=1e-12)
    empty = jnp.zeros((1, 4), jnp.int32)
    value, slope = jax.jit(jax.value_and_grad(lambda p: logits(p, empty, **how)[0]))(p)
    assert float(value) == pytest.approx(float(p.b)) and all(np.isfinite(g).all() for g in jax.tree.leaves(slope))


def test_leaders_by_their_definition():
    """Against the argmax sets of plain loops; a repeated word is listed once; leaders stay leaders."""
    p = parameters(d=2, seed=3)
    path = np.asarray(STATES(p, jnp.asarray(TINY), layers=5, temperature=0.0, keep=True)[1])
    flags = np.asarray(jax.jit(jax.vmap(leads, (0, None)))(jnp.asarray(path), jnp.asarray(TINY)))
    for z, actual in zip(path, flags, strict=True):
        for k, row in enumerate(TINY):
            scores = z[k] @ z[k].T
            for i in range(len(row)):
                chosen = np.flatnonzero(scores[i] >= scores[i].max() - 1e-12)
                assert actual[k, i] == all(row[j] == row[i] for j in chosen)
    assert (flags[1:] >= flags[:-1]).all() and flags[0].any(axis=1).all()
    single = once(flags[-1], TINY)
    for k, row in enumerate(TINY):
        assert sorted(row[single[k]]) == sorted(set(row[flags[-1, k]]))


def test_counts_and_histogram_of_leaders():
    ids = np.array([[1, 2, 3], [1, 2, 0], [2, 3, 1]])
    last = np.array([[True, True, False], [True, False, True], [True, True, False]])
    led = Led(np.array([4.0, -4.0, 1.0]), last & [True, False, True], last, np.full((3, 3), 3.0) * [1, -1, 1])
    assert counts(led) == (2.0, 0.0, 2, 2, 4 / 6)
    # The third review is not decided with confidence, the padding of the second does not count.
    assert histogram(led, ids, np.array([1, 0, 1])) == [(1, 2), (2, 1)]
    assert histogram(led, ids, np.array([1, 1, 1])) == [(1, 1), (2, 1)], "the second is decided wrongly"
    assert histogram(led, ids, np.array([1, 0, 1]), confidence=0.6) == [(1, 2), (2, 2), (3, 1)]
    assert histogram(led, ids, np.array([1, 0, 1]), beyond=3.5) == []


# Training ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def classifier():
    """Trained on made-up reviews, as the experiment does."""
    return train(planted_reviews(2000, 0), d=2, **experiment.OPTIONS["planted"])


def test_training(classifier):
    history = classifier.trained.history
    assert history["epoch"].tolist() == list(range(0, 21, 2)) and (history["alpha"] >= 0).all()
    assert history["train_loss_softmax"][0] > 0.5 > 5 * history["train_loss_softmax"][-1]
    actual = classifier(classifier.reviews.texts)
    accuracy = np.mean((actual > 0.5) == classifier.reviews.labels)
    assert accuracy == pytest.approx(history["test_accuracy_hardmax"][-1]) and accuracy > 0.9
    best, epoch = classifier.trained.best()
    assert best == history["test_accuracy_hardmax"].max() and epoch in history["epoch"]
    assert len(classifier.vocabulary) == classifier.trained.parameters.embedding.shape[0]
    assert repr(classifier).startswith(f"Classifier(d=2, {len(classifier.vocabulary)} words, best test accuracy 0.9")
    assert np.mean(np.abs(classifier(classifier.reviews.texts, temperature=None) - actual)) < 0.01


def test_training_follows_from_the_seed(classifier):
    """Twice the same to the last digit; another seed is another start."""
    options = {**experiment.OPTIONS["planted"], "epochs": 2}
    one, same, other = (
        train(planted_reviews(2000, 0), d=2, key=jax.random.key(seed), **options).trained for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.parameters.embedding, same.parameters.embedding)
    assert one.history["test_loss_softmax"].tolist() == same.history["test_loss_softmax"].tolist()
    assert abs(one.history["test_loss_softmax"][0] - other.history["test_loss_softmax"][0]) > 1e-4


def test_one_step_is_that_of_adam():
    """One batch, against clipped gradients and Adam's first step, sign by sign; alpha does not become negative."""
    rng = np.random.default_rng(0)
    ids, labels = rng.integers(1, 8, (6, 4)), np.array([0, 1, 0, 1, 1, 0])
    options = {"d": 2, "vocabulary": 8, "dtype": "float64", "batch": 8, "layers": 2, "temperature": 0.3}
    options["key"] = jax.random.key(5)
    start = train_ids(ids, labels, ids, labels, epochs=0, **options).parameters
    step = 2 * float(start.alpha)  # a step down would be distinguished from this step up
    end = train_ids(ids, labels, ids, labels, epochs=1, learning_rate=step, **options).parameters

    def loss(p):
        values = logits(p, jnp.asarray(ids), layers=2, temperature=0.3)
        return jnp.mean(jnp.logaddexp(0.0, values) - jnp.asarray(labels, float) * values)

    slope = jax.jit(jax.grad(loss))(jax.tree.map(jnp.asarray, start))
    for name in ("embedding", "v", "b"):
        g = np.asarray(getattr(slope, name))
        expected = getattr(start, name) - step * g / (np.abs(g) + 1e-8)
        np.testing.assert_allclose(getattr(end, name), expected, atol=1e-9, err_msg=name)
    assert float(end.alpha) == pytest.approx(
        max(0.0, float(start.alpha) - step * np.sign(float(slope.alpha))), abs=1e-6
    )


def test_progress_is_printed(capsys):
    row = {"epoch": 3, **{f"{s}_{v}": 0.5 for s in ("train", "test") for v in ("loss_softmax", "accuracy_hardmax")}}
    with TrainingProgress(7, True) as tell:
        tell(row)
    line = "epoch 3/7, train loss 0.5000 accuracy 0.500, test loss 0.5000 accuracy 0.500\n"
    assert capsys.readouterr() == ("", line)
    with TrainingProgress(7, False) as tell:
        tell(row)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ids": [[1.5]]}, "whole numbers"),
        ({"ids": [1, 2]}, "shape"),
        ({"ids": [[-1, 2], [1, 1]]}, "token ids start at 0"),
        ({"labels": [0, 2]}, "give 0 or 1"),
        ({"labels": [0]}, "one for each"),
        ({"vocabulary": 2}, "give at least 4"),
        ({"test_ids": [[1]]}, "pad both to one length"),
        ({"d": 0}, "d = 0"),
        ({"epochs": -1}, "epochs = -1"),
        ({"temperature": 0.0}, "temperature = 0.0; give a positive number"),
        ({"learning_rate": float("nan")}, "learning_rate = nan"),
        ({"rate": 1.0}, "setting 'rate' is unknown"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_data_that_cannot_be_trained_on_are_refused(change, message):
    arguments = {"ids": [[1, 2], [3, 1]], "labels": [0, 1], "test_ids": [[1, 1]], "test_labels": [1], **change}
    with pytest.raises(InputError, match=message):
        train_ids(**arguments)


@pytest.mark.usefixtures("as_users_run")
def test_texts_that_cannot_be_read_are_refused(classifier):
    with pytest.raises(InputError, match="list of texts"):
        classifier("great")
    with pytest.raises(InputError, match="no word of the text 'Quux' is known"):
        classifier.explain("Quux")
    with pytest.raises(InputError, match="temperature = -1"):
        classifier(["great"], temperature=-1)


# Explanations --------------------------------------------------------------------------------------------------------


def test_an_explanation(classifier):
    """Its states are those of plain loops and of hardmax layers; its probability is the classifier's."""
    text = classifier.reviews.texts[0]
    explanation = classifier.explain(text)
    p = classifier.trained.parameters
    value, paths = by_loops(p, classifier.ids([text]), 8, 0.0, False)
    np.testing.assert_allclose(explanation.states, paths[0], atol=1e-5)
    assert explanation.probability == pytest.approx(1 / (1 + np.exp(-value[0])), abs=1e-4)
    assert explanation.probability == pytest.approx(float(classifier([text])[0]), abs=1e-3)
    assert (
        explanation.words == tuple(words(text))
        and set(explanation.leaders) <= set(explanation.words)
        and explanation.leaders
    )
    assert set(explanation.leader_layer) == set(explanation.leaders) and min(explanation.leader_layer.values()) == 0
    assert set(explanation.followed) <= set(np.flatnonzero(explanation.leading[-1]))
    assert f"{len(explanation.words)} tokens, led by" in repr(explanation) and explanation.leaders[0] in repr(
        explanation
    )
    run = explanation.run()
    np.testing.assert_allclose(run.xs, explanation.states, atol=1e-9)
    for layer in (-1, 0):
        assert (
            len(np.unique(explanation.states[layer][explanation.leading[layer]], axis=0))
            == explanation.leading[layer].sum()
        )


@pytest.mark.usefixtures("as_users_run")
def test_pictures_of_a_review(classifier):
    explanation = classifier.explain("great perfect film love bad " + classifier.reviews.texts[0])
    figure = af.plot.review(explanation, layers=(0, 1, -1))
    assert [axes.get_title() for axes in figure.axes] == ["layer 0", "layer 1", "layer 8"]
    named = {text.get_text() for text in figure.axes[0].texts}
    assert named <= set(explanation.leaders) and len(named) == min(7, len(explanation.leaders))
    assert all("%" in text.get_text() for text in figure.axes[-1].texts)
    with pytest.raises(InputError, match="layer 9 is not there"):
        af.plot.review(explanation, layers=(9,))
    with pytest.raises(InputError, match="layers is empty"):
        af.plot.review(explanation, layers=())


def test_names_keep_clear_of_each_other():
    from attnflow.plot._labels import free_places

    points = np.array([[20.0, 100.0], [30.0, 104.0], [190.0, 100.0]])
    places = free_places(points, ["chances", "no", "remarkable"], [0, 1, 2], 200.0)
    assert places[2][0] == -1 or places[2] in ((-1, 1), (-1, -1)), "inside"
    assert places[0] != places[1]


# The experiment ------------------------------------------------------------------------------------------------------


def test_made_up_reviews(monkeypatch, tmp_path):
    """Without data sets the experiment has one cell, its claims hold, the others are skipped with the remedy."""
    monkeypatch.setenv("ATTNFLOW_CACHE", str(tmp_path))
    assert experiment.cells("quick") == experiment.cells("full") == [{"data": "planted", "d": 2}]
    results = computed(experiment)
    judged = verdicts(experiment, results, *(c.id for c in experiment.EXPERIMENT.claims if not c.scales))
    for name, verdict in judged.items():
        assert verdict["status"] == ("holds" if "planted" in name else "skipped"), (name, verdict)
    assert "attnflow data imdb fetches it" in judged["sentiment-short-d2"]["note"]
    for draw in experiment.EXPERIMENT.figures:
        figure = draw(results)
        assert figure.axes and all(axes.get_xlabel() for axes in figure.axes), draw.__name__
    leading = [str(word) for word in results.select(data="planted")["word"].values[:5]]
    assert set(leading) <= {*PRAISE, *BLAME}


def test_softmax_stands_for_hardmax_on_short_texts(monkeypatch, tmp_path_factory):
    """Row 8."""
    use_vader(monkeypatch, tmp_path_factory)
    assert {"data": "vader", "d": 2} in experiment.cells("quick")
    results = computed(experiment, [{"data": "vader", "d": 2, "epochs": 3}])
    holds(experiment, results, "sentiment-surrogate-vader")
    accuracy = float(results.select(data="vader")["test_accuracy_hardmax"][-1])
    assert accuracy > 0.5 + 4 * (0.25 / 3170) ** 0.5, "better than chance"


@pytest.mark.skipif(os.environ.get("ATTNFLOW_LONG_TESTS") != "1", reason="a minute: asks for ATTNFLOW_LONG_TESTS=1")
def test_the_short_run(monkeypatch):
    """Row 9."""
    use_imdb(monkeypatch)
    results = computed(experiment, [cell for cell in experiment.cells("quick") if cell["data"] == "imdb-short"])
    names = ("surrogate-imdb-short", "short-d2", "short-d8", "short-words")
    holds(experiment, results, *(f"sentiment-{name}" for name in names))


@pytest.mark.usefixtures("as_users_run")
def test_a_claim_about_unknown_data_is_an_error_and_not_a_skip():
    from attnflow.experiments.hardmax.sentiment.claims import data

    with pytest.raises(KeyError):
        data(Results([], lambda cell: None, scale="quick"), "imbd", 2)
    with pytest.raises(InputError):
        data(Results([{"data": "vader", "d": 2}], lambda cell: None, scale="quick"), "vader", 3)


def test_names_of_the_room():
    assert af.language.sentiment.train is train and isinstance(Vocabulary(("<padding>",)), tuple)
    assert af.language.Reviews is Reviews
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = af.language.nothing
