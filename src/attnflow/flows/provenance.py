"""Where a result came from: versions, machine, options. Plain JSON values, kept with every run."""

import platform
import time
from importlib.metadata import version
from typing import Any


def provenance(**options: Any) -> dict[str, Any]:
    """Versions of what computed, when, and the options of the computation (numbers that are being traced: none)."""
    return dict(
        attnflow=version("attnflow"),
        jax=version("jax"),
        diffrax=version("diffrax"),
        python=platform.python_version(),
        platform=platform.platform(),
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        options={k: v if isinstance(v, (str, int, float, bool, type(None))) else None for k, v in options.items()},
    )
