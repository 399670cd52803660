"""What describes a model of transformers, and the names of a ResNet's tensors; without the library."""

import pytest

from zoo.errors import InputError
from zoo.models.resnet import ResNet18
from zoo.models.transformers.resnet_names import resnet_state
from zoo.models.transformers.transformers_model import one_source


def test_a_folder_or_an_architecture() -> None:
    assert one_source("folder", None) == "folder"
    assert one_source(None, {"model_type": "detr"}) == {"model_type": "detr"}
    with pytest.raises(InputError, match="folder and architecture both describe the model; give one of them"):
        one_source("folder", {})
    with pytest.raises(InputError, match=r'expected folder="...", .* or architecture=dict\(model_type="...", ...\)'):
        one_source(None, None)


def test_names_of_a_resnet() -> None:
    names = list(resnet_state(ResNet18(4).state_dict()))
    assert names[:2] == ["embedder.embedder.convolution.weight", "embedder.embedder.normalization.weight"]
    assert "encoder.stages.0.layers.1.layer.1.normalization.bias" in names
    assert "encoder.stages.1.layers.0.shortcut.convolution.weight" in names
    assert not [name for name in names if not name.startswith(("embedder.", "encoder."))]
