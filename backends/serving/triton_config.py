"""The text of a config.pbtxt, made from a manifest and a result."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from backends.serving.protocol import DEPLOYMENT, DTYPES, FILE
from backends.serving.triton_model import THREADS
from zoo.manifest import Manifest
from zoo.tasks import Result


@dataclass(frozen=True)
class Serving:
    """``name``: of the model. ``instances``: processes, each with a model of its own. ``threads``: of a call of each.

    ``queue``: requests that may wait; further ones are refused with 503, as are those that have waited for
    ``timeout`` milliseconds. ``delay``: microseconds that a request may wait for others to share its batch.
    """

    name: str
    instances: int = 1
    threads: int = 1
    queue: int = 64
    timeout: int = 10_000
    delay: int = 0


def config_text(manifest: Manifest, result: Result, warmup_bytes: int, serving: Serving) -> str:
    """The file's content. ``result``: any of the deployment's; its arrays are the outputs."""
    inputs = [f'  {{ name: "{FILE}" data_type: TYPE_UINT8 dims: [ -1 ] allow_ragged_batch: true }}']
    dtypes = {spec.name: DTYPES[spec.dtype] for spec in manifest.inputs}
    inputs += [
        f"  {{ name: {json.dumps(name)} data_type: TYPE_{dtypes[name]} dims: [ 1 ] optional: true }}"
        for name in manifest.defaults
    ]
    arrays = {name: (DTYPES[array.dtype.name], array.ndim) for name, array in result.arrays.items()}
    outputs = [_output(name, *form) for name, form in {**arrays, DEPLOYMENT: ("UINT8", 1)}.items()]
    return f"""# Written by zooport triton. Fields: https://docs.nvidia.com/deeplearning/triton-inference-server
name: {json.dumps(serving.name)}
backend: "python"
max_batch_size: {_largest_batch(manifest)}
input [
{_joined(inputs)}
]
output [
{_joined(outputs)}
]
instance_group [ {{ kind: KIND_CPU count: {serving.instances} }} ]
dynamic_batching {{
  max_queue_delay_microseconds: {serving.delay}
  default_queue_policy {{
    max_queue_size: {serving.queue}
    timeout_action: REJECT
    default_timeout_microseconds: {1000 * serving.timeout}
  }}
}}
model_warmup [
  {{
    name: "first call"
    batch_size: 1
    inputs {{ key: "{FILE}" value {{ data_type: TYPE_UINT8 dims: [ {warmup_bytes} ] input_data_file: "{FILE}" }} }}
  }}
]
{_parameters({THREADS: str(serving.threads)})}
"""


def _largest_batch(manifest: Manifest) -> int:
    """The largest batch of the graph."""
    count = manifest.inputs[0].shape[0]
    return manifest.axes[count].max if isinstance(count, str) else count


def _output(name: str, dtype: str, dimensions: int) -> str:
    sides = ", ".join(["-1"] * dimensions)
    return f"  {{ name: {json.dumps(name)} data_type: TYPE_{dtype} dims: [ {sides} ] }}"


def _joined(tensors: list[str]) -> str:
    return ",\n".join(tensors)


def _parameters(values: Mapping[str, str]) -> str:
    return "\n".join(
        f'parameters {{ key: "{name}" value {{ string_value: "{value}" }} }}' for name, value in values.items()
    )
