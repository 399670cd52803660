"""A segmentor of mmsegmentation, called as zooport's own are."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from zoo.codebases.mmseg.segmentor import SLIDE, windows_of
from zoo.models.mmseg.architecture import EXTRA, SCOPE, build_segmentor
from zoo.optional_library import needs_library
from zoo.registry import MODELS
from zoo.windows import Windows

PREFIX = "model."
AUXILIARY = "auxiliary_head."


@MODELS.register_module()
@needs_library(SCOPE, EXTRA)
class MmsegSegmentor(nn.Module):
    """images float32 [N, 3, H, W], normalised, channels in the model's order -> logits [N, C, H, W].

    `config`: the section `model` of an mmsegmentation config. The images are what its data_preprocessor gives: a
    config's `preprocess` has mean, std and order of the channels. Raises InputError for a model that gives no logits.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        model: Any = build_segmentor(config)
        self.model = model
        self.test_cfg: dict[str, Any] = windows_of(config, "MmsegSegmentor")
        self.num_classes: int = model.out_channels
        self.align_corners: bool = bool(model.align_corners)

    @property
    def _mmseg(self) -> Any:
        """The library's own segmentor, which has no types."""
        return self.model

    @property
    def decode_head(self) -> Any:
        """What gives the logits, for level raw."""
        return self._mmseg.decode_head

    @property
    def slides(self) -> bool:
        """Whether inference goes over sliding windows."""
        return bool(self.test_cfg["mode"] == SLIDE)

    @property
    def windows(self) -> Windows:
        """Those of slide inference."""
        return Windows(self.test_cfg["crop_size"], self.test_cfg["stride"])

    def forward(self, images: Tensor) -> Tensor:
        return self.slide_inference(images) if self.slides else self.encode_decode(images)

    def encode_decode(self, images: Tensor) -> Tensor:
        """images [N, 3, H, W] -> logits [N, C, H, W] of one pass, by mmsegmentation's own method."""
        logits: Tensor = self._mmseg.encode_decode(images, self.described(images))
        return logits

    def slide_inference(self, images: Tensor) -> Tensor:
        """images [N, 3, H, W] -> logits [N, C, H, W] of all windows, by mmsegmentation's own method."""
        logits: Tensor = self._mmseg.slide_inference(images, self.described(images))
        return logits

    def described(self, images: Tensor) -> list[dict[str, Any]]:
        """mmsegmentation's description of each image, which has the size of the tensor and is not padded.

        One for all: slide inference writes the size of a window into the first.
        """
        size = images.shape[2:]
        return [{"ori_shape": size, "img_shape": size, "padding_size": [0] * 4}] * len(images)

    def translated_state(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """A state dict of mmsegmentation by this module's names, without auxiliary heads; see zoo.checkpoint."""
        return {f"{PREFIX}{name}": tensor for name, tensor in state.items() if not name.startswith(AUXILIARY)}
