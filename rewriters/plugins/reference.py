"""Running graphs with plugin nodes where TensorRT is not: onnx's ReferenceEvaluator, in numpy."""

import onnx
from onnx.reference import ReferenceEvaluator

from rewriters.plugins.efficient_nms import EfficientNMS_TRT
from rewriters.plugins.yolo_layer import YoloLayer_TRT


def reference_evaluator(model: onnx.ModelProto) -> ReferenceEvaluator:
    """An evaluator that knows the plugin nodes. Its `run(names, arrays)` gives the outputs; convolutions are slow."""
    return ReferenceEvaluator(model, new_ops=[EfficientNMS_TRT, YoloLayer_TRT])
