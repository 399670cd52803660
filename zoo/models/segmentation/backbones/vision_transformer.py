"""The Vision Transformer as a backbone.

Source: Dosovitskiy et al., An Image is Worth 16x16 Words, ICLR 2021; parameter names as in mmseg.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.segmentation.backbones.mix_transformer import to_map, to_tokens
from zoo.models.segmentation.backbones.transformer_layer import Patches, TransformerLayer
from zoo.registry import MODELS


@MODELS.register_module()
class VisionTransformer(nn.Module):
    """images [N, 3, H, W] -> the outputs of the layers `out_indices`, all at 1/patch_size of the image.

    `img_size`: of the training, whose places the positions are of. They are resized for other images, as
    `interpolate_mode` says. `with_cls_token`: whether the token of the whole image takes part in the attention.
    `final_norm`: of the last layer's output. `norm_eps`: of the norms. `drop_path_rate`: as MixVisionTransformer's.
    """

    def __init__(
        self,
        img_size: Sequence[int] = (224, 224),
        patch_size: int = 16,
        embed_dims: int = 768,
        num_layers: int = 12,
        num_heads: int = 12,
        mlp_ratio: int = 4,
        out_indices: Sequence[int] = (11,),
        norm_eps: float = 1e-6,
        interpolate_mode: str = "bicubic",
        drop_path_rate: float = 0.0,
        *,
        qkv_bias: bool = True,
        patch_bias: bool = False,
        final_norm: bool = False,
        with_cls_token: bool = True,
    ) -> None:
        super().__init__()
        self.places = (img_size[0] // patch_size, img_size[1] // patch_size)
        self.out_indices, self.interpolate_mode = tuple(out_indices), interpolate_mode
        self.with_cls_token = with_cls_token
        self.patch_embed = Patches(embed_dims, patch_size, bias=patch_bias)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dims))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + self.places[0] * self.places[1], embed_dims))
        rates = torch.linspace(0, drop_path_rate, num_layers, device="cpu").tolist()
        self.layers = nn.ModuleList(
            TransformerLayer(embed_dims, num_heads, mlp_ratio, rate, norm_eps, qkv_bias=qkv_bias) for rate in rates
        )
        self.ln1 = nn.LayerNorm(embed_dims, norm_eps) if final_norm else None

    def forward(self, x: Tensor) -> list[Tensor]:
        patches = self.patch_embed(x)
        size = patches.shape[2:]
        x = to_tokens(patches) + self.positions(size)
        if self.with_cls_token:
            whole = self.cls_token + self.pos_embed[:, :1]
            x = torch.cat([whole.expand(x.shape[0], -1, -1), x], dim=1)
        maps = []
        for index, layer in enumerate(self.layers):
            x = layer(x)
            if self.ln1 is not None and index == len(self.layers) - 1:
                x = self.ln1(x)
            if index in self.out_indices:
                maps.append(to_map(x[:, 1:] if self.with_cls_token else x, size))
        return maps

    def positions(self, size: Sequence[int]) -> Tensor:
        """Of h x w patches, [1, h * w, C]: as trained where there are as many, else resized."""
        if size[0] * size[1] == self.places[0] * self.places[1]:
            return self.pos_embed[:, 1:]
        return self.resized_positions(size)

    def resized_positions(self, size: Sequence[int]) -> Tensor:
        """As `positions`, of any size."""
        trained = to_map(self.pos_embed[:, 1:], self.places)
        return to_tokens(F.interpolate(trained, tuple(size), mode=self.interpolate_mode, align_corners=False))
