"""Changes of an exported graph, of a manifest and of the runtime, for planted faults."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from rewriters.onnx_graph.module_paths import module_path
from rewriters.onnx_graph.reads import reads

Array = NDArray[Any]
Edit = Callable[[onnx.ModelProto], None]
NEAR = 1e-4  # of a constant's value
LARGE = 100  # elements of a constant that is an array and not a shape or a scale


def nodes(model: onnx.ModelProto, module: str, operator: str) -> list[onnx.NodeProto]:
    """The nodes of one type of a module itself. LookupError where there is none."""
    chosen = [node for node in model.graph.node if module_path(node) == module and node.op_type == operator]
    if not chosen:
        raise LookupError(f"{module or 'the model'} has no {operator}")
    return chosen


def _constants(model: onnx.ModelProto) -> dict[str, onnx.TensorProto]:
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    made = (node for node in model.graph.node if node.op_type == "Constant" and node.attribute[0].HasField("t"))
    return stored | {node.output[0]: node.attribute[0].t for node in made}


def weights(module: str, change: Callable[[Array], Array], operator: str = "Conv", place: int = 1) -> Edit:
    """A stored tensor of the module's layer: its weights, or its bias at `place` 2; every copy of it."""

    def edit(model: onnx.ModelProto) -> None:
        stored = _constants(model)
        for name in {node.input[place] for node in nodes(model, module, operator)}:
            array = numpy_helper.to_array(stored[name])
            stored[name].CopyFrom(numpy_helper.from_array(change(array.copy()).astype(array.dtype), name))

    return edit


def attribute(module: str, operator: str, which: int | None = None, **values: Any) -> Edit:
    """Attributes of all nodes of a type in a module, or of one of them."""

    def edit(model: onnx.ModelProto) -> None:
        chosen = nodes(model, module, operator)
        for node in chosen if which is None else [chosen[which]]:
            kept = [one for one in node.attribute if one.name not in values]
            del node.attribute[:]
            node.attribute.extend([*kept, *(onnx.helper.make_attribute(name, value) for name, value in values.items())])

    return edit


def constant(module: str, operator: str, value: float, instead: float, which: int | None = None) -> Edit:
    """A number that nodes of a module read, at all such nodes or at one of them; other readers keep it."""

    def edit(model: onnx.ModelProto) -> None:
        stored, places = _constants(model), []
        for node in nodes(model, module, operator):
            for place, name in enumerate(node.input):
                if name in stored and np.isclose(_first(stored[name]), value, rtol=NEAR, atol=0):
                    places.append((node, place))
        if not places:
            raise LookupError(f"no {operator} of {module or 'the model'} reads {value}")
        for node, place in places if which is None else [places[which]]:
            old = numpy_helper.to_array(stored[node.input[place]])
            name = f"planted_{len(model.graph.initializer)}"
            model.graph.initializer.append(numpy_helper.from_array(np.full_like(old, instead), name))
            node.input[place] = name

    return edit


def _first(tensor: onnx.TensorProto) -> float:
    array = numpy_helper.to_array(tensor)
    return float(array.reshape(-1)[0]) if array.size == 1 and array.dtype.kind in "fi" else np.nan


def arrays(module: str, change: Callable[[Array], Array], least: int = LARGE, most: float = np.inf) -> Edit:
    """The float constants of so many elements that nodes of a module read, weights of its layers left out."""

    def edit(model: onnx.ModelProto) -> None:
        stored, names = _constants(model), set[str]()
        for node in model.graph.node:
            if module_path(node) == module and node.op_type not in ("Conv", "Gemm", "Constant"):
                names.update(name for name in reads(node) if name in stored)
        chosen = [
            name
            for name in sorted(names)
            if (array := numpy_helper.to_array(stored[name])).dtype.kind == "f" and least <= array.size <= most
        ]
        if not chosen:
            raise LookupError(f"{module or 'the model'} reads no array of {least} to {most} elements")
        for name in chosen:
            array = numpy_helper.to_array(stored[name])
            stored[name].CopyFrom(numpy_helper.from_array(change(array.copy()).astype(array.dtype), name))

    return edit


def noise(part: float) -> Callable[[Array], Array]:
    """Every number by a part of itself."""
    return lambda array: array * (1 + part * np.random.default_rng(0).standard_normal(array.shape))


def scaled(factor: float) -> Callable[[Array], Array]:
    """Every number."""
    return lambda array: array * factor


def one_number(change: float) -> Callable[[Array], Array]:
    """The largest of all."""

    def edit(array: Array) -> Array:
        array.reshape(-1)[np.abs(array).argmax()] *= change
        return array

    return edit


def swapped(first: int = 0, second: int = 1) -> Callable[[Array], Array]:
    """Two entries of the first axis."""

    def edit(array: Array) -> Array:
        array[[first, second]] = array[[second, first]]
        return array

    return edit


def last_rows(count: int, shift: float) -> Callable[[Array], Array]:
    """The last rows [..., 4] by so many pixels: the anchors of the coarsest level."""

    def edit(array: Array) -> Array:
        array.reshape(-1, array.shape[-1])[-count:] += shift
        return array

    return edit


def patched(target: Any, name: str, wrap: Callable[[Any], Any]) -> Callable[[], AbstractContextManager[None]]:
    """A part of the runtime that is another one while the context lasts: `wrap` makes it of the right one."""

    @contextmanager
    def context() -> Iterator[None]:
        right = target.__dict__[name]
        setattr(target, name, wrap(right))
        try:
            yield
        finally:
            setattr(target, name, right)

    return context
