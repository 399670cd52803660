"""Results on the disk: what goes in comes out, a kill loses nothing more, another model's results are not taken."""

import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pipeline.evaluation.actor import ReferenceSubject
from pipeline.evaluation.by_actors import ActorPool
from pipeline.evaluation.evaluated_model import EvaluatedModel
from pipeline.evaluation.input_policy import InputPolicy
from pipeline.evaluation.result_store import ResultStore
from zoo.errors import InputError
from zoo.metrics import build_metric
from zoo.preprocess import Preprocess
from zoo.tasks import Task, build_task
from zoo.tasks.detection import DetectionResult
from zoo.tasks.semantic_segmentation import SegmentationResult

ROOT = Path(__file__).resolve().parents[3]
MODEL = {"weights": "a"}
RESULT = SegmentationResult(np.arange(6, dtype=np.uint8).reshape(2, 3))
FLOATS = st.floats(-1e6, 1e6, width=32)
WRITE_AND_DIE = """
import os, sys
from pathlib import Path
import numpy as np
from pipeline.evaluation.result_store import ResultStore
from zoo.tasks.semantic_segmentation import SegmentationResult
path = Path(sys.argv[1])
ResultStore.prepare(path, {"weights": "a"}, resume=False)
store = ResultStore(path)
for number in range(5):
    store.put(number, f"image {number}", 0.5, SegmentationResult(np.full((2, 3), number, np.uint8)))
os.kill(os.getpid(), 9)
"""


COLUMNS = st.integers(0, 30).flatmap(
    lambda n: st.tuples(
        arrays.arrays(np.float32, (n, 4), elements=FLOATS),
        arrays.arrays(np.float32, (n,), elements=st.floats(0, 1, width=32)),
        arrays.arrays(np.int64, (n,), elements=st.integers(-1, 2**40)),
    )
)


@given(COLUMNS)
@settings(max_examples=25, deadline=None)
def test_detections_come_back_to_the_bit(tmp_path_factory: pytest.TempPathFactory, fields: tuple[Any, ...]) -> None:
    path = tmp_path_factory.mktemp("store") / "x.sqlite"
    ResultStore.prepare(path, MODEL, resume=False)
    with ResultStore(path) as store:
        store.put(3, "image", 0.25, DetectionResult(*fields))
        found = store.get(3, "image", DetectionResult)
    assert found == DetectionResult(*fields)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
def test_label_maps_keep_their_dtype(tmp_path: Path, dtype: type) -> None:
    ResultStore.prepare(tmp_path / "x", MODEL, resume=False)
    with ResultStore(tmp_path / "x") as store:
        store.put(0, "image", 0.1, SegmentationResult(np.ones((3, 2), dtype)))
        found = store.get(0, "image", SegmentationResult)
    assert found is not None
    assert found.label_map.dtype == dtype


def test_an_image_that_changed_has_no_result(tmp_path: Path) -> None:
    ResultStore.prepare(tmp_path / "x", MODEL, resume=False)
    with ResultStore(tmp_path / "x") as store:
        store.put(0, "a.png:10:1", 0.1, RESULT)
        assert store.get(0, "a.png:10:1", type(RESULT)) == RESULT
        assert store.get(0, "a.png:11:2", type(RESULT)) is None
        assert store.get(1, "a.png:10:1", type(RESULT)) is None


def test_seconds_are_in_the_order_asked_for(tmp_path: Path) -> None:
    ResultStore.prepare(tmp_path / "x", MODEL, resume=False)
    with ResultStore(tmp_path / "x") as store:
        for number in (2, 0, 1):
            store.put(number, "i", number / 10, RESULT)
        assert store.seconds([0, 1, 2]) == (0.0, 0.1, 0.2)


def test_a_killed_process_leaves_what_it_had_written(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    killed = subprocess.run([sys.executable, "-c", WRITE_AND_DIE, str(path)], cwd=ROOT, check=False)
    assert killed.returncode == -9
    assert ResultStore.prepare(path, MODEL, resume=True) == set(range(5))
    with ResultStore(path) as store:
        assert store.get(4, "image 4", SegmentationResult) == SegmentationResult(np.full((2, 3), 4, np.uint8))


def test_without_resume_and_for_another_model_it_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    for resume, model, kept in ((True, MODEL, 1), (True, {"weights": "b"}, 0), (False, {"weights": "b"}, 0)):
        ResultStore.prepare(path, MODEL, resume=False)
        with ResultStore(path) as store:
            store.put(0, "i", 0.1, RESULT)
        assert len(ResultStore.prepare(path, model, resume=resume)) == kept


def test_two_writers_at_once(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    ResultStore.prepare(path, MODEL, resume=False)
    with ResultStore(path) as one, ResultStore(path) as two:
        for number in range(20):
            (one, two)[number % 2].put(number, "i", 0.1, RESULT)
        assert one.numbers() == two.numbers() == set(range(20))


def test_a_file_that_is_no_store_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(b"nothing like a database, but long enough to be looked at" * 100)
    with pytest.raises(InputError, match=r"x.sqlite: results of an earlier run that cannot be read \(.*\); remove it"):
        ResultStore.prepare(path, MODEL, resume=True)
    assert not ResultStore.prepare(path, MODEL, resume=False)


def test_a_row_of_another_kind_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    ResultStore.prepare(path, MODEL, resume=False)
    with ResultStore(path) as store:
        store.put(0, "i", 0.1, RESULT)
    with sqlite3.connect(path) as file:
        file.execute("update results set kind = 'DetectionResult'")
    file.close()
    with ResultStore(path) as store:
        assert store.get(0, "i", type(RESULT)) is None


class OneObject:
    """In place of a Model: in each image an object, at the top left of its tensor."""

    rule = Preprocess((64, 96))  # a letterbox, so that images of other proportions are padded

    def __init__(self, task: Task) -> None:
        self.task = task

    def __call__(self, images: list[Any]) -> list[Any]:
        masks = np.zeros((1, 1, 28, 28), np.float32)
        masks[..., 2:20, 4:16] = 1
        outputs = {"num_dets": [1], "boxes": [[[8, 4, 32, 24]]], "scores": [[0.9]], "labels": [[0]]}
        arrays = {name: np.array(values) for name, values in outputs.items()} | {"masks": masks}
        return [self.task.results(arrays, [self.task.kind.geometry(self.rule, image)])[0] for image in images]


@pytest.mark.parametrize(
    "section", [{"type": "InstanceMasks"}, {"type": "InstanceSegmentation", "sampled_masks": True}]
)
def test_reused_results_are_judged_as_fresh_ones(tmp_path: Path, section: dict[str, Any]) -> None:
    model: Any = OneObject(build_task({**section, "classes": [{"name": "one", "category_id": 1}]}))
    items = []
    for number, size in enumerate([(100, 60), (50, 120)]):
        image = np.zeros((*size, 3), np.uint8)
        (found,) = model([image])
        truth = {"boxes": found.boxes, "labels": [0], "masks": found.image_masks(*size)}
        items.append({"number": number, "state": "s", "image_id": number, "path": "p", "image": image} | truth)
    path, earlier = tmp_path / "x.sqlite", frozenset((0, 1))
    ResultStore.prepare(path, MODEL, resume=False)
    for reused in (frozenset(), earlier):
        metric = build_metric({"type": "CocoMaskAP"})
        with ResultStore(path) as store:
            evaluated = EvaluatedModel(model, store, reused)
            metric.process(items, evaluated.test_step(items))
        assert evaluated.reused == reused
        assert metric.evaluate(2)["coco/mask_AP"] == pytest.approx(100)
    nobody: Any = None
    plan: Any = SimpleNamespace(task=model.task, dataset=items, metric=lambda: build_metric({"type": "CocoMaskAP"}))
    subject = ReferenceSubject(InputPolicy(model.rule, image_sizes=False), 1, "cpu", None, "")
    judged = ActorPool(nobody, nobody).judge(subject, plan, path, earlier, batch_size=1, done=lambda _: None)
    assert judged.resumed == 2
    assert judged.figures["coco/mask_AP"] == pytest.approx(100)


FILL = """
import sys
from pathlib import Path
import numpy as np
from pipeline.evaluation.result_store import ResultStore
from zoo.tasks.semantic_segmentation import SegmentationResult
path, earlier = ResultStore.prepare_shared(Path(sys.argv[1]), {"weights": "a"})
with ResultStore(path) as store:
    for number in range(20):
        if store.get(number, "image", SegmentationResult) is None:
            store.put(number, "image", 0.5, SegmentationResult(np.full((2, 3), number, np.uint8)))
"""


def test_several_processes_share_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "shared"
    processes = [subprocess.Popen([sys.executable, "-c", FILL, folder], cwd=ROOT) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    path, numbers = ResultStore.prepare_shared(folder, MODEL)
    assert numbers == set(range(20))
    other, none = ResultStore.prepare_shared(folder, {"weights": "b"})
    assert (other != path, none) == (True, frozenset())
