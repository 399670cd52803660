"""OneFormer's decoder without operators whose output size depends on the data."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor
from transformers.models.oneformer import modeling_oneformer

from rewriters.patching.rewriter import rewrites


@rewrites(
    modeling_oneformer.OneFormerTransformerDecoderLayer,
    "forward",
    reason="an assignment by indices (NonZero), which TensorRT for RTX refuses, where an and of masks does the same",
    written_for="transformers 5.23",
)
def layer_with_masks(
    _original: Callable[..., Any],
    self: Any,
    index: int,
    output: Tensor,
    multi_stage_features: Sequence[Tensor],
    multi_stage_positional_embeddings: Sequence[Tensor],
    attention_mask: Tensor | None = None,
    query_embeddings: Tensor | None = None,
    output_attentions: bool | None = False,
) -> Any:
    """`attention_mask` bool [N * heads, Q, S], true where a query does not look: one that would look nowhere, looks
    everywhere.
    """
    if attention_mask is None:
        return NotImplemented
    level = index % self.num_feature_levels
    blind = attention_mask.all(dim=-1, keepdim=True)
    queries, across = self.cross_attn(
        output,
        multi_stage_features[level],
        memory_mask=attention_mask & ~blind,
        pos=multi_stage_positional_embeddings[level],
        query_pos=query_embeddings,
    )
    queries, among = self.self_attn(queries, query_pos=query_embeddings)
    queries = self.ffn(queries)
    return (queries, among, across) if output_attentions else (queries,)
