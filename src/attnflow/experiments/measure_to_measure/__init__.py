"""Experiments on arXiv:2411.04551, measure-to-measure interpolation with transformers."""
