"""Where two runs part: PyTorch's tensors beside those of a graph, paired by the names of modules."""
