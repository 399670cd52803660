"""Stands in for Triton's ONNX Runtime backend, which the wheel nvidia-pytriton does not have.

A backend of Triton may be a model.py: a file that imports this one, as backends/onnxruntime/model.py. It runs the
model's file with the ONNX Runtime of Python. The ensemble, the queues and the batches are those of the real server.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from backends.serving.triton_tensors import TritonTensors

MODEL_PY = """import os, sys
sys.path[:0] = os.environ["PYTHONPATH"].split(os.pathsep)
from tests.backends.serving.graph_backend import TritonPythonModel
"""


class TritonPythonModel:
    """The interface of a backend that is written in Python."""

    @staticmethod
    def auto_complete_config(config: Any) -> Any:
        return config

    def initialize(self, arguments: Mapping[str, str]) -> None:
        config = json.loads(arguments["model_config"])
        self.tensors = TritonTensors()
        self.inputs = [each["name"] for each in config["input"]]
        self.outputs = {each["name"]: "reshape" in each for each in config["output"]}
        file = Path(arguments["model_repository"], arguments["model_version"], config["default_model_filename"])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(config["parameters"]["intra_op_thread_count"]["string_value"])
        self.session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """One run for the whole batch, as the real one makes it.

        Of copies: a sum of ONNX Runtime depends on where in memory its input begins, and Triton's begins elsewhere than
        numpy's. Only from the same place is a result equal to that of `load` to the bit.
        """
        feeds = [{name: self.tensors.array(request, name) for name in self.inputs} for request in requests]
        if len(feeds) > 1:
            (name,) = self.inputs
            batch = {name: np.concatenate([each[name] for each in feeds if each[name] is not None])}
        else:
            batch = {name: array.copy() for name, array in feeds[0].items() if array is not None}
        arrays = dict(zip(self.outputs, self.session.run(list(self.outputs), batch), strict=True))
        if len(feeds) == 1:
            return [self._response(arrays)]
        return [self._response({name: array[[place]] for name, array in arrays.items()}) for place in range(len(feeds))]

    def _response(self, arrays: Mapping[str, np.ndarray]) -> Any:
        shaped = {name: array[:, np.newaxis] if self.outputs[name] else array for name, array in arrays.items()}
        return self.tensors.response(shaped)
