"""Experiments on arXiv:2502.02270, exact interpolation of sequences with transformers."""
