"""Experiments on arXiv:2605.10931, concentration of mean-field transformers at low temperature."""
