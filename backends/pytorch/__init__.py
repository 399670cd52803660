"""PyTorch: the unpatched model in eager mode, which all others are compared with."""
