"""Translated configs against mmsegmentation 1.2.2 itself (make_translated.py): the same tensors and logits."""

from pathlib import Path

import pytest
import torch

from tests.examples import slow_but
from tests.translated_segmentors import CLASSES, TRANSLATED, in_use, mmseg_section, translated
from tests.zoo.mmseg.formula import described, formula_images, sample
from tests.zoo.mmseg.make_translated import FOLDER, SIZE
from tests.zoo.mmseg.test_mmseg_checkpoints import mmseg_state, recorded
from zoo.checkpoint import load_checkpoint
from zoo.codebases.mmseg.part import UnknownPartError

NEAR = 1e-8
"""Of the range of the logits, in float64. mmseg's DNLHead takes its temperature in float32, which makes 1e-9."""
PREFIX = "decode_head."
TRAINED_ONLY = ("da", "enc", "ddrnet", "pidnet", "pidnet-larger")
"""Those whose heads have layers in mmseg that inference never runs."""
IDLE = {"setr-mla": ["backbone.cls_token"]}
"""Parameters that mmseg has also where nothing uses them."""


@pytest.mark.parametrize("name", TRANSLATED)
def test_mmsegs_names_shapes_and_logits(name: str, tmp_path: Path) -> None:
    model = translated(name).double()
    logits, names = recorded(name, FOLDER)
    layers = tuple(f"{PREFIX}{layer}" for layer in model.decode_head.trained_only)
    kept = [line for line in names if not line.startswith(layers)]
    assert described(model.state_dict()) == kept
    assert (len(kept) < len(names)) == (name in TRAINED_ONLY)
    torch.save({"meta": {}, "state_dict": mmseg_state(name, FOLDER)}, tmp_path / "mmseg.pth")
    load_checkpoint(model, tmp_path / "mmseg.pth")
    with torch.no_grad():
        actual = sample(model(formula_images(*SIZE).double()))
    torch.testing.assert_close(actual, logits, atol=NEAR * float(logits.max() - logits.min()), rtol=0)
    assert logits.std() > 0.02  # a constant would prove little


@pytest.mark.parametrize("name", slow_but(TRANSLATED, "hrnet-ocr", "setr-mla", "pidnet"))
def test_every_layer_learns(name: str) -> None:
    torch.manual_seed(0)  # by some weights, all four channels of a layer are below zero, and their ReLU passes nothing
    model = in_use(translated(name).train())
    images, labels = formula_images(64, 96), torch.randint(0, CLASSES, (2, 64, 96))
    sum(model(images, labels, mode="loss").values()).backward()
    idle = [
        parameter_name
        for parameter_name, parameter in model.named_parameters()
        if parameter.requires_grad
        and not parameter_name.endswith("bias")
        and (parameter.grad is None or not parameter.grad.any())
    ]
    assert idle == IDLE.get(name, [])


@pytest.mark.parametrize(
    ("name", "key"), [("nl", "temperature"), ("dnl", "recurrence"), ("gc", "reduction"), ("cc", "use_scale")]
)
def test_a_key_of_another_head_is_unknown(name: str, key: str) -> None:
    head = {**mmseg_section(name)["decode_head"], key: 1}
    with pytest.raises(UnknownPartError, match=f'{head["type"]}: key "{key}" .1. is not known to zooport.s own'):
        translated(name, decode_head=head)


def test_the_losses_of_a_cascade_are_named_as_mmsegs() -> None:
    labels = torch.randint(0, CLASSES, (2, 64, 96))
    losses = translated("hrnet-ocr")(formula_images(64, 96), labels, mode="loss")
    assert list(losses) == ["decode_0.loss_ce", "decode_1.loss_ce"]
