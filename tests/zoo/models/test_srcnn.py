"""SRCNN against its description: bicubic enlargement, the paper's network, luma alone or all colours, any scale."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from skimage.color import rgb2ycbcr, ycbcr2rgb

from pipeline import evaluate
from pipeline.training import half_precision_file
from zoo.build import build_model
from zoo.errors import InputError
from zoo.models.restoration import SRCNN, AnyScaleSRCNN
from zoo.models.restoration.luma import luma

CONFIGS = Path(__file__).parents[3] / "configs" / "restoration"

IMAGES = torch.rand(2, 3, 33, 41, generator=torch.Generator().manual_seed(0))


def enlarged(scale: int) -> torch.Tensor:
    return F.interpolate(IMAGES, scale_factor=scale, mode="bicubic", align_corners=False)


@pytest.mark.parametrize(("channels", "parameters"), [("y", 8129), ("rgb", 20099)])
def test_it_is_the_papers_network(channels: str, parameters: int) -> None:
    """8032 weights in the paper's 9-1-5, and the biases."""
    assert sum(parameter.numel() for parameter in SRCNN(channels=channels).parameters()) == parameters


@pytest.mark.parametrize("channels", ["y", "rgb"])
@pytest.mark.parametrize("scale", [2, 3, 4])
def test_a_residual_of_nothing_is_bicubic(channels: str, scale: int) -> None:
    model = SRCNN(scale, channels)
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    torch.testing.assert_close(model(IMAGES), enlarged(scale))


@pytest.mark.parametrize("residual", [True, False])
def test_the_luma_changes_and_the_colours_stay(residual: bool) -> None:
    """As by way of YCbCr, which scikit-image computes as MATLAB does."""
    torch.manual_seed(0)
    model = SRCNN(3, "y", filters=(4, 2), residual=residual).double()
    before = enlarged(3).double()
    with torch.no_grad():
        after = model(IMAGES.double())
        found = model._network(luma(before))
    ycbcr = rgb2ycbcr(before.numpy(), channel_axis=1)
    np.testing.assert_allclose(ycbcr[:, :1], luma(before).numpy() * 255 + 16, atol=1e-9)
    ycbcr[:, :1] = found.numpy() * 255 + (ycbcr[:, :1] if residual else 16)
    np.testing.assert_allclose(after.numpy(), ycbcr2rgb(ycbcr, channel_axis=1), atol=1e-4)


def test_a_fresh_one_of_any_scale_is_each_of_the_fixed_ones() -> None:
    """One set of weights; by default the scale that it was built with."""
    torch.manual_seed(0)
    model = AnyScaleSRCNN(scale=2, channels="rgb", filters=(4, 2)).eval()
    weights = {name: value for name, value in model.state_dict().items() if not name.startswith("film")}
    for scale in (1, 2, 3, 4, 5):
        fixed = SRCNN(scale, "rgb", filters=(4, 2))
        fixed.load_state_dict(weights)
        torch.testing.assert_close(model(IMAGES, torch.tensor([scale])), fixed(IMAGES))
    torch.testing.assert_close(model(IMAGES), model(IMAGES, torch.tensor([2])))


@pytest.mark.parametrize("channels", ["y", "rgb"])
def test_features_are_multiplied_and_shifted_by_the_scale(channels: str) -> None:
    """Which the weights and biases of a network of that scale alone can do as well."""
    torch.manual_seed(0)
    model = AnyScaleSRCNN(channels=channels, filters=(4, 2)).eval()
    for layer in (model.film1, model.film2):
        for parameter in layer.parameters():
            torch.nn.init.normal_(parameter)
    for scale in (2, 4):
        alone = SRCNN(scale, channels, filters=(4, 2))
        alone.load_state_dict({name: value for name, value in model.state_dict().items() if "film" not in name})
        for conv, film in ((alone.conv1, model.film1), (alone.conv2, model.film2)):
            gain, shift = film(torch.tensor([1 / scale])).detach().chunk(2)
            conv.weight.data *= (1 + gain)[:, None, None, None]
            conv.bias.data = conv.bias.data * (1 + gain) + shift
        torch.testing.assert_close(model(IMAGES, torch.tensor([scale])), alone(IMAGES), atol=1e-5, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["srcnn_x3_photographs", pytest.param("srcnn_any-scale_photographs", marks=pytest.mark.slow)]
)
def test_the_shipped_weights_beat_bicubic(name: str, tmp_path: Path) -> None:
    """On photographs that training never saw."""
    path = CONFIGS / f"{name}.py"
    bicubic, file = build_model(path), tmp_path / "bicubic.safetensors"
    for parameter in bicubic.parameters():
        torch.nn.init.zeros_(parameter)  # a residual of nothing
    file.write_bytes(half_precision_file(bicubic))
    evaluations = (evaluate(path, ["pytorch"], checkpoint=weights, work_dir=tmp_path) for weights in (None, file))
    ours, theirs = (evaluation.rows[0].figures["restoration/PSNR"] for evaluation in evaluations)
    assert ours >= theirs + 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"channels": "Y"}, 'SRCNN: unknown channels "Y"'),
        ({"kernels": (9, 2, 5)}, "expected 3 odd kernels and 2 numbers of filters"),
        ({"filters": (64,)}, "expected 3 odd kernels and 2 numbers of filters"),
        ({"scale": 0}, "got scale 0, expected 1 or more"),
    ],
)
def test_wrong_arguments(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SRCNN(**options)  # type: ignore[arg-type]


def test_the_default_is_one_of_the_scales() -> None:
    with pytest.raises(InputError, match=r"got scales \(2, 4\) and scale 3, expected scale among them"):
        AnyScaleSRCNN(scales=(2, 4))
