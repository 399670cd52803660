"""The modulated deformable convolution, compared with plain ones: fresh, moved, and with points left out."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.deformable_convolution import OFFSETS, ModulatedDeformableConv2d
from zoo.models.resnet import ResNet

CENTRE, POINTS = 4, 9  # of a kernel of 3x3
OPEN, SHUT = 100.0, -100.0  # what the sigmoid makes 1 and 0


def fresh(*arguments: int, **options: Any) -> ModulatedDeformableConv2d:
    torch.manual_seed(0)
    return ModulatedDeformableConv2d(3, 5, 3, *arguments, **options)


def images() -> Tensor:
    return torch.rand(2, 3, 11, 14, generator=torch.Generator().manual_seed(1))


def predicts(conv: ModulatedDeformableConv2d, offsets: Tensor, masks: Tensor) -> None:
    """Let it predict the same for each place: offsets [9, 2] (dy, dx), and masks [9] before the sigmoid."""
    with torch.no_grad():
        conv.conv_offset.get_parameter("bias").copy_(torch.cat((offsets.flatten(), masks)))


@pytest.mark.parametrize(("stride", "padding", "dilation"), [(1, 1, 1), (2, 1, 1), (1, 4, 4), (2, 0, 2)])
@pytest.mark.parametrize("bias", [False, True])
def test_a_fresh_one_is_half_of_a_plain_convolution(stride: int, padding: int, dilation: int, bias: bool) -> None:
    conv, x = fresh(stride, padding, dilation, bias=bias), images()
    half = F.conv2d(x, conv.weight / 2, conv.bias, stride, padding, dilation)
    assert (conv.bias is not None) == bias
    torch.testing.assert_close(conv(x), half)


def test_an_offset_is_down_and_to_the_right() -> None:
    conv, x = fresh(1, 1), images()
    predicts(conv, torch.tensor([[2.0, 1.0]]).repeat(POINTS, 1), torch.full((POINTS,), OPEN))
    moved = torch.zeros_like(x)
    moved[..., :-2, :-1] = x[..., 2:, 1:]
    inner = slice(1, -3)  # what the plain convolution pads is, at two sides, image to the deformable one
    expected = F.conv2d(moved, conv.weight, conv.bias, padding=1)
    torch.testing.assert_close(conv(x)[..., inner, inner], expected[..., inner, inner])


def test_between_pixels_it_is_bilinear() -> None:
    conv, x = fresh(1, 1, bias=False), images()
    with torch.no_grad():
        conv.weight.zero_()
        conv.weight[0, 0, 1, 1] = 1.0
    predicts(conv, torch.tensor([[0.25, 0.5]]).repeat(POINTS, 1), torch.full((POINTS,), OPEN))
    rows = 0.75 * x[:, 0, :-1] + 0.25 * x[:, 0, 1:]
    expected = (rows[..., :-1] + rows[..., 1:]) / 2
    torch.testing.assert_close(conv(x)[:, 0, :-1, :-1], expected)


def test_a_mask_is_of_its_point() -> None:
    conv, x = fresh(1, 1), images()
    masks = torch.full((POINTS,), OPEN)
    masks[CENTRE] = SHUT
    predicts(conv, torch.zeros(POINTS, 2), masks)
    weight = conv.weight.detach().clone()
    weight[..., 1, 1] = 0
    torch.testing.assert_close(conv(x), F.conv2d(x, weight, conv.bias, padding=1))


def test_every_parameter_learns_from_the_first_step() -> None:
    conv = fresh(1, 1)
    conv(images()).square().sum().backward()
    for name, parameter in conv.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.flatten(1).any(dim=1).all() if parameter.dim() > 1 else parameter.grad.all(), name


@pytest.mark.parametrize(("depth", "names"), [(18, {"conv1", "conv2"}), (50, {"conv2"})])
def test_a_backbone_says_which_stages_have_them(depth: int, names: set[str]) -> None:
    def model(**options: Any) -> nn.Module:
        torch.manual_seed(0)
        return ResNet(depth, 2, **options).eval()

    plain, deformable = model(), model(deformable=(False, False, True, False))
    found = [name for name, module in deformable.named_modules() if isinstance(module, ModulatedDeformableConv2d)]
    assert {name.split(".")[0] for name in found} == {"layer3"}
    assert {name.split(".")[-1] for name in found} == names
    extra = deformable.state_dict().keys() - plain.state_dict().keys()
    assert extra == {f"{name}{OFFSETS}{kind}" for name in found for kind in ("weight", "bias")}
    x = torch.rand(1, 3, 33, 47)
    assert [f.shape for f in deformable(x)] == [f.shape for f in plain(x)]
