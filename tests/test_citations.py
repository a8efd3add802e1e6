"""BibTeX for what was used: well formed, complete, and found through models and runs."""

import re
from types import SimpleNamespace

import pytest

from attnflow.citations import PAPERS, cite, software
from attnflow.errors import InputError
from attnflow.registry import Entry

ARXIV = {
    "perspective": ["2312.10794"],
    "metastability": ["2410.06833"],
    "modes": ["2412.09080"],
    "clusters": ["2305.05465"],
    "low-temperature": ["2605.10931"],
    "hardmax": ["2407.01602"],
    "interpolation": ["2502.02270"],
    "unified": ["2501.18322"],
    "causal": ["2605.09213", "2411.04990"],
    "homogenized": ["2604.01978"],
    "perceptron": ["2601.21366"],
    "measure-to-measure": ["2411.04551"],
    "relu-transport": ["2412.19366"],
    "diffeomorphism": ["2602.08606"],
    "time-delayed": ["2602.08478"],
}


def parse(bibtex: str) -> tuple[str, dict[str, str]]:
    """Citation key and fields of one entry whose fields stand one to a line."""
    head, *lines, tail = bibtex.splitlines()
    match = re.fullmatch(r"@[a-z]+\{([a-z0-9]+),", head)
    assert match and tail == "}"
    assert bibtex.count("{") == bibtex.count("}")
    fields = {}
    for line in lines:
        name, value = re.fullmatch(r"  ([a-z]+) += \{(.*)\},", line).groups()  # pyright: ignore
        depths = [value[:i].count("{") - value[:i].count("}") for i in range(len(value) + 1)]
        assert min(depths) == 0 and depths[-1] == 0, line
        fields[name] = value
    return match[1], fields


def eprints(bibtex: str) -> list[str]:
    return re.findall(r"eprint += \{(.*)\}", bibtex)


def test_every_key_has_its_papers():
    assert {key: eprints("\n".join(entries)) for key, entries in PAPERS.items()} == ARXIV


@pytest.mark.parametrize("key", PAPERS)
def test_an_entry_is_complete(key):
    for entry in PAPERS[key]:
        name, fields = parse(entry)
        assert {"title", "author", "year", "eprint", "url"} <= fields.keys()
        assert re.fullmatch(r"20\d\d", fields["year"]) and fields["year"] in name
        assert int(fields["eprint"][:2]) + 2000 <= int(fields["year"])  # published after it was submitted
        assert all(re.fullmatch(r"[^,]+, [^,]+", author) for author in fields["author"].split(" and "))
        assert entry.isascii()  # classic BibTeX reads no accents


def test_citation_keys_are_distinct():
    names = [parse(entry)[0] for entries in PAPERS.values() for entry in entries]
    assert len(set(names)) == len(names) == 16


def test_the_library_comes_last():
    name, fields = parse(software())
    assert name == "attnflow" and "version" in fields["note"]
    assert cite("modes").endswith(f"\n\n{software()}\n")
    assert cite() == cite("attnflow") == f"{software()}\n"


def test_found_through_entry_model_and_run():
    entry = Entry("attention", "some", factory=object, summary="", papers=("modes", "clusters"))
    attention = SimpleNamespace(papers=("perspective",))
    model = SimpleNamespace(papers=("metastability", "perspective"), attention=attention)
    bare_model = SimpleNamespace(attention=attention)
    run = SimpleNamespace(model=model)
    experiment = SimpleNamespace(paper="hardmax")
    assert eprints(cite(entry)) == ["2412.09080", "2305.05465"]
    assert eprints(cite(attention)) == eprints(cite(bare_model)) == ["2312.10794"]
    assert eprints(cite(model)) == eprints(cite(run)) == ["2410.06833", "2312.10794"]  # each paper once
    assert eprints(cite(experiment)) == ["2407.01602"]


def test_an_unknown_key_is_refused_and_the_known_ones_are_listed():
    with pytest.raises(InputError, match="paper 'perspektive' is unknown; the keys are: perspective, metastability,"):
        cite("perspektive")


def test_an_object_without_papers_is_refused():
    with pytest.raises(InputError, match="a SimpleNamespace names no papers; give a paper key"):
        cite(SimpleNamespace(model=None))
