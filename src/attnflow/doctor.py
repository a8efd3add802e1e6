"""Is this installation sound? Versions, devices, precision, pair sums against NumPy, engines, extras, cache.

Nothing here raises: an error in a check is the finding of that check. JAX's global settings are left alone.
"""

import math
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from .files import cache_folder
from .threads import usable_cores
from .versions import NOT_INSTALLED, requirements, version

Status = Literal["ok", "warning", "fails", "info"]

BAD_JAX = "0.10.2"
WHY_BAD = (
    f"jax {BAD_JAX} computes wrong numbers on the CPU (a vmapped matrix-vector product followed by a sum, "
    "jax-ml/jax issue 39103); install another: pip install 'jax!=0.10.2' 'jaxlib!=0.10.2'"
)


@dataclass(frozen=True)
class Check:
    """One finding: what was checked, its status, the detail in words, and the number that was measured."""

    section: str
    name: str
    status: Status
    detail: str
    value: float | None = None


@dataclass(frozen=True)
class Diagnosis:
    """All findings; `ok` if none of them fails."""

    checks: tuple[Check, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        return not any(check.status == "fails" for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        return {"ok": self.ok, "seconds": round(self.seconds, 3), "checks": [asdict(c) for c in self.checks]}


def diagnose() -> Diagnosis:
    """Run all checks; this takes a few seconds."""
    start = time.perf_counter()
    sections = (_versions, _machine, _precision, _kernels, _engines, _extras, _folders)
    checks = tuple(check for section in sections for check in _guarded(section))
    return Diagnosis(checks, time.perf_counter() - start)


def _guarded(section: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    name = section.__name__.strip("_")
    try:
        yield from section()
    except Exception as error:
        yield Check(name, name, "fails", " ".join(f"{type(error).__name__}: {error}".split()))


def _versions() -> Iterator[Check]:
    from packaging.requirements import Requirement

    yield Check("versions", "python", "ok", platform.python_version())
    own = version("attnflow")
    yield Check("versions", "attnflow", "info" if own == NOT_INSTALLED else "ok", own)
    for text in requirements("attnflow"):
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        present = version(requirement.name)
        if requirement.name in ("jax", "jaxlib") and present == BAD_JAX:
            yield Check("versions", requirement.name, "fails", f"{present}: {WHY_BAD}")
        elif present == NOT_INSTALLED:
            yield Check("versions", requirement.name, "fails", f"not installed; pip install '{text}'")
        elif not requirement.specifier.contains(present, prereleases=True):
            yield Check("versions", requirement.name, "fails", f"{present}, and {requirement.specifier} is needed")
        else:
            yield Check("versions", requirement.name, "ok", present)


def _machine() -> Iterator[Check]:
    import jax

    devices = ", ".join(f"{d.platform}:{d.id} {d.device_kind}".strip() for d in jax.devices())
    yield Check("machine", "devices", "ok", devices)
    names = ("NPROC", "OMP_NUM_THREADS", "XLA_FLAGS", "JAX_NUM_CPU_DEVICES")
    limits = [f"{name}={os.environ[name]}" for name in names if name in os.environ]
    detail = f"{usable_cores()} of {os.cpu_count()} cores{''.join(f', {limit}' for limit in limits)}"
    yield Check("machine", "threads", "info", detail, float(usable_cores()))


def _precision() -> Iterator[Check]:
    import jax
    import jax.numpy as jnp
    import numpy as np

    with jax.enable_x64(True):
        n = 100_000
        total = jax.jit(lambda k: jnp.sum(1 / k**2))(jnp.arange(1, n + 1, dtype=jnp.float64))
        exact = math.fsum(1 / k**2 for k in range(1, n + 1))
        error = abs(float(total) - exact) / exact
        really = total.dtype == jnp.float64 and error < 1e-13
        yield Check("precision", "float64 sum", "ok" if really else "fails", f"relative error {error:.1e}", error)
        for dtype, rows, tolerance in (("float32", 32_769, 1e-3), ("float64", 32_768, 1e-11)):
            rng = np.random.default_rng(0)
            x, B = rng.normal(size=(rows, 3)).astype(dtype), rng.normal(size=(3, 3)).astype(dtype)
            result = jax.jit(jax.vmap(lambda row, B=B: jnp.sum((B @ row) ** 2)))(x)
            expected = ((x @ B.T) ** 2).sum(axis=1)
            error = float(np.max(np.abs(np.asarray(result) - expected) / expected))
            right = error < tolerance
            detail = f"relative error {error:.1e}" + ("" if right else f"; {WHY_BAD}")
            yield Check("precision", f"jax issue 39103, {dtype}", "ok" if right else "fails", detail, error)


def _kernels() -> Iterator[Check]:
    """Softmax sums with weights, one of them zero, in sizes that fill no tile."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from .engines import engines
    from .pairsums import Exponential, Inner, Problem, pair_sums
    from .pairsums.native_library import native

    ready, detail = native()
    yield Check("kernels", "for this processor", "ok" if ready else "info", detail)
    rng = np.random.default_rng(1)
    x, y, values, w = rng.normal(size=(601, 3)), rng.normal(size=(1103, 3)), rng.normal(size=(1103, 2)), np.ones(1103)
    w[7] = 0
    with np.errstate(divide="ignore"):
        log_w = np.log(w / w.sum())
    scores = 2.0 * x @ y.T + log_w
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    mean, log_z = e @ values / e.sum(axis=1, keepdims=True), np.log(e.sum(axis=1)) + scores.max(axis=1)
    for name, engine in engines("pair-sum engine").items():
        for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-4)):
            problem = Problem(601, 1103, 3, 2, 3, jnp.dtype(dtype), Inner(2.0), Exponential(), exact=False, unit=False)
            if engine.why_not(problem) is not None:
                continue
            with jax.enable_x64(dtype == "float64"):
                arrays = [jnp.asarray(a, dtype) for a in (x, y, values, log_w)]
                result = jax.jit(
                    lambda x, y, v, log_w, name=name: pair_sums(
                        Inner(jnp.asarray(2.0, x.dtype)), x, y, v, log_w=log_w, kernel=name
                    )
                )(*arrays)
                pairs = zip(result, (mean, log_z), strict=True)
                error = max(float(np.max(np.abs(np.asarray(a) - b))) for a, b in pairs)
            right = error < tolerance and result[0].dtype == dtype
            yield Check("kernels", f"{name}, {dtype}", "ok" if right else "fails", f"error {error:.1e}", error)


def _engines() -> Iterator[Check]:
    """Which engine three examples are computed by, and why the others are passed over."""
    import jax
    import jax.numpy as jnp

    from .engines import choose
    from .flows import Ensemble, SumsOfRun
    from .models import SelfAttention
    from .spaces import sphere

    with jax.enable_x64(True):
        model = SelfAttention(beta=9.0)
        for name, n, d in (("simulate, 200 tokens on a sphere", 200, 3), ("simulate, 5000 on a circle", 5000, 2)):
            x = jnp.broadcast_to(jnp.eye(1, d, dtype=jnp.float64), (n, d))
            yield _choice(name, SumsOfRun(model, x).choose()[1])
        problem = Ensemble(model, sphere.uniform(n=32, d=2, key=jax.random.key(0)))
        yield _choice("ensemble, 32 on a circle", choose("trajectory engine", problem))


def _choice(name: str, choice: Any) -> Check:
    others = "; ".join(f"{other}: {reason}" for other, reason in choice.passed_over.items())
    return Check("engines", name, "info", f"{choice.engine.full_name}; not {others}")


def _extras() -> Iterator[Check]:
    """Which optional parts are installed; nothing here can fail."""
    groups: dict[str, list[str]] = {}
    for text in requirements("attnflow"):
        extra = re.search(r"extra\s*==\s*['\"]([\w.-]+)['\"]", text)
        if extra:
            groups.setdefault(extra.group(1), []).append(re.split(r"[^\w.-]", text, maxsplit=1)[0])
    for extra, packages in groups.items():
        missing = [p for p in packages if version(p) == NOT_INSTALLED]
        detail = "installed" if not missing else f"without {', '.join(missing)}: pip install 'attnflow[{extra}]'"
        yield Check("extras", extra, "ok" if not missing else "info", detail)
    ffmpeg = shutil.which("ffmpeg")
    yield Check("extras", "ffmpeg", "ok" if ffmpeg else "info", ffmpeg or "not found: films are GIFs, not MP4s")


def _folders() -> Iterator[Check]:
    folder = cache_folder()
    made = [p for p in (folder, *folder.parents) if not p.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"attnflow")
        yield Check("folders", "cache", "ok", f"{folder} is writable")
    except OSError as error:
        detail = f"{folder} is not writable ({error.strerror}); name another with ATTNFLOW_CACHE"
        yield Check("folders", "cache", "fails", detail)
    finally:
        for path in made:  # the check leaves no file
            if path.is_dir():
                path.rmdir()
