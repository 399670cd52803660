"""An ONNX file as TensorRT's network."""

import logging
import re
from types import ModuleType
from typing import Any

from backends.tensorrt.library import version_numbers
from backends.tensorrt.refused import EngineRefusedError
from zoo.errors import InputError

ONNX_NODE = re.compile(r"\[ONNX Layer: ([^\]]+)\]")  # in the metadata of a layer
UNOPENED = "Failed to open file"  # the parser, of weights outside the ONNX file
LAST_WITH_FLAG = 10  # the major version in which strong types had to be asked for

logger = logging.getLogger(__name__)


def new_network(trt: ModuleType, backend: str, builder: Any) -> Any:
    """An empty network in which a tensor has the type that the graph gives it, and no other."""
    flags = 0
    if backend == "tensorrt" and version_numbers(trt.__version__)[0] <= LAST_WITH_FLAG:
        flags = 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
    return builder.create_network(flags)


def parse(trt: ModuleType, network: Any, log: Any, onnx: str) -> Any:
    """Fill the network with the ONNX file's nodes. Gives the parser, which owns the weights: keep it for the build.

    Raises InputError for a file that is no ONNX graph, EngineRefusedError for the first node that is not taken.
    """
    if not trt.init_libnvinfer_plugins(log, ""):
        logger.warning("%s: its plugins are not available; nodes that need one are refused", trt.__name__)
    parser = trt.OnnxParser(network, log)
    if not parser.parse_from_file(onnx):
        refusals = [parser.get_error(index) for index in range(parser.num_errors)]
        if not refusals:
            raise EngineRefusedError(None, None, "; ".join(log.errors) or "the parser gave no reason")
        refusal = refusals[0]
        if refusal.code() == trt.ErrorCode.MODEL_DESERIALIZE_FAILED:
            raise InputError(f"{onnx}: not an ONNX file, or a damaged one; export the model again")
        unopened = next((line for line in log.errors if UNOPENED in line), None)
        if unopened is not None:
            raise InputError(f"{onnx}: {unopened}; put the file of its weights beside it")
        description = refusal.desc()
        reason = " ".join(description.split())
        raise EngineRefusedError(refusal.node_name() or None, refusal.node_operator() or None, reason)
    if network.num_outputs == 0:  # the parser takes an empty file for an empty graph
        raise InputError(f"{onnx}: no ONNX graph with outputs in it; export the model again")
    return parser


def node_named_in(network: Any, reason: str) -> str | None:
    """The ONNX node whose layer a builder's message speaks of; None where it names none. The longest name wins."""
    layers = [network.get_layer(index) for index in range(network.num_layers)]
    layers.sort(key=lambda layer: len(layer.name), reverse=True)
    for layer in layers:
        if layer.name and layer.name in reason:
            match = ONNX_NODE.search(layer.metadata)
            return match[1] if match else None
    return None
