"""Draws the pictures of the README: `python docs/make_images.py`."""

from pathlib import Path

import jax

import attnflow as af

IMAGES = Path(__file__).parent / "images"


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


if __name__ == "__main__":
    sphere()
