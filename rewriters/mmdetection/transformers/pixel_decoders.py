"""The pixel decoders of MaskFormer and Mask2Former, of which mmsegmentation's heads are made as well.

Source: Cheng et al., Per-Pixel Classification is Not All You Need for Semantic Segmentation, NeurIPS 2021;
Masked-attention Mask Transformer for Universal Image Segmentation, CVPR 2022.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from mmdet.models.dense_heads import Mask2FormerHead, MaskFormerHead
from mmdet.models.layers import MSDeformAttnPixelDecoder, TransformerEncoderPixelDecoder
from torch import Tensor

from rewriters.mmdetection.transformers.deformable_detr import SIZES
from rewriters.mmdetection.transformers.level_inputs import as_rows, level_size, places
from rewriters.mmdetection.versions import WRITTEN_FOR
from rewriters.patching.rewriter import rewrites

PADDING = "marks the padding of each image in a loop over the batch, which freezes the batch size"


@rewrites(MSDeformAttnPixelDecoder, "forward", reason=SIZES, written_for=WRITTEN_FOR)
def forward_with_sizes(
    _original: Callable[..., Any], self: Any, feats: Sequence[Tensor]
) -> tuple[Tensor, list[Tensor]]:
    """Maps of the backbone -> the map of the masks, and the maps of the decoder from the smallest on."""
    numbers = [self.num_input_levels - 1 - index for index in range(self.num_encoder_levels)]
    sizes = [level_size(feats[number]) for number in numbers]
    inputs, codes, centres = [], [], []
    for number, size, convolution, level in zip(
        numbers, sizes, self.input_convs, self.level_encoding.weight, strict=True
    ):
        inputs.append(as_rows(convolution(feats[number])))
        codes.append(as_rows(self.postional_encoding(None, input=feats[number][:1])) + level)
        x, y = places(size, feats[number].device, self.point_generator.offset)
        centres.append(torch.stack((x / size[1], y / size[0]), dim=1))
    ratios = inputs[0].new_ones(1, len(sizes), 2)
    memory = self.encoder(
        query=torch.cat(inputs, dim=1),
        query_pos=torch.cat(codes, dim=1),
        key_padding_mask=None,
        spatial_shapes=sizes,
        reference_points=torch.cat(centres)[None, :, None].expand(-1, -1, len(sizes), -1),
        level_start_index=None,
        valid_ratios=ratios,
    )
    outs, start = [], 0
    for height, width in sizes:
        level = memory[:, start : start + height * width].transpose(1, 2)
        outs.append(level.reshape(level.shape[0], memory.shape[2], height, width))
        start = start + height * width
    for number in range(self.num_input_levels - self.num_encoder_levels - 1, -1, -1):
        lateral = self.lateral_convs[number](feats[number])
        enlarged = F.interpolate(outs[-1], size=lateral.shape[-2:], mode="bilinear", align_corners=False)
        outs.append(self.output_convs[number](lateral + enlarged))
    return self.mask_feature(outs[-1]), outs[: self.num_outs]


@rewrites(TransformerEncoderPixelDecoder, "forward", reason=PADDING, written_for=WRITTEN_FOR)
def forward_without_padding(
    _original: Callable[..., Any], self: Any, feats: Sequence[Tensor], batch_img_metas: Any
) -> tuple[Tensor, Tensor]:
    """Maps of the backbone -> the map of the masks, and the memory of the encoder. The images fill the batch."""
    last = feats[-1]
    height, width = level_size(last)
    codes = as_rows(self.positional_encoding(None, input=last[:1]))
    rows = self.encoder(query=as_rows(self.encoder_in_proj(last)), query_pos=codes, key_padding_mask=None)
    memory = rows.transpose(1, 2).reshape(rows.shape[0], self.encoder_embed_dims, height, width)
    out = self.encoder_out_proj(memory)
    for number in range(self.num_inputs - 2, -1, -1):
        lateral = self.lateral_convs[number](feats[number])
        out = self.output_convs[number](lateral + F.interpolate(out, size=lateral.shape[-2:], mode="nearest"))
    return self.mask_feature(out), memory


@rewrites(MaskFormerHead, "forward", reason=PADDING, written_for=WRITTEN_FOR, leaves=(Mask2FormerHead,))
def queries_without_padding(
    _original: Callable[..., Any], self: Any, x: Sequence[Tensor], batch_data_samples: Sequence[Any]
) -> tuple[Tensor, Tensor]:
    """Logits of the classes [L, N, Q, C + 1] and of the masks [L, N, Q, h, w] of all L decoder layers."""
    features, memory = self.pixel_decoder(x, [sample.metainfo for sample in batch_data_samples])
    codes = as_rows(self.decoder_pe(None, input=memory[:1]))
    rows = as_rows(self.decoder_input_proj(memory))
    queries = self.query_embed.weight.unsqueeze(0).expand(rows.shape[0], -1, -1)
    decoded = self.transformer_decoder(
        query=torch.zeros_like(queries),
        key=rows,
        value=rows,
        query_pos=queries,
        key_pos=codes,
        key_padding_mask=None,
    )
    return self.cls_embed(decoded), torch.einsum("lbqc,bchw->lbqhw", self.mask_embed(decoded), features)
