"""A newcomer's attention map: the example of CONTRIBUTING, in a package of its own, works everywhere."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import attnflow as af
from attnflow import registry
from attnflow.errors import AttnflowWarning, FileError

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
(MAP,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(POINT,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def distribution(folder, name, entry_points):
    """What an installer writes: metadata and entry points of a distribution."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the page's one file, installed as its `pyproject.toml` lines say."""
    folder = tmp_path_factory.mktemp("site")
    package = folder / "my_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "rectified.py").write_text(MAP)
    (group,), (name, value) = re.findall(r'entry-points\."(.*)"\]', POINT), re.findall(r'(\w+) = "(.*)"', POINT)[0]
    distribution(folder, "my_package", f"[{group}]\n{name} = {value}\n")
    return folder


def run(site, *arguments, cwd=ROOT, code=0):
    """A command in a process that has the site folder on its path."""
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_the_page_shows_one_file_and_one_line():
    assert MAP.count("class ") == 1 and MAP.count("ENTRY = Entry(") == 1
    assert "rectified" not in registry.entries("attention")  # not here: only where it is installed


def test_the_property_tests_check_it(site):
    """The same tests as for the maps of the library, selected by its name, find it by themselves and pass."""
    done = run(site, "-m", "pytest", "tests/test_properties.py", "-k", "rectified", "-vv", "-p", "no:cacheprovider")
    passed = set(re.findall(r"::(\w+)\[rectified(?:-\w+)?\] PASSED", done.stdout))
    assert {"test_permutation", "test_rotation", "test_splitting_a_weight", "test_vmap_equals_a_loop"} <= passed
    assert {"test_tokens_stay_on_the_sphere", "test_gradient_of_the_field", "test_precision_is_kept"} <= passed
    assert "FAILED" not in done.stdout and "ERROR" not in done.stdout


def test_the_property_tests_find_a_false_promise(tmp_path):
    """A map that declares a symmetry it does not have fails them."""
    call = "    def __call__(self, x, *a, **k):\n        return x[:1, :1] * super().__call__(x, *a, **k)\n"
    reduce = "    @property\n    def reduce"
    lie = MAP.replace(reduce, f"{call}\n{reduce}").replace("rectified", "crooked")
    (tmp_path / "crooked_map.py").write_text(lie)
    distribution(tmp_path, "crooked", "[attnflow.attention]\ncrooked = crooked_map:ENTRY\n")
    chosen = "crooked and (permutation or rotation) and not flows"
    done = run(tmp_path, "-m", "pytest", "tests/test_properties.py", "-k", chosen, "-p", "no:cacheprovider", code=1)
    assert len(re.findall(r"FAILED .*test_(?:permutation|rotation)\[crooked", done.stdout)) == 4


def test_the_command_knows_it(site, tmp_path):
    """`list` shows it, `simulate` runs it with the flag of its parameter, and the run remembers it."""
    listing = json.loads(run(site, "-m", "attnflow", "list", "--json").stdout)
    (entry,) = [e for e in listing["attention"] if e["name"] == "rectified"]
    assert entry["params"]["beta"]["default"] == 1.0 and entry["summary"] == "negative scores have no weight"
    flags = ("--attention", "rectified", "--beta", "2", "--n", "5", "--d", "3", "--t1", "0.5", "--out", "run.nc")
    done = run(site, "-m", "attnflow", "simulate", *flags, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["clock"] == "rectified"
    look = "import attnflow as af; af.precision('float64'); a = af.load('run.nc').model.attention; print(a.beta)"
    assert run(site, "-c", look, cwd=tmp_path).stdout == "2.0\n"
    with pytest.raises(FileError, match=r"Rectified'?, which is not installed here; install its plugin\.$"):
        af.load(tmp_path / "run.nc")


def test_a_broken_plugin_only_warns(tmp_path, monkeypatch):
    (tmp_path / "exploding.py").write_text("raise RuntimeError('boom')\n")
    points = "[attnflow.attention]\nmissing = nowhere.to.be.found:ENTRY\nboom = exploding:ENTRY\nnothing = json:loads\n"
    distribution(tmp_path, "broken", points)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.warns(AttnflowWarning) as caught:
        entries = registry.entries("attention")
    messages = [str(w.message) for w in caught]
    assert any("'missing'" in m and "could not be loaded" in m for m in messages)
    assert any("'boom'" in m and "boom" in m for m in messages)
    assert "softmax" in entries and not {"missing", "boom", "nothing"} & set(entries)
