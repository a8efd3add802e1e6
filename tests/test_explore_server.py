"""The server of the page: its protocol, its numbers, and its refusal of other sites and bad requests."""

import asyncio
import gc
import json
import sys
import urllib.error
import urllib.request
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.websockets import WebSocket
from websockets.exceptions import ConnectionClosed, InvalidStatus

import attnflow as af
from attnflow import citations, registry
from attnflow.app import limits
from attnflow.app.catalogue import catalogue
from attnflow.app.lanes import Lanes
from attnflow.app.projection import project
from attnflow.app.scenes import scenes
from attnflow.app.server import _Conversation
from attnflow.app.session import Gone
from attnflow.app.show import Show
from attnflow.app.state import State
from attnflow.cli import main
from attnflow.diagnostics import order_parameter
from attnflow.errors import InputError
from attnflow.matrices import PRESETS, matrices, programs, takes
from attnflow.settings import build, complete
from explorer import Visitor, parse, serve

# Programs are compiled for a shape and a model: few of both, shared by the tests, keep this file quick.
SMALL = {"n": 5, "d": 5, "init": "weyl", "dt": 0.05}
LONG = {"beta": 9.0, "n": 8, "d": 2, "seed": 2, "weights": "random", "long": True}
USUAL = {"beta": 5.0, "n": 30, "d": 3, "seed": 7, "dt": 0.05}


@pytest.fixture(scope="module")
def served():
    with serve() as served:
        yield served


@pytest.fixture(scope="module")
def run():
    """What the page should show for the state USUAL: 200 steps, all of them."""
    x0 = af.sphere.uniform(n=30, d=3, key=jax.random.key(7))
    return af.simulate(af.SelfAttention(beta=5.0), x0, t1=10.0, solver="rk4", dt=0.05, save=201)


def request(served, path, *, body=None, **headers):
    """`(status, headers, text)` of a request; bodies are JSON."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(served.url + path, data, {"Origin": f"http://{served.host}", **headers})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


# The state

STATES = st.fixed_dictionaries(
    {},
    optional={
        "beta": st.floats(0, 1e3),
        "n": st.integers(2, 400),
        "d": st.integers(2, 40),
        "seed": st.integers(0, 2**31),
        "dt": st.floats(1e-4, 1.0),
        "step": st.integers(0, 10**6),
        "pairs": st.sampled_from(["full", "causal"]),
        "V": st.sampled_from(["rotation", "gaussian", "1 0; 0 -1"]),
        "trails": st.booleans(),
        "colour": st.sampled_from(["cluster", "index"]),
        "axes": st.sampled_from(["pca", "mean", "1,2,3"]),
        "yaw": st.floats(-10, 10),
        "scene": st.text(max_size=20),
    },
)


@settings(deadline=None, max_examples=40)
@given(STATES)
def test_a_state_survives_as_json(given_state):
    state = State.of(given_state)
    assert State.of(json.loads(json.dumps(state.as_json(whole=False)))) == state
    assert State.of(json.loads(json.dumps(state.as_json()))) == state
    assert "step" not in given_state or state.step == given_state["step"]


@settings(deadline=None, max_examples=60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda s: (
            st.lists(s)
            | st.dictionaries(st.text() | st.sampled_from(["n", "beta", "d", "V", "axes", "step", "yaw"]), s)
        ),
    )
)
def test_any_json_is_a_state_or_gets_a_sentence(value):
    try:
        State.of(value)
    except InputError as error:
        assert str(error).endswith(".") and "\n" not in str(error)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 10**9},
        {"d": 4000},
        {"n": 4096, "d": 512},
        {"heads": 200, "attention": "multi-head"},
        {"dt": -1},
        {"axes": "1,1,2"},
        {"axes": "1,2,9"},
        {"seed": -1},
        {"speed": 0},
        {"nonsense": 1},
        {"zoom": "big"},
        {"trails": 1},
        {"model": "none"},
        {"dtype": "int8"},
    ],
)
def test_bad_states_are_refused(wrong):
    with pytest.raises(InputError):
        State.of(wrong)


# Everything the registry has


def combinations():
    for model in (entry for entry in registry.entries("model").values() if entry.page):
        space = model.spaces[0]
        law = "weyl" if space == "sphere" else "gaussian"
        for attention in registry.entries("attention").values():
            if attention.name == "softmax" or takes(model.factory, "attention"):  # the default means none to the others
                chosen = {"model": model.name, "attention": attention.name, "space": space, "init": law}
                yield {**SMALL, **chosen, **model.needs}


def test_every_model_with_every_map_can_be_chosen():
    for state in combinations():
        model, x0, _ = build({**State.of(state).settings, "solver": "rk4"})
        assert jax.eval_shape(model.force, 0.0, x0, None).shape == x0.shape  # traced; what it computes: the next test


@pytest.mark.parametrize(
    "state",
    [s for s in combinations() if "self-attention" == s["model"] or s["attention"] == "softmax"],
    ids=lambda s: f"{s['model']}-{s['attention']}",
)
def test_every_model_and_every_map_moves(state):
    show = Show(State.of(state))
    before = np.asarray(show.playback.moment.x)
    show.playback.advance(2)
    step, _, x = show.playback.moment
    assert step == 2 and np.isfinite(np.asarray(x)).all()
    assert state["attention"] == "hardmax" or np.abs(np.asarray(x) - before).max() > 0
    assert len(show.frame(1)) == 48 + 4 * len(x) * 3
    assert show.measured(1, show.playback.moment)[:4] == b"AFF1"


def test_the_controls_come_from_the_registry():
    answer = catalogue()
    for kind in ("model", "attention", "law"):
        assert [e["name"] for e in answer["entries"][kind]] == [n for n, e in registry.entries(kind).items() if e.page]
    (softmax,) = [e for e in answer["entries"]["attention"] if e["name"] == "softmax"]
    assert softmax["params"]["beta"]["symbol"] == "β" and softmax["params"]["beta"]["scale"] == "log"
    json.dumps(answer, allow_nan=False)


def test_scenes_are_complete():
    all_scenes = scenes()
    assert len({s.id for s in all_scenes}) == len(all_scenes) >= 7
    assert {"perspective", "metastability", "modes"} <= {s.paper for s in all_scenes}
    for scene in all_scenes:
        assert scene.paper in citations.PAPERS and scene.experiment in registry.entries("experiment"), scene.id
        assert scene.look.count(". ") + scene.look.endswith(".") == 2, scene.look
        assert scene.as_json()["url"].startswith("https://arxiv.org/abs/")
        assert State.of({**scene.state, "scene": scene.id}).view["scene"] == scene.id


def test_later_scenes_arrive_by_themselves(tmp_path, monkeypatch):
    from attnflow.app import scenes as package

    (tmp_path / "later.py").write_text(
        'from attnflow.app.scenes import Scene\nSCENES = [Scene("later", "L", "A. B.", "causal", "x", order=0)]\n'
    )
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    assert scenes()[0].id == "later"
    sys.modules.pop("attnflow.app.scenes.later")


# The numbers


def test_states_are_those_of_simulate(served, run):
    energies, orders = np.asarray(af.energy(run)), np.asarray(order_parameter(run))
    with Visitor(served) as visitor:
        started = visitor.start(**USUAL)
        assert started["dt"] == 0.05 and started["clock"] == "SA" and started["energy"] == "Ehat"
        assert np.array_equal(visitor.hear("state")["points"], np.asarray(run.xs[0], "f4"))
        seen = {}
        for steps in (1, 7, 32):
            visitor.ask(do="advance", run=1, steps=steps)
            frame = visitor.hear("state")
            seen[frame["step"]] = frame
            assert np.allclose(frame["points"], run.xs[frame["step"]], atol=1e-7)
            assert frame["energy"] == pytest.approx(float(energies[frame["step"]]), rel=1e-6)
            assert frame["order"] == pytest.approx(float(orders[frame["step"]]), rel=1e-6)
        assert sorted(seen) == [1, 8, 40]
        for step in (8, 40, 0, 23):  # back in time, and forth
            visitor.ask(do="seek", run=1, step=step)
            frame = visitor.hear("state")
            assert frame["step"] == step and np.allclose(frame["points"], run.xs[step], atol=1e-7)
            assert step not in seen or np.array_equal(frame["points"], seen[step]["points"])
        visitor.ask(do="token", run=1, index=4)
        token = visitor.hear("token")
        matrix = np.asarray(af.attention_matrix(run, at=23))
        assert token["attends"][0][0] == int(np.argmax(matrix[4]))
        assert token["attends"][0][1] == pytest.approx(matrix[4].max(), rel=1e-6)
        assert np.allclose(token["position"], run.xs[23, 4], atol=1e-4)


def test_instruments_agree_with_the_library(served, run):
    with Visitor(served) as visitor:
        visitor.start(**USUAL, step=200)
        assert visitor.hear("series")["rows"][-1][0] == 200
        frame = visitor.hear("instruments")
    expected = af.clusters(run, at=-1)
    assert frame["step"] == 200 and frame["count"] == expected.count
    assert frame["eps"] == pytest.approx(expected.eps, rel=1e-6)
    assert np.array_equal(frame["labels"], expected.labels)
    assert frame["plateau"] == pytest.approx(float(np.sum(expected.masses**2)), rel=1e-6)
    order = np.argsort(expected.labels, kind="stable")
    matrix = np.asarray(af.attention_matrix(run, at=-1))[np.ix_(order, order)]
    assert np.allclose(frame["attention"], matrix, atol=1e-6)
    products = np.asarray(run.xs[-1] @ run.xs[-1].T)[np.triu_indices(30, 1)]
    density, _ = np.histogram(np.clip(products, -1, 1), 60, (-1, 1), density=True)
    assert np.allclose(frame["histogram"], density, atol=1e-4)


@pytest.mark.parametrize(
    "state",
    [
        {"beta": 16.0, "n": 200, "d": 2, "seed": 1, "dt": 0.05, "step": 4},  # neighbours on the circle are close
        {**SMALL, "n": 40, "space": "euclidean", "init": "gaussian", "V": "minus-identity", "step": 30},  # it shrinks
        LONG,
    ],
    ids=["circle", "euclidean", "long"],
)
def test_one_run_has_one_number_of_clusters(state):
    """On the page, in Python and in a picture, within the same distance."""
    show = Show(State.of(state))
    run = show.playback.run(state.get("step", 0))
    in_python = af.clusters(run)
    drawn = np.asarray(af.plot.clusters(run).axes[0].lines[0].get_ydata())
    if known := show.series():
        on_page = np.zeros(len(run.xs), int)
        for step, _, count, _ in known["counts"]:
            on_page[step:] = count
        assert np.array_equal(on_page, in_python.count) and np.array_equal(on_page, drawn)
    show.playback.advance(state.get("step", 9))
    step = show.playback.moment.step
    measured = parse(show.measured(1, show.playback.moment))
    assert measured["count"] == np.asarray(in_python.count)[step] == drawn[step]
    assert np.array_equal(measured["labels"], in_python.labels[step])
    assert measured["eps"] == pytest.approx(np.asarray(in_python.eps)[step], rel=1e-6)


def test_the_curve_on_the_circle_is_the_density_that_tokens_climb():
    state = {"beta": 9.0, "n": 12, "d": 2, "seed": 3, "weights": "random"}
    assert not parse(Show(State.of({**state, "Q": "shear"})).frame(0))["density"].size  # tokens climb another one
    show = Show(State.of(state))
    curve, weights = parse(show.frame(0))["density"], np.asarray(show.playback.start.weights)
    x = np.asarray(show.playback.moment.x)
    angles = np.linspace(-np.pi, np.pi, len(curve), endpoint=False)
    gaps = angles[:, None] - np.arctan2(x[:, 1], x[:, 0])[None, :]
    assert np.allclose(curve, np.exp(9 * (np.cos(gaps) - 1)) @ weights, atol=1e-6)


def test_theory_lies_on_the_run(served):
    """Orthonormal tokens: the curve that is drawn over the energy is the energy, to what six digits carry."""
    with Visitor(served) as visitor:
        started = visitor.start(**{**SMALL, "beta": 3.0, "init": "orthonormal", "dt": 0.02, "step": 100})
        (curve,) = [c for c in started["theory"]["curves"] if c["chart"] == "energy"]
        frame = visitor.hear("state")
        assert np.interp(frame["t"], curve["x"], curve["y"]) == pytest.approx(frame["energy"], rel=1e-3)


def test_long_times_jump_from_merge_to_merge(served):
    with Visitor(served) as visitor:
        started = visitor.start(**LONG)
        assert started["event"] == "started", started
        merges = started["merges"]
        assert merges and merges[-1] <= started["last"]
        known = visitor.hear("series")  # the whole run, at once
        assert [row[0] for row in known["rows"]] == list(range(started["last"] + 1))
        counts = {step: (count, plateau) for step, _, count, plateau in known["counts"]}
        assert counts[0][0] == 8 and counts[started["last"]] == (1, pytest.approx(1.0)) and started["last"] in counts
        assert [c for c, _ in counts.values()] == sorted((c for c, _ in counts.values()), reverse=True)
        energies = []
        for run_step in (0, *merges):
            visitor.ask(do="seek", run=1, step=run_step)
            while (frame := visitor.hear("state"))["step"] != run_step:
                pass
            energies.append(frame["energy"])
            assert known["rows"][run_step][2] == pytest.approx(frame["energy"], rel=1e-6)
        assert energies == sorted(energies) and energies[-1] == pytest.approx(1.0)


def test_projection_keeps_what_it_says():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 9)) * np.array([5, 4, 3, *[0.1] * 6])
    for axes in ("pca", "mean", (0, 1, 2)):
        points, seen = project(x, None, axes)
        assert points.shape == (50, 3) and seen == pytest.approx(np.sum(points**2) / np.sum(x**2))
    _, seen = project(x, None, "pca")
    s = np.linalg.svd(x, compute_uv=False)
    assert seen == pytest.approx(np.sum(s[:3] ** 2) / np.sum(s**2))
    assert project(x[:2], None, "pca")[0].shape == (2, 3)


# Programs and files to download

TURN = "0 -1 0 0 0; 1 0 0 0 0; 0 0 1 0 0; 0 0 0 1 0; 0 0 0 0 1"
GAUSSIAN = {"space": "euclidean", "init": "gaussian"}
TAKEN = [
    {**SMALL, "attention": "unnormalized", "shifted": True, "Q": "gaussian", "V": TURN, "dt": None, "step": 9},
    {**SMALL, **GAUSSIAN, "model": "pre-ln", "attention": "sigmoid", "pairs": "alibi", "slope": 0.2,
     "weights": "leader", "step": 20},
    {**SMALL, "model": "ngpt", "alpha": 0.5, "attention": "multi-head", "heads": 3, "dtype": "float32", "step": 20},
    {**LONG, "step": 7},
]  # fmt: skip


def test_copied_programs_give_the_numbers_of_the_page(served):
    """Here in this process, which has compiled much of it; tests of the page run one in a process of its own."""
    with Visitor(served) as visitor:
        for number, state in enumerate(TAKEN):
            status, _, text = request(served, "python", body=state)
            assert status == 200, text
            started = visitor.start(number, **{**state, "axes": "1,2,3"})
            assert started["event"] == "started", (state, started)
            while (frame := visitor.hear("state"))["run"] != number:
                pass
            scope: dict[str, Any] = {}
            exec(text.decode().replace("print(x)", ""), scope)
            shown = frame["points"]
            assert np.allclose(np.asarray(scope["x"])[:, : shown.shape[1]], shown, rtol=1e-5, atol=2e-6), state


def test_netcdf_holds_the_run(served, tmp_path):
    state = {**USUAL, "step": 200}
    status, headers, content = request(served, "run.nc", body=state)
    assert status == 200 and "run.nc" in headers["content-disposition"]
    (tmp_path / "run.nc").write_bytes(content)
    run = af.load(tmp_path / "run.nc")
    with Visitor(served) as visitor:
        visitor.start(**state)
        assert np.allclose(run.xs[-1], visitor.hear("state")["points"], atol=1e-6)
    assert run.xs.shape == (201, 30, 3) and run.provenance["page"]["beta"] == 5.0
    status, _, text = request(served, "run.nc", body={"n": 4000, "step": 10**6})
    assert status == 400 and b"take too long" in text


# Bad requests and other sites


def test_pages_come_with_their_policy(served):
    for path in ("", "catalogue.json", "plotly.min.js", "static/main.js"):
        status, headers, _ = request(served, path)
        assert status == 200
        assert (
            "script-src 'self';" in headers["content-security-policy"]
            and "unsafe-eval" not in headers["content-security-policy"]
        )
        assert headers["x-content-type-options"] == "nosniff"
    assert request(served, "static/../server.py")[0] == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "10.0.0.1", "[::2]", "[:"]
)
def test_other_names_of_this_machine_are_refused(served, host):
    status, _, text = request(served, "catalogue.json", Host=host)
    assert status in (400, 403) and (status == 400 or b"open the address" in text)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost"])
def test_other_sites_are_refused(served, origin):
    with pytest.raises(InvalidStatus) as refused:
        Visitor(served, origin)
    assert refused.value.response.status_code == 403
    assert request(served, "python", body={}, Origin=origin)[0] == 403
    assert request(served, "catalogue.json", Origin=origin)[0] == 403


def test_programs_that_are_no_browser_need_an_origin(served):
    request = urllib.request.Request(served.url + "python", b"{}")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == 403


WORDS = st.sampled_from(
    ["start", "advance", "seek", "view", "token", "do", "run", "state", "steps", "index", "axes", "step"]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20) | WORDS,
    lambda s: st.lists(s, max_size=4) | st.dictionaries(WORDS | st.text(max_size=5), s, max_size=5),
    max_leaves=12,
)
REQUESTS = st.fixed_dictionaries(
    {"do": WORDS}, optional={"run": JUNK, "steps": JUNK, "state": JUNK, "index": JUNK, "axes": JUNK, "step": JUNK}
)


@pytest.fixture(scope="module")
def patient(served):
    with Visitor(served) as visitor:
        visitor.start(**SMALL)
        yield visitor


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.text(max_size=200), st.binary(max_size=200), JUNK.map(json.dumps), REQUESTS.map(json.dumps)))
def test_whatever_is_sent_gets_an_answer(patient, message):
    """A sentence or a state; and the conversation goes on."""
    patient.socket.send(message)
    patient.ask(do="nonsense")
    while "nonsense" not in (answer := patient.hear("error"))["sentence"]:
        assert answer["sentence"].endswith(".") and "Traceback" not in answer["sentence"]


def test_messages_that_are_too_long(served):
    with Visitor(served) as visitor:
        visitor.socket.send("x" * (limits.MAX_MESSAGE + 1))
        assert "at most" in visitor.hear("error")["sentence"]
        visitor.socket.send("x" * (limits.MAX_MESSAGE_AT_ALL + 1))
        with pytest.raises(ConnectionClosed) as closed:
            visitor.hear("error")
        assert closed.value.rcvd is None or closed.value.rcvd.code == 1009
    assert request(served, "python", body=b" " * (limits.MAX_MESSAGE + 1))[0] == 400
    with Visitor(served) as visitor:
        assert visitor.start(**SMALL)["event"] == "started"


def test_a_visitor_who_reads_nothing_does_not_block_others(served):
    with Visitor(served) as greedy, Visitor(served) as other:
        greedy.start(n=600, d=3, dt=0.05)
        for _ in range(60):
            greedy.ask(do="advance", run=1, steps=2)  # and reads nothing
        other.start(**SMALL)
        seen = {other.hear("state", timeout=20)["step"]}
        for _ in range(10):
            other.ask(do="advance", run=1, steps=1)
            seen.add(other.hear("state", timeout=20)["step"])
        assert seen == set(range(11))


def test_a_new_start_ends_a_long_way(served):
    with Visitor(served) as visitor:
        visitor.ask(do="start", run=1, state={**USUAL, "step": limits.MAX_STEPS})
        visitor.hear("started")
        visitor.ask(do="start", run=2, state=SMALL)
        while (answer := visitor.hear("started", "state"))["run"] != 2:
            assert answer.get("step", 0) < limits.MAX_STEPS, "the long way was gone to its end"


def test_a_visitor_who_leaves_during_a_computation_causes_no_error():
    """Nothing awaits the task that makes them, so that asyncio would report its exception on standard error later."""
    errors: list[dict] = []

    async def visit():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        gone, lanes = asyncio.Event(), Lanes()

        async def receive():
            return {"type": "websocket.connect"}

        async def send(message):
            if message.get("bytes") and parse(message["bytes"])["event"] == "instruments":
                gone.set()
                raise OSError  # as servers write it

        socket = WebSocket({"type": "websocket", "path": "/live", "headers": []}, receive, send)
        await socket.accept()
        conversation = _Conversation(socket, lanes)
        await conversation.session.answer({"do": "start", "run": 1, "state": SMALL})
        await asyncio.wait_for(gone.wait(), 60)
        with pytest.raises(Gone):
            await conversation.send("anything")
        lanes.close()

    asyncio.run(visit())
    gc.collect()  # asyncio reports an exception that was never retrieved when the task is collected
    assert errors == []


def test_too_many_visitors_are_refused(served, monkeypatch):
    monkeypatch.setattr(limits, "MAX_CLIENTS", 0)
    with pytest.raises((InvalidStatus, ConnectionClosed)), Visitor(served) as visitor:
        visitor.hear("error")


# The command


def run_command(capsys, *args):
    with pytest.raises(SystemExit) as left:
        main(["explore", *args])
    return left.value.code, capsys.readouterr().err.strip().splitlines()[-1]


def test_the_command_says_what_is_missing(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette", None)
    code, message = run_command(capsys)
    assert code == 2 and message == "attnflow: the page needs starlette; install it with: pip install 'attnflow[ui]'"


def test_the_command_stays_on_this_machine(capsys):
    code, message = run_command(capsys, "--host", "0.0.0.0", "--no-browser")
    assert code == 2 and "--allow-remote" in message


def test_a_port_that_is_taken_gives_the_next(served, capsys):
    from attnflow.cli._explore import _listen

    with _listen("127.0.0.1", served.port) as listener:
        assert served.port < listener.getsockname()[1] < served.port + 20
    assert f"port {served.port} is taken" in capsys.readouterr().err


# Matrices, for the page and for flags


def test_matrices_by_name_and_by_hand():
    def model(**arguments):
        return build(complete({"d": 3, "n": 3, **arguments}))[0].attention

    assert model().V is None and model(V="identity").V is None
    assert np.array_equal(model(V="1 2 3; 4,5,6\n7 8 9").V, np.arange(1.0, 10).reshape(3, 3))
    turn = np.asarray(model(V="rotation").V)
    assert np.allclose(turn @ turn.T, np.eye(3)) and turn[1, 0] == 1 and turn[2, 2] == 1
    both = model(Q="gaussian")
    assert np.array_equal(both.K, np.eye(3)) and not np.array_equal(both.Q, model(Q="gaussian", seed=1).Q)
    for wrong in ("1 2; 3 4", "1 2 3; 4 5 6; 7 8 x", "nan 0 0; 0 1 0; 0 0 1", "__import__('os')", ""):
        if wrong:
            with pytest.raises(InputError):
                model(V=wrong)
    with pytest.raises(InputError, match="takes no V"):
        build(complete({"attention": "multi-head", "V": "rotation"}))


def test_help_of_explore(capsys):
    with pytest.raises(SystemExit):
        main(["explore", "--help"])
    assert "Example" in capsys.readouterr().out


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("d", [1, 3, 4])
def test_a_matrix_is_what_its_program_makes(preset, d):
    state = {"d": d, "seed": 5, "Q": preset, "K": "shear", "V": preset}
    made = matrices(state, af.Softmax)
    for name, text in programs(state, af.Softmax).items():
        np.testing.assert_array_equal(made[name], eval(text, {"jax": jax, "jnp": jnp}))
