"""The text of a config.pbtxt, of a model of NVIDIA's Triton."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from backends.serving.protocol import DEPLOYMENT, DTYPES, FILE
from backends.threads import default_threads
from zoo.errors import InputError
from zoo.manifest import Manifest
from zoo.target import AxisRange
from zoo.tasks import Result
from zoo.tensor_spec import TensorSpec

ANY = -1  # a side of any size
OPTIONAL, RAGGED = " optional: true", " allow_ragged_batch: true"  # see Tensor.form


@dataclass(frozen=True)
class Serving:
    """``name``: of the model. ``instances``: processes, each with a model of its own. ``threads``: of a call of each.

    ``instances`` None: as many as CPUs, or one on each GPU. ``batch``: the largest of requests that are joined; None:
    the smallest that the graph takes on a CPU, where batches do not pay, and the largest on a GPU.
    ``queue``: requests that may wait; further ones are refused with 503, as are those that have waited for
    ``timeout`` milliseconds. ``delay``: microseconds that a request may wait for others to share its batch.
    """

    name: str
    instances: int | None = None
    threads: int = 1
    batch: int | None = None
    queue: int = 64
    timeout: int = 10_000
    delay: int = 0


def largest_batch(serving: Serving, graph: AxisRange, *, on_cpu: bool) -> int:
    """Of the requests that Triton joins; 0 where each is computed alone. ``graph``: what it takes.

    Raises InputError for more than that.
    """
    usual = graph.min if on_cpu else graph.max
    if serving.batch is not None and serving.batch > graph.max:
        raise InputError(
            f"--batch {serving.batch}: the graph of {serving.name} takes at most {graph.max} at a time from Triton; "
            "give that, or less"
        )
    batch = serving.batch or usual
    return batch if batch > 1 else 0


class Tensor(NamedTuple):
    """An input or output. ``dtype``: numpy's name. ``sides``: without the batch axis where the model has batches.

    ``form``: further fields of it.
    """

    name: str
    dtype: str
    sides: tuple[int, ...]
    form: str = ""

    @property
    def text(self) -> str:
        """A message in the text form of protobuf."""
        fields = f"name: {json.dumps(self.name)} data_type: TYPE_{DTYPES[self.dtype]} dims: [ {_joined(self.sides)} ]"
        return f"  {{ {fields}{self.form} }}"


def request_tensors(manifest: Manifest, *, batched: bool) -> list[Tensor]:
    """What a request has: the file, and the numbers that may be left out."""
    dtypes = {spec.name: spec.dtype for spec in manifest.inputs}
    front = _front(batched)
    return [
        Tensor(FILE, "uint8", (*front, ANY), RAGGED if batched else ""),
        *(Tensor(name, dtypes[name], (*front, 1), OPTIONAL) for name in manifest.defaults),
    ]


def answer_tensors(result: Result, *, batched: bool) -> list[Tensor]:
    """What an answer has: the arrays of a result, and the manifest, which is the last one."""
    front = _front(batched)
    arrays = [Tensor(name, each.dtype.name, front + (ANY,) * each.ndim) for name, each in result.arrays.items()]
    return [*arrays, Tensor(DEPLOYMENT, "uint8", (*front, ANY))]


def _front(batched: bool) -> tuple[int, ...]:
    """The batch axis, which Triton adds by itself where a model has batches."""
    return () if batched else (1,)


def graph_tensor(spec: TensorSpec, *, batched: bool) -> Tensor:
    """Of a graph. ``batched``: the model has batches, so that the first axis is left out."""
    sides = tuple(side if isinstance(side, int) else ANY for side in spec.shape)
    if not batched:
        return Tensor(spec.name, spec.dtype, sides)
    if len(sides) == 1:  # a tensor of Triton has one axis at least
        return Tensor(spec.name, spec.dtype, (1,), " reshape { shape: [ ] }")
    return Tensor(spec.name, spec.dtype, sides[1:])


def step_tensor(spec: TensorSpec, name: str, *, batched: bool) -> Tensor:
    """The same tensor, called `name`, as a model without batches gives or takes it."""
    tensor = graph_tensor(spec, batched=batched)
    return Tensor(name, spec.dtype, (ANY, *tensor.sides) if batched else tensor.sides)


def config_text(
    name: str, runs: str, batch: int, inputs: Sequence[Tensor], outputs: Sequence[Tensor], *parts: str
) -> str:
    """The file's content. ``runs``: the field that says what runs the model. ``batch``: the largest; 0 without one."""
    lines = [
        "# Written by zooport triton. Fields: https://docs.nvidia.com/deeplearning/triton-inference-server",
        f"name: {json.dumps(name)}",
        runs,
        f"max_batch_size: {batch}",
        f"input [\n{_messages(inputs)}\n]",
        f"output [\n{_messages(outputs)}\n]",
        *parts,
    ]
    return "\n".join(line for line in lines if line) + "\n"


def instances(serving: Serving, *, on_cpu: bool = True) -> str:
    """How many of the model run at the same time."""
    kind, usual = ("KIND_CPU", default_threads()) if on_cpu else ("KIND_GPU", 1)
    return f"instance_group [ {{ kind: {kind} count: {serving.instances or usual} }} ]"


def queue(serving: Serving) -> str:
    """The bounds of what waits, and the batches that are made of it."""
    return f"""dynamic_batching {{
  max_queue_delay_microseconds: {serving.delay}
  default_queue_policy {{
    max_queue_size: {serving.queue}
    timeout_action: REJECT
    default_timeout_microseconds: {1000 * serving.timeout}
  }}
}}"""


def warmup(batch: int, *inputs: Tensor) -> str:
    """A first call. The elements of each input are in a file of its name in the folder warmup."""
    texts = [
        f'    inputs {{ key: "{each.name}" value {{ data_type: TYPE_{DTYPES[each.dtype]} '
        f'dims: [ {_joined(each.sides)} ] input_data_file: "{each.name}" }} }}'
        for each in inputs
    ]
    return "\n".join(
        ["model_warmup [", "  {", '    name: "first call"', f"    batch_size: {batch}", *texts, "  }", "]"]
    )


def parameters(values: Mapping[str, str]) -> str:
    """Of what runs the model."""
    return "\n".join(
        f'parameters {{ key: "{name}" value {{ string_value: "{value}" }} }}' for name, value in values.items()
    )


def accelerator(options: Mapping[str, str]) -> str:
    """Of ONNX Runtime's provider for CUDA, as Triton's own backend hands them to it."""
    if not options:
        return ""
    texts = " ".join(f'parameters {{ key: "{name}" value: "{value}" }}' for name, value in options.items())
    return f'optimization {{ execution_accelerators {{ gpu_execution_accelerator: [ {{ name: "cuda" {texts} }} ] }} }}'


def _messages(tensors: Sequence[Tensor]) -> str:
    return ",\n".join(each.text for each in tensors)


def _joined(sides: Sequence[int]) -> str:
    return ", ".join(map(str, sides))
