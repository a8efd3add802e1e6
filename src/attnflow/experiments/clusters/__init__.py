"""Emergence of clusters in self-attention dynamics (Geshkovski, Letrouit, Polyanskiy, Rigollet; arXiv:2305.05465)."""
