"""Witnesses: the numbers that claims expect, computed again from the pages of `docs/theory`, in plain NumPy and SciPy.

Nothing here imports attnflow. Each file prints its table when it is run as a script, with all the draws behind the
numbers of the page (`python tests/witnesses/sphere_draws.py`); tests run a small part of it.

`pretrained.py` alone needs more, PyTorch and transformers: it was run once, and what it wrote is in `tests/data`.
"""
