"""Where a result came from: versions, machine, options. Plain JSON values, kept with every run."""

import json
import platform
import time
from importlib.metadata import version
from typing import Any


class Provenance(dict[str, Any]):
    """A record that never changes after it is written, so that a `Run` can pass through JAX transformations."""

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(json.dumps(self, sort_keys=True, default=str))


def provenance(**options: Any) -> Provenance:
    """Versions of what computed, when, and the options of the computation (numbers that are being traced: none)."""
    return Provenance(
        attnflow=version("attnflow"),
        jax=version("jax"),
        diffrax=version("diffrax"),
        python=platform.python_version(),
        platform=platform.platform(),
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        options={k: v if isinstance(v, (str, int, float, bool, type(None))) else None for k, v in options.items()},
    )
