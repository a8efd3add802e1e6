"""Experiments on arXiv:2501.18322, a unified perspective on the dynamics of deep transformers."""
