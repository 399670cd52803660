"""The inverse of the sigmoid in Deformable DETR."""

from transformers.models.deformable_detr import modeling_deformable_detr

from rewriters.attention.inverse_sigmoid import REASON, inverse_sigmoid
from rewriters.patching.rewriter import rewrites

rewrites(
    modeling_deformable_detr, "inverse_sigmoid", reason=REASON, written_for="transformers 5.23", exporter="dynamo"
)(inverse_sigmoid)
