"""On the number of modes of Gaussian kernel density estimators (arXiv:2412.09080)."""
