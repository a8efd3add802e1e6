"""Draws the pictures of the README and of docs/speed.md: `python docs/make_images.py [NAME ...]`."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

import attnflow as af

HERE = Path(__file__).parent
IMAGES, RESULTS = HERE / "images", HERE.parent / "benchmarks" / "results"
COLOURS = {
    "attnflow": "blue",
    "plain XLA": "sky",
    "NumPy": "yellow",
    "PyTorch eager": "orange",
    "torch SDPA": "vermillion",
    "KeOps": "purple",
}


def sphere() -> None:
    """64 tokens on the sphere and their energy."""
    af.precision("float64")
    x0 = af.sphere.uniform(n=64, d=3, key=jax.random.key(0))
    run = af.simulate(af.SelfAttention(beta=9.0), x0, t1=30.0)
    with af.plot.style():
        figure = af.plot.new_figure(9.6, 4.2)
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1), gridspec_kw={"wspace": 0.06})
        af.plot.tokens(run, ax=left)
        af.plot.energy(run, ax=right)
        right.set_title("their energy climbs from plateau to plateau")
    af.plot.save(figure, IMAGES / "sphere.png", dpi=130)


def lost_in_the_middle() -> None:
    """What the last token still knows of each earlier one: simulated, and in closed form."""
    af.precision("float64")
    setting = {"beta": 1.0, "context_slope": 1.0, "modes": 6}
    estimate = af.reductions.causal.estimate_correlations(jax.random.key(0), n=128, t=1.0, replicas=10_000, **setting)
    edges = (0, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 127)
    figure = af.plot.retrieval_profile(1.0, **setting, points=estimate.profile(edges=edges), n=128)
    af.plot.save(figure, IMAGES / "lost-in-the-middle.png", dpi=130)


def words() -> None:
    """The letters of one word become those of another."""
    from make_words import build

    af.precision("float64")
    build().animate(IMAGES / "words.gif", frames=1, fps=10, dpi=60, camera=(0, 0))


def moons() -> Any:
    """A normal law becomes two half-moons: 44 neurons in five blocks, chosen by hand."""
    from scipy.stats import norm

    from attnflow.constructions import MonotonePL, Schedule, ShearProfile

    e1, e2 = np.eye(2)
    mass = np.array([0.505, 0.6, 0.7, 0.8, 0.9, 0.99])
    x, y = norm.ppf(mass), 0.25 + 4.4 * (mass - 0.5)
    ends = {"left_slope": 0.3, "right_slope": 0.3}
    split = MonotonePL(e1, [*-x[::-1], *x], [*-y[::-1], *y], **ends)
    thin = MonotonePL(e2, [-1.0, 1.0], [-0.13, 0.13])
    angle = np.linspace(0, np.pi, 9)
    along, height = -1.35 - 1.1 * np.cos(angle), 0.5 + 1.1 * np.sin(angle)
    bend = ShearProfile(e1, e2, [*along, *(along + 2.7)], [*height, *-height])
    slide = ShearProfile(e2, e1, [-0.15, 0.15], [-0.8, 0.8])
    close = MonotonePL(e2, [-0.3, 0.3], [-0.03, 0.03], left_slope=1.0, right_slope=1.0)
    return Schedule([split, thin, bend, slide, close])


def relu_schedule() -> None:
    """Its exact density after every block."""
    schedule, reach, cells = moons(), 3.0, 400
    side = np.linspace(-reach, reach, 2 * cells + 1)[1::2]
    points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    normal = lambda x: -0.5 * (x**2).sum(axis=1) - np.log(2 * np.pi)  # noqa: E731
    with af.plot.style():
        figure = af.plot.new_figure(9.6, 2.0)
        panels = figure.subplots(1, 6, sharey=True)
        names = ("normal law", "split", "thin", "bend", "slide", "close")
        for k, (ax, name) in enumerate(zip(panels, names, strict=True)):
            log = type(schedule)(schedule.blocks[:k]).log_density(points, normal) if k else normal(points)
            shades = np.exp(log).reshape(cells, cells) ** 0.6
            darkest = np.quantile(shades[shades > 0], 0.998)
            place = {"origin": "lower", "extent": (-reach, reach, -reach, reach), "vmin": 0, "vmax": darkest}
            ax.imshow(shades, cmap=af.plot.HEAT, **place)
            ax.set(title=name, xticks=(-2, 0, 2), yticks=(-2, 0, 2))
    af.plot.save(figure, IMAGES / "relu-schedule.png", dpi=130)


def relu_timeline() -> None:
    """Its neurons against time."""
    points = np.random.default_rng(0).normal(size=(4000, 2))
    af.plot.save(moons().timeline(points), IMAGES / "relu-timeline.png", dpi=120)


def relu_transport() -> None:
    """A normal law becomes two half-moons along a field: six times of the way, and a film."""
    from attnflow.experiments.relu_transport.targets import in_plane

    af.precision("float64")
    base = af.constructions.laws.StandardNormal(2)
    schedule = af.transport(base, in_plane("moons"), budget=467, method="field").schedule
    x = base.sample(400, key=jax.random.key(0))
    # Small enough for the repository.
    schedule.animate(IMAGES / "relu-transport.gif", x, base, frames=20, fps=5, dpi=42)


def transport_errors() -> None:
    """Errors on the line against switches, with the predicted constants; the half-moons by all methods."""
    import tempfile

    from attnflow.experiments.relu_transport import line, plane, shapes

    for module, figures in (
        (line, ("error_against_switches", "truncated_divergence")),
        (plane, ("divergence_against_switches", "moons_three_ways")),
        (shapes, ("shapes_and_copies",)),
    ):
        with tempfile.TemporaryDirectory() as folder:
            module.EXPERIMENT.reproduce(folder)
            results = module.EXPERIMENT.results(folder)
            for draw in module.EXPERIMENT.figures:
                if draw.__name__ in figures:
                    name = draw.__name__.replace("_", "-")
                    af.plot.save(draw(results), IMAGES / f"transport-{name}.png", dpi=110)


def two_cores() -> None:
    """The record of two cores as bars."""
    record = json.loads((RESULTS / "two-cores.json").read_text())
    cases = {case["work"]: case["gpairs"] for case in record["cases"]}
    _bars(cases, "two cores of a CPU", IMAGES / "speed-two-cores.png")


def one_gpu() -> None:
    """The record of a GPU as bars; engines that XLA makes by itself are one of the rivals."""
    record = json.loads((RESULTS / "h200.json").read_text())
    ours = {"attnflow direct": "attnflow", "attnflow fused": "attnflow"}
    plain = {"attnflow blocked": "plain XLA", "attnflow batched": "plain XLA"}
    names = {**ours, **plain, "PyTorch eager": "PyTorch eager", "torch SDPA": "torch SDPA"}
    cases = {
        work: {names[who]: numbers["gpairs"] for who, numbers in speeds.items() if who in names}
        for work, speeds in record["cases"].items()
    }
    _bars(cases, record["machine"]["gpu"], IMAGES / "speed-gpu.png")


def growth() -> None:
    """Seconds of one evaluation against the number of tokens."""
    cores, gpu = (json.loads((RESULTS / name).read_text()) for name in ("two-cores.json", "h200.json"))
    chosen = "d=2 beta=16 float64"
    spectral = [case for case in cores["spectral"] if case["work"].endswith(chosen)]
    tokens = np.array([int(re.findall(r"n=(\d+)", case["work"])[0]) for case in spectral])
    seconds = np.array([case["seconds"] for case in spectral])
    direct = np.array([case["seconds"] * case["ratios"]["blocked"] for case in spectral])
    on_gpu = {name: np.array(gpu["growth, d=3"][name]) for name in ("tokens", "seconds")}
    curves = [
        ("two cores, all pairs, float64, scaled up from 512 queries", tokens, direct, "vermillion", "s"),
        ("GPU, all pairs, d = 3, float32", on_gpu["tokens"], on_gpu["seconds"], "green", "^"),
        ("two cores, spectral sums on the circle, float64", tokens, seconds, "blue", "o"),
    ]
    with af.plot.style():
        figure = af.plot.new_figure(6.4, 4.4)
        ax = figure.subplots()
        for label, n, took, colour, mark in curves:
            slope = np.polyfit(np.log(n[-3:]), np.log(took[-3:]), 1)[0]
            ax.loglog(n, took, mark + "-", color=af.plot.PALETTE[colour], label=f"{label}: slope {slope:.2f}")
        ax.set_xlabel("tokens $n$")
        ax.set_ylabel("seconds of one evaluation")
        ax.grid(True)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16))
    af.plot.save(figure, IMAGES / "speed-growth.png", dpi=130)


def _bars(cases: dict[str, dict[str, float]], title: str, path: Path) -> None:
    """Pairs per second, a group of bars for each work; ours says how often the fastest rival fits into it."""
    rows: list[tuple[float, str, float, str]] = []
    ticks, place = [], 0.0
    for work, numbers in cases.items():
        first = place
        fastest = max(speed for who, speed in numbers.items() if who != "attnflow")
        for who in (name for name in COLOURS if name in numbers):
            ratio = f"{numbers[who] / fastest:.1f}x" if who == "attnflow" else ""
            rows.append((place, who, numbers[who], ratio))
            place += 1
        ticks.append(((first + place - 1) / 2, work.replace(" float", "\nfloat")))
        place += 0.9
    with af.plot.style():
        figure = af.plot.new_figure(7.6, 1.0 + 0.155 * place)
        ax = figure.subplots()
        drawn: dict[str, Any] = {}
        for y, who, speed, ratio in rows:
            drawn[who] = ax.barh(y, speed, height=0.92, color=af.plot.PALETTE[COLOURS[who]])
            if ratio:
                ax.text(speed * 1.08, y, ratio, va="center", fontsize=8, fontweight="bold")
        ax.set_xscale("log")
        ax.set_yticks(*zip(*ticks, strict=True), fontsize=8)
        ax.set_ylim(place, -1)
        ax.set_xlim(right=4 * max(speed for _, _, speed, _ in rows))
        ax.tick_params(axis="y", length=0)
        ax.grid(True, axis="x")
        ax.set_xlabel("thousand million pairs of tokens per second (logarithmic)")
        ax.set_title(f"{title}: bold is attnflow over its fastest rival")
        figure.legend(drawn.values(), drawn.keys(), loc="outside lower center", ncols=len(drawn))
    af.plot.save(figure, path, dpi=130)


PICTURES = {
    "sphere": sphere,
    "lost-in-the-middle": lost_in_the_middle,
    "words": words,
    "relu-schedule": relu_schedule,
    "relu-timeline": relu_timeline,
    "relu-transport": relu_transport,
    "transport-errors": transport_errors,
    "two-cores": two_cores,
    "gpu": one_gpu,
    "growth": growth,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()
