"""Where a result came from: versions, machine, options. Plain JSON values, kept with every run."""

import platform
import time
from typing import Any

from ..versions import version


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


def engine_record(requested: str, ran: str | None, passed_over: dict[str, str]) -> dict[str, Any]:
    """The requested engine, the engines that ran (joined by +), and why others did not, by name."""
    names = set() if ran is None else {name.partition(":")[0] for name in ran.split("+")}
    others = {} if ran is None else {k: why for k, why in sorted(passed_over.items()) if k not in names}
    return {"requested": requested, "ran": ran, "passed over": others}
