"""Few rows of a set that differ: rounding, where one on an edge falls on either side of it, or a fault."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from pipeline.alignment.aligning import MEMORY, align_subject
from pipeline.alignment.records import ITSELF, Alignment, Pair
from pipeline.alignment.second_look import rows_at_fault
from pipeline.alignment.subject import load_subject
from pipeline.base.steps import unseen
from pipeline.job.deploy_target import deploy_target
from pipeline.parity.records import ComparedConstant
from tests.exporters import DYNAMO_LATER
from tests.pipeline.alignment.planted import aligned, compared, nodes_of, set_constant, sound
from zoo.comparison import Findings
from zoo.config import load_config

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).parents[3]
DETECTOR, POOL = "faster_rcnn", "roi_heads.box_roi_pool"
THRESHOLD = 1e-4
SCORES = np.linspace(0, 1, 101, dtype=np.float32)
BOXES = np.arange(404, dtype=np.float32).reshape(101, 4)


def above(limit: float) -> Any:
    def run(arrays: Mapping[str, Array]) -> Array:
        kept: Array = np.ascontiguousarray(BOXES[arrays["scores"] > limit])
        return kept

    return run


def fault(expected: float, found: float) -> int:
    """PyTorch keeps scores above `expected`, the graph above `found`."""
    return rows_at_fault(BOXES[expected < SCORES], above(found), {"scores": SCORES}, THRESHOLD)


def test_a_row_on_the_edge_is_no_fault() -> None:
    edge = float(SCORES[40])
    assert fault(edge - 1e-7, edge + 1e-7) == 0
    assert fault(edge + 1e-7, edge - 1e-7) == 0


def test_a_row_away_from_the_edge_is_one() -> None:
    assert fault(0.405, 0.415) == 1  # the graph misses it
    assert fault(0.415, 0.405) == 1  # PyTorch has it not
    assert fault(0.405, 0.435) == 3


def test_values_that_no_rounding_gives_are_one() -> None:
    other = BOXES.copy()
    other[7, 2] += 1
    assert rows_at_fault(BOXES, lambda _: other, {}, THRESHOLD) == 1


def scale_rows(model: onnx.ModelProto, tensor: str, slots: int, rows: int) -> None:
    """The first rows of a tensor [slots, C, h, w] are larger by a fifth."""
    (place,) = (place for place, node in enumerate(model.graph.node) if tensor in node.output)
    maker = model.graph.node[place]
    maker.output[list(maker.output).index(tensor)] = f"{tensor}/before"
    factor = np.ones((slots, 1, 1, 1), np.float32)
    factor[:rows] = 1.2
    model.graph.initializer.append(numpy_helper.from_array(factor, "planted_factor"))
    scaled = onnx.helper.make_node("Mul", [f"{tensor}/before", "planted_factor"], [tensor], "planted")
    scaled.metadata_props.extend(maker.metadata_props)
    model.graph.node.insert(place + 1, scaled)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_a_fault_in_few_rows_is_named(exporter: str) -> None:
    """Two rows of forty: as many as may go astray where rounding decides, which it does not here."""
    model = sound(DETECTOR, exporter)
    (pool,) = (pair for pair in aligned(DETECTOR, model).pairs if pair.name == POOL)
    scale_rows(model, pool.tensor, pool.graph_shape[0], 2)
    found = aligned(DETECTOR, model)
    assert found.first is not None, found.verdict
    assert found.first.name == POOL
    assert found.is_culprit(found.first)
    assert "2 of 40 rows have no equal, not even from PyTorch's own tensors" in found.first.note


@pytest.mark.slow
def test_the_level_mapping_of_a_shipped_model_is_named() -> None:
    """At 200 pixels instead of torchvision's 224 two to four of 300 boxes are pooled from another level."""
    config = load_config(ROOT / "configs/detection/faster-rcnn_r18-fpn_digits.py")
    target = deploy_target(config, exporter="torchscript")
    subject = load_subject(config, target, (), checkpoint=None, deployment=None, onnx_file=None, progress=unseen)
    assert align_subject(subject, THRESHOLD, MEMORY, images=2).passed
    set_constant(subject.model, nodes_of(subject.model, POOL, "Div")[0].input[1], 200.0)  # by 224, then by log(2)
    found = align_subject(subject, THRESHOLD, MEMORY, images=2)
    assert found.first is not None, found.verdict
    assert found.first.name == POOL
    assert found.is_culprit(found.first)


def test_outputs_that_differ_alone_name_what_makes_them() -> None:
    """Without a pair past the threshold the modules behind the last one are named."""
    equal = Pair("conv", ("conv",), ("conv", "out"), "t", "equal")
    missed = Findings(failures=("label 1 is 3 px away",))
    found = Alignment((equal,), THRESHOLD, ("a.jpg",), outputs=missed, last="roi_heads")
    assert found.first_name == "roi_heads"
    assert "what differs is in roi_heads, behind the last pair" in found.verdict
    assert Alignment((equal,), THRESHOLD, ("a.jpg",), outputs=Findings(), last="roi_heads").first_name is None


def test_a_constant_that_no_image_meets_names_its_module() -> None:
    equal = Pair("conv", ("conv",), ("conv", "out"), "t", "equal")
    other = ComparedConstant("NMS threshold", "roi_heads", "0.5", "0.505", passed=False)
    found = Alignment((equal,), THRESHOLD, ("a.jpg",), outputs=Findings(), constants=(other,))
    assert not found.passed
    assert found.first_name == "roi_heads"
    assert (
        "roi_heads has another constant: NMS threshold (roi_heads): PyTorch has 0.5, the graph 0.505" in found.verdict
    )


def test_what_is_behind_the_last_pair() -> None:
    assert compared("whole", sound("whole", "torchscript")).last in ("", ITSELF)


def test_where_nothing_was_compared_nothing_is_proved() -> None:
    assert not Alignment((), THRESHOLD, ("a.jpg",)).passed
    assert Alignment((), THRESHOLD, ("a.jpg",)).verdict.startswith("nothing was compared: ")
    assert Alignment((), THRESHOLD, ("a.jpg",), outputs=Findings()).passed
