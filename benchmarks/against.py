"""`python -m benchmarks.against FOLDER [--save NAME]`: this checkout and another one, which take turns.

Each has a process of its own, which computes a piece of work on request and reports how many seconds that took. A
busy machine slows both; the best run of each counts. Where more threads want to run than there are cores, seconds say
little about how work is shared; the processor's time, of all threads together, still says how much work there is.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROUNDS, BUDGET = 40, 10.0  # at most so many turns, and seconds, for a piece of work


def single(
    n: int, d: int, steps: int, causal: bool = False, dtype: str = "float32"
) -> tuple[Callable[[], float], float]:
    """Euler steps of one cloud: what computes them and returns its seconds, and how many pairs they are."""
    import jax

    import attnflow as af
    from attnflow.pairsums import Full

    x0 = af.sphere.uniform(n=n, d=d, key=jax.random.key(0)).astype(dtype)
    model = af.SelfAttention(beta=9.0, pairs=af.Causal() if causal else Full())

    def run() -> float:
        stats = af.simulate(model, x0, t1=0.01 * steps, dt=0.01, solver="euler", save=1, throw=False).stats
        return float(stats["run_seconds"])

    return run, 1.0 * steps * n * n * (0.5 if causal else 1)


def ensemble(n: int, d: int, realizations: int, steps: int, engine: str = "auto") -> tuple[Callable[[], float], float]:
    """The same of many realisations, drawn, and observed ten times."""
    import jax
    import jax.numpy as jnp

    import attnflow as af
    from attnflow.flows import Mean

    def run() -> float:
        stats = af.ensemble(
            af.SelfAttention(beta=9.0),
            lambda key: af.sphere.uniform(n=n, d=d, key=key),
            realizations=realizations,
            ts=jnp.linspace(0, 0.1 * steps, 11)[1:],
            reduce=Mean(lambda t, x, w: jnp.linalg.norm(jnp.mean(x, axis=0))),
            key=jax.random.key(0),
            solver="euler-retract",
            dt=0.1,
            dtype=jnp.float32,
            engine=engine,
        ).stats
        return stats["run_seconds"]

    return run, float(realizations) * n * n * steps


CASES = {
    "one cloud n=256 d=3 float32": lambda: single(256, 3, 200),
    "one cloud n=256 d=64 float32": lambda: single(256, 64, 60),
    "one cloud n=2048 d=3 float32": lambda: single(2048, 3, 60),
    "one cloud n=2048 d=64 float32": lambda: single(2048, 64, 20),
    "one cloud n=2048 d=64 float64": lambda: single(2048, 64, 20, dtype="float64"),
    "one cloud n=16384 d=3 float32": lambda: single(16384, 3, 12),
    "one cloud n=16384 d=64 float32": lambda: single(16384, 64, 12),
    "one cloud n=2048 d=3 causal float32": lambda: single(2048, 3, 60, causal=True),
    "one cloud n=16384 d=3 causal float32": lambda: single(16384, 3, 12, causal=True),
    "ensemble n=32 d=2 float32": lambda: ensemble(32, 2, 1024, 100),
    "ensemble n=32 d=2 float32, 10 steps": lambda: ensemble(32, 2, 4096, 10),
    "ensemble n=32 d=32 float32": lambda: ensemble(32, 32, 512, 50),
    "ensemble n=256 d=3 float32": lambda: ensemble(256, 3, 32, 50),
    "ensemble n=32 d=2 float32 innermost": lambda: ensemble(32, 2, 512, 30, "innermost"),
    "ensemble n=32 d=32 float32 batched": lambda: ensemble(32, 32, 256, 30, "batched"),
}


def work() -> None:
    """Read names of cases, answer with seconds, seconds of the processor, and pairs."""
    import attnflow as af

    af.precision("float64")
    known = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in known:
            known[name] = CASES[name]()
            known[name][0]()  # compiles
        run, pairs = known[name]
        before = resource.getrusage(resource.RUSAGE_SELF)
        seconds = run()
        after = resource.getrusage(resource.RUSAGE_SELF)
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(json.dumps([seconds, busy, pairs]), flush=True)


def start(checkout: Path) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, str(HERE / "against.py"), "--work"]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def turn(process: subprocess.Popen, name: str) -> tuple[float, float, float]:
    assert process.stdin and process.stdout
    print(name, file=process.stdin, flush=True)
    return tuple(json.loads(process.stdout.readline()))


def compare(before: Path) -> list[dict]:
    """Pairs per second of both, in thousand millions, and how many times faster, and cheaper, this checkout is."""
    contestants = {"attnflow": start(HERE.parent), "before": start(before)}
    measured = []
    for name in CASES:
        best, busy = (dict.fromkeys(contestants, float("inf")) for _ in range(2))
        pairs, begin = 0.0, time.perf_counter()
        for k in range(ROUNDS):
            for who, process in contestants.items():
                seconds, cpu, pairs = turn(process, name)
                best[who], busy[who] = min(best[who], seconds), min(busy[who], cpu)
            if k >= 2 and time.perf_counter() - begin > BUDGET:
                break
        rates = {who: pairs / seconds / 1e9 for who, seconds in best.items()}
        ratio, cheaper = rates["attnflow"] / rates["before"], busy["before"] / busy["attnflow"]
        measured.append({"work": name, "gpairs": rates, "ratios": {"before": ratio, "before, processor time": cheaper}})
        print(f"{name:40} {rates['attnflow']:6.2f} Gpair/s  {ratio:5.2f}x, processor {cheaper:5.2f}x", flush=True)
    for process in contestants.values():
        process.communicate()
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("before", type=Path, help="the folder of another checkout")
    parser.add_argument("--save", metavar="NAME", help="also write benchmarks/results/NAME.json")
    arguments = parser.parse_args()
    from .machine import description

    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=arguments.before, capture_output=True, text=True
    )
    record = {"machine": description(), "before": commit.stdout.strip(), "cases": compare(arguments.before.resolve())}
    if arguments.save:
        (HERE / "results" / f"{arguments.save}.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    work() if sys.argv[1:] == ["--work"] else main()
