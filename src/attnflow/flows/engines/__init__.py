"""The engines of the trajectories of an ensemble, one file each; `attnflow.engines` says what an engine is."""
