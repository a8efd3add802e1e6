"""Experiments on arXiv:2407.01602, clustering in pure-attention hardmax transformers and sentiment analysis."""
