"""Experiments on arXiv:2604.01978, homogenised limits of transformers with random layers."""
