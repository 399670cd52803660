"""Every config with shipped weights builds, has its weights and card, and runs small; found by rglob, counts asserted.

The others are those of torchvision's weights: see test_torchvision_configs.py.
"""

import pytest
import torch

from pipeline.inputs.named_input import input_of
from pipeline.parity.graph_inputs import stacked
from tests.zoo_configs import CONFIGS, ROOT, SHIPPED, buildable
from zoo import build_model
from zoo.cards import read_card
from zoo.config import config_target, load_config
from zoo.datasets import config_dataset
from zoo.families import contract_module


def test_none_is_missed() -> None:
    assert len(SHIPPED) == 21
    assert len(CONFIGS) == len(SHIPPED) + 19
    on_disk = {str(path) for path in (ROOT / "configs").rglob("*.py") if path.parent.name != "_base_"}
    assert set(CONFIGS) == on_disk


@pytest.mark.parametrize("path", buildable(SHIPPED))
class TestConfig:
    def test_builds_with_its_weights_and_runs(self, path: str) -> None:
        config = load_config(path)
        model = build_model(config)
        assert not model.training
        task = config.task
        target = config_target(config)
        module = contract_module(model, task, "final", config.export.forward)
        dataset = config_dataset(config, "dataset")
        images = [input_of(task.kind, dataset[number]) for number in range(2)]
        given = stacked(task.kind, images, target.preferred, config.preprocess, image_sizes=False).arrays.values()
        with torch.no_grad():
            outputs = module(*map(torch.from_numpy, given))
        for spec, output in zip(task.outputs("final"), outputs, strict=True):
            assert str(output.dtype).removeprefix("torch.") == spec.dtype
            assert output.dim() == len(spec.shape)

    def test_its_card_has_the_record_of_its_training(self, path: str) -> None:
        assert read_card(path).training is not None

    def test_builds_without_weights(self, path: str) -> None:
        assert not build_model(path, weights=False).training
