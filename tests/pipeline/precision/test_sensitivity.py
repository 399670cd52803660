"""The table by module: which rows there are, what is noise, what is most harmful."""

import math

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from pipeline.precision import sensitivity
from pipeline.precision.sensitivity import Feeds, decibels, last_tensors, modules
from rewriters.onnx_graph.graph_outputs import run_all
from rewriters.onnx_graph.module_paths import MODULE
from rewriters.precision import NothingToCastError, to_fp16, to_int8
from rewriters.precision.rounded import rounded
from tests.rewriters.precision.small_nets import conv_net, sample_images
from zoo.errors import ExportError
from zoo.precision_options import PrecisionOptions


def harmed(seed: int) -> onnx.ModelProto:
    """Its second layer has huge weights for a channel that is nearly zero: they take all steps from the others."""
    model = conv_net(seed)
    known = {tensor.name: tensor for tensor in model.graph.initializer}
    for name in ("weight0", "bias0", "weight1"):
        values = numpy_helper.to_array(known[name]).copy()
        if name == "weight1":
            values[:, 0] = 1000 * np.abs(values).max()
        else:
            values[0] *= 1e-7
        known[name].CopyFrom(numpy_helper.from_array(values, name))
    return model


def test_the_module_that_int8_harms_comes_first() -> None:
    steps: list[int] = []
    model = harmed(0)
    whole, rows = sensitivity(
        model,
        to_int8,
        PrecisionOptions(),
        sample_images(0),
        depth=1,
        progress=lambda _, done, __: steps.append(done),
    )
    assert sorted(row.module for row in rows) == ["block0", "block1", "block2", "block3"]
    assert [row.only for row in rows] == sorted(row.only for row in rows)
    assert rows[0].module == "block1"
    assert rows[0].only < rows[1].only - 3
    assert whole < rows[-1].only
    assert steps == [0, 1, 3, 5, 7, 9]


def test_modules_are_cut_off_at_the_depth() -> None:
    assert modules(conv_net(0), 1) == {f"block{number}": 1 for number in range(4)}
    assert next(iter(modules(conv_net(0), 2))) == "block0.part"


def test_the_last_tensors_are_those_that_no_layer_reads() -> None:
    model = conv_net(0)
    layers = [node for node in model.graph.node if node.op_type == "Conv"]
    assert [node.op_type for node in model.graph.node][-2:] == ["Conv", "Relu"]
    assert last_tensors(model) == ["result"], "a layer and the Relu that alone reads it are one"
    model.graph.output.append(helper.make_tensor_value_info(layers[-1].output[0], onnx.TensorProto.FLOAT, None))
    assert last_tensors(model) == [layers[-1].output[0]], "an output of the graph stays what it is"


def test_decibels() -> None:
    ones = np.ones(100)
    assert decibels([ones], [ones]) == math.inf
    assert decibels([ones], [ones * 1.1]) == pytest.approx(20)
    assert decibels([ones, ones], [ones, ones * 1.1]) == pytest.approx(23.01, abs=0.01), "half the noise"
    assert decibels([ones, 9 * ones], [ones * 1.1, ones * 9.9]) == pytest.approx(20), "each by its own signal"
    assert decibels([ones, ones], [ones, ones * math.nan]) == decibels([ones], [ones * math.inf]) == -300


def two_heads() -> onnx.ModelProto:
    """A convolution with a Relu, and two heads that read it; int8 does the first one badly."""
    chance = np.random.default_rng(3)
    nodes, tensors = [], []
    for name, reads, wide, deep, module in (
        ("body", "images", 8, 3, "body.conv"),
        ("bad", "relu", 5, 8, "head.bad"),
        ("good", "relu", 4, 8, "head.good"),
    ):
        weight = chance.standard_normal((wide, deep, 3, 3))
        if name == "body":
            weight[0] *= 1e-7
        if name == "bad":  # huge weights for a channel that is nearly zero take all steps from the others
            weight[:, 0] = 1000
        tensors.append(numpy_helper.from_array(weight.astype(np.float32), f"{name}.weight"))
        node = helper.make_node("Conv", [reads, f"{name}.weight"], [name], name, pads=[1, 1, 1, 1])
        node.metadata_props.add(key=MODULE, value=module)
        nodes += [node, helper.make_node("Relu", ["body"], ["relu"], "relu")] if name == "body" else [node]
    ends = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", wide, 12, 12])
        for name, wide in (("bad", 5), ("good", 4))
    ]
    images = helper.make_tensor_value_info("images", onnx.TensorProto.FLOAT, ["batch", 3, 12, 12])
    graph = helper.make_graph(nodes, "heads", [images], ends, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def moved(model: onnx.ModelProto, paths: dict[str, str]) -> onnx.ModelProto:
    """Nodes by name, with other module paths."""
    for node in model.graph.node:
        if node.name in paths:
            del node.metadata_props[:]
            node.metadata_props.add(key=MODULE, value=paths[node.name])
    return model


def test_the_head_that_harms_is_no_row_without_noise() -> None:
    _, rows = sensitivity(two_heads(), to_int8, PrecisionOptions(), sample_images(0))
    only = {row.module: row.only for row in rows}
    assert all(math.isfinite(value) for value in only.values()), only
    assert rows[0].module == "head.bad"
    assert only["head.bad"] < only["head.good"] - 3


def test_what_is_chosen_is_what_fp32_chooses() -> None:
    model = two_heads()
    graph = model.graph
    constants = {"line": np.array([144]), "square": np.array([4, 144]), "k": np.array([30])}
    for name, values in (constants | {"weight": np.ones((4, 2), np.float32)}).items():
        graph.initializer.append(numpy_helper.from_array(values, name))
    graph.node.extend(
        [
            helper.make_node("ReduceMax", ["bad"], ["largest"], axes=[1], keepdims=0),
            helper.make_node("Reshape", ["largest", "line"], ["scores"]),
            helper.make_node("TopK", ["scores", "k"], ["best", "places"]),
            helper.make_node("Reshape", ["good", "square"], ["features"]),
            helper.make_node("Gather", ["features", "places"], ["proposed"], axis=1),
            helper.make_node("Transpose", ["proposed"], ["turned"]),
            helper.make_node("MatMul", ["turned", "weight"], ["second"], "second"),
        ]
    )
    moved(model, {"second": "head.second"})
    graph.output.append(helper.make_tensor_value_info("second", onnx.TensorProto.FLOAT, [30, 2]))
    model.opset_import[0].version = 17  # whose ReduceMax has its axes as an attribute
    _, rows = sensitivity(model, to_int8, PrecisionOptions(), sample_images(0))
    _, alone = sensitivity(two_heads(), to_int8, PrecisionOptions(), sample_images(0))
    assert last_tensors(model) == ["bad", "second"]
    only, first = ({row.module: row.only for row in found}["head.bad"] for found in (rows, alone))
    assert only == pytest.approx(first, abs=0.05), "the same noise in the first tensor, and none in the second"


def test_a_module_with_layers_of_its_own_is_apart_from_its_parts() -> None:
    flat = moved(conv_net(0, 2), {"conv0": "head", "relu0": "head", "add0": "head", "conv1": "head.out"})
    apart = moved(conv_net(0, 2), {"conv0": "a", "relu0": "a", "add0": "a", "conv1": "b"})
    whole, rows = sensitivity(flat, to_int8, PrecisionOptions(), sample_images(0))
    known, others = sensitivity(apart, to_int8, PrecisionOptions(), sample_images(0))
    names = {"a": "head.(itself)", "b": "head.out"}
    expected = {names[row.module]: (row.layers, row.only, row.without) for row in others}
    assert {row.module: (row.layers, row.only, row.without) for row in rows} == expected
    assert whole == known < math.inf
    assert all(row.only < math.inf for row in rows)


def test_only_nothing_to_cast_is_no_noise() -> None:
    def broken(model: onnx.ModelProto, options: PrecisionOptions, feeds: Feeds) -> tuple[onnx.ModelProto, object]:
        if options.keep_fp32:
            raise ExportError("int8: ONNX Runtime's quantiser left 3 of 4 layers in fp32")
        return to_int8(model, options, feeds)

    with pytest.raises(ExportError, match="quantiser left 3 of 4"):
        sensitivity(conv_net(0), broken, PrecisionOptions(), sample_images(0))
    with pytest.raises(NothingToCastError, match="nothing would compute in int8"):
        sensitivity(conv_net(0), to_int8, PrecisionOptions(keep_fp32=("block*",)), sample_images(0))


def test_a_module_that_cannot_be_in_the_precision_has_no_noise() -> None:
    model = two_heads()
    model.graph.node.append(helper.make_node("MatMul", ["good", "good"], ["square"], "square"))
    moved(model, {"square": "head.square"})
    model.graph.output.append(helper.make_tensor_value_info("square", onnx.TensorProto.FLOAT, ["batch", 4, 12, 12]))
    _, rows = sensitivity(model, to_int8, PrecisionOptions(), sample_images(0))
    assert rows[-1].module == "head.square"
    assert rows[-1].only == math.inf


def test_fp16_is_what_fp16_kernels_give() -> None:
    model, inputs = two_heads(), sample_images(0)
    whole, rows = sensitivity(model, to_fp16, PrecisionOptions(), inputs)
    made, _ = to_fp16(model, PrecisionOptions(), inputs)
    expected, plain, real = (
        [np.concatenate([run[end].ravel() for run in run_all(graph.SerializeToString(), inputs)]) for end in (0, 1)]
        for graph in (model, made, rounded(made))
    )
    assert whole == pytest.approx(decibels(expected, real), abs=0.1)
    assert whole < decibels(expected, plain) - 1, "ONNX Runtime's CPU computes in fp32"
    assert len(rows) == 3


def test_a_graph_without_module_paths_is_an_error() -> None:
    model = conv_net(0)
    for node in model.graph.node:
        del node.metadata_props[:]
    with pytest.raises(ExportError, match="no layer has a module path"):
        sensitivity(model, to_int8, PrecisionOptions(), sample_images(0))
