"""The explicit schemes with fixed steps, one file each: a `Tableau` under its name."""
