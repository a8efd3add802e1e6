"""Experiments on arXiv:2412.19366, transport of densities by ReLU neurons with piecewise constant weights."""
