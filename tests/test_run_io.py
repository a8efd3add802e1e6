"""Runs on disk: read back to the last bit, written whole or not at all, without pickle."""

import dataclasses
import errno
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.errors import AttnflowWarning, FileError, InputError
from attnflow.files import write_atomically
from witness import weyl

X, W = weyl(4, 3), np.array([0.1, 0.2, 0.3, 0.4])
TS = [0.0, 0.5, 1.0]


@pytest.fixture(scope="module")
def run():
    return af.simulate(af.SelfAttention(beta=2.0), X, ts=TS, weights=W)


def saved_and_loaded(run, tmp_path, name="run.nc"):
    run.save(tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    return af.load(tmp_path / name)


def assert_same(a, b):
    """Every array to the last bit and with its dtype; everything else equal."""
    left, right = jax.tree.flatten(a), jax.tree.flatten(b)
    assert left[1] == right[1]
    for u, v in zip(left[0], right[0], strict=True):
        u, v = np.asarray(u), np.asarray(v)
        assert u.dtype == v.dtype and u.shape == v.shape
        assert u.tobytes() == v.tobytes()


MATRICES = {k: np.random.default_rng(i).normal(size=(3, 3)) for i, k in enumerate("BVQK")}
MODELS = {
    "softmax": af.SelfAttention(af.Softmax(beta=0.1, B=MATRICES["B"], V=MATRICES["V"])),
    "QK": af.SelfAttention(af.Unnormalized(beta=1 / 3, shifted=True, Q=MATRICES["Q"][:2], K=MATRICES["K"][:2])),
    "schedules": af.SelfAttention(
        af.Softmax(
            beta=af.Piecewise([0.25, 0.5], [1.0, 2.0, 3.0]), V=af.Piecewise([0.5], np.stack([MATRICES["V"], np.eye(3)]))
        )
    ),
    "causal": af.SelfAttention(
        af.Softmax(beta=1.0), space=af.Euclidean(), pairs=af.Causal(slope=0.3, at=np.array([0, 1, 2, 3]))
    ),
    "strict": af.SelfAttention(af.Unnormalized(beta=1.0), pairs=af.Causal(strict=True, slope=0.1, normalized=True)),
    "skip": af.SelfAttention(af.Softmax(beta=1.0), pairs=af.pairsums.Full(skip=np.array([0, 0, 1, 1]))),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_survive(run, name, tmp_path):
    """Model, weights and states come back equal to the last bit, and the model computes the same."""
    model = MODELS[name]
    original = dataclasses.replace(run, model=model, clock=model.clock)
    loaded = saved_and_loaded(original, tmp_path)
    assert_same(loaded.model, model)
    assert_same((loaded.ts, loaded.xs, loaded.weights), (run.ts, run.xs, run.weights))
    assert loaded.clock == model.clock and loaded.result is run.result and loaded.provenance == run.provenance
    force = [m.force(0.4, jnp.asarray(X), jnp.asarray(W)) for m in (model, loaded.model)]
    np.testing.assert_array_equal(*force)


def test_every_field_survives(run, tmp_path):
    """labels, log_ts, events, info with dims, infinities and NaN, statistics, the outcome."""
    rng = np.random.default_rng(0)
    full = dataclasses.replace(
        run,
        code=jnp.asarray(af.Outcome.MAX_STEPS.code),
        labels=jnp.asarray(rng.integers(0, 3, (3, 4))),
        log_ts=jnp.asarray([-np.inf, 700.0, 1e5]),
        xs=run.xs.at[2, 1].set(jnp.nan),
        events=({"time": 0.1, "kind": "merge", "tokens": [0, 3]}, {"time": 1e300, "kind": "end", "tokens": []}),
        info={
            "spectrum": (("time", "mode"), jnp.asarray(rng.normal(size=(3, 2)))),
            "L": (("row", "column"), jnp.asarray([[1.0, -0.0], [5e-324, np.inf]])),
            "count": (("time",), jnp.asarray([3, 2, 1])),
        },
    )
    loaded = saved_and_loaded(full, tmp_path)
    assert loaded.result is af.Outcome.MAX_STEPS
    assert loaded.events == full.events
    assert loaded.info_dims == full.info_dims
    assert loaded.info_dims == {"spectrum": ("time", "mode"), "L": ("row", "column"), "count": ("time",)}
    assert_same(dict(loaded.info), dict(full.info))
    np.testing.assert_array_equal(loaded.info["count"], [3, 2, 1])  # a plain array, whatever its axes are called
    assert_same((loaded.labels, loaded.log_ts, loaded.xs), (full.labels, full.log_ts, full.xs))
    assert loaded.stats["compile_seconds"] == run.stats["compile_seconds"]
    assert loaded.stats["steps"] == int(run.stats["steps"])
    assert_same(saved_and_loaded(loaded, tmp_path).xs, full.xs)  # and again, over the first file


def test_many_events_survive(run, tmp_path):
    """More text than an HDF5 attribute of fixed length could hold."""
    events = tuple({"time": k / 7, "kind": "absorption", "token": k} for k in range(5000))
    assert saved_and_loaded(dataclasses.replace(run, events=events), tmp_path).events == events


def test_equal_weights_stay_none(tmp_path):
    run = af.simulate(af.SelfAttention(beta=2.0), X.astype(np.float32), ts=TS)
    loaded = saved_and_loaded(run, tmp_path)
    assert loaded.weights is None
    assert_same((loaded.xs, loaded.ts), (run.xs, run.ts))  # float32 stays float32


def test_loaded_runs_go_on(run, tmp_path):
    """Restart from a file equals restart in memory, to the last bit; diagnostics agree."""
    loaded = saved_and_loaded(run, tmp_path)
    assert_same(loaded.restart(ts=[1.5, 2.0, 2.5]).xs, run.restart(ts=[1.5, 2.0, 2.5]).xs)
    assert_same(af.energy(loaded), af.energy(run))


def test_a_function_cannot_be_stored_and_says_so(tmp_path):
    run = af.simulate(af.Flow(lambda t, x, w: -x, af.Euclidean()), X, ts=TS)
    loaded = saved_and_loaded(run, tmp_path)
    assert loaded.model is None
    assert_same(loaded.xs, run.xs)
    with pytest.raises(InputError, match=r"carries no model to go on with.*\.$"):
        loaded.restart(t1=2.0)
    with pytest.raises(InputError, match=r"carries no model.*\.$"):
        af.energy(loaded)


def test_the_dataset_names_its_dimensions(run, tmp_path):
    """The file is plain NetCDF4: another program reads it without us."""
    import xarray as xr

    run.save(tmp_path / "run.nc")
    with xr.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as dataset:
        assert dict(dataset.sizes) | {"time": 3, "token": 4, "coordinate": 3} == dict(dataset.sizes)
        np.testing.assert_array_equal(dataset["x"].transpose("time", "token", "coordinate"), run.xs)
        assert "SA" in dataset["time"].attrs["long_name"]
        header = json.loads(dataset.attrs["attnflow"])
    assert header["provenance"]["options"]["rtol"] == 1e-9
    assert set(run.to_xarray().data_vars) >= {"x", "weights"}


# Files that are no runs ----------------------------------------------------------------------------------------------


def refused(path, *words):
    with pytest.raises(FileError) as caught:
        af.load(path)
    sentence = str(caught.value)
    assert sentence.endswith(".") and str(path) in sentence and all(word in sentence for word in words), sentence


def test_missing_file(tmp_path):
    refused(tmp_path / "nothing.nc", "cannot read", "No such file")
    refused(tmp_path, "cannot read")


@pytest.mark.parametrize("keep", [0, 1, 100, 0.5, 0.95])
def test_truncated_file(run, tmp_path, keep):
    path = tmp_path / "run.nc"
    run.save(path)
    data = path.read_bytes()
    path.write_bytes(data[: keep if isinstance(keep, int) else int(keep * len(data))])
    refused(path, "damaged")


def test_foreign_files(run, tmp_path):
    import xarray as xr

    path = tmp_path / "run.nc"
    path.write_text("time,x\n0,1\n")
    refused(path, "damaged, or not a NetCDF4 file")
    xr.Dataset({"x": ("time", np.zeros(3))}).to_netcdf(path, engine="h5netcdf")
    refused(path, "attnflow did not write it")
    xr.Dataset({"x": ("time", np.zeros(3))}, attrs={"attnflow": "{not json"}).to_netcdf(path, engine="h5netcdf")
    refused(path, "did not write")
    xr.Dataset({"x": ("time", np.zeros(3))}, attrs={"attnflow": '["a list"]'}).to_netcdf(path, engine="h5netcdf")
    refused(path, "did not write")
    xr.Dataset({"x": ("time", np.zeros(3))}, attrs={"attnflow": '{"format": 1}'}).to_netcdf(path, engine="h5netcdf")
    refused(path, "not a complete attnflow run")


def rewritten(run, path, change):
    """The file of a run with its JSON header changed."""
    dataset = run.to_xarray()
    header = json.loads(dataset.attrs["attnflow"])
    change(header)
    dataset.attrs["attnflow"] = json.dumps(header)
    dataset.to_netcdf(path, engine="h5netcdf")


def test_newer_and_unknown_contents(run, tmp_path):
    path = tmp_path / "run.nc"
    rewritten(run, path, lambda h: h.update(format=99))
    refused(path, "newer attnflow", "99")
    rewritten(run, path, lambda h: h["model"].update(type="Popen"))
    with pytest.raises(FileError, match=r"'Popen', which is not installed here.*\.$"):
        af.load(path)
    rewritten(run, path, lambda h: h["model"]["fields"].update(colour="red"))
    refused(path, "not a complete attnflow run")
    rewritten(run, path, lambda h: h.update(result="VANISHED"))
    refused(path, "not a complete attnflow run")


# Writing -------------------------------------------------------------------------------------------------------------


def test_disk_full_leaves_the_old_file(run, tmp_path, monkeypatch):
    path = tmp_path / "run.nc"
    run.save(path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    other = dataclasses.replace(run, xs=-run.xs)
    with pytest.raises(FileError, match=r"cannot write .*run\.nc: No space left on device; nothing was left behind\.$"):
        other.save(path)
    with pytest.raises(FileError, match=r"No space left on device"):
        other.save(tmp_path / "new.nc")
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"] and path.read_bytes() == before


def test_file_size_limit_in_a_process(tmp_path):
    """A real failure of write(2), in the middle: the limit of file sizes stands in for a full disk."""
    script = """
        import resource, signal, sys
        import numpy as np, attnflow as af
        run = af.simulate(af.SelfAttention(beta=1.0), af.sphere.weyl(n=8, d=3), t1=1.0, save=400)
        run.save(sys.argv[1])
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            run.save(sys.argv[1])
        except af.errors.FileError as error:
            print(error)
    """
    path = tmp_path / "run.nc"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), path], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"cannot write .*run\.nc: File too large; nothing was left behind\.\n", done.stdout)
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]
    assert af.load(path).xs.shape == (400, 8, 3)


def test_unwritable_places(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FileError, match=r"cannot write .*\.$"):
        run.save(tmp_path / "file" / "run.nc")
    (tmp_path / "folder.nc").mkdir()
    with pytest.raises(FileError, match=r"cannot write .*\.$"):
        run.save(tmp_path / "folder.nc")
    with pytest.raises(FileError, match=r"cannot write /proc/.*\.$"):
        run.save("/proc/attnflow/run.nc")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.nc"]


def test_writing_makes_folders_and_keeps_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        path = write_atomically(tmp_path / "a" / "b" / "note.txt", "text")
    finally:
        os.umask(old)
    assert path.read_text() == "text" and path.stat().st_mode & 0o777 == 0o640


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    """Not only errors of the disk: an interrupt between writing and renaming."""
    path = write_atomically(tmp_path / "note.txt", "old")

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "new")
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_no_pickle_anywhere():
    source = Path(af.__file__).parent
    words = re.compile(r"(import|from) (cloud)?pickle\b|allow_pickle|(import|from) (dill|marshal)|\b(eval|exec)\(")
    guilty = [str(p) for p in source.rglob("*.py") if words.search(p.read_text())]
    assert not guilty


def test_single_precision_reader_is_warned(run, tmp_path):
    """A float64 file read with JAX in 32 bits: numbers are rounded, with a warning."""
    run.save(tmp_path / "run.nc")
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.warns(AttnflowWarning, match=r"holds float64 numbers, read here as float32.*\.$"):
            loaded = af.load(tmp_path / "run.nc")
        assert loaded.xs.dtype == jnp.float32
        np.testing.assert_allclose(loaded.xs, np.asarray(run.xs), atol=1e-6)
    finally:
        jax.config.update("jax_enable_x64", True)
