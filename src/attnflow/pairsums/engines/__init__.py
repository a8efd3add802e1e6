"""The engines of sums over pairs, one file each; `attnflow.engines` says what an engine is."""
