"""The domain of plugin nodes: with a domain of their own, onnx.checker lets them pass.

It is the one under which ONNX Runtime's TensorRT provider knows TensorRT's plugins. TensorRT's own parser finds a
plugin by the node's type and its attribute plugin_version, whatever the domain.
"""

import onnx

PLUGIN_DOMAIN = "trt.plugins"


def plugin_nodes(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """Those of the main graph."""
    return [node for node in model.graph.node if node.domain == PLUGIN_DOMAIN]
