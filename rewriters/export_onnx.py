"""Exporting a model to one ONNX file: rewriters in force, one of torch's two exporters, then checked."""

import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import Tensor, nn

import rewriters.torch_functions
import rewriters.torchvision_detection  # noqa: F401  # the rewriters of both libraries; a family names its own
from rewriters.checks import check_graph, check_other_sizes
from rewriters.export_record import ExportRecord, Fired, peak_memory
from rewriters.exporters import by_dynamo, by_torchscript
from rewriters.family_rewriters import import_rewriters
from rewriters.graph_passes import finish
from rewriters.graph_passes.expand_operators import translated
from rewriters.onnx_graph.module_paths import traced_names
from rewriters.patching.origin import rewriter_of
from rewriters.patching.overrides import check_overrides
from rewriters.patching.rewriter import Rewriter, chosen_for
from rewriters.patching.rewriting import EXPORT_LOCK, Session, rewriting
from rewriters.patching.twin import twin
from rewriters.symbolic import operators_for, symbolic_for
from rewriters.symbolic.declaration import SymbolicRewriter, other_opsets
from zoo.errors import ExportError, InputError, ZooportError, nearest
from zoo.families import check_exporter
from zoo.files.writing import write_whole
from zoo.input_kinds import input_axes
from zoo.input_specs import SETTINGS
from zoo.target import Target
from zoo.tensor_spec import TensorSpec


def export_onnx(
    module: nn.Module,
    target: Target,
    path: str | Path,
    *,
    example: Mapping[str, Tensor],
    output_specs: Sequence[TensorSpec],
    required_rewriters: Sequence[str | Mapping[str, Any]] = (),
    metadata: Mapping[str, str] | None = None,
    other_sizes: bool = True,
) -> ExportRecord:
    """Write `module`, in eval mode, as an ONNX file for `target`.

    `example`: the graph's inputs by name, in the order of the module's forward. Real inputs, two or more where the
    batch axis is dynamic: images float32 [N, 3, H, W], or points float32 [N, n, 4] with num_points int64 [N]; then
    `image_sizes` int64 [N, 2] where the target has it; then settings such as `scale`, of one element each.
    `output_specs`: names, dtypes and known sizes of what forward gives; strings are named dynamic axes.
    `required_rewriters`: names, or {"name": ..., option: value}; one that does not act is an error. `metadata` goes
    into the file's metadata_props. `other_sizes`: whether the graph is compared with the unpatched module at a second
    size of each dynamic axis; for a caller that does that itself.

    The file is byte-identical at equal versions. It is written whole or not at all, and only after it was checked:
    see `rewriters.checks`. Raises InputError for a wrong call, ExportError where the model cannot be exported rightly.
    """
    _check_call(module, target, example)
    check_exporter(module, target)
    import_rewriters(module)
    names = [entry if isinstance(entry, str) else entry["name"] for entry in required_rewriters]
    options = {
        entry["name"]: {key: value for key, value in entry.items() if key != "name"}
        for entry in required_rewriters
        if not isinstance(entry, str)
    }
    # the lock comes first: recording warnings and resetting the memory peak act on the whole process, too
    with EXPORT_LOCK, peak_memory() as memory, warnings.catch_warnings(record=True) as caught:
        start = time.perf_counter()
        warnings.simplefilter("always")
        _check_required(names, target)
        copied = twin(module)
        with rewriting(target, options=options) as session:
            check_overrides(module, session.rewriters)
            model = _traced(copied, target, example, [spec.name for spec in output_specs])
        session.hits.update(translated(model, target))
        _check_hits(names, session)
        model = finish(model, target, output_specs, metadata or {}, traced_names(module))
        arrays = {name: tensor.numpy() for name, tensor in example.items()}
        content = check_graph(model, target, arrays, output_specs)
        unchecked = check_other_sizes(module, target, model, content, example, output_specs) if other_sizes else []
        _write(content, Path(path))
        seconds = time.perf_counter() - start
    return ExportRecord(
        exporter=target.exporter,
        opset=target.opset,
        rewriters=tuple(
            Fired(rewriter.name, rewriter.reason, session.hits[rewriter.name])
            for rewriter in _in_force(target)
            if session.hits[rewriter.name]
        ),
        warnings=(*dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught), *unchecked),
        seconds=seconds,
        peak_memory=memory.bytes,
        nodes=len(model.graph.node),
        inputs=tuple(tensor_spec(value) for value in model.graph.input),
        outputs=tuple(tensor_spec(value) for value in model.graph.output),
    )


def _check_call(module: nn.Module, target: Target, example: Mapping[str, Tensor]) -> None:
    training = next((name or type(module).__name__ for name, m in module.named_modules() if m.training), None)
    if training is not None:
        raise InputError(f"export_onnx: {training} is in training mode; call module.eval() first")
    if target.slide != "graph":
        raise InputError(
            f'export_onnx: slide="{target.slide}" is for deployments; export the model of one window with slide="graph"'
        )
    if not example:
        raise InputError("export_onnx: `example` is empty; give at least one input")
    if target.image_sizes != ("image_sizes" in example):
        raise InputError(
            f"export_onnx: the example has the inputs {', '.join(example)}, and the target image_sizes="
            f"{target.image_sizes}; give the input image_sizes int64 [N, 2] just where the target has it"
        )
    for name, tensor in example.items():
        batched = target.batch.dynamic and name not in SETTINGS
        if batched and target.exporter == "dynamo" and tensor.shape[0] < 2:  # noqa: PLR2004
            raise InputError(
                f"export_onnx: example {name} has a batch of {tensor.shape[0]}, which dynamo would freeze; "
                "give two or more for a dynamic batch"
            )


def _check_required(names: Sequence[str], target: Target) -> None:
    known = [rewriter.name for rewriter in _in_force(target)]
    for name in names:
        if name not in known:
            raise InputError(f'unknown rewriter "{name}" for this target; {nearest(name, known)}')


def _in_force(target: Target) -> list[Rewriter | SymbolicRewriter]:
    return [*chosen_for(target), *symbolic_for(target)]


def _check_hits(names: Sequence[str], session: Session) -> None:
    missed = [name for name in names if not session.hits[name]]
    if missed:
        raise ExportError(
            f"required rewriters did not act: {', '.join(missed)}; the model no longer calls what they replace "
            "(another class or library version?), so the graph may be wrong; correct export.rewriters in the config"
        )


def _traced(
    module: nn.Module, target: Target, example: Mapping[str, Tensor], output_names: list[str]
) -> onnx.ModelProto:
    trace = _torchscript if target.exporter == "torchscript" else _dynamo
    try:
        with torch.no_grad():
            return trace(module, target, example, output_names)
    except Exception as error:
        ours = _error_of_ours(error)
        if ours is None:
            raise _refusal(error, target) from error
    raise ours  # here, for what wraps it has it as its own cause


def _error_of_ours(error: BaseException) -> ZooportError | None:
    """The exporters wrap what a model or a rewriter raises."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ZooportError):
        cause = cause.__cause__ or cause.__context__
    return cause


def _refusal(error: BaseException, target: Target) -> ExportError:
    reason, rewriter = _reason(error), rewriter_of(error)
    if rewriter is not None:
        return ExportError(
            f"zooport's rewriter {rewriter} fails on a call of this model: {reason}; it is a fault of the rewriter "
            "or a call that it should have left to the original: report it with that call"
        )
    return ExportError(f"torch's {target.exporter} exporter refused the model: {reason}{other_opsets(target, reason)}")


def _reason(error: BaseException) -> str:
    """One line of the innermost error: what the exporters wrap around it says how they are built."""
    while error.__cause__ is not None:
        error = error.__cause__
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {line}"


def _dynamic_axes(name: str, target: Target) -> dict[int, str]:
    """Which axes of an input vary."""
    return {index: axis for index, axis in input_axes(name).items() if axis in target.dynamic_axes}


def _torchscript(
    module: nn.Module, target: Target, example: Mapping[str, Tensor], output_names: list[str]
) -> onnx.ModelProto:
    axes = {name: _dynamic_axes(name, target) for name in example} if target.dynamic_axes else {}
    operators = operators_for(target)
    return by_torchscript(
        module, example, opset=target.opset, axes=axes, operators=operators, output_names=output_names
    )


def _dynamo(
    module: nn.Module, target: Target, example: Mapping[str, Tensor], output_names: list[str]
) -> onnx.ModelProto:
    dims = {
        axis: torch.export.Dim(axis, min=target.axes[axis].min, max=target.axes[axis].max)
        for axis in target.dynamic_axes
    }
    shapes = tuple({index: dims[axis] for index, axis in _dynamic_axes(name, target).items()} for name in example)
    return by_dynamo(
        module,
        example,
        opset=target.opset,
        shapes=shapes if dims else None,
        operators=operators_for(target),
        output_names=output_names,
    )


def tensor_spec(value: onnx.ValueInfoProto) -> TensorSpec:
    """Name, dtype and shape of a graph's input or output."""
    tensor = value.type.tensor_type
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
    return TensorSpec(value.name, dtype, tuple(dim.dim_param or dim.dim_value for dim in tensor.shape.dim))


def _write(content: bytes, path: Path) -> None:
    """Whole or not at all."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
