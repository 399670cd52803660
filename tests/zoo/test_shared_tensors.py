"""A tensor that a model has under two names is in a file once, and both names are loaded."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load, save_file
from torch import nn

from pipeline.training import half_precision_file
from zoo.checkpoint import load_checkpoint
from zoo.errors import InputError
from zoo.shared_tensors import under_one_name, with_other_names


class Shared(nn.Module):
    """`second` is `first`, and `other` looks like it."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = self.first
        self.other = nn.Linear(2, 2)
        self.register_buffer("nothing", torch.zeros(0))
        self.register_buffer("empty", torch.zeros(0))


NAMES = ["nothing", "empty", "first.weight", "first.bias", "other.weight", "other.bias"]


def test_each_tensor_is_published_once(tmp_path: Path) -> None:
    model, again = Shared(), Shared()
    content = half_precision_file(model)
    assert sorted(load(content)) == sorted(NAMES)
    (tmp_path / "half.safetensors").write_bytes(content)
    load_checkpoint(again, tmp_path / "half.safetensors")
    assert torch.equal(again.second.weight, model.first.weight.half().float())
    assert torch.equal(again.other.weight, model.other.weight.half().float())


def test_any_of_its_names_is_enough(tmp_path: Path) -> None:
    model, again = Shared(), Shared()
    state = {name.replace("first", "second"): tensor for name, tensor in under_one_name(model.state_dict()).items()}
    save_file(state, tmp_path / "second.safetensors")
    load_checkpoint(again, tmp_path / "second.safetensors")
    assert torch.equal(again.first.weight, model.first.weight)


def test_a_tensor_of_its_own_is_still_missing(tmp_path: Path) -> None:
    state = under_one_name(Shared().state_dict())
    del state["other.weight"]
    save_file(state, tmp_path / "less.safetensors")
    with pytest.raises(InputError, match=r"1 missing \(other.weight\)"):
        load_checkpoint(Shared(), tmp_path / "less.safetensors")


def test_a_model_without_values_shares_none() -> None:
    with torch.device("meta"):
        state = Shared().state_dict()
    assert under_one_name(state).keys() == state.keys()
    assert with_other_names({"first.weight": torch.zeros(2, 2)}, state).keys() == {"first.weight"}
