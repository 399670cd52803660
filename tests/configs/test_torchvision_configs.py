"""The configs of torchvision's weights: each is the model that torchvision itself builds for them, and says the same.

The weights are not shipped; what they are is known from torchvision's own records, and nothing is downloaded.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torchvision import models
from torchvision.models import detection, get_model, get_model_weights, get_weight, segmentation
from torchvision.models._api import WeightsEnum

from rewriters import export_onnx
from rewriters.patching.rewriter import chosen_for
from tests.zoo_configs import CONFIGS as ALL_CONFIGS
from zoo import build_model, shipped
from zoo.cards import read_card
from zoo.checkpoint import TORCHVISION_SCHEME
from zoo.config import ModelConfig, config_target
from zoo.datasets import config_dataset
from zoo.errors import InputError
from zoo.families import contract_module
from zoo.metrics import build_metric
from zoo.metrics.coco_keypoint_ap import SIGMAS
from zoo.models.segmentation.torchvision_architecture import MEAN, STD
from zoo.target import AxisRange
from zoo.tasks import Task
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

CONFIGS = {
    path: config for path, config in ALL_CONFIGS.items() if str(config.checkpoint).startswith(TORCHVISION_SCHEME)
}


def weights_of(config: ModelConfig) -> WeightsEnum:
    return get_weight(str(config.checkpoint).removeprefix(TORCHVISION_SCHEME))


def test_every_one_of_torchvisions_weights_has_a_config() -> None:
    offered = {
        str(weights)
        for module in (detection, segmentation)
        for name in models.list_models(module=module)
        for weights in get_model_weights(name)
    }
    assert len(offered) == 19
    assert {str(weights_of(config)) for config in CONFIGS.values()} == offered
    assert len(CONFIGS) == len(offered)


def without_values(config: ModelConfig) -> nn.Module:
    """The config's model on the meta device: what it is made of, in no time."""
    with torch.device("meta"):
        return build_model(config, weights=False)


def traits(model: nn.Module) -> dict[str, Any]:
    """All that a model is made of, but for its values: classes of its modules, plain attributes, shapes."""
    plain = (int, float, str, bool, tuple, list, dict, type(None))
    found: dict[str, Any] = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    for path, module in model.named_modules():
        found[f"{path}:"] = type(module)
        for name, value in vars(module).items():
            if isinstance(value, plain) and not name.startswith("_"):
                found[f"{path}.{name}"] = repr(value)  # some hold tensors
    return found


def later(path: str) -> bool:
    """Whether the config is a second one of its kind of model, with other layers, weights or options."""
    return Path(path).stem.split("_")[1] not in ("r50-fpn", "r50", "vgg16", "mobilenet-v3-large") or "legacy" in path


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=Path(path).stem, marks=pytest.mark.slow if later(path) else ()) for path in CONFIGS],
)
class TestConfig:
    @pytest.mark.filterwarnings("ignore:for .*copying from a non-meta parameter:UserWarning")
    def test_is_the_model_that_torchvision_builds(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        config = CONFIGS[path]
        weights, model = weights_of(config), without_values(config)

        def fake_download(self: WeightsEnum, *_: object, **__: object) -> dict[str, torch.Tensor]:
            return model.state_dict()  # loaded strictly: names and shapes are those of torchvision's model

        monkeypatch.setattr(WeightsEnum, "get_state_dict", fake_download)
        with torch.device("meta"):
            theirs = get_model(config.model["architecture"], weights=weights).eval()
        assert traits(model) == traits(theirs)
        assert sum(parameter.numel() for parameter in model.parameters()) == weights.meta["num_params"]

    def test_its_classes_are_those_of_the_weights(self, path: str) -> None:
        config = CONFIGS[path]
        meta, task = weights_of(config).meta, config.task
        names = ["__background__" if info.name == "background" else info.name for info in task.classes]
        assert names == meta["categories"]
        assert config.model["num_classes"] == len(names)
        for index, info in enumerate(task.classes):
            has_none = info.name in ("__background__", "N/A", "no person")
            assert info.category_id == (None if has_none else index)
        assert sum(info.category_id is not None for info in task.classes) == {91: 80, 21: 21, 2: 1}[len(names)]
        assert len(meta.get("keypoint_names", SIGMAS)) == len(SIGMAS)

    def test_its_input_is_what_torchvisions_transform_leaves_alone(self, path: str) -> None:
        config = CONFIGS[path]
        assert config.preprocess.size is not None
        height, width = config.preprocess.size
        transform = weights_of(config).transforms()
        if config.model["type"] == "TorchvisionSegmentor":
            assert (transform.resize_size, transform.mean, transform.std) == ([520], list(MEAN), list(STD))
            assert config.preprocess.geometry(480, 640).resized_size == (520, 693)
        else:
            images, _ = without_values(config).get_submodule("transform")([torch.rand(3, height, width)])
            assert images.image_sizes == [(height, width)]

    def test_its_card_is_complete_and_nothing_is_asked_of_it(self, path: str) -> None:
        card = read_card(path)
        assert card.what
        assert "https://arxiv.org/abs/" in card.paper
        assert "BSD-3-Clause" in card.licence
        assert (card.state, card.problem) == ("not measured here", None)

    def test_its_rewriters_evaluator_and_data_set_exist(
        self, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        config = CONFIGS[path]
        known = {rewriter.name for rewriter in chosen_for(config_target(config))}
        assert set(config.export.rewriters) <= known
        assert config.evaluator is not None
        assert config.dataset is not None
        build_metric(config.evaluator)
        monkeypatch.setattr(shipped, "PACKAGES", tmp_path)  # where no data is: the type and the arguments are right
        with pytest.raises(InputError, match=rf"dataset \w+ has \d faults?: {tmp_path}/data: no such folder"):
            config_dataset(config, "dataset")


def small(config: ModelConfig) -> tuple[Contract, Task]:
    """The model with its final outputs, random weights, and no resize to more than 64x96 where its builder lets it."""
    options = {"min_size": 64, "max_size": 96} if "fpn" in config.model["architecture"] else {}
    config = replace(config, model={**config.model, **options})
    return contract_module(build_model(config, weights=False), config.task, "final", {}), config.task


FAST = ("lraspp_mobilenet-v3-large_coco-voc", "ssdlite320_mobilenet-v3-large_coco")


@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=() if Path(path).stem in FAST else pytest.mark.slow) for path in CONFIGS]
)
def test_gives_the_tensors_of_its_task(path: str) -> None:
    module, task = small(CONFIGS[path])
    with torch.no_grad():
        outputs = module(torch.rand(2, 3, 64, 96))
    for spec, output in zip(task.outputs("final"), outputs, strict=True):
        assert str(output.dtype).removeprefix("torch.") == spec.dtype
        assert output.dim() == len(spec.shape)


def smallest_of_each_family() -> list[str]:
    """Of the configs that require the same rewriters, the one with the fewest parameters."""
    families: dict[tuple[str, ...], str] = {}
    for path in sorted(CONFIGS, key=lambda path: -weights_of(CONFIGS[path]).meta["num_params"]):
        families[tuple(CONFIGS[path].export.rewriters)] = path
    return sorted(families.values())


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["dynamo", "torchscript"])
@pytest.mark.parametrize("path", smallest_of_each_family(), ids=lambda path: Path(path).stem)
def test_the_rewriters_that_it_requires_act(path: str, exporter: str, tmp_path: Path) -> None:
    config = CONFIGS[path]
    module, task = small(config)
    example = torch.rand(2, 3, 64, 96)
    with torch.no_grad():
        outputs = module(example)
    specs = [
        TensorSpec(spec.name, spec.dtype, ("batch", *output.shape[1:]))
        for spec, output in zip(task.outputs("final"), outputs, strict=True)
    ]
    target = config_target(config).with_(height=AxisRange.fixed(64), width=AxisRange.fixed(96), exporter=exporter)
    record = export_onnx(
        module,
        target,
        tmp_path / "m.onnx",
        example={"images": example},
        output_specs=specs,
        required_rewriters=config.export.rewriters,
    )
    assert set(config.export.rewriters) <= {fired.name for fired in record.rewriters}
