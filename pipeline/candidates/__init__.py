"""The deployments of an evaluation, and what it says of each beside the unpatched model."""
