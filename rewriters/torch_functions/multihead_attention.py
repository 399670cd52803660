"""torch.nn.MultiheadAttention in parts: projections, scores, softmax, products.

In eval mode and without gradients, self-attention runs as one operator that torchscript cannot export; the module's
other path reshapes to a number of tokens that the trace freezes, so that ONNX Runtime refuses any other, and it has
twice the nodes. torch.export does both rightly.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rewriters.patching.rewriter import rewrites


@rewrites(
    torch.nn.MultiheadAttention,
    "forward",
    reason="the fast path of eval mode is aten::_native_multi_head_attention, which torchscript cannot export, and the "
    "other path's reshapes are frozen at the traced number of tokens",
    written_for="torch 2.11 to 2.15",
    exporter="torchscript",
)
def forward_in_parts(
    original: Callable[..., tuple[Tensor, Tensor | None]],
    self: torch.nn.MultiheadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Any:
    """As torch.nn.MultiheadAttention.forward, for batches; other calls are left to the original."""
    extended = self.bias_k is not None or self.add_zero_attn or is_causal
    if extended or query.dim() != 3 or self.in_proj_weight is None:  # noqa: PLR2004  # batch, tokens, channels
        return NotImplemented
    inputs = (query, key, value) if self.batch_first else tuple(x.transpose(0, 1) for x in (query, key, value))
    weights = self.in_proj_weight.chunk(3)
    biases: Any = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
    heads = (self.num_heads, self.head_dim)
    q, k, v = (
        F.linear(x, weight, bias)
        .reshape(*x.shape[:2], *heads)
        .transpose(1, 2)  # [N, heads, tokens, channels of a head]
        for x, weight, bias in zip(inputs, weights, biases, strict=True)
    )
    scores = (q * self.head_dim**-0.5) @ k.transpose(2, 3)
    if attn_mask is not None:  # [T, S], or [N * heads, T, S]
        is_shared = attn_mask.dim() == 2  # noqa: PLR2004
        by_head = attn_mask if is_shared else torch.unflatten(attn_mask, 0, (-1, self.num_heads))
        scores = masked(scores, by_head)
    if key_padding_mask is not None:  # [N, S]
        scores = masked(scores, key_padding_mask[:, None, None])
    shares: Any = scores.softmax(dim=3)
    is_masked = attn_mask is not None or key_padding_mask is not None
    if is_masked and not need_weights:  # a row without any key is 0 in torch's attention
        shares = shares.masked_fill((scores == -torch.inf).all(dim=3, keepdim=True), 0.0)
    out = self.out_proj((shares @ v).transpose(1, 2).flatten(2))
    if not need_weights:
        shares = None
    elif average_attn_weights:
        shares = shares.mean(dim=1)
    return out if self.batch_first else out.transpose(0, 1), shares


def masked(scores: Tensor, mask: Tensor) -> Tensor:
    """Scores [N, heads, T, S] without the places where a mask is true, or with a mask of numbers added."""
    return scores.masked_fill(mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
