"""Small random networks of convolutions as graphs, with the module of each node."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from rewriters.onnx_graph.module_paths import MODULE

SIDE = 12


def conv_net(seed: int, layers: int = 4) -> onnx.ModelProto:
    """Convolutions, some with a Relu, some with a residual; the middle one reads a pooled image."""
    chance = np.random.default_rng(seed)
    nodes, tensors, width, name = [], [], 3, "images"
    for number in range(layers):
        wide = int(chance.integers(2, 7))
        spread = np.exp(chance.uniform(-2, 2, (wide, 1, 1, 1)))  # scales differ from channel to channel
        weight = chance.standard_normal((wide, width, 3, 3)) * spread / np.sqrt(9 * width)
        tensors += [
            numpy_helper.from_array(weight.astype(np.float32), f"weight{number}"),
            numpy_helper.from_array(chance.standard_normal(wide).astype(np.float32), f"bias{number}"),
        ]
        node = helper.make_node(
            "Conv", [name, f"weight{number}", f"bias{number}"], [f"conv{number}"], f"conv{number}", pads=[1, 1, 1, 1]
        )
        found, name = [node], f"conv{number}"
        if chance.random() < 0.7:
            found.append(helper.make_node("Relu", [name], [f"relu{number}"], f"relu{number}"))
            name = f"relu{number}"
        if chance.random() < 0.4:
            found.append(helper.make_node("Add", [f"conv{number}", name], [f"add{number}"], f"add{number}"))
            name = f"add{number}"
        for one in found:
            part = "relu" if one.op_type == "Relu" else "part"
            one.metadata_props.add(key=MODULE, value=f"block{number}.{part}")
        nodes, width = [*nodes, *found], wide
    nodes[-1].output[0] = "result"
    shape = ["batch", width, SIDE, SIDE]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("result", TensorProto.FLOAT, shape)],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    helper.set_model_props(model, {"zooport.task": "none"})
    return model


def sample_images(seed: int, count: int = 3) -> list[dict[str, np.ndarray]]:
    chance = np.random.default_rng([seed, 1])
    return [{"images": chance.random((1, 3, SIDE, SIDE), np.float32)} for _ in range(count)]
