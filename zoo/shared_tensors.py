"""Tensors that a model has under several names, such as the heads of a decoder's layers. Needs torch."""

from collections.abc import Mapping

from torch import Tensor


def under_one_name(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A model's state dict, each of its tensors once, under the first of its names."""
    first: dict[object, str] = {}
    return {name: tensor for name, tensor in state.items() if first.setdefault(_place(name, tensor), name) == name}


def with_other_names(state: Mapping[str, Tensor], model_state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A state dict, its tensors also under the other names that the model has for them."""
    known = {_place(name, tensor): state[name] for name, tensor in model_state.items() if name in state}
    places = {name: _place(name, tensor) for name, tensor in model_state.items() if name not in state}
    return {**state, **{name: known[place] for name, place in places.items() if place in known}}


def _place(name: str, tensor: Tensor) -> object:
    """The same for two names of one tensor, and for no others: what holds no values has no place in memory."""
    if tensor.is_meta or tensor.numel() == 0:
        return name
    return tensor.device, tensor.data_ptr(), tensor.shape, tensor.stride()
