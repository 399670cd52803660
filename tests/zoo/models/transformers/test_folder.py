"""A folder of save_pretrained: built from its config.json, its weights by our loader, as transformers' own loader."""

import re
from pathlib import Path

import pytest
import torch

from tests.small_query_detectors import save
from zoo.build import build_model
from zoo.errors import InputError

pytestmark = pytest.mark.libraries
transformers = pytest.importorskip("transformers", reason="the models of these tests are transformers'")

CONFIG = """
model = dict(type="TransformersDetector", folder="rt")
checkpoint = "rt/model.safetensors"
task = dict(type="Detection", classes=[dict(name=str(i), category_id=i) for i in range(5)])
preprocess = dict(size=(64, 64))
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Beside it, the folder of a small RT-DETR v2."""
    save("rt_detr_v2", tmp_path / "rt")
    path = tmp_path / "my_rt.py"
    path.write_text(CONFIG, encoding="utf-8")
    return path


def test_it_is_the_model_that_was_saved(config: Path) -> None:
    images = torch.rand(2, 3, 64, 64)
    saved = transformers.AutoModelForObjectDetection.from_pretrained(config.parent / "rt").eval()
    model = build_model(config)
    with torch.no_grad():
        outputs, expected = (one(pixel_values=images) for one in (model.model, saved))  # type: ignore[operator]
    assert torch.equal(outputs.logits, expected.logits)
    assert torch.equal(outputs.pred_boxes, expected.pred_boxes)


def test_our_own_state_dict_loads_as_well(config: Path, tmp_path: Path) -> None:
    model = build_model(config)
    torch.save(model.state_dict(), tmp_path / "state.pth")
    again = build_model(config, tmp_path / "state.pth")
    assert all(torch.equal(one, other) for one, other in zip(model.parameters(), again.parameters(), strict=True))


def test_weights_of_other_classes_are_refused_with_names_and_shapes(config: Path, tmp_path: Path) -> None:
    settings = transformers.AutoConfig.from_pretrained(tmp_path / "rt")
    settings.num_labels = 3
    settings.save_pretrained(tmp_path / "rt")
    with pytest.raises(
        InputError, match=r"not of this model: of \d+ tensors \d+ of another shape .*\[5, 32\] for \[3, 32\]"
    ):
        build_model(config)


def test_a_missing_tensor_is_named(config: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    state = load_file(tmp_path / "rt" / "model.safetensors")
    del state["model.enc_output.0.weight"]
    save_file(state, tmp_path / "less.safetensors")
    with pytest.raises(InputError, match=r"1 missing \(model\.model\.enc_output\.0\.weight\)"):
        build_model(config, tmp_path / "less.safetensors")


@pytest.mark.parametrize("name", ["model.decoder.layers.7.fc1.weight", "model.tail.weight"])
def test_a_tensor_of_another_model_is_refused_by_a_name_of_the_library_or_its_files(
    name: str, config: Path, tmp_path: Path
) -> None:
    """The library's loader calls fc1 in a file mlp.fc1."""
    from safetensors.torch import load_file, save_file

    state = load_file(tmp_path / "rt" / "model.safetensors")
    save_file({**state, name: torch.ones(2)}, tmp_path / "more.safetensors")
    renamed = name.replace("fc1", "mlp.fc1")
    with pytest.raises(InputError, match=rf"1 unknown \(model\.{re.escape(renamed)}\)"):
        build_model(config, tmp_path / "more.safetensors")


def test_another_task_is_refused(config: Path, tmp_path: Path) -> None:
    small = transformers.SegformerConfig(hidden_sizes=[8] * 4, depths=[1] * 4, num_attention_heads=[1] * 4)
    transformers.SegformerForSemanticSegmentation(small).save_pretrained(tmp_path / "rt")
    with pytest.raises(InputError, match="SegformerForSemanticSegmentation, which is not for object detection"):
        build_model(config)


def test_an_unknown_architecture_names_the_nearest(config: Path, tmp_path: Path) -> None:
    (tmp_path / "rt" / "config.json").write_text('{"model_type": "rt_dter"}', encoding="utf-8")
    with pytest.raises(InputError, match=r'has no model_type "rt_dter"; nearest: "rt_detr"'):
        build_model(config)


def test_a_backbone_that_is_only_named_would_be_downloaded(config: Path, tmp_path: Path) -> None:
    (tmp_path / "rt" / "config.json").write_text(
        '{"model_type": "rt_detr", "backbone": "microsoft/resnet-50", "backbone_config": null}', encoding="utf-8"
    )
    with pytest.raises(InputError, match=r"(download|resnet-50)"):
        build_model(config, weights=False)
