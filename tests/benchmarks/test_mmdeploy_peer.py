"""benchmarks/mmdeploy_peer.py: what needs no peer, and a row of zooport's own."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.zoo_configs import ROOT
from zooport.exit_codes import UNAVAILABLE

pytestmark = pytest.mark.usefixtures("benchmarks")
BOXES = np.array([[0, 0, 8, 8], [4, 4, 20, 12], [4, 4, 20, 12]], np.float32)
SCORES = np.array([0.9, 0.8, 0.7], np.float32)
LABELS = np.array([0, 1, 2])


def boxes(**changes: Any) -> Any:
    from mmdeploy_peer_compare import Boxes

    return Boxes(**{"boxes": BOXES, "scores": SCORES, "labels": LABELS, **changes})


def words(found: Any, own: Any = None) -> str:
    from mmdeploy_peer_compare import compared_boxes

    return compared_boxes([boxes() if own is None else own], [found]).words


def test_boxes_are_equal_as_sets() -> None:
    order = [2, 0, 1]
    assert words(boxes(boxes=BOXES[order] + 0.04, scores=SCORES[order], labels=LABELS[order])) == "equal"


def test_a_box_elsewhere_or_of_another_class_is_missing_and_extra() -> None:
    assert words(boxes(boxes=np.array([[0, 0, 8, 8.1], *BOXES[1:]]))) == "1 of 3 missing, 1 extra"
    assert words(boxes(labels=LABELS[::-1])) == "2 of 3 missing, 2 extra"
    assert words(boxes(boxes=BOXES[:2], scores=SCORES[:2], labels=LABELS[:2])) == "1 of 3 missing, 0 extra"


def test_a_box_matches_once() -> None:
    twice = boxes(boxes=BOXES[[0, 0, 1, 2]], scores=SCORES[[0, 0, 1, 2]], labels=LABELS[[0, 0, 1, 2]])
    assert words(twice) == "0 of 3 missing, 1 extra"
    assert words(boxes(), twice) == "1 of 4 missing, 0 extra"


def test_scores_and_masks_are_compared() -> None:
    assert words(boxes(scores=SCORES + 0.01)) == "scores differ by 1.0e-02"
    masks = np.zeros((3, 4, 5), np.bool_)
    assert words(boxes(masks=~masks), boxes(masks=masks)) == "masks differ by 1.0e+00"
    assert words(boxes(masks=masks), boxes(masks=masks)) == "equal"


def test_logits_are_compared_by_their_range() -> None:
    from mmdeploy_peer_compare import compared_logits

    logits = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
    assert compared_logits(logits, logits + 1e-5).words == "equal"
    assert compared_logits(logits, -logits).words.startswith("logits differ by 1.")
    with pytest.raises(ValueError, match="logits have the shape"):
        compared_logits(logits, logits[..., :2])


def test_outputs_of_both_tools_are_read() -> None:
    from mmdeploy_peer_compare import compared_boxes, of_mmdeploy, of_zooport

    cells = np.ones((1, 4, 1, 28, 28), np.float32)
    empty = np.zeros((1, 4), np.float32)
    slots = {
        "boxes": np.concatenate([BOXES, empty])[None],
        "scores": np.append(SCORES, np.float32(0))[None],
        "labels": np.append(LABELS, -1)[None],
        "masks": cells,
    }
    rows = np.concatenate([slots["boxes"], slots["scores"][..., None]], axis=2)
    peer = {"dets": rows, "labels": slots["labels"], "masks": cells[:, :, 0]}
    own = of_zooport({"num_dets": np.array([3]), **slots}, (16, 24))
    assert own[0].masks is not None
    assert own[0].masks.any()
    assert compared_boxes(own, of_mmdeploy(peer, (16, 24))).words == "equal"


def test_the_page_has_every_cell_and_its_reason() -> None:
    from mmdeploy_peer_page import latency_note, summary, table

    state = {
        "made with": "a stamp",
        "retinanet | zooport dynamo | proof": {
            "verdict": "passed",
            "runs": {"batch 1": "equal", "batch 3": "equal", "second size": "refused: one | size"},
            "errors": {"batch 1": {"boxes": 1e-5, "scores": 2e-6}, "batch 3": {"boxes": 2e-5, "scores": 1e-6}},
            "nodes": 241,
        },
        "retinanet | mmdeploy | proof": {
            "verdict": "refused",
            "reason": "KeyError: `x` (/a/b/c.py)",
            "version": "1.3.1",
        },
        "fcn, slide | onedl-mmdeploy | proof": {
            "verdict": "wrong",
            "runs": {"batch 1": "logits differ", "batch 3": "equal", "second size": "equal"},
            "errors": {"batch 1": {"logits": 0.5}},
            "nodes": 75,
            "opset": 16,
            "version": "1.5.2",
        },
    }
    lines = table(state).splitlines()
    assert len(lines) == 2 + 3 + 2
    assert lines[-1].startswith("Not run yet: fcos; ")
    assert "; fcn, whole; " in lines[-1]
    assert (
        "| retinanet | zooport dynamo | equal | equal | refused: `one / size` | boxes 2.0e-05, scores 2.0e-06 | 241 |"
        in lines
    )
    assert "| retinanet | mmdeploy | refused: `KeyError: 'x' (c.py)` |  |  |  |  |" in lines
    assert "| fcn, slide | onedl-mmdeploy | logits differ | equal | equal | logits 5.0e-01 | 75 (opset 16) |" in lines
    assert "| zooport, dynamo | 1 of 1 | 0 of 0 | 0 of 0 | 0 of 1 |" in summary(state)
    assert "| onedl-mmdeploy 1.5.2, torchscript | 0 of 0 | 0 of 0 | 0 of 1 | 1 of 1 |" in summary(state)
    assert latency_note(state).startswith("Latency is not in this table")
    timed = {**state, "retinanet | zooport dynamo | latency": {"verdict": "passed", "of_eager": 0.5, "others": 0.1}}
    assert "of eager |" in table(timed)
    assert table(timed).count("| 0.50 |") == 1
    assert "kept 0.1 to 0.1 threads" in latency_note(timed)


def test_from_mmdeploy_has_the_summary_of_the_measured_page() -> None:
    page = (ROOT / "docs/measured/mmdeploy_peer.md").read_text(encoding="utf-8")
    rows = [
        line for line in page.splitlines() if line.startswith(("| tool ", "| zooport, ", "| onedl-", "| mmdeploy "))
    ]
    assert len(rows) == 5
    text = (ROOT / "docs/from_mmdeploy.md").read_text(encoding="utf-8")
    assert all(row in text for row in rows)


@pytest.mark.parametrize("given", [[], ["--peer", "nowhere"]])
def test_without_the_peers_it_says_what_to_do(
    given: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mmdeploy_peer import main

    monkeypatch.setattr(sys, "argv", ["mmdeploy_peer.py", *given])
    assert main() == UNAVAILABLE
    (line,) = capsys.readouterr().err.splitlines()
    assert "run `python benchmarks/mmdeploy_peer.py --fetch DIR` and give --peer DIR" in line


def test_pip_that_fails_is_an_error_of_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import mmdeploy_peer_fetch
    from mmdeploy_peer import main

    monkeypatch.setattr(mmdeploy_peer_fetch, "WHEELS", {"mmdeploy": ("--no-such-option",)})
    monkeypatch.setattr(sys, "argv", ["mmdeploy_peer.py", "--fetch", str(tmp_path / "peers")])
    assert main() == UNAVAILABLE
    assert capsys.readouterr().err.startswith("mmdeploy_peer: pip download: ")


@pytest.mark.slow
@pytest.mark.openmmlab
@pytest.mark.filterwarnings("ignore")  # the libraries' own
@pytest.mark.parametrize("name", ["retinanet", "fcn, slide"])
def test_a_row_of_zooports_own(name: str) -> None:
    pytest.importorskip("mmdet", reason="the extra mmdet is not installed", exc_type=ImportError)
    pytest.importorskip("ftfy", reason="the extra mmseg is not installed")
    from mmdeploy_peer_cell import measured_cell

    cell = measured_cell(name, "zooport torchscript", latency=False)
    assert cell["runs"] == dict.fromkeys(("batch 1", "batch 3", "second size"), "equal")
