"""Every picture, name, command and file that the documents mention exists."""

import ast
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import attnflow as af
from attnflow import registry

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
(PROGRAM,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
PAGES = ["README.md", "CONTRIBUTING.md", "benchmarks/README.md", "docs/speed.md"]
DOCUMENTS = [*PAGES[:3], *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").rglob("*.md")))]


def names(source: str) -> set[str]:
    """Dotted names that start at `af` in a program: `af.sphere.uniform` among others."""

    def dotted(node: ast.expr) -> str:
        return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else getattr(node, "id", "?")

    used = {dotted(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}
    return {name for name in used if name.startswith("af.")}


def named(name: str):
    """What a dotted name that starts at `af` or `attnflow` is: an attribute, or a module that nothing has imported."""
    thing, path = af, "attnflow"
    for part in name.split(".")[1:]:
        path = f"{path}.{part}"
        thing = getattr(thing, part) if hasattr(thing, part) else importlib.import_module(path)
    return thing


def in_rooms(name: str) -> list:
    """All that a name without dots stands for at the front door, in a room, or in a module of a room."""
    places = [af, *(importlib.import_module(f"attnflow.{m.name}") for m in pkgutil.iter_modules(af.__path__, "")
                    if m.ispkg or m.name in ("registry", "engines"))]  # fmt: skip
    return [getattr(place, name) for place in places if hasattr(place, name)]


def test_every_name_of_the_example_exists():
    used = names(PROGRAM)
    assert {"af.sphere.uniform", "af.SelfAttention", "af.simulate", "af.energy", "af.plot.tokens", "af.cite"} <= used
    for name in used:
        named(name)


@pytest.mark.parametrize("page", DOCUMENTS)
def test_every_name_of_a_document_exists(page):
    for name in set(re.findall(r"(?<![\w./:-])(?:af|attnflow)(?:\.[A-Za-z_]\w*)+", (ROOT / page).read_text())):
        named(name)


def calls(text: str) -> list[tuple[str, list[str]]]:
    """Calls in a document, each with the names of its arguments."""
    matches = re.findall(r"(?<![\w/.])([A-Za-z_][\w.]*)\(((?:[^()`]|\([^()`]*\))*)\)", text)
    outer = [(name, re.sub(r"\([^()]*\)", "", inside)) for name, inside in matches]
    return [(name, re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)\s*=(?!=)", inside)) for name, inside in outer]


def accepts(function, argument: str) -> bool:
    parameters = inspect.signature(function).parameters
    return argument in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def test_every_argument_of_a_call_in_a_document_exists():
    checked = 0
    for page in DOCUMENTS:
        for name, arguments in calls((ROOT / page).read_text()):
            candidates = [named(name)] if name.startswith("af.") else in_rooms(name) if "." not in name else []
            for argument in arguments if candidates else []:
                assert any(accepts(function, argument) for function in candidates), f"{page}: {name}({argument}=)"
                checked += 1
    assert checked > 50


@pytest.mark.parametrize("page", DOCUMENTS)
def test_every_file_a_document_names_exists(page):
    """Files with a folder: a path from the root, from the page, from the package, or from a folder of experiments."""
    package = ROOT / "src" / "attnflow"
    roots = [ROOT, (ROOT / page).parent, ROOT / "src", package, *(package / "experiments").iterdir()]
    for path in re.findall(r"`((?:[\w.-]+/)+[\w-]+\.(?:py|cc|md|json|toml))`", (ROOT / page).read_text()):
        assert "NAME" in path or any((root / path).exists() for root in roots), path


def test_the_example_runs_as_it_is_written(tmp_path):
    """Pasted into a file of one's own, in a process without the strictness of these tests."""
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", "program.py"],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "2312.10794" in done.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["program.py", "run.nc", "tokens.gif"]
    assert (tmp_path / "tokens.gif").read_bytes().startswith(b"GIF8")
    run = af.load(tmp_path / "run.nc")
    assert run.xs.shape == (201, 64, 3) and run.xs.dtype == "float64"
    assert 1 < af.energy(run)[-1] / af.energy(run)[0]


def test_every_command_of_the_table_exists():
    mentioned = set(re.findall(r"`attnflow ([a-z]+)", README))
    shown = subprocess.run([sys.executable, "-m", "attnflow", "--help"], capture_output=True, text=True, check=True)
    assert mentioned and mentioned <= set(re.findall(r"^\W*([a-z]+)  ", shown.stdout, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_lead_somewhere(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def test_pictures_are_small():
    pictures = list((ROOT / "docs" / "images").iterdir())
    assert pictures and all(p.stat().st_size < 300_000 for p in pictures)


def test_every_make_target_of_a_document_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    pages = "\n".join((ROOT / page).read_text() for page in PAGES)
    mentioned = set(re.findall(r"(?:^    |`)make ([a-z]+)\b", pages, re.MULTILINE))
    assert {"demo", "test"} <= mentioned <= targets


def commands(target: str, folder: Path) -> str:
    """What make would do on a machine where nothing is set up."""
    command = ["make", "--dry-run", "--always-make", target, f"VENV={folder}/venv", f"BENCH={folder}/bench"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_only_those_who_test_install_the_tools_for_it(tmp_path):
    """The demonstration is to be quick on a fresh machine: it installs the package and nothing else."""
    demo, test, lint = (commands(target, tmp_path) for target in ("demo", "test", "lint"))
    assert "--editable ." in demo and "[dev]" not in demo and "reproduce" in demo
    assert "[dev]" in lint and "ruff" in lint and "pyright" in lint
    assert "[dev]" in test and "pytest" in test
    assert "[dev]" in commands("bench", tmp_path)  # it measures the page, in the browser of the tests


def test_the_benchmarks_can_be_imported(monkeypatch):
    """They run rarely, and use names of the library that may have moved since."""
    monkeypatch.syspath_prepend(str(ROOT))
    for program in (ROOT / "benchmarks").glob("*.py"):
        assert importlib.import_module(f"benchmarks.{program.stem}")


def test_a_deprecation_in_our_code_is_an_error():
    """The filter of pyproject.toml looks at the module that is warned, not at the words of the warning."""
    for module in ("attnflow", "attnflow.flows.simulate"):
        with pytest.raises(DeprecationWarning, match="old"):
            warnings.warn_explicit("old", DeprecationWarning, "file.py", 1, module=module, registry={})
    with warnings.catch_warnings(record=True) as caught:
        warnings.warn_explicit("a word about attnflow", DeprecationWarning, "file.py", 1, module="others", registry={})
    assert len(caught) == 1


def test_claims_name_sections_that_are_there():
    """Every section of the project's own pages that a claim gives as the source of its number."""
    sources = [s for e in registry.entries("experiment").values() for c in e.claims for s in c.source.split("; ")]
    cited = [source for source in sources if ".md" in source]
    assert len(cited) > 200
    for source in cited:
        page, _, section = source.partition(", ")
        headings = [line.lstrip("#").strip() for line in (ROOT / page).read_text().splitlines() if line[:2] == "##"]
        assert not section or section in headings, source
