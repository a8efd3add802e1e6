"""The command line: pure JSON, the right exit code, one clear sentence, nothing half-written."""

import errno
import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import attnflow as af
import toy
from attnflow.experiments.folder import RunFolder


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on the path with the toy experiment in it."""
    folder = toy.install(tmp_path / "site")
    monkeypatch.syspath_prepend(str(folder))
    sys.modules.pop("toy_squares", None)
    yield folder
    sys.modules.pop("toy_squares", None)


def one_sentence(err):
    """The last line of standard error is all there is to say."""
    assert "Traceback" not in err
    lines = err.strip().splitlines()
    assert lines[-1].startswith("attnflow")
    return lines[-1]


# Help and lists


def test_help_and_version(call):
    code, out, _ = call("--help")
    assert code == 0 and all(c in out for c in ("reproduce", "list", "simulate", "plot", "cite"))
    assert call("--version")[:2] == (0, "attnflow 0.1.0\n")
    for command in ("reproduce", "list", "simulate", "plot", "cite"):
        code, out, _ = call(command, "--help")
        assert code == 0 and "Example" in out


def test_help_imports_nothing_heavy():
    code = "import sys; from attnflow.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "print([m for m in ('jax', 'numpy', 'scipy', 'xarray', 'matplotlib', 'equinox') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_list(call, site):
    code, out, _ = call("list")
    assert code == 0 and "perspective-equiangular" in out and "toy-squares" in out and "softmax" in out
    assert "A mathematical perspective on Transformers" in out and "n times n" in out
    code, out, err = call("list", "--json")
    listing = json.loads(out)
    (experiment,) = [e for e in listing["experiments"] if e["id"] == "toy-squares"]
    assert experiment["claims"][0]["expected"] == [1, 4, 9, 16, 25] and "measure" not in experiment["claims"][0]
    assert {"softmax", "unnormalized"} <= {e["name"] for e in listing["attention"]} and err == ""


def test_cite(call):
    code, out, _ = call("cite", "perspective")
    assert code == 0 and "2312.10794" in out
    assert call("cite", "perspective-equiangular")[1] == out
    code, out, err = call("cite", "nobody")
    assert code == 2 and out == "" and "nobody" in one_sentence(err)


# reproduce


def test_reproduce_prints_pure_json(call, site, tmp_path):
    code, out, err = call("reproduce", "toy-squares", "--out", tmp_path / "run", "--json")
    printed = json.loads(out)
    assert code == 0 and list(printed) == ["experiments"]
    (experiment,) = printed["experiments"]
    assert list(experiment) == ["id", "paper", "parameters", "seconds", "claims"] and experiment["id"] == "toy-squares"
    assert [c["status"] for c in experiment["claims"]] == ["holds", "holds", "skipped"]
    assert "compiling" in err and (tmp_path / "run" / "report.html").is_file()


def test_reproduce_for_people(call, site, tmp_path):
    code, out, _ = call("reproduce", "toy-squares", "--out", tmp_path / "run", "--scale", "full", "--seed", 5)
    assert code == 0 and "3 of 3 claims hold" in out and str(tmp_path / "run" / "report.html") in out
    record = RunFolder(tmp_path / "run").records()["toy-squares"]
    assert (record["scale"], record["seed"], len(record["cells"])) == ("full", 5, 8)


def test_a_claim_that_fails_is_exit_code_1(call, site, tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_LIE", "1")
    code, out, _ = call("reproduce", "toy-squares", "--out", tmp_path / "run")
    assert code == 1 and "✗ fails" in out and "expected equal [1, 4, 9, 16, 25], measured [0.0" in out


def test_a_crash_is_exit_code_3_and_only_failed_mends_it(call, site, tmp_path, monkeypatch):
    log = tmp_path / "log"
    monkeypatch.setenv("TOY_LOG", str(log))
    run = ("reproduce", "toy-squares", "--out", tmp_path / "run", "--seed", 7)
    monkeypatch.setenv("TOY_BREAK", "2")
    code, out, err = call(*run, "--json")
    claims = json.loads(out)["experiments"][0]["claims"]
    assert (
        code == 3 and {c["status"] for c in claims} == {"error"} and "the toy broke" in err and "Traceback" not in err
    )
    assert "the toy broke &lt;here&gt;" in (tmp_path / "run" / "report.html").read_text()
    monkeypatch.delenv("TOY_BREAK")
    monkeypatch.setenv("TOY_LIE", "1")
    assert call("reproduce", "--only-failed", "--out", tmp_path / "run")[0] == 1
    assert RunFolder(tmp_path / "run").records()["toy-squares"]["seed"] == 7  # that of the run it repeats
    monkeypatch.delenv("TOY_LIE")
    before = len(log.read_text().split())
    code, out, _ = call("reproduce", "--only-failed", "--out", tmp_path / "run", "--json")
    assert code == 0 and len(json.loads(out)["experiments"]) == 1
    assert len(log.read_text().split()) == before + 5  # computed again, since the library may have been mended
    code, out, _ = call("reproduce", "--only-failed", "--out", tmp_path / "run", "--json")
    assert code == 0 and json.loads(out) == {"experiments": []}


def test_only_failed_needs_earlier_results(call, tmp_path):
    code, _, err = call("reproduce", "--only-failed", "--out", tmp_path / "run")
    assert code == 2 and "no results yet" in one_sentence(err)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["no-such-experiment"], "'no-such-experiment' is unknown; there are: "),
        ([], "say what to reproduce"),
        (["--paper", "nobody"], "'nobody'"),
    ],
)
def test_unknown_work_is_refused(call, tmp_path, args, message):
    code, out, err = call("reproduce", *args, "--out", tmp_path / "run")
    assert code == 2 and out == "" and message in one_sentence(err)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--scale", "huge"], "huge"),
        (["--seed", "-1"], "--seed"),
        (["--seed", "many"], "--seed"),
        (["--workers", "0"], "--workers"),
        (["--nonsense"], "--nonsense"),
        (["--paper"], "--paper"),
    ],
)
def test_bad_flags_are_one_sentence_and_exit_code_2(call, tmp_path, args, message):
    code, out, err = call("reproduce", "perspective-equiangular", "--out", tmp_path / "run", *args)
    assert code == 2 and out == "" and not (tmp_path / "run").exists()
    assert message in one_sentence(err) and "--help shows" in err and len(err.splitlines()) == 1


@pytest.mark.parametrize("args", [["nonsense"], ["plot"], ["--nonsense"], ["cite", "perspective", "modes"]])
def test_an_unknown_command_is_one_sentence(call, args):
    code, out, err = call(*args)
    assert code == 2 and out == "" and one_sentence(err) and "--help" in err and len(err.splitlines()) == 1


def test_no_command_shows_the_help(call):
    code, out, err = call()
    assert code == 2 and "reproduce" in out + err and "Transformers as interacting particles" in out + err


def test_a_reader_that_goes_away_is_no_crash():
    done = subprocess.run(
        f"{sys.executable} -m attnflow list | head -n 1", shell=True, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.count("\n") == 1 and "Error" not in done.stderr and "unexpectedly" not in done.stderr


def test_a_file_in_place_of_the_folder_is_refused(call, site, tmp_path):
    (tmp_path / "run").write_text("mine")
    code, _, err = call("reproduce", "toy-squares", "--out", tmp_path / "run")
    assert code == 2 and "choose another folder" in one_sentence(err) and (tmp_path / "run").read_text() == "mine"


def test_a_truncated_cell_is_reported_and_computed_again(call, site, tmp_path):
    run = ("reproduce", "toy-squares", "--out", tmp_path / "run", "--json")
    first = json.loads(call(*run)[1])
    cell = sorted((tmp_path / "run" / "toy-squares").glob("*.nc"))[0]
    cell.write_bytes(cell.read_bytes()[:1000])
    code, out, err = call(*run)
    (warning,) = [line for line in err.splitlines() if "cannot be read" in line]
    assert code == 0 and cell.name in warning and "Traceback" not in err
    assert json.loads(out)["experiments"][0]["claims"] == first["experiments"][0]["claims"]


def test_a_full_disk_is_reported(call, site, tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    code, out, err = call("reproduce", "toy-squares", "--out", tmp_path / "run", "--json")
    assert code == 2 and out == "" and "No space left on device" in one_sentence(err)
    assert [p for p in (tmp_path / "run").rglob("*") if p.is_file()] == []


def test_a_file_too_large_is_reported(site, tmp_path):
    """A real limit of the system, in a real process."""
    code = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    code += "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\nfrom attnflow.cli import main\nmain()"
    args = ["reproduce", "toy-squares", "--out", str(tmp_path / "run")]
    env = {**os.environ, "PYTHONPATH": toy.search_path(site)}
    done = subprocess.run([sys.executable, "-c", code, *args], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "File too large" in one_sentence(done.stderr)
    assert list((tmp_path / "run").glob("toy-squares/*")) == []


def test_an_unexpected_error_is_exit_code_3(call, monkeypatch):
    def surprise(kind):
        raise RuntimeError("surprise")

    monkeypatch.setattr("attnflow.registry.entries", surprise)
    code, _, err = call("list")
    assert code == 3 and "surprise" in one_sentence(err) and "--traceback" in err
    for where in (("list", "--traceback"), ("--traceback", "list")):
        code, _, err = call(*where)
        assert code == 3 and "Traceback" in err and "in surprise" in err
        assert err.strip().splitlines()[-1].startswith("attnflow stopped unexpectedly (RuntimeError: surprise)")
    monkeypatch.setenv("ATTNFLOW_TRACEBACK", "1")
    assert call("list")[0] == 3


def test_a_traceback_leaves_the_exit_code_of_bad_input(call, monkeypatch):
    code, out, err = call("cite", "nobody", "--traceback")
    assert code == 2 and out == "" and "Traceback" in err and "nobody" in err.strip().splitlines()[-1]
    monkeypatch.setenv("ATTNFLOW_TRACEBACK", "1")
    assert call("cite", "nobody")[0] == 2 and call("list", "--nonsense")[0] == 2
    assert call("cite", "modes")[0] == 0


def test_an_exit_code_of_a_process_with_a_traceback():
    env = {**os.environ, "ATTNFLOW_TRACEBACK": "1"}
    command = [sys.executable, "-m", "attnflow", "cite", "nobody"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stderr.count("Traceback") == 1


def start(site, *args, **env):
    env = {**os.environ, "PYTHONPATH": toy.search_path(site), **env}
    command = [sys.executable, "-m", "attnflow", *map(str, args)]
    # A shell starts background jobs with interruptions ignored, and their children inherit that.
    listening = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=listening
    )


def finished(process):
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, err
    return json.loads(out)["experiments"][0]["claims"]


def data(root):
    folder = RunFolder(root)
    cells = {p.name: folder.read_cell(p) for p in Path(root).glob("toy-squares/*.nc")}
    return {name: cell and {k: v.values.tolist() for k, v in cell[0].variables.items()} for name, cell in cells.items()}


def test_killed_and_run_again(site, tmp_path):
    whole = finished(start(site, "reproduce", "toy-squares", "--out", tmp_path / "whole", "--json"))
    root, log = tmp_path / "killed", tmp_path / "log"
    process = start(site, "reproduce", "toy-squares", "--out", root, TOY_SLEEP="0.5")
    deadline = time.monotonic() + 60
    while len(list(root.glob("toy-squares/*.nc"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = len(data(root))
    assert 2 <= kept < 5 and not (root / "report.html").exists()
    resumed = finished(start(site, "reproduce", "toy-squares", "--out", root, "--json", TOY_LOG=str(log)))
    assert len(log.read_text().split()) == 5 - kept
    assert resumed == whole and data(root) == data(tmp_path / "whole")


def test_two_at_once(site, tmp_path):
    whole = finished(start(site, "reproduce", "toy-squares", "--out", tmp_path / "whole", "--json"))
    both = [
        start(site, "reproduce", "toy-squares", "--out", tmp_path / "both", "--json", TOY_SLEEP="0.1") for _ in range(2)
    ]
    assert [finished(process) for process in both] == [whole, whole]
    assert data(tmp_path / "both") == data(tmp_path / "whole")


def test_interrupted_says_how_to_go_on(site, tmp_path):
    process = start(site, "reproduce", "toy-squares", "--out", tmp_path / "run", TOY_SLEEP="0.5")
    deadline = time.monotonic() + 60
    while not list((tmp_path / "run").glob("toy-squares/*.nc")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "goes on where it stopped" in one_sentence(err)


def test_only_failed_goes_on_where_it_was_interrupted(site, tmp_path):
    """As the sentence says: what was computed again before the interruption is kept."""
    root, log = tmp_path / "run", tmp_path / "log"
    again = ("reproduce", "--only-failed", "--out", root, "--json")
    start(site, "reproduce", "toy-squares", "--out", root, TOY_LIE="1").communicate(timeout=180)
    before = {p: p.stat().st_mtime_ns for p in root.glob("toy-squares/*.nc")}
    process = start(site, *again, TOY_SLEEP="0.5", TOY_LIE="1")

    def is_new(path):
        try:
            return path.stat().st_mtime_ns != before[path]
        except FileNotFoundError:  # removed, and not yet computed again
            return False

    def renewed():
        return [p for p in root.glob("toy-squares/*.nc") if is_new(p)]

    deadline = time.monotonic() + 60
    while len(renewed()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    kept = len(renewed())
    assert process.returncode == 130 and "goes on where it stopped" in one_sentence(err) and 2 <= kept < 5
    claims = finished(start(site, *again, TOY_LOG=str(log)))
    assert len(log.read_text().split()) == 5 - kept
    assert [c["status"] for c in claims] == ["holds", "holds", "skipped"]


# simulate and plot

SMALL = ("--n", 5, "--d", 3, "--t1", 1.0, "--save", 11, "--beta", 2.0)


def test_simulate_saves_a_run_that_can_be_repeated(call, tmp_path):
    path = tmp_path / "run.nc"
    code, out, err = call("simulate", *SMALL, "--seed", 3, "--out", path, "--json")
    summary = json.loads(out)
    assert code == 0 and summary["result"] == "successful" and summary["tokens"] == 5 and "compiling" in err
    assert summary["settings"]["beta"] == 2.0 and 0 < summary["energy"] <= 1
    run = af.load(path)
    assert run.xs.shape == (11, 5, 3) and run.provenance["settings"]["seed"] == 3
    assert call("simulate", "--from", path, "--out", tmp_path / "again.nc")[0] == 0
    assert np.array_equal(af.load(tmp_path / "again.nc").xs, run.xs)
    assert call("simulate", "--from", path, "--beta", 3.0, "--out", tmp_path / "other.nc")[0] == 0
    other = af.load(tmp_path / "other.nc")
    assert np.array_equal(other.xs[0], run.xs[0]) and not np.array_equal(other.xs[-1], run.xs[-1])


def test_simulate_from_toml(call, tmp_path):
    config = tmp_path / "run.toml"
    config.write_text(
        'attention = "unnormalized"\nbeta = 1\nshifted = true\nn = 4\nt1 = 0.5\nmax-steps = 500\nsave = 3\n'
    )
    code, _, _ = call("simulate", "--config", config, "--n", 6, "--out", tmp_path / "run.nc")
    run = af.load(tmp_path / "run.nc")
    assert code == 0 and run.xs.shape == (3, 6, 3) and run.clock == "shifted USA"  # a flag wins over the file


def test_provenance_has_the_values_that_were_used(call, tmp_path):
    """Those that were checked: a whole number written with a point is a whole number."""
    (tmp_path / "run.toml").write_text('attention = "multi-head"\nheads = 2.0\nbeta = 1\nn = 4\nt1 = 0.5\nsave = 3\n')
    code, out, _ = call("simulate", "--config", tmp_path / "run.toml", "--out", tmp_path / "run.nc", "--json")
    assert code == 0
    for settings in (json.loads(out)["settings"], af.load(tmp_path / "run.nc").provenance["settings"]):
        assert settings["heads"] == 2 and isinstance(settings["heads"], int)
        assert settings["beta"] == 1.0 and isinstance(settings["beta"], float)
        assert settings["model"] == "self-attention" and settings["pairs"] == "full"


def test_simulate_with_masks(call, tmp_path):
    """Causal tokens: the first is alone; with a slope the past fades, and the runs store the pairs."""
    runs = {}
    for pairs, more in (("full", ()), ("causal", ()), ("alibi", ("--slope", 0.5))):
        path = tmp_path / f"{pairs}.nc"
        code, out, _ = call("simulate", *SMALL, "--pairs", pairs, *more, "--out", path, "--json")
        assert code == 0 and (json.loads(out)["energy"] is None) == (pairs != "full")
        runs[pairs] = af.load(path)
    assert isinstance(runs["full"].model.pairs, af.pairsums.Full)
    assert isinstance(runs["causal"].model.pairs, af.Causal) and runs["causal"].model.pairs.slope is None
    assert float(runs["alibi"].model.pairs.slope) == 0.5
    ends = {name: np.asarray(run.xs[-1]) for name, run in runs.items()}
    np.testing.assert_allclose(ends["causal"][0], runs["causal"].xs[0, 0], atol=1e-12)
    np.testing.assert_allclose(ends["alibi"][0], runs["alibi"].xs[0, 0], atol=1e-12)
    assert len({e[-1].tobytes() for e in ends.values()}) == 3
    expected = af.simulate(
        af.SelfAttention(af.Softmax(beta=2.0), pairs=af.Causal(slope=0.5)), runs["alibi"].xs[0], t1=1.0, save=11
    )
    np.testing.assert_allclose(runs["alibi"].xs, expected.xs, atol=1e-12)
    assert call("simulate", "--from", tmp_path / "alibi.nc", "--out", tmp_path / "again.nc")[0] == 0
    assert np.array_equal(af.load(tmp_path / "again.nc").xs, runs["alibi"].xs)


def test_simulate_repeats_a_run_saved_by_a_program(call, tmp_path, key):
    x0 = af.sphere.uniform(n=4, d=2, key=key)
    run = af.simulate(af.SelfAttention(beta=1.5), x0, t1=1.0, save=5, solver="rk4", dt=0.1)
    run.save(tmp_path / "run.nc")
    assert call("simulate", "--from", tmp_path / "run.nc", "--out", tmp_path / "again.nc")[0] == 0
    assert np.array_equal(af.load(tmp_path / "again.nc").xs, run.xs)
    code, _, err = call("simulate", "--from", tmp_path / "run.nc", "--beta", 2, "--out", tmp_path / "other.nc")
    assert code == 2 and "--beta" in one_sentence(err)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--beta", "-1"], "beta = -1"),
        (["--attention", "nothing"], "'nothing' is unknown; there are: "),
        (["--init", "nothing"], "'nothing' is unknown"),
        (["--space", "torus"], "'torus' is unknown"),
        (["--init", "gaussian"], "'gaussian' is not for space 'sphere'"),
        (["--shifted"], "'softmax' has no parameter 'shifted'"),
        (["--n", "0"], "n = 0"),
        (["--seed", "-4"], "seed = -4"),
        (["--t1", "-1"], "t1 = -1"),
        (["--solver", "magic"], "'magic' is unknown"),
        (["--solver", "rk4"], "dt"),
        (["--rtol", "-1"], "rtol = -1"),
        (["--dtype", "float16"], "'float16' is unknown"),
        (["--config", "absent.toml"], "cannot read absent.toml"),
        (["--from", "absent.nc"], "cannot read absent.nc"),
        (["--config", "a.toml", "--from", "b.nc"], "not both"),
        (["--beta", "nan"], "beta = nan"),
        (["--beta", "inf"], "beta = inf"),
        (["--model", "nothing"], "model 'nothing' is unknown; there are: "),
        (["--pairs", "some"], "'some' is unknown; there are: full, causal, alibi"),
        (["--pairs", "alibi"], "--slope"),
        (["--pairs", "alibi", "--slope", "-1"], "slope = -1"),
        (["--pairs", "causal", "--slope", "1"], "--pairs alibi"),
        (["--slope", "1"], "--pairs alibi"),
        (["--attention", "sinkhorn", "--pairs", "causal"], "causal"),
    ],
)
def test_simulate_refuses_in_one_sentence(call, tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = call("simulate", *args)
    assert code == 2 and out == "" and message in one_sentence(err)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("beta = ", "not valid TOML"),
        ("speed = 3", "'speed' is unknown"),
        ('n = "many"', "whole number"),
        ("n = true", "whole number"),
        ("n = 3.5", "whole number"),
        ('beta = "hot"', "beta = 'hot'"),
        ('beta = "2.0"', "beta = '2.0' should be a number"),
        ("beta = true", "beta = True should be a number"),
        ("beta = nan", "beta = nan"),
        ('attention = "unnormalized"\nshifted = "false"', "shifted = 'false' should be true or false"),
        ('attention = "unnormalized"\nshifted = 1', "shifted = 1 should be true or false"),
        ('attention = "multi-head"\nheads = 2.7', "heads = 2.7 should be a whole number"),
        ('attention = "multi-head"\nheads = true', "heads = True should be a whole number"),
        ('pairs = "alibi"\nslope = "steep"', "slope = 'steep' should be a number"),
        ("solver = 4", "a word"),
    ],
)
def test_bad_toml_is_refused_in_one_sentence(call, tmp_path, text, message):
    (tmp_path / "run.toml").write_text(text)
    code, _, err = call("simulate", "--config", tmp_path / "run.toml", "--out", tmp_path / "run.nc")
    assert code == 2 and message in one_sentence(err) and not (tmp_path / "run.nc").exists()


def test_nothing_is_overwritten_silently(call, tmp_path):
    path = tmp_path / "run.nc"
    path.write_text("mine")
    code, _, err = call("simulate", *SMALL, "--out", path)
    assert code == 2 and "--force" in one_sentence(err) and path.read_text() == "mine"
    assert call("simulate", *SMALL, "--out", path, "--force")[0] == 0
    code, _, err = call("simulate", *SMALL, "--out", path / "below.nc")
    assert code == 2 and "not a folder" in one_sentence(err)
    assert call("simulate", "--from", path, "--out", path)[0] == 2


def test_plot(call, tmp_path):
    path = tmp_path / "run.nc"
    call("simulate", *SMALL, "--out", path)
    code, out, _ = call("plot", path)
    assert code == 0 and Path(out.strip()).read_bytes().startswith(b"\x89PNG")
    assert call("plot", path)[0] == 2  # it is there already
    assert call("plot", path, "--force", "--at", 0)[0] == 0
    assert call("plot", path, "--what", "energy", "--out", tmp_path / "energy.pdf")[0] == 0
    assert (tmp_path / "energy.pdf").read_bytes().startswith(b"%PDF")
    code, _, err = call("plot", path, "--out", tmp_path / "figure.doc")
    assert code == 2 and "figure.doc" in one_sentence(err)
    path.write_bytes(path.read_bytes()[:500])
    code, _, err = call("plot", path, "--out", tmp_path / "new.png")
    assert code == 2 and "damaged" in one_sentence(err) and not (tmp_path / "new.png").exists()


MAP = '''
import jax.numpy as jnp
from attnflow.attention import AbstractAttention
from attnflow.pairsums import Inner
from attnflow.registry import Entry, Param
from attnflow.pairsums import Total


class Damped(AbstractAttention):
    """Unnormalised attention times a factor."""
    beta: object
    gain: object

    def __init__(self, beta=1.0, gain=1.0):
        self.beta, self.gain = jnp.asarray(beta, float), jnp.asarray(gain, float)

    @property
    def clock(self):
        return "damped"

    @property
    def score(self):
        return Inner(self.beta)

    @property
    def V(self):
        return None

    @property
    def reduce(self):
        return Total(shift=self.beta, factor=self.gain)


ENTRY = Entry("attention", "damped", Damped, "unnormalised attention, slowed down",
              params={"beta": Param(2.0), "gain": Param(0.5, bounds=(0, 1), help="how much is left")})
'''


def test_a_map_of_another_package_has_its_flags(call, site, tmp_path):
    (site / "damped_map.py").write_text(MAP)
    points = site / "toy-0.1.dist-info" / "entry_points.txt"
    points.write_text(points.read_text() + "[attnflow.attention]\ndamped = damped_map:ENTRY\n")
    help_text = call("simulate", "--help")[1]
    assert "--gain" in help_text and "how much is left" in help_text and "damped" in help_text
    assert "damped" in call("list")[1]
    small = ("simulate", "--n", 4, "--t1", 1.0, "--save", 3, "--attention", "damped")
    assert call(*small, "--gain", 0.25, "--out", tmp_path / "run.nc")[0] == 0
    run = af.load(tmp_path / "run.nc")
    assert run.clock == "damped" and float(run.model.attention.gain) == 0.25
    code, _, err = call(*small, "--gain", 3, "--out", tmp_path / "other.nc")
    assert code == 2 and "gain = 3 is outside [0, 1]" in one_sentence(err)


MODEL = '''
import jax.numpy as jnp
import attnflow as af


class Pinned(af.models.AbstractModel):
    """Self-attention pulled to the first axis."""
    attention: af.attention.AbstractAttention
    space: af.spaces.AbstractSpace
    pairs: object
    pull: object

    def __init__(self, attention, space, pairs, pull=1.0):
        self.attention, self.space, self.pairs, self.pull = attention, space, pairs, jnp.asarray(pull, float)

    @property
    def clock(self):
        return "pinned " + self.attention.clock

    def force(self, t, x, w, *, key=None, kernel="auto"):
        return self.attention(x, x, w, pairs=self.pairs, kernel=kernel) + self.pull * jnp.eye(1, x.shape[1])[0][None]


ENTRY = af.registry.Entry("model", "pinned", Pinned, "attention and a pull", spaces=("sphere",),
                 params={"pull": af.registry.Param(1.0, bounds=(0, 9), help="strength of the pull")})


class Spin(af.models.AbstractModel):
    """Tokens that turn without attention."""
    space: af.spaces.AbstractSpace

    def __init__(self, space):
        self.space = space

    @property
    def clock(self):
        return "t"

    def force(self, t, x, w, *, key=None, kernel="auto"):
        return jnp.roll(x, 1, axis=1)


SPIN = af.registry.Entry("model", "spin", Spin, "tokens that turn")
'''


@pytest.fixture
def models(site):
    (site / "my_models.py").write_text(MODEL)
    points = site / "toy-0.1.dist-info" / "entry_points.txt"
    points.write_text(points.read_text() + "[attnflow.models]\npinned = my_models:ENTRY\nspin = my_models:SPIN\n")
    yield
    sys.modules.pop("my_models", None)


def test_a_model_of_another_package_is_listed_and_run(call, models, tmp_path):
    assert "attention and a pull  (--pull)" in call("list")[1]
    assert "pinned" in {e["name"] for e in json.loads(call("list", "--json")[1])["model"]}
    help_text = call("simulate", "--help")[1]
    assert "--pull" in help_text and "pinned" in help_text and "--model" in help_text
    path = tmp_path / "run.nc"
    assert call("simulate", *SMALL, "--model", "pinned", "--pull", 4, "--pairs", "causal", "--out", path)[0] == 0
    run = af.load(path)
    assert run.clock == "pinned SA" and float(run.model.pull) == 4.0 and isinstance(run.model.pairs, af.Causal)
    assert float(run.model.attention.beta) == 2.0 and run.provenance["settings"]["model"] == "pinned"
    assert run.xs[-1, :, 0].min() > 0.9


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--model", "pinned", "--pull", "-1"], "pull = -1 is outside"),
        (["--model", "pinned", "--space", "euclidean", "--init", "gaussian"], "'pinned' is not for space 'euclidean'"),
        (["--pull", "1"], "model 'self-attention' has no parameter 'pull'"),
        (["--model", "spin", "--beta", "2"], "model 'spin' takes no attention map"),
        (["--model", "spin", "--attention", "hardmax"], "model 'spin' takes no attention map"),
        (["--model", "spin", "--pairs", "causal"], "model 'spin' has no pairs"),
    ],
)
def test_parameters_a_model_does_not_take_are_refused(call, models, tmp_path, args, message):
    code, out, err = call("simulate", *args, "--out", tmp_path / "run.nc")
    assert code == 2 and out == "" and message in one_sentence(err) and not (tmp_path / "run.nc").exists()


def test_a_model_without_attention_runs(call, models, tmp_path):
    small = ("--n", 3, "--d", 2, "--t1", 1.0, "--save", 3)
    assert call("simulate", *small, "--model", "spin", "--out", tmp_path / "run.nc")[0] == 0
    assert af.load(tmp_path / "run.nc").clock == "t"


def test_a_model_that_is_made_for_some_tokens_says_so(call, tmp_path):
    code, _, error = call("simulate", "--model", "words", "--n", 8, "--out", tmp_path / "run.nc")
    assert code == 2 and "is made for init = letters, n = 80, d = 3; choose these." in error.replace("\n", " ")
