"""A segmentor: backbone, decode head, and inference over the whole image or over sliding windows.

Source: mmseg's EncoderDecoder (behaviour; the code is our own).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.errors import InputError, nearest
from zoo.models.segmentation.decode_heads import DecodeHeads
from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS
from zoo.tasks.class_info import IGNORE_LABEL
from zoo.windows import BLENDS, Windows

TEST_KEYS = ("mode", "crop_size", "stride", "blend")
DECODE_HEAD, AUXILIARY_HEAD = "decode_head.", "auxiliary_head."


@MODELS.register_module()
class EncoderDecoder(nn.Module):
    """images float32 [N, 3, H, W], RGB, 0..1 -> logits, label map or losses, by `mode`.

    `test_cfg`: `mode` ("whole" or "slide"), and for slide `crop_size` (h, w) and `stride` (h, w) in pixels, and `blend`
    ("constant" or "gaussian", see zoo.windows). Logits are resized to the images' size with the decode head's
    `align_corners`. `neck`: what makes the heads' feature maps of the backbone's. `decode_head`: a head, or several,
    each of which improves the logits of the one before it. `auxiliary_head`: one or several heads on other feature
    maps, whose losses are added in training by their `loss_weight`; inference never runs them. Raises InputError for
    windows that cannot be.
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        backbone: dict[str, Any],
        decode_head: dict[str, Any] | Sequence[dict[str, Any]],
        test_cfg: dict[str, Any],
        auxiliary_head: dict[str, Any] | Sequence[dict[str, Any]] | None = None,
        image_mean: Sequence[float] = (0.485, 0.456, 0.406),
        image_std: Sequence[float] = (0.229, 0.224, 0.225),
        neck: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.backbone = MODELS.build(backbone)
        self.neck: nn.Module | None = None if neck is None else MODELS.build(neck)
        self.decode_head: Any
        if isinstance(decode_head, Mapping):
            self.decode_head = MODELS.build(decode_head)
        else:
            self.decode_head = DecodeHeads(MODELS.build(head) for head in decode_head)
        self.auxiliary_head: nn.Module | None = None
        if isinstance(auxiliary_head, Mapping):
            self.auxiliary_head = MODELS.build(auxiliary_head)
        elif auxiliary_head:
            self.auxiliary_head = nn.ModuleList(MODELS.build(head) for head in auxiliary_head)
        self.align_corners: bool = self.decode_head.align_corners
        self.num_classes: int = self.decode_head.num_classes
        self.test_cfg = dict(test_cfg)
        if self.slides:
            _ = self.windows  # refused now, not at the first image
        self.register_buffer("mean", torch.tensor(image_mean).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(image_std).view(1, 3, 1, 1), persistent=False)

    def forward(
        self, images: Tensor, label_maps: Tensor | None = None, mode: str = "tensor"
    ) -> Tensor | dict[str, Tensor]:
        """`mode`: "tensor" logits float32 [N, C, H, W]; "predict" labels int64 [N, H, W]; "loss" scalars by name.

        `label_maps` int64 [N, H, W] with IGNORE_LABEL where there is no label; needed for "loss" alone.
        """
        if mode == "tensor":
            return self.inference(images)
        if mode == "predict":
            return self.inference(images).argmax(dim=1)
        if mode == "loss":
            if label_maps is None:
                raise ValueError('mode="loss" needs label_maps')
            return self.loss(images, label_maps)
        raise ValueError(f'unknown mode "{mode}": expected "tensor", "predict" or "loss"')

    def loss(self, images: Tensor, label_maps: Tensor) -> dict[str, Tensor]:
        """Pixel-wise cross entropy at the label map's resolution: {"loss"}; with auxiliary heads, mmseg's names.

        These are {"decode.loss_ce", "aux.loss_ce"}, or "aux_0.loss_ce" and so on where there are several.
        """
        features = self.extract_features(images)
        if isinstance(self.decode_head, DecodeHeads):
            outputs = self.decode_head.outputs(features)
            losses = {
                f"decode_{index}.loss_ce": _loss(head, logits, label_maps)
                for index, (head, logits) in enumerate(zip(self.decode_head, outputs, strict=True))
            }
        else:
            losses = {"decode.loss_ce": _loss(self.decode_head, self.decode_head(features), label_maps)}
        if self.auxiliary_head is None and len(losses) == 1:
            return {"loss": next(iter(losses.values()))}
        heads: dict[str, Any] = {}
        if isinstance(self.auxiliary_head, nn.ModuleList):
            heads = {f"aux_{index}": head for index, head in enumerate(self.auxiliary_head)}
        elif self.auxiliary_head is not None:
            heads["aux"] = self.auxiliary_head
        return losses | {f"{name}.loss_ce": _loss(head, head(features), label_maps) for name, head in heads.items()}

    def extract_features(self, images: Tensor) -> Sequence[Tensor]:
        """images [N, 3, H, W], 0..1 -> the feature maps of the backbone, or of the neck where there is one."""
        features: Sequence[Tensor] = self.backbone((images - self.mean) / self.std)
        return features if self.neck is None else self.neck(features)

    def translated_state(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """A state dict of mmseg without what only training runs; see zoo.checkpoint.

        That is layers of the decode head, and auxiliary heads if the model has none.
        """
        left_out = [f"{DECODE_HEAD}{name}." for name in self.decode_head.trained_only]
        if self.auxiliary_head is None:
            left_out.append(AUXILIARY_HEAD)
        return {name: tensor for name, tensor in state.items() if not name.startswith(tuple(left_out))}

    def encode_decode(self, images: Tensor) -> Tensor:
        """images [N, 3, H, W] -> logits [N, C, H, W]."""
        return resize(self.head_logits(images), images.shape[2:], self.align_corners)

    def head_logits(self, images: Tensor) -> Tensor:
        """images [N, 3, H, W] -> logits [N, C, h, w], of the size that the decode head gives them."""
        logits: Tensor = self.decode_head(self.extract_features(images))
        return logits

    @property
    def slides(self) -> bool:
        """Whether inference goes over sliding windows."""
        return bool(self.test_cfg["mode"] == "slide")

    @property
    def windows(self) -> Windows:
        """Those of slide inference, by `test_cfg`. Raises InputError."""
        for key in self.test_cfg:
            if key not in TEST_KEYS:
                raise InputError(f'test_cfg: unknown key "{key}"; {nearest(key, TEST_KEYS)}')
        for key in ("crop_size", "stride"):
            if key not in self.test_cfg:
                raise InputError(f'test_cfg of mode "slide": no {key}; give {key}=(height, width)')
        return Windows(**{key: value for key, value in self.test_cfg.items() if key != "mode"})

    def inference(self, images: Tensor) -> Tensor:
        """images [N, 3, H, W] -> logits [N, C, H, W], by `test_cfg.mode`."""
        if self.slides:
            return self.slide_inference(images)
        return self.whole_inference(images)

    def whole_inference(self, images: Tensor) -> Tensor:
        """One pass over the whole image."""
        return self.encode_decode(images)

    def slide_inference(self, images: Tensor) -> Tensor:
        """Windows of `crop_size` at `stride`, the last ones moved inside the image; overlapping logits averaged."""
        h_stride, w_stride = self.test_cfg["stride"]
        h_crop, w_crop = self.test_cfg["crop_size"]
        batch_size, _, h_img, w_img = images.shape
        weights = self._window_weights(min(h_crop, h_img), min(w_crop, w_img))
        h_grids = max(h_img - h_crop + h_stride - 1, 0) // h_stride + 1
        w_grids = max(w_img - w_crop + w_stride - 1, 0) // w_stride + 1
        preds = images.new_zeros((batch_size, self.num_classes, h_img, w_img))
        count_mat = images.new_zeros((batch_size, 1, h_img, w_img))
        for h_idx in range(h_grids):
            for w_idx in range(w_grids):
                y1 = h_idx * h_stride
                x1 = w_idx * w_stride
                y2 = min(y1 + h_crop, h_img)
                x2 = min(x1 + w_crop, w_img)
                y1 = max(y2 - h_crop, 0)
                x1 = max(x2 - w_crop, 0)
                crop_logits = self.encode_decode(images[:, :, y1:y2, x1:x2])
                preds[:, :, y1:y2, x1:x2] += crop_logits if weights is None else crop_logits * weights
                count_mat[:, :, y1:y2, x1:x2] += 1 if weights is None else weights
        return preds / count_mat

    def _window_weights(self, height: int, width: int) -> Tensor | None:
        """The weights [height, width] of a window's pixels; None where all are one."""
        blend = self.windows.blend
        if blend == "constant":
            return None
        rows, columns = (torch.from_numpy(BLENDS[blend](side)).to(self.mean) for side in (height, width))
        return torch.outer(rows, columns)


def _loss(head: Any, logits: Tensor, label_maps: Tensor) -> Tensor:
    """Of what a decode head gives, by its weight."""
    logits = resize(logits, label_maps.shape[1:], head.align_corners)
    loss: Tensor = head.loss_weight * F.cross_entropy(logits, label_maps, ignore_index=IGNORE_LABEL)
    return loss
