"""threshold_inputs on small graphs; on YOLOv5: tests/pipeline/verbs/test_yolov5_deployments.py."""

import numpy as np
import onnx
import pytest

from rewriters.graph_rewriters import rewrite_graph
from tests.rewriters.graph_rewriters.graphs import parsed, run
from zoo.errors import ExportError

GRAPH = """
    small (float[1, m, 4] boxes, float[1, m] scores) => (bool[1, m] above, int64[k, 3] kept)
    <float score = {0.25}, float iou = {0.5}, float least = {-0.5}, int64 every = {100}, int64[1] middle = {1}>
    {
        above = Greater(scores, score)
        by_class = Unsqueeze(scores, middle)
        kept = NonMaxSuppression(boxes, by_class, every, iou, least)
    }
"""
STEP = {"name": "threshold_inputs", "score_threshold": 0.25, "iou_threshold": 0.5}


def test_they_may_be_given_or_left_out() -> None:
    model, (done,) = rewrite_graph(parsed(GRAPH), [STEP])
    assert done.changes == (
        "score_threshold is an input of the graph, 0.25 by default",
        "iou_threshold is an input of the graph, 0.5 by default",
    )
    boxes = np.array([[[0, 0, 10, 10], [0, 0, 10, 7], [20, 20, 30, 30]]], np.float32)
    feeds = {"boxes": boxes, "scores": np.array([[0.9, 0.5, 0.3]], np.float32)}
    own = run(model, feeds)
    assert (own["above"].tolist(), len(own["kept"])) == ([[True, True, True]], 2)
    other = {"score_threshold": np.array([0.4], np.float32), "iou_threshold": np.array([0.8], np.float32)}
    found = run(model, feeds | other)
    assert (found["above"].tolist(), len(found["kept"])) == ([[True, True, False]], 3)


def test_twice_changes_nothing() -> None:
    once, _ = rewrite_graph(parsed(GRAPH), [STEP])
    twice, (done,) = rewrite_graph(once, [STEP])
    assert (twice, done.changes) == (once, ())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"score_threshold": 0.3}, "0 nodes compare with the score_threshold 0.3, expected 1"),
        ({"iou_threshold": 0.6}, "0 nodes compare with the iou_threshold 0.6, expected 1"),
    ],
)
def test_other_thresholds_than_the_graphs_are_refused(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(ExportError, match=message):
        rewrite_graph(parsed(GRAPH), [STEP | wrong])


def test_two_places_are_one_too_many() -> None:
    model = parsed(GRAPH.replace("above = Greater", "more = Greater(scores, score)\n above = Greater"))
    assert onnx.checker.check_model(model) is None
    with pytest.raises(ExportError, match="2 nodes compare with the score_threshold 0.25, expected 1"):
        rewrite_graph(model, [STEP])


def test_a_suppression_without_thresholds_has_none_to_give() -> None:
    graph = parsed(GRAPH.replace("(boxes, by_class, every, iou, least)", "(boxes, by_class)"))
    with pytest.raises(ExportError, match="0 nodes compare with the iou_threshold 0.5, expected 1"):
        rewrite_graph(graph, [STEP])
