"""Real data sets for tests: those in the cache of this machine, or fetched."""

import os
from pathlib import Path

import pytest

from attnflow.errors import FileError
from attnflow.files import cache_folder
from attnflow.language import DATA, fetch

USUAL = cache_folder()  # what a user of this machine has, whatever a test sets later


def use_imdb(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look into the usual cache, and skip if it does not hold the large set."""
    monkeypatch.setenv("ATTNFLOW_CACHE", str(USUAL))
    if not DATA["imdb"].present:
        pytest.skip("data set imdb is not in the cache; attnflow data imdb fetches it")


def use_vader(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Look into a cache that holds the short texts: 2.5 MB, fetched if need be; on the build machine they must come."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "attnflow-cache"  # one for all workers
    for folder in (USUAL, shared):
        monkeypatch.setenv("ATTNFLOW_CACHE", str(folder))
        if DATA["vader"].present:
            return
    try:
        fetch("vader")
    except FileError as error:
        pytest.fail(str(error)) if os.environ.get("CI") == "true" else pytest.skip(str(error))
    assert Path(shared).is_dir()
