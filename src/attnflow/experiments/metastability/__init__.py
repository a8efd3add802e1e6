"""Dynamic metastability in the self-attention model (Geshkovski, Koubbi, Polyanskiy, Rigollet; arXiv:2410.06833)."""
