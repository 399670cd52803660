"""TransformersSegmentor gives what transformers' own post-processing makes of its own model's output."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import graph_references
from tests.rewriters.segmentor_graphs import TASK, target_of
from tests.rewriters.small_models import fixed_target
from tests.rewriters.small_segmentors import sample_images
from tests.small_transformers_segmentors import built, saved, small
from zoo.errors import InputError
from zoo.families import checked_divisor, contract_module, family_of
from zoo.registry import MODELS

transformers = pytest.importorskip("transformers", reason="needs the extra transformers")
pytestmark = pytest.mark.libraries

PROCESSORS = {
    "segformer": "SegformerImageProcessor",
    "upernet": "SegformerImageProcessor",  # as its checkpoints name it
    "dpt": "DPTImageProcessor",
    "mobilevit": "MobileViTImageProcessor",
    "maskformer": "MaskFormerImageProcessor",
    "mask2former": "Mask2FormerImageProcessor",
    "oneformer": "OneFormerImageProcessor",
}


def own_output(name: str, images: torch.Tensor, folder: Path) -> Any:
    """Of transformers' model, called as its documentation says."""
    given = {}
    if name == "oneformer":
        tokenizer = SimpleNamespace(tokenizer=transformers.AutoTokenizer.from_pretrained(folder))
        tokens = transformers.OneFormerProcessor._preprocess_text(tokenizer, ["the task is semantic"], max_length=77)
        given["task_inputs"] = tokens.expand(len(images), -1)
    return small(name)(pixel_values=images, **given)


@pytest.mark.parametrize("name", PROCESSORS)
def test_label_maps_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    model = built(name, tmp_path)
    images = sample_images(2, 64, 64 if name == "dpt" else 96)
    sizes = [tuple(images.shape[2:])] * 2
    post_process = getattr(transformers, PROCESSORS[name]).post_process_semantic_segmentation
    with torch.no_grad():
        output = own_output(name, images, tmp_path)
        theirs = post_process(None, output, target_sizes=sizes, return_segmentation_scores=True)
        (scores,) = contract_module(model, TASK, "decoded", {})(images)
        (labels,) = contract_module(model, TASK, "final", {})(images)
        raw = contract_module(model, TASK, "raw", {})(images)
    expected = torch.stack([one.segmentation_scores for one in theirs])
    torch.testing.assert_close(scores, expected, atol=1e-5, rtol=1e-5)
    best, second = expected.sort(dim=1, descending=True).values[:, :2].unbind(dim=1)
    clear = best - second > 1e-4
    assert clear.float().mean() > 0.9
    assert (labels == torch.stack([one.segmentation for one in theirs]))[clear].all()
    for name_of_raw, tensor in zip(model.raw_names, raw, strict=True):
        torch.testing.assert_close(tensor, output[name_of_raw], atol=1e-5, rtol=1e-5)


def test_level_raw_has_a_reference(tmp_path: Path) -> None:
    model, images = built("segformer", tmp_path), sample_images(1, 64, 96)
    (reference,) = graph_references(model, TASK, "raw", {}, [GraphInput(("one",), {"images": images.numpy()})])
    with torch.no_grad():
        expected = model.raw(images)[0].numpy()
    np.testing.assert_array_equal(reference.outputs["logits"], expected)


def test_the_weights_are_those_of_the_folder(tmp_path: Path) -> None:
    model = built("segformer", tmp_path)
    theirs = transformers.AutoModelForSemanticSegmentation.from_pretrained(tmp_path).state_dict()
    for name, tensor in model.model.state_dict().items():
        torch.testing.assert_close(tensor, theirs[name])


def test_without_a_tokenizer_a_task_in_words_is_refused(tmp_path: Path) -> None:
    saved("oneformer", tmp_path)
    for file in tmp_path.glob("*token*"):
        file.unlink()
    with pytest.raises(
        InputError, match="of type oneformer is given its task in words, and no tokenizer there reads"
    ) as caught:
        MODELS.build({"type": "TransformersSegmentor", "folder": str(tmp_path)})
    assert "\n" not in str(caught.value)


def test_masks_that_are_put_together_in_another_way_are_refused(tmp_path: Path) -> None:
    settings = transformers.EomtConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_blocks=1, num_queries=4, image_size=64
    )
    transformers.EomtForUniversalSegmentation(settings).save_pretrained(tmp_path)
    model = MODELS.build({"type": "TransformersSegmentor", "folder": str(tmp_path)}).eval()
    with pytest.raises(
        InputError, match="of type eomt does not give logits.*takes maskformer, mask2former, oneformer$"
    ):
        model(sample_images(1, 64, 64))
    with pytest.raises(
        InputError, match="it takes maskformer, mask2former, oneformer; transformers makes instances of"
    ):
        MODELS.build({"type": "TransformersInstanceSegmentor", "folder": str(tmp_path)})


def test_a_model_for_something_else_is_refused(tmp_path: Path) -> None:
    saved("depth_anything", tmp_path)
    with pytest.raises(InputError, match="describes DepthAnythingForDepthEstimation, which is not for semantic segm"):
        MODELS.build({"type": "TransformersSegmentor", "folder": str(tmp_path)})


def test_a_dpt_takes_square_images_of_whole_patches(tmp_path: Path) -> None:
    model = built("dpt", tmp_path)
    with pytest.raises(RuntimeError, match="shape"), torch.no_grad():
        model(sample_images(1, 64, 96))
    assert checked_divisor(model, fixed_target(64, 64)) == 16
    for target, words in (
        (fixed_target(64, 96), "^height 64, width 96: this DPT of transformers takes square images only; give preproc"),
        (
            target_of("dynamic"),
            "^a dynamic height or width: this DPT of transformers takes square images only; give on",
        ),
        (fixed_target(72, 72), "^height 72: TransformersSegmentor takes multiples of 16; give 64 or 80"),
    ):
        with pytest.raises(InputError, match=words) as caught:
            checked_divisor(model, target)
        assert "\n" not in str(caught.value)


def test_masks_are_not_trained_here(tmp_path: Path) -> None:
    labels = torch.zeros(1, 64, 64, dtype=torch.int64)
    batch = {"images": sample_images(1, 64, 64), "label_maps": labels}
    for name in ("segformer", "mask2former"):
        model = built(name, tmp_path / name)
        if name == "segformer":
            assert family_of(model).losses(model, batch)["loss"] > 0
            continue
        with pytest.raises(InputError, match="zooport does not train models whose queries have masks"):
            family_of(model).losses(model, batch)
