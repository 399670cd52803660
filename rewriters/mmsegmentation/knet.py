"""KernelUpdateHead.forward: the kernels of all images at once, as a product of each image's kernels and its map.

Source: Zhang et al., K-Net: Towards Unified Image Segmentation, NeurIPS 2021.
"""

from collections.abc import Callable
from typing import Any

import torch
from mmseg.models.decode_heads.knet_head import KernelUpdateHead
from torch import Tensor

from rewriters.mmsegmentation.versions import WRITTEN_FOR
from rewriters.patching.constants import as_ints
from rewriters.patching.rewriter import rewrites


@rewrites(
    KernelUpdateHead,
    "forward",
    reason="convolves the map of each image with its own kernels, in a loop over the batch, which freezes its size",
    written_for=WRITTEN_FOR,
)
def forward_of_all_images(
    _original: Callable[..., Any],
    self: Any,
    x: Tensor,
    proposal_feat: Tensor,
    mask_preds: Tensor,
    mask_shape: Any = None,
) -> Any:
    """x [N, C, h, w], kernels [N, P, C, 1, 1] and masks [N, P, h, w] -> the masks, and the kernels, of this stage."""
    if (self.conv_kernel_size, self.feat_gather_stride, self.mask_transform_stride) != (
        1,
        1,
        1,
    ) or mask_shape is not None:
        return NotImplemented
    slots, channels = as_ints(proposal_feat.shape[1:2])[0], self.in_channels
    x = x if self.feat_transform is None else self.feat_transform(x)
    gathered = torch.einsum("nphw,nchw->npc", mask_preds.softmax(dim=1), x)
    updated = self.kernel_update_conv(gathered, proposal_feat.reshape(-1, slots, 1, channels))
    rows = updated.reshape(-1, slots, channels).transpose(0, 1)
    kernels = self.attention_norm(self.attention(rows)).transpose(0, 1)
    if self.with_ffn:
        kernels = self.ffn_norm(self.ffn(kernels))
    weights = kernels
    for layer in self.mask_fcs:
        weights = layer(weights)
    masks = torch.einsum("npc,nchw->nphw", self.fc_mask(weights), x)
    return masks, kernels.reshape(-1, slots, channels, 1, 1)
