"""Experiments on arXiv:2602.08606, constructive conditional normalizing flows: a diffeomorphism and its push-forward."""
