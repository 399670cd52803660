"""What a model costs, compared with arithmetic on paper."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch.utils.flop_counter import FlopCounterMode

from tests.tools.tiny import CLASSES, SIZE, TinySegmentor
from zoo.build import build_model
from zoo.config import load_config
from zoo.cost import DEFORMABLE, Cost, model_cost
from zoo.datasets import config_dataset
from zoo.datasets.streets.objects import CLASSES as STREET_CLASSES
from zoo.errors import InputError
from zoo.models.deformable_convolution import ModulatedDeformableConv2d
from zoo.registry import MODELS

CONFIG = f"""
model = dict(type="TinySegmentor")
checkpoint = "tiny.safetensors"
task = dict(type="SemanticSegmentation", classes=[dict(name=str(i), category_id=i) for i in range(11)])
preprocess = dict(size={SIZE})
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    MODELS.register_module(name="TinySegmentor", module=TinySegmentor, force=True)
    save_file(TinySegmentor().state_dict(), tmp_path / "tiny.safetensors")
    path = tmp_path / "tiny.py"
    path.write_text(CONFIG + 'dataset = dict(type="DigitsSegmentation", split="val")\n', encoding="utf-8")
    return path


def test_a_multiply_add_is_two(config: Path) -> None:
    channels, pixels = 3 * len(CLASSES), SIZE[0] * SIZE[1]
    found = model_cost(load_config(config))
    assert found == Cost(parameters=channels + len(CLASSES), flops=2 * channels * pixels, input_size=SIZE)


def test_a_deformable_convolution_counts_as_a_plain_one_and_its_offsets() -> None:
    conv = ModulatedDeformableConv2d(3, 5, 3, stride=2, padding=1)
    with torch.no_grad(), FlopCounterMode(display=False, custom_mapping=DEFORMABLE) as counted:
        conv(torch.rand(2, 3, 8, 10))
    places, taps, offsets = 2 * 4 * 5, 3 * 9, 27
    assert counted.get_total_flops() == 2 * places * taps * (5 + offsets)


def test_a_size_that_is_kept_is_the_images_own(config: Path) -> None:
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace(f"size={SIZE}", 'resize="keep", size_divisor=64'), encoding="utf-8")
    found = model_cost(load_config(config))
    assert all(side % 64 == 0 for side in found.input_size)
    assert found.flops == 2 * 3 * len(CLASSES) * found.input_size[0] * found.input_size[1]


POINTS = """
model = dict(type="CenterPoint", num_classes=3, point_range=(0.0, -20.48, -3.0, 40.96, 20.48, 2.0), pillar_size=1.28,
    pillar_channels=8, channels=(8, 8), depths=(1, 1), strides=(1, 2), up_channels=(8, 8), head_channels=8)
task = dict(type="Detection3D", classes=[dict(name=name, category_id=None) for name in {classes}])
preprocess = dict(intensity=(0, 1))
dataset = dict(type="Streets", count=1)
checkpoint = "points.safetensors"
"""


def test_of_a_cloud_it_is_that_of_all_its_points(tmp_path: Path) -> None:
    path = tmp_path / "points.py"
    path.write_text(POINTS.format(classes=STREET_CLASSES), encoding="utf-8")
    config = load_config(path)
    save_file(build_model(config, weights=False).state_dict(), tmp_path / "points.safetensors")
    cost = model_cost(config)
    cloud = config_dataset(config, "dataset")[0]["points"]
    assert cost.input_size == cloud.shape
    assert cost.flops > 2 * 32 * 32 * 8 * 8 * 9  # at least the trunk's first convolution


def test_there_must_be_an_image(config: Path) -> None:
    config.write_text(CONFIG, encoding="utf-8")
    with pytest.raises(InputError, match=r"tiny.py has no dataset to count on; add dataset=dict\(type=...\)"):
        model_cost(load_config(config))
