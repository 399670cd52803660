"""Images in, results out: batches, order, threads, levels, messages."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends import Deployment, load
from zoo.errors import InputError
from zoo.preprocess import Preprocess
from zoo.target import AxisRange
from zoo.tasks.detection import DetectionResult
from zoo.tasks.semantic_segmentation import SegmentationResult


def test_one_image_gives_one_result_in_its_coordinates(detector: Path) -> None:
    image = np.full((128, 192, 3), 140, np.uint8)  # brightness 0.549: 3 of 6 slots; 64x96 is half its size
    with load(detector) as model:
        result = model(image)
        assert isinstance(result, DetectionResult)
        np.testing.assert_array_equal(result.boxes, [[0, 0, 80, 60], [2, 4, 82, 64], [4, 8, 84, 68]])
        np.testing.assert_allclose(result.scores, 140 / 255 / np.array([1, 2, 3]), rtol=1e-4)
        assert result.labels.tolist() == [1, 2, 3]


def test_one_segmented_image_has_a_label_map_of_its_size(segmentor: Path) -> None:
    image = np.zeros((50, 150, 3), np.uint8)
    image[:, :75, 2] = 255  # red, class 0
    image[:, 75:, 0] = 255  # blue, class 2
    result = load(segmentor)(image)
    assert isinstance(result, SegmentationResult)
    assert result.label_map.shape == (50, 150)
    assert (result.label_map[:, :73] == 0).all()
    assert (result.label_map[:, 77:] == 2).all()


@pytest.mark.parametrize("batch", [(1, 2, 4), (1, 1, 2), (3, 4, 5), 1, 4])
def test_lists_give_what_single_images_give(deploy: Callable[..., Path], images: list, batch: object) -> None:
    model = load(deploy(batch=batch))
    singles = [model(image) for image in images]
    assert len({tuple(result.scores.tolist()) for result in singles}) == 9, "order is seen because all differ"
    for count in range(len(images) + 1):
        assert model(images[:count]) == singles[:count]


def test_batches_are_as_large_as_the_graph_allows(
    deploy: Callable[..., Path], images: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(deploy(batch=(2, 3, 4)))
    sizes: list[int] = []
    run = model.runner.run
    monkeypatch.setattr(model.runner, "run", lambda arrays: sizes.append(len(arrays["images"])) or run(arrays))
    assert len(model(images)) == 9
    assert sizes == [4, 4, 2], "the ninth image is filled up to the minimum of 2"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), count=st.integers(0, 17))
def test_chunks_keep_order_and_bounds(detector: Path, data: st.DataObject, count: int) -> None:
    model = load(detector, threads=1)
    model._batch = AxisRange(1, 1, data.draw(st.integers(1, 6)))
    images = [np.full((32 + index, 40, 3), index, np.uint8) for index in range(count)]
    chunks = list(model._chunks(iter(images)))
    assert [image[0, 0, 0] for chunk in chunks for image in chunk] == list(range(count))
    assert all(len(chunk) == model._batch.max for chunk in chunks[:-1])
    assert all(1 <= len(chunk) <= model._batch.max for chunk in chunks)


def test_iterables_are_read_one_batch_at_a_time(detector: Path, images: list) -> None:
    model = load(detector)
    assert model(image for image in images) == model(images)
    assert model(tuple(images)) == model(images)
    assert model(np.stack([images[0]] * 3)) == [model(images[0])] * 3
    assert model([]) == []
    assert model(iter(())) == []


def test_dynamic_size_keeps_images_as_they_are(deploy: Callable[..., Path], images: list) -> None:
    keep = Preprocess(None, resize="keep", size_divisor=8)
    model = load(deploy(task="SemanticSegmentation", dynamic_size=True, preprocess=keep))
    for image, result in zip(images, model(images), strict=True):
        np.testing.assert_array_equal(result.label_map, image[:, :, ::-1].argmax(axis=2))
    with pytest.raises(InputError, match=r"axis H must be 32 to 256: split or resize the input"):
        model(np.zeros((300, 100, 3), np.uint8))


def test_preprocess_gives_the_tensor_and_the_geometry(detector: Path, images: list) -> None:
    model = load(detector)
    tensor, geometries = model.preprocess(images[:3])
    assert tensor.shape == (3, 3, 64, 96)
    assert tensor.dtype == np.float32
    assert [geometry.image_size for geometry in geometries] == [image.shape[:2] for image in images[:3]]
    outputs = model.runner.run({"images": tensor})
    assert model.task.results(outputs, geometries) == model(images[:3])
    with pytest.raises(InputError, match="no images"):
        model.preprocess([])
    with pytest.raises(InputError, match="image 1 is None"):
        model.preprocess([images[0], None])


def test_preprocess_refuses_tensors_of_several_sizes(deploy: Callable[..., Path], images: list) -> None:
    model = load(deploy(dynamic_size=True, preprocess=Preprocess(None, resize="keep", size_divisor=8)))
    with pytest.raises(InputError, match="different sizes"):
        model.preprocess(images[:2])


def test_threads_and_serial_calls_give_the_same(detector: Path, segmentor: Path, images: list) -> None:
    for folder in (detector, segmentor):
        model = load(folder, threads=1)
        work = [[image] for image in images] * 6
        serial = [model(item) for item in work]
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(model, work)) == serial


def test_results_do_not_change_when_the_model_runs_again(detector: Path, segmentor: Path, images: list) -> None:
    for folder in (detector, segmentor):
        model = load(folder)
        first = model(images[-1])
        names = [field.name for field in fields(first)]
        arrays = [getattr(first, name).copy() for name in names]
        image = images[-1].copy()
        model(images[:4])
        for name, array in zip(names, arrays, strict=True):
            np.testing.assert_array_equal(getattr(first, name), array)
        np.testing.assert_array_equal(images[-1], image)


def test_other_levels_say_how_to_get_their_tensors(deploy: Callable[..., Path], images: list) -> None:
    model = load(deploy(task="SemanticSegmentation", level="decoded"))
    with pytest.raises(InputError, match=r'output level "decoded" has no results; use .*\.runner\.run'):
        model(images[0])
    tensor, _ = model.preprocess(images[:2])
    np.testing.assert_array_equal(model.runner.run({"images": tensor})["logits"], tensor)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (None, "image is None: cv2.imread gives None"),
        ("photograph.jpg", "image: got str, expected a numpy array.*cv2.imread"),
        (7, "image: got int, expected a numpy array"),
        (np.zeros((64, 64), np.uint8), "COLOR_GRAY2BGR"),
        ([np.zeros((64, 64, 3), np.uint8), None], "image 1 is None"),
        ([np.zeros((64, 64, 3), np.uint8), np.zeros((64, 64, 4), np.uint8)], "image 1: .* drop the alpha channel"),
        (["a.jpg"], "image 0: got str"),
        ([np.zeros((64, 31, 3), np.uint8)], "image 0: got 64x31 pixels .* expected 32 or more"),
    ],
)
def test_wrong_images_are_refused(detector: Path, wrong: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load(detector)(wrong)


def test_closed_deployments_say_so(detector: Path, images: list) -> None:
    with load(detector) as model:
        model(images[0])
    model.close()
    with pytest.raises(InputError, match="closed; load the deployment again"):
        model(images[0])


def test_repr_says_what_it_is(detector: Path) -> None:
    model = load(detector)
    assert isinstance(model, Deployment)
    assert repr(model) == "<Deployment small: detection, onnxruntime fp32>"
