"""The decode head of Segmenter.

Source: Strudel et al., Segmenter: Transformer for Semantic Segmentation, ICCV 2021; parameter names as in mmseg.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.backbones.mix_transformer import to_map, to_tokens
from zoo.models.segmentation.backbones.transformer_layer import TransformerLayer
from zoo.models.segmentation.decode_head import DecodeHead
from zoo.registry import MODELS


@MODELS.register_module()
class SegmenterMaskTransformerHead(DecodeHead):
    """Places and classes attend to each other; a class's logits are the cosines of the places with it, normalised.

    `embed_dims`, `num_layers`, `num_heads`, `mlp_ratio`: of the transformer. `norm_eps`: of the norms.
    `drop_path_rate`: as MixVisionTransformer's. `options` as DecodeHead takes them.
    """

    def __init__(
        self,
        in_channels: int,
        channels: int,
        num_classes: int,
        num_layers: int,
        num_heads: int,
        embed_dims: int,
        mlp_ratio: int = 4,
        norm_eps: float = 1e-5,
        drop_path_rate: float = 0.1,
        *,
        qkv_bias: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, channels, num_classes, **options)
        del self.conv_seg  # there is no last convolution
        rates = torch.linspace(0, drop_path_rate, num_layers, device="cpu").tolist()
        self.layers = nn.Sequential(
            *(TransformerLayer(embed_dims, num_heads, mlp_ratio, rate, norm_eps, qkv_bias=qkv_bias) for rate in rates)
        )
        self.dec_proj = nn.Linear(in_channels, embed_dims)
        self.cls_emb = nn.Parameter(torch.randn(1, num_classes, embed_dims))
        self.patch_proj = nn.Linear(embed_dims, embed_dims, bias=False)
        self.classes_proj = nn.Linear(embed_dims, embed_dims, bias=False)
        self.decoder_norm = nn.LayerNorm(embed_dims, norm_eps)
        self.mask_norm = nn.LayerNorm(num_classes, norm_eps)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        x = self.joined(features)
        size = x.shape[2:]
        tokens = self.dec_proj(to_tokens(x))
        tokens = torch.cat([tokens, self.cls_emb.expand(tokens.shape[0], -1, -1)], dim=1)
        tokens = self.decoder_norm(self.layers(tokens))
        places = F.normalize(self.patch_proj(tokens[:, : -self.num_classes]), dim=2)
        classes = F.normalize(self.classes_proj(tokens[:, -self.num_classes :]), dim=2)
        return to_map(self.mask_norm(places @ classes.transpose(1, 2)), size)
