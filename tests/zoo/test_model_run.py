"""A model of a library that refuses its input: a user's mistake, in one line."""

import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torchvision.models import VisionTransformer
from torchvision.ops import StochasticDepth

from backends.pytorch.runner import PyTorchRunner
from tests.zoo_configs import ROOT
from zoo.model_run import ModelRunError, model_run
from zoo.tensor_spec import TensorSpec
from zooport.verbs import run_verb

SMALL = {"image_size": 32, "patch_size": 8, "num_layers": 1, "num_heads": 1, "hidden_dim": 8, "mlp_dim": 8}


def test_a_library_that_refuses_its_input_is_named_with_the_shape() -> None:
    with pytest.raises(ModelRunError, match=r"run in PyTorch on \[1, 3, 64, 64\]: AssertionError: Wrong image"):
        run(VisionTransformer(**SMALL, num_classes=2))


def test_a_module_of_torch_alone_stays_as_it_is() -> None:
    with pytest.raises(RuntimeError, match="to have 4 channels"):
        run(nn.Sequential(nn.Conv2d(4, 2, 1)))


def test_a_library_that_takes_its_input_keeps_what_comes_behind_it() -> None:
    with pytest.raises(RuntimeError, match="to have 4 channels"):
        run(nn.Sequential(StochasticDepth(0.5, "row"), nn.Conv2d(4, 2, 1)))


def test_code_of_a_users_own_is_named_by_its_own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "refusing_net.py").write_text("def refuse(vit, image):\n    return vit(image)\n")
    from refusing_net import refuse  # type: ignore[import-not-found]

    image = torch.zeros(1, 3, 64, 64)
    with pytest.raises(AssertionError, match="Wrong image height"), model_run(image):
        refuse(VisionTransformer(**SMALL), image)


def run(module: nn.Module) -> None:
    image, logits = TensorSpec("images", "float32", (1, 3, 64, 64)), TensorSpec("logits", "float32", (1, 2))
    runner = PyTorchRunner(module.eval(), [image], [logits])
    runner.run({"images": torch.zeros(1, 3, 64, 64).numpy()})


def test_a_deploy_says_so_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = VisionTransformer(**SMALL, num_classes=2)
    torch.save(model.state_dict(), tmp_path / "vit.pth")
    (tmp_path / "config.py").write_text(
        f'model = dict(type="torchvision.models.VisionTransformer", num_classes=2, **{SMALL})\n'
        'task = dict(\n    type="ImageClassification",\n'
        '    classes=[dict(name="a", category_id=1), dict(name="b", category_id=2)],\n)\n'
        'preprocess = dict(size=(64, 64))\ncheckpoint = "vit.pth"\n'
    )
    images = map(str, sorted((ROOT / "zoo/data/digits/val/images").iterdir())[:2])
    flags = ["--image", *images, "--work-dir", str(tmp_path / "out")]
    assert run_verb(["deploy", str(tmp_path / "config.py"), *flags]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "the model does not run in PyTorch on [" in err
    assert "Wrong image height! Expected 32 but got 64!" in err
    assert not list((tmp_path / "out").rglob("deployment.json"))
