"""A verdict depends on the data alone: not on the process, its precision, its workers or an earlier library."""

import dataclasses
import functools
import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
import xarray

import attnflow
import toy
from attnflow import registry
from attnflow.errors import InputError
from attnflow.experiments import Claim, Experiment
from attnflow.experiments import _sources as code
from attnflow.experiments.folder import RunFolder
from attnflow.experiments.runner import Job, exit_code, reproduce
from attnflow.report import write_report

OWN = {name: e for name, e in registry.entries("experiment").items() if e.compute.__module__.startswith("attnflow.")}

# A computation, a claim and a figure that come out otherwise in float32, and a large sum that devices would share.
PRECISE = '''
import jax, jax.numpy as jnp, numpy as np
from attnflow.experiments import Claim, Experiment


def cells(scale):
    return [{"n": n} for n in (1, 2, 3)]


def compute(cell):
    import xarray
    import attnflow as af
    from attnflow.experiments._draws import each_draw

    x = jax.random.normal(jax.random.key(cell["n"]), (1200, 3))
    num, log_z = af.pairsums.pair_sums(af.pairsums.Inner(3.0), x, x, x)
    draws = each_draw(lambda r: jnp.tanh(jax.random.normal(jax.random.fold_in(jax.random.key(0), r), (50,))).sum(), 5)
    basis = np.linalg.svd(np.asarray(x).T @ np.asarray(x))[0]
    if cell["n"] == 2:
        af.precision("float32")  # a cell that leaves a mess behind
    return xarray.Dataset({"num": (("i", "k"), num), "draws": ("r", draws), "basis": (("k", "l"), basis)})


def tenth(results):
    return [float(jnp.asarray(0.1) + jnp.sum(jnp.asarray(data["num"].values) ** 2)) for _, data in results]


def bits(results):
    return float(jnp.finfo(jnp.zeros(()).dtype).bits)


def picture(results):
    """Nothing."""
    from matplotlib.figure import Figure
    assert jnp.zeros(()).dtype == "float64"
    return Figure()


def claim(name, measure, expected):
    return Claim(id=name, statement=name, kind="at_least", expected=expected, measure=measure, source="Euclid",
                 provenance="theorem")


PRECISE = Experiment(id="precise", paper="perspective", title="Bits", cells=cells, compute=compute, figures=[picture],
                     claims=[claim("precise-tenth", tenth, 0.0), claim("precise-bits", bits, 64)])
'''


def elsewhere(root, name, *options, site=""):
    """Verdicts of the command in a process of its own, which begins in float32."""
    command = [sys.executable, "-m", "attnflow", "reproduce", name, "--out", str(root), "--json", *options]
    env = {**os.environ, "PYTHONPATH": toy.search_path(site)}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)["experiments"]
    return record["claims"]


def installed(folder, name, source):
    """A package of one experiment, as an installer would leave it in `folder`."""
    toy.install(folder)
    points = f"[attnflow.experiments]\n{name} = {name}:{name.upper()}\n"
    (folder / "toy-0.1.dist-info" / "entry_points.txt").write_text(points)
    (folder / f"{name}.py").write_text(source)
    return folder


def numbers(root, name):
    """All data of an experiment in a folder, bit by bit; a time that a cell keeps of itself is not among them."""
    folder, cells = RunFolder(root), {}
    for path in sorted(Path(root).glob(f"{name}/*.nc")):
        data, _, run = folder.read_cell(path)
        cells[path.name] = {key: values.values.tobytes() for key, values in data.variables.items() if key != "seconds"}
        if run is not None:
            cells[path.name] |= {"run": (np.asarray(run.ts).tobytes(), np.asarray(run.xs).tobytes())}
    return cells


def test_judged_again_resumed_and_shared_give_the_same_bits(tmp_path, monkeypatch):
    """Alone in a program whose process is in float32, then resumed and judged again by the command, then by workers."""
    site, alone, shared = installed(tmp_path / "site", "precise", PRECISE), tmp_path / "alone", tmp_path / "shared"
    monkeypatch.syspath_prepend(str(site))
    job = Job(registry.get("experiment", "precise"))
    with float32():
        (record,) = reproduce([job], RunFolder(alone))
        (together,) = reproduce([job], RunFolder(shared), workers=2)
        assert not jax.config.jax_enable_x64
    sys.modules.pop("precise", None)
    data = numbers(alone, "precise")
    assert len(data) == 3 and [c["status"] for c in record["claims"]] == ["holds", "holds"] and record["crash"] is None
    assert together["claims"] == record["claims"] and numbers(shared, "precise") == data
    next((alone / "precise").glob("*.nc")).unlink()
    assert elsewhere(alone, "precise", site=site) == record["claims"] and numbers(alone, "precise") == data


class float32:
    """A process as JAX starts it."""

    def __enter__(self):
        jax.config.update("jax_enable_x64", False)

    def __exit__(self, *error):
        jax.config.update("jax_enable_x64", True)


def probe(*ignored):
    return jax.numpy.zeros(()).dtype == "float64"


def compute_probe(cell):
    return xarray.Dataset({"ok": probe()})


def draw_probe(results):
    """Whether it is drawn in float64."""
    from matplotlib.figure import Figure

    if not probe():
        raise AssertionError("drawn in float32")
    return Figure(figsize=(0.2, 0.2))


def test_every_experiment_is_computed_judged_and_drawn_in_float64(tmp_path):
    """Fresh, and again with every cell there: of each experiment the cells, the claims and the figures."""
    jobs = []
    for e in OWN.values():
        claims = [holds(f"{e.id}-holds", judged)]
        one = lambda scale, e=e: e.cells(scale)[:1]  # noqa: E731
        jobs.append(Job(dataclasses.replace(e, cells=one, compute=compute_probe, claims=claims, figures=[draw_probe])))
    folder = RunFolder(tmp_path)
    with float32():
        first = reproduce(jobs, folder)
        again = reproduce(jobs, folder)
        assert not jax.config.jax_enable_x64
    assert len(first) == len(OWN) and exit_code(first) == 0
    assert [r["claims"] for r in again] == [r["claims"] for r in first]
    assert {c["status"] for r in first for c in r["claims"]} == {"holds"}


def judged(results):
    return probe() and all(bool(data["ok"]) for _, data in results)


@pytest.mark.skipif(os.environ.get("ATTNFLOW_TEST_ALL") != "1", reason="takes thrice as long as `reproduce --all`")
@pytest.mark.parametrize("name", OWN)
def test_an_experiment_judged_again_resumed_and_shared(name, tmp_path):
    """With its own cells and claims. Two that tests/test_experiments.py computes are judged again there, always."""
    first = elsewhere(tmp_path / "one", name)
    data = numbers(tmp_path / "one", name)
    assert elsewhere(tmp_path / "one", name) == first
    (tmp_path / "one" / name / min(data)).unlink()
    assert elsewhere(tmp_path / "one", name) == first and numbers(tmp_path / "one", name) == data
    assert elsewhere(tmp_path / "two", name, "--workers", "2") == first and numbers(tmp_path / "two", name) == data


def test_a_precision_that_cannot_be_set_is_refused(tmp_path):
    with jax.enable_x64(False), pytest.raises(InputError, match="enable_x64"):
        reproduce([Job(small())], RunFolder(tmp_path))
    assert jax.config.jax_enable_x64


def draw(cell):
    x = jax.random.normal(jax.random.key(cell["n"]), (3,))
    jax.config.update("jax_random_seed_offset", 1)  # left behind for the next cell
    return xarray.Dataset({"x": ("i", np.asarray(x))})


@pytest.mark.parametrize(
    ("name", "value"),
    [("jax_default_prng_impl", "rbg"), ("jax_threefry_partitionable", False), ("jax_random_seed_offset", 7)],
)
def test_draws_do_not_depend_on_settings_of_the_caller(name, value, tmp_path):
    """Another generator of random numbers would give other data under the same name."""
    expected = {n: np.asarray(jax.random.normal(jax.random.key(n), (3,))) for n in (1, 2)}
    before = getattr(jax.config, name)
    jax.config.update(name, value)
    try:
        reproduce([Job(small(compute=draw))], RunFolder(tmp_path))
        assert getattr(jax.config, name) == value
    finally:
        jax.config.update(name, before)
    for cell, data in small(compute=draw).results(tmp_path):
        np.testing.assert_array_equal(data["x"], expected[cell["n"]])


def test_a_context_that_changes_draws_is_refused(tmp_path):
    with jax.default_prng_impl("rbg"), pytest.raises(InputError, match="jax_default_prng_impl = 'rbg'"):
        reproduce([Job(small(compute=draw))], RunFolder(tmp_path))


def test_an_error_leaves_the_precision_as_it_was(tmp_path, monkeypatch):
    def full(path, content):
        raise OSError("no space")

    monkeypatch.setattr("attnflow.experiments._cells.write_atomically", full)
    with float32():
        with pytest.raises(OSError):
            reproduce([Job(small())], RunFolder(tmp_path))
        assert not jax.config.jax_enable_x64


# What a cell depends on.


def number(cell):
    return xarray.Dataset({"n": cell["n"]})


def small(**changes):
    settings = {"id": "small", "paper": "perspective", "title": "S", "compute": number}
    settings["cells"] = lambda scale: [{"n": 1}, {"n": 2}]
    return Experiment(**{**settings, **changes})


def holds(name="small-holds", measure=lambda r: True):
    return Claim(id=name, statement="", kind="property", measure=measure, source="", provenance="theorem")


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A copy of the package, to be edited, and the key of a cell in a process that would begin now."""
    root = tmp_path / "attnflow"
    shutil.copytree(code.PACKAGE, root, ignore=shutil.ignore_patterns("__pycache__", "static"))
    monkeypatch.setattr(code, "PACKAGE", root)

    def key(experiment):
        code._hashed.cache_clear()
        return experiment.key({"n": 1}, scale="quick", dtype="float64")

    yield root, key
    code._hashed.cache_clear()


def edit(path):
    path.write_text(path.read_text() + "\n")


def test_an_edit_of_the_library_is_another_cell(library):
    """Whatever a computation may reach: a map, a kernel, a helper beside the experiment, a new file."""
    (root, key), one = library, OWN["perspective-trajectories"]
    keys = {key(one)}
    beside = "experiments/perspective/closed_forms/hemisphere.py"
    edits = ["attention/softmax.py", "pairsums/pair_sums.cc", beside, "checks.py"]
    for changed, path in enumerate(edits, 1):
        edit(root / path)
        keys.add(key(one))
        assert len(keys) == changed + 1, path
    (root / "spaces" / "_new.py").write_text("")
    last = key(one)
    assert last not in keys
    for path in ("cli/_reproduce.py", "plot/_marks.py", "report/_page.py", "app/lanes.py"):
        edit(root / path)
    assert key(one) == last


def test_an_edit_of_another_package_is_another_cell(library, tmp_path, monkeypatch):
    """One file, and a package with a helper beside the experiment."""
    site, package = toy.install(tmp_path / "site"), tmp_path / "site" / "toy_package"
    package.mkdir()
    for name, text in (("__init__", ""), ("helper", ""), ("squares", toy.SOURCE)):
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(site))
    key = library[1]
    for module, edited in (("toy_squares", site / "toy_squares.py"), ("toy_package.squares", package / "helper.py")):
        experiment = importlib.import_module(module).TOY
        before = key(experiment)
        assert key(experiment) == before
        edit(edited)
        after = key(experiment)
        assert after != before
        (package / "results.nc").write_text("no source")
        assert key(experiment) == after
    for name in ("toy_squares", "toy_package", "toy_package.squares"):
        sys.modules.pop(name, None)


def test_the_code_behind_a_wrapper_is_found():
    wrapped = functools.wraps(number)(lambda cell: number(cell))
    here = code._roots(number)
    assert here == (code.PACKAGE, Path(__file__))
    assert code._roots(functools.partial(number)) == code._roots(wrapped) == here
    assert code._roots(OWN["modes-circle"].compute) == (code.PACKAGE,)
    made = eval("lambda cell: 0", {"__name__": "typed_by_hand"})
    with pytest.raises(InputError, match="typed_by_hand has no source file"):
        small(compute=made).key({"n": 1}, scale="quick", dtype="float64")


def test_the_hash_is_cheap():
    """Measured in files and not in seconds: each is read once in a process."""
    code._hashed.cache_clear()
    for _ in range(3):
        code.sources(number)
    assert code._hashed.cache_info().misses == 1


def test_an_edit_while_it_is_computed_is_noticed(tmp_path, monkeypatch):
    """Half of the code may be of before and half of after: such data are not kept."""
    monkeypatch.setattr("attnflow.experiments._cells.sources_changed", lambda compute: True)
    (record,) = reproduce([Job(small(claims=[holds()]))], RunFolder(tmp_path))
    assert "edited" in record["crash"]["sentence"] and exit_code([record]) == 3
    assert list(tmp_path.glob("small/*.nc")) == []
    file = tmp_path / "code.py"
    file.write_text("a = 1\n")
    roots = (file,)
    before = code._hashed(roots)
    assert code._stamp(roots) == before[1]
    file.write_text("a = 23\n")
    assert code._stamp(roots) != before[1]


# What the report says of it.


def rewritten(root, name, **versions):
    """Pretend that the first cell of an experiment was computed with other versions."""
    from attnflow.experiments.folder import encoded

    path = min((root / name).glob("*.nc"))
    data, provenance, _ = RunFolder(root).read_cell(path)
    provenance["versions"] = {**provenance["versions"], **versions}
    path.write_bytes(encoded(data, provenance))


def test_the_report_states_the_versions_that_computed_each_cell(tmp_path):
    experiment, folder = small(claims=[holds()]), RunFolder(tmp_path)
    records = reproduce([Job(experiment)], folder)
    text = write_report(tmp_path, records).read_text()
    (versions,) = {json.dumps(cell["versions"]) for cell in records[0]["cells"]}
    assert json.loads(versions) == records[0]["versions"]
    assert "Computed and judged with python" in text and "other versions" not in text
    assert f"jax {jax.__version__}" in text and f"sources {code.sources(number)[:12]}" in text
    rewritten(tmp_path, "small", jax="0.0.1 <old>")
    records = reproduce([Job(experiment)], folder)
    text = write_report(tmp_path, records).read_text()
    assert "1 of 2 cells computed by other versions" in text
    assert f"1 cell: jax 0.0.1 &lt;old&gt; (now {jax.__version__})" in text
    assert text.count("0.0.1") == 2  # and in its row of the table


def test_the_report_marks_verdicts_of_another_library(tmp_path):
    records = reproduce([Job(small(claims=[holds()]))], RunFolder(tmp_path))
    now = {"small": {**records[0]["versions"], "sources": "abc"}}
    text = write_report(tmp_path, records, now).read_text()
    assert "Judged with other versions than the present ones" in text and "(now abc)" in text
    assert "1 of 1 experiment judged with other versions" in text
    assert "other versions" not in write_report(tmp_path, records, {"small": records[0]["versions"]}).read_text()


def test_a_record_of_an_earlier_release_is_shown(tmp_path):
    records = reproduce([Job(small(claims=[holds()]))], RunFolder(tmp_path))
    for cell in records[0]["cells"]:
        del cell["versions"]
    assert "versions not recorded" in write_report(tmp_path, records).read_text()


# One experiment that is broken takes nothing else with it.


@pytest.mark.parametrize(
    "broken",
    [
        {"compute": lambda cell: 0},
        {"compute": lambda cell: xarray.Dataset({"o": ("i", np.array([object()]))})},
        {"compute": lambda cell: (_ for _ in ()).throw(attnflow.errors.FileError("no such data."))},
        {"cells": lambda scale: 1 / 0},
        {"cells": lambda scale: [{"n": np.zeros(2)}]},
        {"cells": lambda scale: [{"seed": 1}]},
    ],
)
def test_a_broken_experiment_takes_nothing_with_it(tmp_path, broken):
    jobs = [Job(small(id="broken", claims=[holds("a")], **broken)), Job(small(claims=[holds("b")]))]
    bad, good = reproduce(jobs, RunFolder(tmp_path))
    assert bad["claims"][0]["status"] == "error" and bad["crash"]["sentence"] and exit_code([bad]) == 3
    assert good["claims"][0]["status"] == "holds" and exit_code([good]) == 0
    assert set(RunFolder(tmp_path).records()) == {"broken", "small"}


def test_a_figure_without_its_data_takes_nothing_with_it(tmp_path):
    """Another process may compute a cell again while this one draws."""

    def figure(results):
        """Missing."""
        for path in tmp_path.glob("small/*.nc"):
            path.unlink()
        return results.select(n=1)

    (record,) = reproduce([Job(small(claims=[holds()], figures=[figure]))], RunFolder(tmp_path))
    assert record["claims"][0]["status"] == "holds" and "is missing" in record["crash"]["sentence"]


@pytest.mark.parametrize("content", ["{}", "[]", '"text"', "null", '{"id": "small"}', "\xff"])
def test_a_damaged_record_counts_as_not_run(tmp_path, content):
    warnings = []
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "claims.json").write_text(content)
    assert RunFolder(tmp_path, warn=warnings.append).records() == {} and len(warnings) == 1


def test_a_cell_without_provenance_is_computed_again(tmp_path):
    from attnflow.experiments.folder import encoded

    warnings = []
    folder = RunFolder(tmp_path, warn=warnings.append)
    reproduce([Job(small(claims=[holds()]))], folder)
    path = min(tmp_path.glob("small/*.nc"))
    data, *_ = folder.read_cell(path)
    path.write_bytes(encoded(data, {}))
    (record,) = reproduce([Job(small(claims=[holds()]))], folder)
    assert exit_code([record]) == 0 and len(warnings) == 1 and "computed again" in warnings[0]
