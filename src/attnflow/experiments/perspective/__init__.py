"""A mathematical perspective on transformers (Geshkovski, Letrouit, Polyanskiy, Rigollet; arXiv:2312.10794)."""
