"""How fast it is, apart from whether it is right (that is what tests are for)."""
