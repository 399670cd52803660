"""The nodes that do a network's work: products of what is computed with weights, or of two things that are computed."""

LAYERS = frozenset(
    [
        *("Conv", "ConvTranspose", "DeformConv", "Einsum", "GRU", "Gemm", "LSTM", "MatMul", "RNN"),
        *("Attention", "ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"),
    ]
)
"""Operators of the standard."""
