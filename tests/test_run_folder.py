"""The run folder: names of cells; damage, kills, other processes; what a full disk leaves behind."""

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import toy
from attnflow import registry
from attnflow.errors import FileError, InputError
from attnflow.experiments import machine
from attnflow.experiments._cells import DTYPE
from attnflow.experiments.folder import RunFolder, encoded
from attnflow.experiments.runner import Job, exit_code, reproduce
from attnflow.files import write_atomically

MAIN = "from attnflow.experiments.folder import RunFolder; from attnflow.experiments.runner import Job, reproduce;"
MAIN += "from attnflow import registry; import sys; toy = registry.get('experiment', 'toy-squares');"
MAIN += "reproduce([Job(toy)], RunFolder(sys.argv[1]))"


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(toy.install(tmp_path / "site")))
    sys.modules.pop("toy_squares", None)
    yield registry.get("experiment", "toy-squares")
    sys.modules.pop("toy_squares", None)


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Which cells were computed, in order."""
    path = tmp_path / "log.txt"
    monkeypatch.setenv("TOY_LOG", str(path))
    return lambda: [int(line) for line in path.read_text().split()] if path.exists() else []


def data(root):
    """All numbers in the cells of a folder, by file name."""
    folder = RunFolder(root)
    cells = {}
    for path in sorted(Path(root).glob("toy-squares/*.nc")):
        cell = folder.read_cell(path)
        assert cell is not None
        cells[path.name] = {name: values.values.tolist() for name, values in cell[0].variables.items()}
    return cells


def leftovers(root):
    return [p.name for p in Path(root).rglob("*.part")]


def run_elsewhere(root, site, **env):
    command = [sys.executable, "-c", MAIN, str(root)]
    env = {**os.environ, "PYTHONPATH": toy.search_path(site), **env}
    return subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)


def test_a_cell_reads_back_as_it_was_written(experiment, tmp_path):
    folder = RunFolder(tmp_path / "run")
    cell = experiment.seeded_cells("quick", 3)[1]
    path = folder.cell_path(experiment, cell, scale="quick", dtype=DTYPE)
    written = experiment.compute(cell)
    provenance = {"cell": cell, "seconds": 1.0, "versions": {"jax": "0.1"}}
    write_atomically(path, encoded(written, provenance))
    read, kept, _ = folder.read_cell(path)
    assert read.identical(written)  # the values True and None of its attributes too
    assert kept == provenance


def test_the_name_of_a_cell_has_everything_that_determines_its_data(experiment):
    from dataclasses import replace

    def other(cell):
        return experiment.compute(cell)

    cell = {"n": 1, "seed": 0}
    key = experiment.key(cell, scale="quick", dtype="float64")
    others = [
        experiment.key({"n": 2, "seed": 0}, scale="quick", dtype="float64"),
        experiment.key({"n": 1, "seed": 1}, scale="quick", dtype="float64"),
        experiment.key(cell, scale="full", dtype="float64"),
        experiment.key(cell, scale="quick", dtype="float32"),
        replace(experiment, compute=other).key(cell, scale="quick", dtype="float64"),
    ]
    assert len({key, *others}) == 6
    assert experiment.key({"seed": 0, "n": 1}, scale="quick", dtype="float64") == key  # order of keys is nothing


def test_cells_must_be_plain_and_leave_the_seed_to_the_runner(experiment):
    with pytest.raises(InputError, match="numbers, strings"):
        experiment.key({"x": np.zeros(3)}, scale="quick", dtype="float64")
    from dataclasses import replace

    with pytest.raises(InputError, match="draw"):
        replace(experiment, cells=lambda scale: [{"seed": 1}]).seeded_cells("quick", 0)


def test_finished_cells_are_reused_and_judged_alike(experiment, tmp_path, log):
    folder = RunFolder(tmp_path / "run")
    first = reproduce([Job(experiment)], folder)[0]
    assert sorted(log()) == [1, 2, 3, 4, 5]
    assert exit_code([first]) == 0
    before = data(folder.root)
    second = reproduce([Job(experiment)], folder)[0]
    assert len(log()) == 5 and data(folder.root) == before
    assert second == first  # the seconds are those of the computation, so they agree too
    reproduce([Job(experiment)], folder, fresh=True)
    assert len(log()) == 10 and data(folder.root) == before


def interrupted_again(root, site, cells, **env):
    """Compute everything again in another process, which is killed when `cells` of them are written."""
    before = {p: p.stat().st_mtime_ns for p in root.glob("toy-squares/*.nc")}
    again = MAIN.replace("RunFolder(sys.argv[1]))", "RunFolder(sys.argv[1]), fresh=True)")
    process = subprocess.Popen(
        [sys.executable, "-c", again, str(root)],
        env={**os.environ, "PYTHONPATH": toy.search_path(site), "TOY_SLEEP": "0.4", **env},
    )
    deadline = time.monotonic() + 60

    def written():
        times = {}
        for path in root.glob("toy-squares/*.nc"):
            with contextlib.suppress(FileNotFoundError):  # the other process has just taken an old file away
                times[path] = path.stat().st_mtime_ns
        return [path for path, changed in times.items() if changed != before.get(path)]

    while len(written()) < cells and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    return len(written())


def test_computing_again_resumes_too(experiment, tmp_path, log):
    """A second `fresh` run goes on where the first was killed; a third begins anew."""
    folder = RunFolder(tmp_path / "run")
    first = reproduce([Job(experiment)], folder)[0]
    finished = interrupted_again(folder.root, tmp_path / "site", 2, TOY_LOG=os.devnull)
    assert 2 <= finished < 5
    second = reproduce([Job(experiment)], folder, fresh=True)[0]
    assert len(log()) == 5 + (5 - finished) and second["claims"] == first["claims"]
    reproduce([Job(experiment)], folder, fresh=True)
    assert len(log()) == 5 + (5 - finished) + 5
    assert {p.suffix for p in (folder.root / "toy-squares").iterdir() if p.is_file()} == {".nc", ".json"}
    assert list(folder.records()) == ["toy-squares"]


def test_computing_something_else_again_does_not_resume(experiment, tmp_path, log):
    """What was begun at one seed says nothing about another."""
    folder = RunFolder(tmp_path / "run")
    reproduce([Job(experiment, "quick", 0)], folder)
    reproduce([Job(experiment, "quick", 1)], folder)
    assert 1 <= interrupted_again(folder.root, tmp_path / "site", 1, TOY_LOG=os.devnull) < 5
    reproduce([Job(experiment, "quick", 1)], folder, fresh=True)
    assert len(log()) == 15


def test_another_seed_is_another_cell(experiment, tmp_path, log):
    folder = RunFolder(tmp_path / "run")
    reproduce([Job(experiment, "quick", 0)], folder)
    reproduce([Job(experiment, "quick", 1)], folder)
    assert len(log()) == 10 and len(data(folder.root)) == 10


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"not a NetCDF file" * 99])
def test_a_damaged_cell_is_reported_and_computed_again(experiment, tmp_path, log, damage):
    warnings = []
    folder = RunFolder(tmp_path / "run", warn=warnings.append)
    first = reproduce([Job(experiment)], folder)[0]
    before = data(folder.root)
    path = folder.cell_path(experiment, experiment.seeded_cells("quick", 0)[2], scale="quick", dtype=DTYPE)
    path.write_bytes(damage(path.read_bytes()))
    second = reproduce([Job(experiment)], folder)[0]
    assert log()[5:] == [3]
    assert (
        len(warnings) == 1 and path.name in warnings[0] and "computed again" in warnings[0] and "\n" not in warnings[0]
    )
    assert data(folder.root) == before and second["claims"] == first["claims"]


def test_workers_give_what_one_process_gives(experiment, tmp_path, log):
    alone = reproduce([Job(experiment)], RunFolder(tmp_path / "one"))[0]
    together = reproduce([Job(experiment)], RunFolder(tmp_path / "two"), workers=2)[0]
    assert sorted(log()) == sorted([1, 2, 3, 4, 5] * 2)
    assert data(tmp_path / "one") == data(tmp_path / "two")
    assert alone["claims"] == together["claims"]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_makes_errors_and_the_rest_goes_on(experiment, tmp_path, log, monkeypatch, workers):
    monkeypatch.setenv("TOY_BREAK", "3")
    folder = RunFolder(tmp_path / "run")
    record = reproduce([Job(experiment)], folder, workers=workers)[0]
    assert sorted(log()) == [1, 2, 3, 4, 5] and len(data(folder.root)) == 4
    assert {c["status"] for c in record["claims"]} == {"error"} and exit_code([record]) == 3
    assert "RuntimeError: the toy broke" in record["claims"][0]["note"]
    assert "Traceback" in record["crash"]["traceback"]
    monkeypatch.delenv("TOY_BREAK")
    assert exit_code(reproduce([Job(experiment)], folder, workers=workers)) == 0
    assert log()[5:] == [3]


def test_killed_and_resumed_is_as_if_nothing_happened(experiment, tmp_path, log):
    whole = reproduce([Job(experiment)], RunFolder(tmp_path / "whole"))[0]
    site, root = tmp_path / "site", tmp_path / "killed"
    process = run_elsewhere(root, site, TOY_SLEEP="0.4", TOY_LOG=os.devnull)
    deadline = time.monotonic() + 60
    while len(list(root.glob("toy-squares/*.nc"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    finished = len(data(root))
    assert 2 <= finished < 5
    resumed = reproduce([Job(experiment)], RunFolder(root))[0]
    assert len(log()) == 5 + (5 - finished)
    assert data(root) == data(tmp_path / "whole") and resumed["claims"] == whole["claims"]


def test_workers_end_when_their_parent_is_killed(experiment, tmp_path):
    root, site = tmp_path / "run", tmp_path / "site"
    main = MAIN.replace("RunFolder(sys.argv[1]))", "RunFolder(sys.argv[1]), workers=2)")
    env = {**os.environ, "PYTHONPATH": toy.search_path(site), "TOY_SLEEP": "1"}
    process = subprocess.Popen([sys.executable, "-c", main, str(root)], env=env)
    deadline = time.monotonic() + 60
    while not list(root.glob("toy-squares/*.nc")) and time.monotonic() < deadline:
        time.sleep(0.02)
    workers = [int(p) for p in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{p}").exists() for p in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert workers and not any(Path(f"/proc/{p}").exists() for p in workers)


def test_two_processes_on_one_folder(experiment, tmp_path):
    whole = reproduce([Job(experiment)], RunFolder(tmp_path / "whole"))[0]
    root = tmp_path / "shared"
    pair = [run_elsewhere(root, tmp_path / "site", TOY_SLEEP="0.05") for _ in range(2)]
    for process in pair:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert data(root) == data(tmp_path / "whole")
    assert RunFolder(root).records()["toy-squares"]["claims"] == whole["claims"]
    assert leftovers(root) == []


def test_a_full_disk_is_one_sentence_and_leaves_nothing(experiment, tmp_path, monkeypatch):
    folder = RunFolder(tmp_path / "run")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match=r"cannot write .*\.nc: No space left on device"):
        reproduce([Job(experiment)], folder)
    assert data(folder.root) == {} and leftovers(folder.root) == []
    monkeypatch.undo()


def test_a_write_that_the_system_cuts_short_leaves_nothing(experiment, tmp_path):
    """The same with a real limit on the size of files."""
    root = tmp_path / "run"
    limited = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
    env = {**os.environ, "PYTHONPATH": toy.search_path(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", limited + MAIN, str(root)], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode != 0 and "FileError: cannot write" in done.stderr and "File too large" in done.stderr
    assert list(root.glob("toy-squares/*")) == []


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_folder_that_cannot_be_is_refused(tmp_path, below):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FileError, match="choose another folder"):
        RunFolder(tmp_path / "file" / below)
    assert (tmp_path / "file").read_text() == "in the way"


def test_old_temporary_files_are_swept_and_young_ones_left(tmp_path):
    old, young = tmp_path / "toy" / ".a.nc.x.part", tmp_path / "toy" / ".b.nc.y.part"
    old.parent.mkdir()
    old.touch()
    young.touch()
    os.utime(old, (1, 1))
    RunFolder(tmp_path)
    assert not old.exists() and young.exists()


def test_a_damaged_record_counts_as_not_run(experiment, tmp_path):
    warnings = []
    folder = RunFolder(tmp_path / "run", warn=warnings.append)
    reproduce([Job(experiment)], folder)
    assert list(folder.records()) == ["toy-squares"]
    path = folder.root / "toy-squares" / "claims.json"
    assert json.loads(path.read_text())["scale"] == "quick"
    path.write_text("{")
    assert folder.records() == {} and len(warnings) == 1


# Cells that keep their run.


def a_run(cell):
    import attnflow as af

    x0 = af.sphere.weyl(n=cell["n"], d=3)
    return af.simulate(af.SelfAttention(beta=2.0), x0, ts=np.linspace(0.0, 1.0, 3))


def both(cell):
    import xarray

    run = a_run(cell)
    return xarray.Dataset({"last": ("coordinate", np.asarray(run.xs[-1, 0]))}), run


def keeping(compute, **more):
    from attnflow.experiments import Experiment

    settings = {"id": "kept", "paper": "perspective", "title": "Kept"}
    return Experiment(**settings, cells=lambda scale: [{"n": 4}, {"n": 6}], compute=compute, **more)


@pytest.mark.parametrize("compute", [a_run, both])
def test_a_cell_keeps_its_run(tmp_path, compute):
    """The very run, as `load` gives it, from a file that `load` reads."""
    import attnflow as af

    one = keeping(compute)
    assert one.reproduce(tmp_path)["crash"] is None
    results, made = one.results(tmp_path), compute({"n": 6})
    made = made[1] if isinstance(made, tuple) else made
    run = results.run(n=6)
    assert type(run) is af.Run and run.model.clock == "SA" and float(run.model.attention.beta) == 2.0
    np.testing.assert_array_equal(run.xs, made.xs)
    assert list(results.select(n=6).data_vars) == (["last"] if compute is both else [])
    (file,) = [p for p in (tmp_path / "kept" / "runs").glob("*.nc") if af.load(p).xs.shape[1] == 6]
    np.testing.assert_array_equal(af.load(file).xs, made.xs)


def test_a_cell_without_a_run_says_so(experiment, tmp_path):
    experiment.reproduce(tmp_path)
    with pytest.raises(InputError, match="keeps no run"):
        experiment.results(tmp_path).run(n=3)


@pytest.mark.parametrize("damage", [lambda p: p.unlink(), lambda p: p.write_bytes(p.read_bytes()[:2000])])
def test_a_damaged_run_is_reported_and_computed_again(tmp_path, damage):
    warnings, one = [], keeping(both)
    folder = RunFolder(tmp_path, warn=warnings.append)
    reproduce([Job(one)], folder)
    first = one.results(tmp_path).run(n=4)
    path = folder.cell_path(one, {"n": 4, "seed": 0}, scale="quick", dtype=DTYPE)
    damage(path.parent / "runs" / path.name)
    reproduce([Job(one)], folder)
    assert len(warnings) == 1 and path.name in warnings[0]
    np.testing.assert_array_equal(one.results(tmp_path).run(n=4).xs, first.xs)


def test_cells_are_read_once(tmp_path, monkeypatch):
    """Also when several claims and figures read them, and when they were in the folder before."""
    from matplotlib.figure import Figure

    from attnflow.experiments import Claim

    def measure(results):
        return all(len(data) == 1 for _, data in results) and results.run(n=4).xs.shape[1] == 4

    def drawn(results):
        """Both."""
        assert results.where(n=4).select()["last"].size == 3
        return Figure(figsize=(0.1, 0.1))

    common = {"statement": "", "kind": "property", "measure": measure, "source": "", "provenance": "theorem"}
    one = keeping(both, claims=[Claim(id=name, **common) for name in "ab"], figures=[drawn])
    read, usual = [], RunFolder.read_cell
    monkeypatch.setattr(RunFolder, "read_cell", lambda folder, path: read.append(path.name) or usual(folder, path))
    assert exit_code([one.reproduce(tmp_path)]) == 0
    assert len(read) == 4 and len(set(read)) == 2  # searched for, and read if they exist
    read.clear()
    assert exit_code([one.reproduce(tmp_path)]) == 0
    assert len(read) == len(set(read)) == 2


# Compiled programs ---------------------------------------------------------------------------------------------------


@pytest.fixture
def users_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNFLOW_CACHE", str(tmp_path / "user"))
    return tmp_path / "user" / "programs"


def programs():
    """Where JAX keeps programs while something is computed."""
    import jax

    with machine.compilation_cache():
        return jax.config.jax_compilation_cache_dir


def test_compiled_programs_are_the_users_and_no_part_of_results(experiment, users_cache, tmp_path, log):
    """A results folder from somebody else holds no code that runs."""
    reproduce([Job(experiment)], RunFolder(tmp_path / "run"))
    assert not (tmp_path / "run" / "cache").exists()
    assert users_cache.stat().st_mode & 0o777 == 0o700
    assert Path(programs()).parent == users_cache


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_programs_that_others_could_have_written_are_not_loaded(users_cache, mode):
    users_cache.mkdir(parents=True)
    users_cache.chmod(mode)
    assert programs() is None


def test_the_oldest_programs_make_room(users_cache, monkeypatch):
    monkeypatch.setattr(machine, "MOST_BYTES", 250)
    users_cache.mkdir(parents=True, mode=0o700)
    for age in range(4):
        path = users_cache / f"program-{age}"
        path.write_bytes(bytes(100))
        os.utime(path, (1e9 - age, 1e9 - age))
    programs()
    assert sorted(path.name for path in users_cache.iterdir()) == ["program-0", "program-1"]
