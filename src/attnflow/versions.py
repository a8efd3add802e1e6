"""Versions of installed distributions, also of one that runs from its sources."""

import importlib.metadata

NOT_INSTALLED = "not installed"


def version(distribution: str) -> str:
    """The version that is installed; a package that is only on the path has none."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return NOT_INSTALLED


def requirements(distribution: str) -> list[str]:
    """What a distribution needs, as its metadata say; one that is not installed has none."""
    try:
        return importlib.metadata.requires(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        return []
