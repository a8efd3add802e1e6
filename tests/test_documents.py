"""What the front page promises is there: its picture, its names, its commands, its files."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import attnflow as af

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = ["README.md", "CONTRIBUTING.md", "benchmarks/README.md"]


def names(source: str) -> set[str]:
    """Dotted names that start at `af` in a program: `af.sphere.uniform` among others."""

    def dotted(node: ast.expr) -> str:
        return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else getattr(node, "id", "?")

    found = {dotted(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}
    return {name for name in found if name.startswith("af.")}


def test_every_name_of_the_example_exists():
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    used = names(program)
    assert {"af.sphere.uniform", "af.SelfAttention", "af.simulate", "af.energy", "af.plot.tokens", "af.cite"} <= used
    for name in used:
        thing = af
        for part in name.split(".")[1:]:
            thing = getattr(thing, part)


def test_every_command_of_the_table_exists():
    told = set(re.findall(r"`attnflow ([a-z]+)", README))
    shown = subprocess.run([sys.executable, "-m", "attnflow", "--help"], capture_output=True, text=True, check=True)
    assert told and told <= set(re.findall(r"^\W*([a-z]+)  ", shown.stdout, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_lead_somewhere(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def test_pictures_are_small():
    pictures = list((ROOT / "docs" / "images").iterdir())
    assert pictures and all(p.stat().st_size < 300_000 for p in pictures)


def test_every_make_target_that_is_told_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    pages = "\n".join((ROOT / page).read_text() for page in PAGES)
    told = set(re.findall(r"(?:^    |`)make ([a-z]+)\b", pages, re.MULTILINE))
    assert {"demo", "test"} <= told <= targets
