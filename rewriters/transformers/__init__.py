"""Rewriters of transformers' models. Imported when one of them is exported."""

from rewriters.transformers import (
    attention_rewriters,
    compilable_check,
    depth,
    dynamic_sizes,
    inverse_sigmoid,
    mobilevit,
    oneformer,
    positions,
    query_detectors,
    swin,
)

__all__ = [
    "attention_rewriters",
    "compilable_check",
    "depth",
    "dynamic_sizes",
    "inverse_sigmoid",
    "mobilevit",
    "oneformer",
    "positions",
    "query_detectors",
    "swin",
]
