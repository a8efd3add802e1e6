"""Experiments on causal attention: arXiv:2605.09213 (prompts, lost in the middle) and arXiv:2411.04990 (clustering)."""
