"""The family against mmseg 1.2.2 itself (make.py): the same tensors, by name and shape, and the same logits of them."""

import logging
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.rewriters.encoder_decoders import FAMILY
from tests.zoo.mmseg.formula import described, formula_images, formula_state, sample
from zoo.checkpoint import load_checkpoint
from zoo.errors import InputError
from zoo.models.segmentation import EncoderDecoder
from zoo.registry import MODELS

FOLDER = Path(__file__).parent
TOLERANCE = 1e-4  # of the range: mmseg takes mean and std off images of 0..255, and float32 rounds otherwise


def fresh(architecture: str, **changes: object) -> EncoderDecoder:
    head, backbone, options = FAMILY[architecture]
    torch.manual_seed(0)
    model: EncoderDecoder = MODELS.build(
        {
            "type": "EncoderDecoder",
            "backbone": backbone,
            "decode_head": head,
            "test_cfg": {"mode": "whole"},
            **options,
            **changes,
        }
    )
    return model.eval()


def recorded(architecture: str, folder: Path = FOLDER) -> tuple[Tensor, list[str]]:
    """A few logits, and a line for each tensor."""
    first, *names = (folder / f"{architecture}.txt").read_text().splitlines()
    return torch.tensor([float(value) for value in first.split()], dtype=torch.float64), names


def mmseg_state(architecture: str, folder: Path = FOLDER) -> dict[str, Tensor]:
    """A state dict of mmseg's names and shapes, from the record alone."""
    shapes: dict[str, tuple[int, ...]] = {}
    for line in recorded(architecture, folder)[1]:
        name, kind, *size = line.split(" ")
        if kind == "batch-norm":
            shapes |= {f"{name}.{part}": (int(*size),) for part in ("weight", "bias", "running_mean", "running_var")}
            shapes[f"{name}.num_batches_tracked"] = ()
        else:
            shapes[name] = tuple(int(side) for side in kind.split("x") if side)
    return formula_state({name: torch.empty(shape) for name, shape in shapes.items()})


@pytest.mark.parametrize("architecture", FAMILY)
def test_mmsegs_names_shapes_and_logits(architecture: str, tmp_path: Path) -> None:
    model = fresh(architecture)
    logits, names = recorded(architecture)
    assert described(model.state_dict()) == names
    # as mmengine's Runner saves it
    torch.save({"meta": {}, "state_dict": mmseg_state(architecture)}, tmp_path / "mmseg.pth")
    load_checkpoint(model, tmp_path / "mmseg.pth")
    with torch.no_grad():
        got = sample(model(formula_images()))
    torch.testing.assert_close(got, logits, atol=TOLERANCE * float(logits.max() - logits.min()), rtol=0)
    assert logits.std() > 0.05  # a constant would prove little


@pytest.mark.parametrize("architecture", [name for name, parts in FAMILY.items() if "auxiliary_head" in parts[2]])
def test_auxiliary_heads_are_left_out_where_the_config_has_none(
    architecture: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = fresh(architecture, auxiliary_head=None)
    state = mmseg_state(architecture)
    extra = sum(name.startswith("auxiliary_head.") for name in state)
    torch.save({"state_dict": state}, tmp_path / "mmseg.pth")
    with caplog.at_level(logging.INFO, logger="zoo"):
        load_checkpoint(model, tmp_path / "mmseg.pth")
    (line,) = caplog.messages
    assert f"left out {extra} tensors, which this model does not have" in line
    with torch.no_grad():
        got = sample(model(formula_images()))
    torch.testing.assert_close(got, recorded(architecture)[0], atol=1e-4, rtol=0)


def test_auxiliary_heads_of_another_shape_are_refused(tmp_path: Path) -> None:
    head = {"type": "FCNHead", "in_channels": 16, "in_index": 2, "channels": 6, "num_classes": 4, "num_convs": 1}
    torch.save({"state_dict": mmseg_state("fcn")}, tmp_path / "mmseg.pth")
    with pytest.raises(InputError, match="of another shape .auxiliary_head"):
        load_checkpoint(fresh("fcn", auxiliary_head=head), tmp_path / "mmseg.pth")


def test_a_checkpoint_of_another_head_is_refused(tmp_path: Path) -> None:
    torch.save({"state_dict": mmseg_state("psp")}, tmp_path / "mmseg.pth")
    with pytest.raises(InputError, match="missing .decode_head.image_pool.1.conv.weight.* unknown .*psp_modules"):
        load_checkpoint(fresh("aspp"), tmp_path / "mmseg.pth")
