"""Where two runs diverge: PyTorch's tensors beside those of a graph, paired by the names of modules."""
