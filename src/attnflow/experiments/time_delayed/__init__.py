"""Experiments on arXiv:2602.08478, time-delayed transformers: every set-up is ours, the paper's are not known to us."""
