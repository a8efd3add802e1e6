"""The report: one file that holds everything, says nothing by colour alone, and cannot be broken by what it shows."""

import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from attnflow.experiments import Claim, Experiment
from attnflow.experiments.folder import RunFolder
from attnflow.experiments.runner import Job, reproduce
from attnflow.report import write_report
from attnflow.report._page import page
from attnflow.report.references import references
from attnflow.report.text import number, seconds

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Structure(HTMLParser):
    """Checks that tags close in order; keeps the attributes seen and the text."""

    def __init__(self):
        super().__init__()
        self.open, self.links, self.text, self.images = [], [], "", []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href")]
        self.images += [dict(attrs)] if tag == "img" else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def compute(cell):
    import xarray

    return xarray.Dataset({"n": cell["n"]})


def picture(results):
    """A line & a <caption>."""
    figure = Figure()
    figure.subplots().plot([0, 1])
    return figure


def claim(name, kind, expected, measured, **more):
    common = {"statement": f"a < b & {name}", "source": "Theorem 1", "provenance": "theorem", **more}
    return Claim(id=name, kind=kind, expected=expected, measure=lambda r: measured, **common)


EXPERIMENT = Experiment(
    id="shown",
    paper="perspective",
    title="Angles <i>&</i> ends",
    summary="Where x < y.",
    cells=lambda scale: [{"n": n, "kind": "<SA>"} for n in (1, 2)],
    compute=compute,
    figures=[picture],
    claims=[
        claim("good", "equal", 1.5, 1.5),
        claim("bad", "equal", [1.0, 2.0, 3.0], [1.0, float("nan"), 3.0]),
        claim("bounded", "at_most", 1e-8, [1e-9, 2e-9]),
        claim("noisy", "equal", 1.0, (1.1, 0.05), tolerance=3, tolerance_kind="sigma", detects=0.25),
        claim("later", "property", True, True, scales=("full",)),
        claim("broken", "equal", 1.0, "nonsense", note="it's odd"),
        claim("flags", "property", True, [True, False], provenance="observation"),
    ],
)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = RunFolder(tmp_path_factory.mktemp("run"))
    path = write_report(folder.root, reproduce([Job(EXPERIMENT)], folder))
    structure = Structure()
    structure.feed(path.read_text())
    return path.read_text(), structure, folder


def test_html_is_well_formed_and_escaped(report):
    html, structure, _ = report
    assert structure.open == [] and html.startswith("<!doctype html>")
    for text in ("Angles <i>&</i> ends", "a < b & good", "Where x < y.", "A line & a <caption>.", "<SA>", "It's odd"):
        assert text in structure.text
    assert "<i>&</i>" not in html and "<SA>" not in html


def test_nothing_is_fetched(report):
    html, structure, _ = report
    assert all(link.startswith(("data:", "#", "https://arxiv.org/")) for link in structure.links)
    assert "<script" not in html and "@import" not in html and "url(" not in html
    (image,) = structure.images
    assert image["src"].startswith("data:image/svg+xml;base64,") and image["alt"]


def test_verdicts_are_shown_in_words_and_signs(report):
    html, structure, _ = report
    assert "3 of 6 claims hold" in structure.text
    for sign, status in (("✓", "holds"), ("✗", "fails"), ("–", "skipped"), ("!", "error")):
        assert re.search(rf'class="status {status}"><b aria-hidden="true">{sign}</b> {status}<', html)
    assert "A measured number is not finite" in structure.text and "1.1 ± 0.05" in structure.text
    assert "detects 0.25" in structure.text and "1 observation among them" in structure.text


def test_everything_needed_to_run_it_again(report):
    _, structure, folder = report
    assert f"attnflow reproduce shown --scale quick --seed 0 --out {folder.root}\n" in structure.text
    for text in ("float64", "jax ", "2 cells in", "A mathematical perspective on Transformers", "@article{"):
        assert text in structure.text


@pytest.mark.parametrize("out", [".", "results/one", "/tmp/of mine/it's", "a;b"])
def test_the_command_to_run_it_again_means_the_same_folder(report, out):
    """Read as a shell would read it, the path is the original one."""
    _, _, folder = report
    structure = Structure()
    structure.feed(page(Path(out), list(folder.records().values())))
    (line,) = [line for line in structure.text.splitlines() if line.startswith("attnflow reproduce")]
    assert shlex.split(line)[-2:] == ["--out", out]


def test_style_is_for_print_and_dark_too(report):
    html, _, _ = report
    assert "@media print" in html and "prefers-color-scheme: dark" in html


def test_figures_lie_beside_it_as_png_and_svg(report):
    _, _, folder = report
    figures = folder.root / "shown" / "figures"
    assert (figures / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (figures / "picture.svg").read_bytes()


def test_the_same_results_give_the_same_page(report):
    html, _, folder = report
    again = write_report(folder.root, list(folder.records().values()))
    assert again.read_text() == html


def test_a_heavy_drawing_is_embedded_as_pixels(report, monkeypatch):
    _, _, folder = report
    monkeypatch.setattr("attnflow.report._page.LARGEST_SVG", 10)
    html = write_report(folder.root, list(folder.records().values())).read_text()
    assert "data:image/png;base64," in html and "svg+xml" not in html


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (1e-8, "10<sup>−8</sup>"),
        (-2.5e-11, "−2.5 · 10<sup>−11</sup>"),
        (3, "3"),
        (True, "true"),
        (None, "–"),
        ("<b>", "&lt;b&gt;"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(("value", "text"), [(0.42, "0.4 s"), (12.3, "12 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")])
def test_seconds(value, text):
    assert seconds(value) == text


def test_references_are_readable():
    (paper,) = references("perspective")
    assert paper.authors == "Borjan Geshkovski, Cyril Letrouit, Yury Polyanskiy and Philippe Rigollet"
    assert paper.title == "A mathematical perspective on Transformers" and "arXiv:2312.10794" in paper.place
    assert references("unknown") == []


def test_every_paper_is_readable_without_tex():
    from attnflow.citations import PAPERS

    for key in PAPERS:
        for paper in references(key):
            assert not set("{}\\") & set(paper.authors + paper.title + paper.place)
            assert paper.authors and paper.title and paper.url
