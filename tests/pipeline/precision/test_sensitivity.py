"""The table by module: which rows there are, what is noise, what is most harmful."""

import math

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from pipeline.precision import sensitivity
from pipeline.precision.sensitivity import decibels, last_tensors, modules
from rewriters.precision import to_int8
from tests.rewriters.precision.small_nets import conv_net, pictures
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
    told: list[int] = []
    model = harmed(0)
    whole, rows = sensitivity(
        model, to_int8, PrecisionOptions(), pictures(0), depth=1, progress=lambda _, done, __: told.append(done)
    )
    assert sorted(row.module for row in rows) == ["block0", "block1", "block2", "block3"]
    assert [row.only for row in rows] == sorted(row.only for row in rows)
    assert rows[0].module == "block1"
    assert rows[0].only < rows[1].only - 3
    assert whole < rows[-1].only
    assert told == list(range(1, 10))


def test_modules_are_cut_off_at_the_depth() -> None:
    assert modules(conv_net(0), 1) == {f"block{number}": 1 for number in range(4)}
    assert next(iter(modules(conv_net(0), 2))) == "block0.part"


def test_the_last_tensors_are_those_that_no_layer_reads() -> None:
    found = last_tensors(conv_net(0))
    assert found == [conv_net(0).graph.node[-1].output[0]] or found == ["conv3"]


def test_decibels() -> None:
    ones = np.ones(100)
    assert decibels([ones], [ones]) == math.inf
    assert decibels([ones], [ones * 1.1]) == pytest.approx(20)


def test_a_graph_without_module_paths_is_an_error() -> None:
    model = conv_net(0)
    for node in model.graph.node:
        del node.metadata_props[:]
    with pytest.raises(ExportError, match="no layer has a module path"):
        sensitivity(model, to_int8, PrecisionOptions(), pictures(0))
