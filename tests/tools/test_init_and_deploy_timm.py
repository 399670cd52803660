"""`zooport init FOLDER && zooport deploy` for classifiers of timm, of several kinds."""

from pathlib import Path

import pytest
import torch

from tests.init_and_deploy import copy_images, deploy
from zoo.random_weights import learn_statistics, spread_logits
from zooport.verbs import run_verb

pytestmark = [pytest.mark.libraries, pytest.mark.slow]
timm = pytest.importorskip("timm", reason="the extra timm is not installed")

CLASSES = 3


@pytest.mark.parametrize("name", ["test_resnet", "test_vit", "test_convnext", "test_efficientnet"])
def test_a_classifier(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    copy_images(tmp_path)
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=CLASSES)
    images = torch.rand(4, *timm.data.resolve_model_data_config(model)["input_size"])
    learn_statistics(model, lambda: model(images))
    spread_logits(model, CLASSES, lambda: model(images))
    timm.models.save_for_hf(model, name, model_config={"label_names": ["cat", "dog", "fox"]})
    assert run_verb(["init", name]) == 0
    deploy(f"{name}.py", capsys)
