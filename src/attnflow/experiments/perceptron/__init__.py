"""Experiments on arXiv:2601.21366, perceptrons and localisation of attention's mean-field landscape."""
