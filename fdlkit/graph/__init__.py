"""One neutral form of a config: paths, references, snapshots, equality, build."""
