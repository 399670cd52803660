"""Slide inference on the host against the unpatched model, and what it holds in memory."""

import tracemalloc
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from backends.pytorch.runner import PyTorchRunner
from backends.runner import Array, Runner
from backends.slide_runner import LOGITS, SlideRunner
from pipeline.export.host_windows import WindowModel
from pipeline.parity.gates import GRAPH
from tests.examples import examples
from tests.rewriters.small_models import small_segmentor
from zoo.errors import InputError
from zoo.input_specs import IMAGES
from zoo.models.segmentation import EncoderDecoder
from zoo.preprocess import Preprocess
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec
from zoo.windows import Windows

CLASSES = 5
LOGITS_SPEC = TensorSpec(LOGITS, "float32", ("batch", CLASSES, "height", "width"))
LABELS_SPEC = TensorSpec("label_map", "uint8", ("batch", "height", "width"))


def slide_runner(
    model: EncoderDecoder, batch: int, output: TensorSpec = LOGITS_SPEC, threads: int | None = None
) -> SlideRunner:
    windows = Windows(**{key: value for key, value in model.test_cfg.items() if key != "mode"}, batch=batch)
    crop = TensorSpec(LOGITS, "float32", ("batch", model.num_classes, *windows.crop_size))
    inner = PyTorchRunner(WindowModel(model, {}), [IMAGES], [crop])
    return SlideRunner(inner, windows, [IMAGES], [output], threads=threads)


@examples(3, 8)
@given(
    more=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    crops=st.tuples(st.integers(24, 40), st.integers(24, 40)),
    strides=st.tuples(st.integers(7, 40), st.integers(7, 40)),
    batch=st.sampled_from([1, 3, 8]),
    count=st.integers(1, 2),
    blend=st.sampled_from(["constant", "gaussian"]),
    threads=st.sampled_from([1, 3]),
    seed=st.integers(0, 100),
)
def test_equals_the_unpatched_method(
    more: tuple[int, int],
    crops: tuple[int, int],
    strides: tuple[int, int],
    batch: int,
    count: int,
    blend: str,
    threads: int,
    seed: int,
) -> None:
    stride = tuple(min(pair) for pair in zip(strides, crops, strict=True))
    model = small_segmentor(classes=CLASSES, crop_size=crops, stride=stride, blend=blend)
    size = [crop + extra for crop, extra in zip(crops, more, strict=True)]
    images = torch.rand(count, 3, *size, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        expected = model(images).numpy()
    got = slide_runner(model, batch, threads=threads).run({"images": images.numpy()})[LOGITS]
    np.testing.assert_allclose(got, expected, atol=GRAPH["logits"] * np.ptp(expected), rtol=0)
    labels = slide_runner(model, batch, LABELS_SPEC, threads).run({"images": images.numpy()})["label_map"]
    assert labels.dtype == np.uint8
    np.testing.assert_array_equal(labels, got.argmax(axis=1))


class Brightness(Runner):
    """Stands in for a window's model where only the joining is looked at: class 1 where red is above a half."""

    def __init__(self, crop: int) -> None:
        super().__init__([IMAGES], [TensorSpec(LOGITS, "float32", ("batch", 2, crop, crop))])
        self.batches: list[int] = []
        self.released = False

    def _run(self, arrays: Mapping[str, Array]) -> Sequence[Array]:
        red = arrays["images"][:, 0]
        self.batches.append(len(red))
        return [np.stack([1 - red, red], axis=1)]

    def _release(self) -> None:
        self.released = True


AXES = {"batch": AxisRange(1, 1, 4), "height": AxisRange(64, 64, 20000), "width": AxisRange(64, 64, 20000)}


def bright(batch: int = 4, **options: object) -> tuple[Brightness, SlideRunner]:
    inner = Brightness(64)
    windows = Windows((64, 64), (48, 48), batch=batch)
    return inner, SlideRunner(inner, windows, [IMAGES], [LABELS_SPEC], AXES, **options)  # type: ignore[arg-type]


def sample_image(height: int, width: int) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 255, (height, width, 3)).astype(np.uint8)


def test_an_image_is_read_window_by_window() -> None:
    """With padding at both sides, wider than a window: some windows lie in it alone."""
    rule = Preprocess((200, 330))
    image = sample_image(100, 60)
    placed = rule.placed(image)
    _, runner = bright()
    tensor = np.empty((1, 3, 200, 330), np.float32)
    rule.run(image, tensor[0])
    expected = runner.run({"images": tensor})["label_map"]
    np.testing.assert_array_equal(expected[0], tensor[0, 0] > 0.5)
    np.testing.assert_array_equal(runner.run_source(placed, placed.geometry.tensor_size)["label_map"], expected)


def test_memory_is_one_strip_and_does_not_grow_with_the_height() -> None:
    """But for the label map, a byte for each pixel. The strip is the largest: 2 classes of 64 rows."""
    peaks = []
    for height in (640, 5120):
        _, runner = bright()
        placed = Preprocess(None, "keep", size_divisor=1).placed(sample_image(height, 640))
        tracemalloc.start()
        labels = runner.run_source(placed, (height, 640))["label_map"]
        peaks.append(tracemalloc.get_traced_memory()[1] - labels.nbytes)
        tracemalloc.stop()
    strip = 4 * 2 * 64 * 640
    assert strip < peaks[1] < 1.1 * peaks[0] < 3 * strip  # logits of the larger image would be 80 strips


def test_progress_counts_the_windows_and_batches_are_bounded() -> None:
    seen: list[tuple[str, int, int]] = []
    inner, runner = bright(batch=2, progress=lambda *counted: seen.append(counted))
    runner.run({"images": np.zeros((1, 3, 112, 200), np.float32)})
    assert inner.batches == [2, 2, 2, 2]
    assert seen == [("windows", done, 8) for done in (0, 2, 4, 6, 8)]


def test_sizes_out_of_bounds_are_refused() -> None:
    _, runner = bright()
    placed = Preprocess(None, "keep", size_divisor=1).placed(sample_image(40, 100))
    with pytest.raises(InputError, match=r"got shape \[1, 3, 40, 100\].*axis height must be 64 to 20000"):
        runner.run_source(placed, (40, 100))


def test_an_image_under_way_ends_in_peace() -> None:
    inner, runner = bright(progress=lambda _, done, _total: runner.close() if done == 4 else None)
    labels = runner.run({"images": np.ones((1, 3, 112, 200), np.float32)})["label_map"]
    assert labels.all()
    assert inner.released


def test_int32_labels_and_strips_higher_than_a_block_of_rows() -> None:
    """More than 256 classes; 64 rows at a time are looked at in blocks."""
    spec = TensorSpec("label_map", "int32", LABELS_SPEC.shape)
    runner = SlideRunner(Brightness(64), Windows((64, 64), (64, 64)), [IMAGES], [spec], AXES)
    images = np.random.default_rng(0).random((2, 3, 129, 70), np.float32)
    found = runner.run({"images": images})["label_map"]
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, images[:, 0] > 0.5)


def test_closing_closes_the_model_of_the_window() -> None:
    inner, runner = bright()
    runner.close()
    assert inner.released
    placed = Preprocess(None, "keep", size_divisor=1).placed(sample_image(64, 64))
    with pytest.raises(InputError, match="the runner is closed"):
        runner.run_source(placed, (64, 64))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"stride": (65, 64)}, r"a stride of \(65, 64\) leaves gaps between windows of \(64, 64\)"),
        ({"stride": (0, 64)}, "got stride"),
        ({"crop_size": (64,)}, "got crop_size"),
        ({"crop_size": 64}, "got crop_size 64"),
        ({"blend": "gauss"}, 'unknown blend "gauss".*gaussian'),
        ({"batch": 0}, "got batch 0"),
    ],
)
def test_windows_that_cannot_be_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Windows(**{"crop_size": (64, 64), "stride": (48, 48), **fields})  # type: ignore[arg-type]
