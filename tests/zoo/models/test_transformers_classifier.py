"""TransformersClassifier: the logits of transformers' own model, its graph, and the size that it takes."""

import json
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch

from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import graph_references
from rewriters import export_onnx
from tests.small_tasks import small_task
from zoo.errors import InputError
from zoo.families import contract_module, family_of
from zoo.registry import MODELS
from zoo.target import AxisRange, Target
from zoo.tensor_spec import TensorSpec

transformers = pytest.importorskip("transformers", reason="transformers is not installed; make test-all installs it")
pytestmark = pytest.mark.libraries

SIZE = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}


@pytest.fixture
def saved(tmp_path: Path) -> Any:
    """transformers' own model, beside the folder that it was saved in."""
    torch.manual_seed(0)
    settings = transformers.ViTConfig(**SIZE, image_size=32, patch_size=8, num_labels=3)
    model = transformers.ViTForImageClassification(settings).eval()
    model.save_pretrained(tmp_path / "vit")
    return model, tmp_path / "vit"


def build(saved: Any) -> Any:
    theirs, folder = saved
    ours = MODELS.build({"type": "TransformersClassifier", "folder": str(folder)}).eval()
    ours.load_state_dict(ours.translated_state(theirs.state_dict()))
    return ours


def test_gives_transformers_logits(saved: Any) -> None:
    images = torch.rand(2, 3, 32, 32)
    with torch.no_grad():
        torch.testing.assert_close(build(saved)(images), saved[0](pixel_values=images).logits)


def test_another_size_is_refused_in_one_line(saved: Any) -> None:
    inputs = [GraphInput((), {"images": torch.rand(1, 3, side, side).numpy()}) for side in (32, 40)]
    with pytest.raises(InputError, match=r"refuses one \[1, 3, 40, 40\] \(ValueError: Input image size"):
        graph_references(build(saved), small_task("image-classification"), "final", {}, inputs)


def test_one_class_for_an_image(saved: Any) -> None:
    _, folder = saved
    content = json.loads((folder / "config.json").read_text()) | {"problem_type": "multi_label_classification"}
    (folder / "config.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match='"problem_type" is "multi_label_classification", expected "single_label'):
        build(saved)


def test_windows_that_change_with_the_size_take_one(tmp_path: Path) -> None:
    """In transformers a small image changes the windows for all that come after it."""
    sizes = {"patch_size": 2, "embed_dim": 8, "depths": [1], "num_heads": [2], "window_size": 4}
    transformers.SwinForImageClassification(transformers.SwinConfig(image_size=32, **sizes)).save_pretrained(tmp_path)
    model = MODELS.build({"type": "TransformersClassifier", "folder": str(tmp_path)})
    family = family_of(model)
    family.check_sides(model, {"height": AxisRange.fixed(32), "width": AxisRange.fixed(32)})
    with pytest.raises(InputError, match="height 32 to 64: transformers changes the windows of SwinForImage"):
        family.check_sides(model, {"height": AxisRange(32, 32, 64), "width": AxisRange.fixed(32)})


@pytest.mark.parametrize("exporter", ["torchscript", pytest.param("dynamo", marks=pytest.mark.slow)])
def test_its_graph_takes_any_batch(exporter: str, saved: Any, tmp_path: Path) -> None:
    model, side = build(saved), AxisRange.fixed(32)
    contract = contract_module(model, small_task("image-classification"), "decoded", {})
    target = Target({"batch": AxisRange(1, 2, 4), "height": side, "width": side}, exporter=exporter, level="decoded")
    specs, example = [TensorSpec("logits", "float32", ("batch", 3))], {"images": torch.rand(2, 3, 32, 32)}
    export_onnx(contract, target, tmp_path / "m.onnx", example=example, output_specs=specs)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    for batch in (1, 3):
        images = torch.rand(batch, 3, 32, 32)
        [logits] = session.run(None, {"images": images.numpy()})
        with torch.no_grad():
            torch.testing.assert_close(torch.from_numpy(logits), model(images), atol=1e-5, rtol=1e-4)
