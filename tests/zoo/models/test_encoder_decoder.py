"""The EncoderDecoder family as models: losses, resolutions, and the messages for a faulty config."""

from typing import Any

import pytest
import torch

from tests.rewriters.encoder_decoders import ALL, FAMILY, ONE, V1C, small_encoder_decoder
from zoo.registry import MODELS

LABELS = torch.randint(0, 4, (2, 65, 97), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("architecture", FAMILY)
def test_logits_have_the_images_size_and_every_layer_learns(architecture: str) -> None:
    model = small_encoder_decoder(architecture).train()
    images = torch.rand(2, 3, 65, 97)
    assert model(images).shape == (2, 4, 65, 97)
    sum(model(images, LABELS, mode="loss").values()).backward()
    # not the biases: a norm behind them takes them off again
    still = [n for n, p in model.named_parameters() if not n.endswith("bias") and (p.grad is None or not p.grad.any())]
    assert not still


@pytest.mark.parametrize(
    ("architecture", "names"),
    [
        ("psp", ["loss"]),
        ("fcn", ["decode.loss_ce", "aux.loss_ce"]),
        ("bisenet", ["decode.loss_ce", *(f"aux_{i}.loss_ce" for i in range(4))]),
    ],
)
def test_losses_are_named_as_mmsegs(architecture: str, names: list[str]) -> None:
    losses = small_encoder_decoder(architecture)(torch.rand(2, 3, 65, 97), LABELS, mode="loss")
    assert list(losses) == names


def test_a_list_of_one_decode_head_gives_one_loss() -> None:
    head, backbone, _ = FAMILY["psp"]
    options = {"type": "EncoderDecoder", "backbone": backbone, "test_cfg": {"mode": "whole"}}
    torch.manual_seed(0)
    model = MODELS.build({**options, "decode_head": [head]})
    assert list(model(torch.rand(2, 3, 65, 97), LABELS, mode="loss")) == ["loss"]


def test_an_auxiliary_loss_has_its_weight() -> None:
    model: Any = small_encoder_decoder("fcn")
    images = torch.rand(2, 3, 65, 97)
    weighted = model(images, LABELS, mode="loss")["aux.loss_ce"]
    model.auxiliary_head.loss_weight = 1.0
    torch.testing.assert_close(weighted, 0.4 * model(images, LABELS, mode="loss")["aux.loss_ce"])


def test_inference_does_not_run_auxiliary_heads() -> None:
    model: Any = small_encoder_decoder("bisenet")
    for head in model.auxiliary_head:
        head.register_forward_hook(lambda *_: pytest.fail("an auxiliary head ran"))
    model(torch.rand(1, 3, 65, 97))


def test_several_maps_are_joined_at_the_size_of_the_first() -> None:
    torch.manual_seed(0)
    head = MODELS.build({"type": "PSPHead", **ONE, "in_channels": (4, 8), "in_index": (0, 2)}).eval()
    features = [torch.rand(1, width, side, side) for width, side in ((4, 16), (6, 12), (8, 8))]
    assert head(features).shape == (1, 4, 16, 16)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"type": "UPerHead", **ALL, "in_index": (0, 1)}, "in_channels has 4 entries and in_index 2"),
        ({"type": "LRASPPHead", **ALL}, "branch_channels has 2 entries, expected 3"),
        ({**V1C, "depth": 20}, "ResNet of depth 20; expected one of 18, 34, 50, 101"),
        ({**V1C, "multi_grid": (2,)}, "multi_grid has 1 entries; the last stage has 2 blocks"),
        ({"type": "MobileNetV3", "arch": "tiny"}, 'MobileNetV3 "tiny"; expected small or large'),
        ({"type": "BiSeNetV2", "detail_channels": (4, 4, 6)}, "the branches end in 6 and 128 channels"),
    ],
)
def test_faulty_configs(section: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MODELS.build(section)


@pytest.mark.parametrize("size", [(64, 96), (65, 97), (33, 50)])
@pytest.mark.parametrize("kernel", [3, 5])
def test_same_padding_centres_as_mmcv_does(kernel: int, size: tuple[int, int]) -> None:
    """TensorFlow's SAME: ceil(size / stride) outputs, and the odd element of padding behind the image."""
    from zoo.models.segmentation.backbones.same_padding import SamePaddingConv2d

    conv = SamePaddingConv2d(1, 1, kernel, stride=2, bias=False)
    torch.nn.init.ones_(conv.weight)
    out = conv(torch.ones(1, 1, *size))[0, 0]
    assert out.shape == tuple(-(-side // 2) for side in size)
    before = (kernel - (2 - size[0] % 2)) // 2  # rows above the image that the first output sees
    assert out[0, out.shape[1] // 2] == (kernel - before) * kernel
