"""`zooport init FOLDER && zooport deploy` for architectures of segmentation_models_pytorch."""

from pathlib import Path

import pytest
import torch

from tests.init_and_deploy import copy_images, deploy
from zoo.random_weights import learn_statistics
from zooport.verbs import run_verb

pytestmark = [pytest.mark.libraries, pytest.mark.slow]
smp = pytest.importorskip("segmentation_models_pytorch", reason="the extra smp is not installed")

SIZE = (64, 96)


@pytest.mark.parametrize("name", ["Unet", "UnetPlusPlus", "FPN", "PSPNet", "DeepLabV3Plus", "Segformer"])
def test_a_segmentor(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    copy_images(tmp_path)
    torch.manual_seed(0)
    model = getattr(smp, name)("tu-test_resnet", encoder_weights=None, classes=3)
    learn_statistics(model, lambda: model(torch.rand(4, 3, *SIZE)))
    model.eval().save_pretrained(name)
    assert run_verb(["init", name, "--size", *map(str, SIZE)]) == 0
    deploy(f"{name}.py", capsys)
