"""The constants of a deployment's graph beside those of its PyTorch model."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import onnx
from numpy.typing import NDArray
from torch import nn

from pipeline.export.host_part import HostPart
from pipeline.job.eager import job_runner
from pipeline.job.job import Job
from pipeline.parity.constants.comparing import DECIDING, GraphSide, compare_constants
from pipeline.parity.constants.readings import graph_nodes, read_constants
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import GraphReference
from pipeline.parity.records import ComparedConstant
from zoo.contract.constants import Attributes, Case, Constant, Read
from zoo.contract.constants.constant import constant
from zoo.contract.module_outputs import module_outputs
from zoo.families import family_of
from zoo.input_kinds.proof import input_proof
from zoo.manifest import ONNX_FILE
from zoo.tasks.contract import FIRST_STEP

Arrays = Mapping[str, NDArray[Any]]


def compared_constants(
    job: Job, model: nn.Module, references: Sequence[GraphReference], folder: Path, host: HostPart | None
) -> tuple[ComparedConstant, ...]:
    """Those of the graph in ``folder``, at each size of the cases; none for a family that declares none.

    ``host``: what the backend does on the host. Raises ExportError where ONNX Runtime refuses the graph.
    """
    inputs = [reference.given for reference in references]
    return tuple(constants_at_sizes(job, model, inputs, onnx.load(folder / ONNX_FILE), host))


def constants_at_sizes(
    job: Job, model: nn.Module, inputs: Sequence[GraphInput], graph: onnx.ModelProto, host: HostPart | None
) -> Iterable[ComparedConstant]:
    """As ``compared_constants``, of a ``graph`` that lies anywhere, at each size of the ``inputs``."""
    by_size = {entry.shape[1:]: entry for entry in reversed(inputs)}
    compared: dict[tuple[str, str, str], ComparedConstant] = {}
    for entry in by_size.values():
        constants = [
            *family_of(model).constants(model, _case(job, model, entry, host)),
            *_of_first_step(job),
        ]
        if not constants:
            continue
        half = job.target.precision == "fp16"
        arrays = entry.arrays if host is None else host.file_arrays(entry.arrays)
        for one in constants_of_graph(
            graph, constants, arrays, half=half, content=() if host is None else host.content
        ):
            key = (one.module, one.name, one.expected)
            if key not in compared or compared[key].passed:
                compared[key] = one
    return compared.values()


def constants_of_graph(
    graph: onnx.ModelProto,
    constants: Sequence[Constant],
    arrays: Arrays,
    *,
    half: bool = False,
    content: Collection[str] = (),
) -> list[ComparedConstant]:
    """What is declared beside what the graph reads. ``arrays``: the graph's inputs; ``half``: it may be in fp16.
    ``content``: see read_constants.

    Raises ExportError where ONNX Runtime refuses the graph.
    """
    parts = [part for constant in constants for form in constant.forms for part in form]
    operators = {operator for part in parts if isinstance(part, Read) for operator in part.operators}
    attributed = {part.operator for part in parts if isinstance(part, Attributes)}
    readings = read_constants(graph, arrays, operators | DECIDING.keys(), content)
    return list(compare_constants(constants, GraphSide(readings, graph_nodes(graph, attributed), half=half)))


def _of_first_step(job: Job) -> Iterator[Constant]:
    """What the graph applies to its input before the model: mean and standard deviation."""
    for name, (value, operator) in input_proof(job.task.kind).step_constants(job.preprocess).items():
        yield constant(name, FIRST_STEP, value, operator)


def _case(job: Job, model: nn.Module, entry: GraphInput, host: HostPart | None) -> Case:
    fixed = not job.target.image_sizes and not any(side.dynamic for side in job.target.sides.values())
    level = job.target.level if host is None else host.level
    return Case(level, fixed, entry.shape, partial(_outputs, job, model, entry))


def _outputs(job: Job, model: nn.Module, entry: GraphInput, modules: Mapping[str, nn.Module]) -> dict[str, Any]:
    runner = job_runner(job, model)
    with module_outputs(modules) as seen:
        runner.run(entry.arrays)
    return seen
