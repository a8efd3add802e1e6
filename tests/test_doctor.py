"""The doctor finds a sound installation sound and a broken one broken; it never crashes, and leaves nothing behind."""

import importlib.metadata
import json

import jax
import pytest

from attnflow import doctor, engines
from attnflow.citations import software
from attnflow.cli import main
from attnflow.flows.provenance import provenance
from attnflow.pairsums.engines import dense
from attnflow.pairsums.native_library import native


@pytest.fixture(scope="module")
def diagnosis():
    with pytest.MonkeyPatch.context() as users:
        users.delenv("XLA_FLAGS", raising=False)  # long ones of the tests, which a user does not see
        return doctor.diagnose()


@pytest.fixture
def quick(monkeypatch):
    """Run only the named sections; the others have been tested once."""

    def only(*names):
        for name in {"_versions", "_machine", "_precision", "_kernels", "_engines", "_extras", "_folders"} - set(names):
            monkeypatch.setattr(doctor, name, lambda: iter(()))

    return only


def call(capsys, *args):
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main(["doctor", *args])
    captured = capsys.readouterr()
    return left.value.code or 0, captured.out, captured.err


def test_this_installation_is_sound(diagnosis):
    assert diagnosis.ok, [check for check in diagnosis.checks if check.status == "fails"]
    checks = {(check.section, check.name): check for check in diagnosis.checks}
    assert checks["versions", "jax"].detail == jax.__version__
    assert checks["machine", "devices"].detail.startswith(jax.devices()[0].platform)
    assert checks["precision", "float64 sum"].value < 1e-13
    usual = ("native",) if native().ready else ()
    for engine in ("dense", "blocked", "broadcast", "sharded", *usual):
        assert checks["kernels", f"{engine}, float64"].value < 1e-13
        assert 0 < checks["kernels", f"{engine}, float32"].value < 1e-4
    assert 0 < checks["kernels", "direct, float32"].value < 1e-4  # 64 bits, and tokens that are no unit vectors, are
    assert not {("kernels", "direct, float64"), ("kernels", "spectral, float64")} & set(checks)  # refused by these
    assert ("extras", "dev") in checks and ("extras", "ffmpeg") in checks


def test_which_engine_runs_and_why_others_do_not(diagnosis):
    details = {check.name: check.detail for check in diagnosis.checks if check.section == "engines"}
    circle = details["simulate, 5000 on a circle"]
    assert circle.startswith("spectral:32; not ") and "direct: tokens are float64" in circle
    small, ensemble = details["simulate, 200 tokens on a sphere"], details["ensemble, 32 on a circle"]
    assert small.startswith("native" if native().ready else "dense") and "spectral: slower here" in small
    assert "fused: tokens are float64, and the kernel computes in float32" in ensemble


def test_settings_are_left_alone(diagnosis):
    assert jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]


def test_one_screen(capsys, diagnosis, monkeypatch):
    monkeypatch.setattr(doctor, "diagnose", lambda: diagnosis)
    code, out, err = call(capsys)
    assert code == 0 and err == ""
    assert len(out.splitlines()) < 40 and "All is well." in out and "blocked, float64" in out


def test_json(capsys, diagnosis, monkeypatch):
    monkeypatch.setattr(doctor, "diagnose", lambda: diagnosis)
    code, out, err = call(capsys, "--json")
    answer = json.loads(out)
    assert code == 0 and answer["ok"] is True and err == ""
    assert {"section", "name", "status", "detail", "value"} == set(answer["checks"][0])
    assert len(answer["checks"]) == len(diagnosis.checks)


def test_help_has_an_example(capsys):
    code, out, _ = call(capsys, "--help")
    assert code == 0 and "Example" in out


def test_the_bad_jax_release_fails_the_diagnosis(capsys, quick, monkeypatch):
    version = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda p: "0.10.2" if p == "jax" else version(p))
    quick("_versions")
    code, out, _ = call(capsys)
    text = " ".join(out.split())
    assert code == 1 and "jax 0.10.2 computes wrong numbers" in text and "Not well: jax" in text


def test_missing_and_old_packages_are_reported(capsys, quick, monkeypatch):
    version = importlib.metadata.version

    def patched(package):
        if package == "optax":
            raise importlib.metadata.PackageNotFoundError(package)
        return "0.1" if package == "rich" else version(package)

    monkeypatch.setattr(importlib.metadata, "version", patched)
    quick("_versions")
    code, out, _ = call(capsys, "--json")
    bad = {c["name"]: c["detail"] for c in json.loads(out)["checks"] if c["status"] == "fails"}
    assert code == 1 and set(bad) == {"optax", "rich"}
    assert bad["optax"] == "not installed; pip install 'optax>=0.2'" and "is needed" in bad["rich"]


def test_a_wrong_engine_is_found(capsys, quick, monkeypatch):
    right = dense.dense_sums

    def wrong(*args):
        num, log_z = right(*args)
        return num.at[-1].multiply(1 + 1e-9), log_z

    monkeypatch.setattr(dense, "dense_sums", wrong)
    monkeypatch.setattr(engines, "_engines", lambda kind, installed: {"dense": dense.ENGINE})
    quick("_kernels")
    code, out, _ = call(capsys, "--json")
    checks = {c["name"]: c["status"] for c in json.loads(out)["checks"]}
    assert code == 1 and checks["dense, float64"] == "fails"


def test_a_check_that_crashes_is_a_finding(capsys, quick, monkeypatch):
    def broken(*args):
        raise RuntimeError("no such\ninstruction")

    monkeypatch.setattr(dense, "dense_sums", broken)
    quick("_kernels")
    code, out, err = call(capsys)
    assert code == 1 and "RuntimeError: no such instruction" in out and "Traceback" not in err


def test_the_cache_folder(capsys, quick, monkeypatch, tmp_path):
    quick("_folders")
    monkeypatch.setenv("ATTNFLOW_CACHE", str(tmp_path / "a" / "b"))
    assert call(capsys)[0] == 0 and not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ATTNFLOW_CACHE", str(tmp_path / "file" / "b"))
    code, out, _ = call(capsys, "--json")
    (check,) = json.loads(out)["checks"]
    assert code == 1 and "is not writable" in check["detail"] and "ATTNFLOW_CACHE" in check["detail"]


def test_sources_on_the_path_run_without_an_installation(capsys, quick, monkeypatch):
    """A package that is not installed has no metadata: runs, citations and the doctor say so and go on."""
    version, requires = importlib.metadata.version, importlib.metadata.requires

    def of_others(known):
        def patched(package):
            if package == "attnflow":
                raise importlib.metadata.PackageNotFoundError(package)
            return known(package)

        return patched

    monkeypatch.setattr(importlib.metadata, "version", of_others(version))
    monkeypatch.setattr(importlib.metadata, "requires", of_others(requires))
    assert provenance()["attnflow"] == "not installed" and "version not installed" in software()
    quick("_versions", "_extras")
    code, out, _ = call(capsys, "--json")
    checks = {c["name"]: (c["status"], c["detail"]) for c in json.loads(out)["checks"]}
    assert code == 0 and checks["attnflow"] == ("info", "not installed")
