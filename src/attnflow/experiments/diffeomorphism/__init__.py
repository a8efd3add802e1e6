"""Experiments on arXiv:2602.08606, constructive conditional normalizing flows: maps and the laws they make."""
