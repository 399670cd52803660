"""Parity: the proof that a deployment is the unpatched PyTorch model. Two comparisons, both gate publishing."""
