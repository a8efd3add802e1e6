"""Parameters of experiments that a user changes: which cells they make, which claims are skipped, what is refused."""

import json
import os
import re
import subprocess
import sys

import pytest

import toy
from attnflow import registry
from attnflow.cli import main
from attnflow.errors import InputError
from attnflow.experiments import Parameter
from attnflow.experiments.folder import RunFolder
from attnflow.experiments.parameters import parsed

# A newcomer's experiment: one file.
SOURCE = '''
import os

from attnflow.experiments import Claim, Experiment, Parameter


def cells(scale):
    powers = [{"part": "power", "n": n, "x": x} for n in (2, 3) for x in (1.5, 2.0)]
    return [*powers, {"part": "root", "x": 9.0, "k": 7}, {"part": "list", "betas": [1.0, 2.0]}]


def compute(cell):
    import xarray

    with open(os.environ["POWERS_LOG"], "a") as log:
        log.write(f"{cell}\\n")
    if cell["part"] == "list":
        return xarray.Dataset({"beta": ("k", cell["betas"])})
    return xarray.Dataset({"value": cell["x"] ** cell.get("n", 0.5)})


def curves(results):
    """All powers."""
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots()
    for n in sorted({cell["n"] for cell, _ in results.where(part="power")}):
        axes.plot(*results.curve("value", over="x", part="power", n=n))
    return figure


def claim(name, measure, **more):
    return Claim(id=name, statement=name, measure=measure, source="Euclid", provenance="theorem", **more)


POWERS = Experiment(
    id="powers",
    paper="perspective",
    title="Powers",
    cells=cells,
    compute=compute,
    figures=[curves],
    parameters={
        "n": Parameter("exponent", bounds=(1, 50)),
        "x": Parameter("base", bounds=(0, 100), where={"part": "power"}),
        "betas": Parameter("a list"),
        "k": Parameter("of the root alone"),
    },
    claims=[
        claim("square", lambda r: float(r.select(n=2, x=1.5)["value"]), kind="equal", expected=2.25),
        claim("count", lambda r: len(r), kind="equal", expected=6),
        claim("root", lambda r: float(r.select(part="root")["value"]), kind="equal", expected=3.0),
        claim(
            "consistent", lambda r: all(float(d["value"]) == c["x"] ** c["n"] for c, d in r.where(part="power")),
            kind="property", for_all=("n", "x"),
        ),
    ],
)
'''


@pytest.fixture
def powers(tmp_path, monkeypatch):
    """The experiment, installed from a package of one file; what it computed."""
    site = tmp_path / "site"
    info = site / "powers-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: powers\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[attnflow.experiments]\npowers = powers_of_numbers:POWERS\n")
    (site / "powers_of_numbers.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("POWERS_LOG", str(tmp_path / "log"))
    yield registry.get("experiment", "powers")
    sys.modules.pop("powers_of_numbers", None)


def computed(tmp_path):
    path = tmp_path / "log"
    return path.read_text().splitlines() if path.exists() else []


def statuses(record):
    return {c["id"]: c["status"] for c in record["claims"]}


def call(capsys, *args):
    with pytest.raises(SystemExit) as left:
        main([str(a) for a in args])
    out, err = capsys.readouterr()
    return left.value.code, out, err


def test_a_changed_parameter_changes_the_cells_that_have_it(powers):
    changed = powers.with_parameters({"n": 5, "x": [1, 2.5]})
    cells = [{k: v for k, v in cell.items() if k != "seed"} for cell in changed.seeded_cells("quick", 0)]
    assert cells == [
        {"part": "power", "n": 5, "x": 1.0},
        {"part": "power", "n": 5, "x": 2.5},
        {"part": "root", "x": 9.0, "k": 7},
        {"part": "list", "betas": [1.0, 2.0]},
    ]
    assert changed.name == "powers+n=5+x=1,2.5" and powers.name == "powers"
    (last,) = [c for c in powers.with_parameters({"betas": [4, 5, 6]}).seeded_cells("quick", 0) if c["part"] == "list"]
    assert last["betas"] == [4.0, 5.0, 6.0]


def test_claims_that_do_not_apply_are_skipped_and_figures_drawn(powers, tmp_path):
    record = powers.reproduce(tmp_path / "run", parameters={"n": 5})
    assert statuses(record) == {"square": "skipped", "count": "skipped", "root": "holds", "consistent": "holds"}
    notes = {c["id"]: c["note"] for c in record["claims"]}
    assert notes["square"] == notes["count"] == "stated for n = 2, 3, not 5"
    assert record["parameters"] == {"n": [5]} and record["crash"] is None
    assert (tmp_path / "run" / "powers+n=5" / "figures" / "curves.png").is_file()
    assert float(powers.results(tmp_path / "run", parameters={"n": 5}).select(n=5, x=2.0)["value"]) == 32.0


def test_changed_cells_stand_beside_the_others_and_are_used_again(powers, tmp_path):
    usual = powers.reproduce(tmp_path / "run")
    assert set(statuses(usual).values()) == {"holds"} and len(computed(tmp_path)) == 6
    changed = powers.reproduce(tmp_path / "run", parameters={"x": 3})
    assert len(computed(tmp_path)) == 8  # the root and the list are as they were
    assert powers.reproduce(tmp_path / "run", parameters={"x": 3}, workers=2) == changed
    assert powers.reproduce(tmp_path / "run") == usual and len(computed(tmp_path)) == 8
    assert list(RunFolder(tmp_path / "run").records()) == ["powers", "powers+x=3"]
    for path in (tmp_path / "run" / "powers").glob("*.nc"):
        path.unlink()
    again = powers.reproduce(tmp_path / "run", parameters={"x": 3}, workers=2)
    assert again["claims"] == changed["claims"] and len(computed(tmp_path)) == 12


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beta": 2}, "experiment 'powers' has no parameter 'beta' to set; it has: n, x, betas, k."),
        ({"n": 2.5}, "experiment 'powers': n = 2.5 should be a whole number; the default is 2, 3."),
        ({"x": "cold"}, "experiment 'powers': x = 'cold' should be a number; the default is 1.5, 2."),
        ({"x": float("nan")}, "experiment 'powers': x = nan should be a number; the default is 1.5, 2."),
        ({"n": [4, 99]}, "experiment 'powers': n = 99 is outside [1, 50]; choose a value in that range; "
                         "the default is 2, 3."),
        ({"n": []}, "experiment 'powers': n takes one value, not 0; the default is 2, 3."),
        ({"k": [1, 2]}, "experiment 'powers': k takes one value, not 2; the default is 7."),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused_in_a_sentence(powers, values, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        powers.with_parameters(values)


def test_an_experiment_without_parameters_says_so(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(toy.install(tmp_path / "site")))
    with pytest.raises(InputError, match="no parameter 'n' to set; it has none"):
        registry.get("experiment", "toy-squares").with_parameters({"n": 3})
    sys.modules.pop("toy_squares", None)


def test_settings_are_read_as_numbers():
    assert parsed(["beta=20", "n=64,1e2", "x=warm"]) == {"beta": [20], "n": [64, 100.0], "x": ["warm"]}
    for bad in (["beta"], ["=2"], ["beta="], ["a=1", "a=2"]):
        with pytest.raises(InputError, match="--set beta=4,20"):
            parsed(bad)


def test_the_command_sets_parameters(powers, tmp_path, capsys):
    run = ("reproduce", "powers", "--out", tmp_path / "run")
    code, out, _ = call(capsys, *run, "--set", "n=5", "--set", "x=1,3", "--json")
    (experiment,) = json.loads(out)["experiments"]
    assert code == 0 and experiment["parameters"] == {"n": [5], "x": [1.0, 3.0]}
    assert experiment["claims"][0]["note"] == "stated for n = 2, 3, not 5; stated for x = 1.5, 2, not 1, 3"
    code, out, _ = call(capsys, *run, "--set", "n=5")
    assert (
        code == 0 and "powers+n=5: 2 of 2 claims hold" in out and "skipped square [stated for n = 2, 3, not 5]" in out
    )
    assert call(capsys, *run)[0] == 0
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count("Stated for n = 2, 3, not 5.") == 2 and "With n = 5, x = 1, 3." in page
    assert "attnflow reproduce powers --set n=5 --set x=1,3 --scale quick" in page
    assert "All claims that were judged hold." in page and "All claims hold." not in page
    assert len(re.findall(r'<section id="(.*)">', page)) == 3
    for bad, message in (("beta=2", "it has: n, x, betas, k"), ("n=many", "whole number; the default is 2, 3")):
        code, out, err = call(capsys, *run, "--set", bad)
        assert code == 2 and out == "" and message in err and len(err.strip().splitlines()) == 1


def test_nothing_judged_is_not_all_that_holds(powers, tmp_path, capsys):
    """Where no claim applies, neither the command nor the report says that all hold."""
    settings = [part for setting in ("n=5", "x=3", "betas=4", "k=1") for part in ("--set", setting)]
    code, out, _ = call(capsys, "reproduce", "powers", "--out", tmp_path / "run", *settings)
    assert code == 0 and ": no claim was judged (" in out
    page = (tmp_path / "run" / "report.html").read_text()
    assert "No claim was judged." in page and "All claims hold" not in page


def test_only_failed_keeps_the_parameters(powers, tmp_path, capsys, monkeypatch):
    run = ("reproduce", "--out", tmp_path / "run")
    monkeypatch.setenv("POWERS_LOG", str(tmp_path / "no" / "folder"))
    assert call(capsys, *run, "powers", "--set", "n=5")[0] == 3
    monkeypatch.setenv("POWERS_LOG", str(tmp_path / "log"))
    assert call(capsys, *run, "--only-failed", "--set", "n=5")[0] == 2
    code, out, _ = call(capsys, *run, "--only-failed", "--json")
    assert code == 0 and json.loads(out)["experiments"][0]["parameters"] == {"n": [5]}


def test_the_list_shows_parameters(powers, capsys):
    _, out, _ = call(capsys, "list")
    assert "    --set n=… (2, 3) exponent\n" in out
    (experiment,) = [e for e in json.loads(call(capsys, "list", "--json")[1])["experiments"] if e["id"] == "powers"]
    assert experiment["parameters"]["x"] == {
        "default": [1.5, 2.0],
        "type": "number",
        "bounds": [0, 100],
        "help": "base",
    }


OWN = {name: e for name, e in registry.entries("experiment").items() if e.parameters}


@pytest.mark.parametrize("name", OWN)
def test_declared_parameters_are_those_of_cells(name):
    for parameter, declared in OWN[name].parameters.items():
        assert isinstance(declared, Parameter) and declared.help
        for scale in ("quick", "full"):
            have = [c for c in OWN[name].cells(scale) if declared.belongs_to(parameter, c)]
            assert have, (parameter, scale)
        assert OWN[name].with_parameters({parameter: have[0][parameter]}).seeded_cells("quick", 0)
    for claim in OWN[name].claims:
        assert set(claim.for_all) <= set(OWN[name].parameters)


def test_a_killed_run_leaves_a_report_of_what_is_finished(tmp_path):
    """After the first of two experiments: its verdicts and the report are there, which lists the second as not run."""
    site = toy.install(tmp_path / "site")
    (site / "more_squares.py").write_text(toy.SOURCE.replace("toy-", "more-"))
    points = "[attnflow.experiments]\nsquares = toy_squares:TOY\nmore = more_squares:TOY\n"
    (site / "toy-0.1.dist-info" / "entry_points.txt").write_text(points)
    root, names = tmp_path / "run", {"toy-squares", "more-squares"}
    env = {**os.environ, "PYTHONPATH": toy.search_path(site), "TOY_SLEEP": "1"}
    command = [sys.executable, "-m", "attnflow", "reproduce", *names, "--out", str(root)]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    first, _, message = process.stdout.readline().partition(":")
    process.kill()
    process.wait()
    (other,) = names - {first}
    assert message.startswith(" 2 of 2 claims hold") and list(RunFolder(root).records()) == [first]
    page = (root / "report.html").read_text()
    assert f"Not finished when this page was written: {other}." in page and f'id="{first}"' in page
    done = subprocess.run(command, env={**env, "TOY_SLEEP": "0"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (root / "report.html").read_text()
    assert "Not finished" not in page and f'id="{other}"' in page
