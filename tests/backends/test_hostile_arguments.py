"""Images and options that no model can take end in one InputError line, and never inside OpenCV or ONNX Runtime."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends import load
from backends import model as model_module
from backends.load_arguments import MAX_THREADS
from zoo.errors import InputError
from zoo.preprocess import Preprocess, check_image

ROOT = Path(__file__).parents[2]
PIXEL = np.full((1, 1, 3), 7, np.uint8)
IN_A_CHILD = """
import resource, sys
import numpy as np
from zoo.errors import InputError
from zoo.preprocess import Preprocess
height, width, room = map(int, sys.argv[1:])
image = np.broadcast_to(np.full((1, 1, 3), 7, np.uint8), (height, width, 3))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))
try:
    Preprocess((64, 96)).run(image, np.empty((3, 64, 96), np.float32))
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("height", "width", "words"),
    [
        (200_000, 200_000, "image: got 200000x200000 pixels (height x width), expected 1073741824 at most"),
        (32, 2**40, "expected 1073741824 at most"),
        (30_000, 30_000, "image: 30000x30000 pixels (height x width) with strides (0, 0, 1) need a copy of 2700000000"),
    ],
)
def test_an_image_of_more_pixels_than_memory_does_not_reach_opencv(height: int, width: int, words: str) -> None:
    command = [sys.executable, "-c", IN_A_CHILD, str(height), str(width), str(2**30)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert words in done.stdout
    assert done.stdout.count("\n") == 1


def test_the_bound_is_opencvs() -> None:
    check_image(np.broadcast_to(PIXEL, (2**15, 2**15, 3)))
    with pytest.raises(InputError, match="expected 1073741824 at most, OpenCV's own bound"):
        check_image(np.broadcast_to(PIXEL, (2**15, 2**15 + 1, 3)), "image 3")


def views() -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    return {
        "upside down": lambda image: image[::-1],
        "mirrored": lambda image: image[:, ::-1],
        "RGB": lambda image: image[..., ::-1],
        "cut out": lambda image: image[10:-10, 20:-20],
        "every second": lambda image: image[::2, ::2],
        "turned": lambda image: image.swapaxes(0, 1),
        "planes": lambda image: np.ascontiguousarray(image.transpose(2, 0, 1)).transpose(1, 2, 0),
        "one row": lambda image: np.broadcast_to(image[:1], image.shape),
        "one column": lambda image: np.broadcast_to(image[:, :1], image.shape),
        "one pixel": lambda image: np.broadcast_to(image[:1, :1], image.shape),
        "one channel": lambda image: np.broadcast_to(image[..., :1], image.shape),
        "overlapping rows": lambda image: np.lib.stride_tricks.as_strided(image, (60, 70, 3), (3, 3, 1)),
        "read only": lambda image: np.frombuffer(image.tobytes(), np.uint8).reshape(image.shape),
    }


@pytest.mark.parametrize("name", views())
@pytest.mark.parametrize(
    "rule", [Preprocess((64, 96)), Preprocess(None, "keep", size_divisor=8)], ids=["resized", "kept"]
)
def test_any_strides_give_what_a_copy_gives(name: str, rule: Preprocess) -> None:
    image = views()[name](np.random.default_rng(0).integers(0, 255, (90, 130, 3)).astype(np.uint8))
    whole = image.copy(order="C")
    tensors = []
    for pixels in (image, whole):
        out = np.empty((3, *rule.geometry(*pixels.shape[:2]).tensor_size), np.float32)
        rule.run(pixels, out)
        tensors.append(out)
    np.testing.assert_array_equal(*tensors)


def test_a_size_that_the_graph_does_not_take_is_refused_before_its_tensor_is_made(
    deploy: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = Preprocess(None, resize="keep", size_divisor=8)
    model = load(deploy(task="SemanticSegmentation", dynamic_size=True, preprocess=keep))
    monkeypatch.setattr(model_module.Model, "_tensor", lambda *_: pytest.fail("was made"))
    with pytest.raises(InputError, match=r"axis H must be 32 to 256"):
        model(np.broadcast_to(PIXEL, (30_000, 30_000, 3)))


def test_a_tensor_of_more_bytes_than_memory_is_named(detector: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: Any) -> None:
        raise MemoryError

    model = load(detector)
    monkeypatch.setattr(np, "empty", no_memory)
    with pytest.raises(InputError, match=r"tensor float32 \[1, 3, 64, 96\] takes 73728 bytes, and there is no memory"):
        model(np.zeros((64, 96, 3), np.uint8))


def test_an_input_of_the_runner_of_more_bytes_than_memory_is_named(
    detector: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(*_: Any) -> None:
        raise MemoryError

    model = load(detector)
    monkeypatch.setattr(np, "ascontiguousarray", no_memory)
    with pytest.raises(InputError, match=r'input "images": float32 \[1, 3, 64, 96\] needs a copy of 73728 bytes'):
        model.runner.run({"images": np.broadcast_to(np.float32(0), (1, 3, 64, 96))})


@pytest.mark.parametrize(
    "threads", [0, -1, 2**31, 2**64, pytest.param(10**5000, id="huge"), MAX_THREADS + 1, True, 1.0, "2", float("nan")]
)
def test_what_is_no_number_of_threads(detector: Path, threads: Any) -> None:
    with pytest.raises(InputError, match=f"^threads=.*: expected an integer from 1 to {MAX_THREADS}, or None"):
        load(detector, threads=threads)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"provider": 5}, "provider is 5, expected a name"),
        ({"provider": "cuda:99999999999999999999"}, "provider is 'cuda:9+', expected"),
        ({"provider": "cuda:\u0661"}, "provider is 'cuda:\u0661', expected"),
        ({"check": None}, "check is None, expected True or False"),
        ({"provider": b"cpu"}, "provider is b'cpu', expected"),
        ({"progress": 3}, "progress is 3, expected a function"),
        ({"engine": {"workspace_mib": 5}}, "engine is .*, expected backends.engine_options.EngineOptions"),
        ({"cuda_graph": 1}, "cuda_graph is 1, expected True or False"),
        ({"spin": 0}, "spin is 0, expected True or False"),
    ],
)
def test_an_option_of_another_type_or_beyond_its_bounds(detector: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=f"^load: {words}"):
        load(detector, **options)


@pytest.mark.parametrize("path", [None, 5, b"folder", ["folder"], "fol\0der"])
def test_what_is_no_path(path: Any) -> None:
    with pytest.raises(InputError, match=r"^load: path is "):
        load(path)


@pytest.mark.parametrize(
    "value",
    [True, "3", None, [3], float("nan"), float("inf"), 1 + 1j, pytest.param(10**400, id="huge"), np.float32("inf")],
)
def test_an_input_that_is_no_number(value: Any, restorer_model: Any) -> None:
    with pytest.raises(InputError, match='^tiny: input "scale" is (.*, expected a number|too large)'):
        restorer_model._settings({"scale": value})


@pytest.mark.parametrize("value", [2**63, 1e300, 10**30])
def test_a_whole_number_that_does_not_fit(value: Any, restorer_model: Any) -> None:
    with pytest.raises(InputError, match='^tiny: input "scale" is too large for int64; give a smaller number'):
        restorer_model._settings({"scale": value})


def test_a_number_that_does_not_fit_float32(restorer_model: Any) -> None:
    with pytest.raises(InputError, match='^tiny: input "threshold" is too large for float32'):
        restorer_model._settings({"threshold": 1e300})
    for value in (0.5, np.float32(0.5), np.float64(0.5)):
        np.testing.assert_array_equal(restorer_model._settings({"threshold": value})["threshold"], np.float32([0.5]))
    np.testing.assert_array_equal(restorer_model._settings({"scale": np.int32(3)})["scale"], [3])


@pytest.fixture
def restorer_model(detector: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A model with two inputs that have defaults."""
    model = load(detector)
    model.name = "tiny"
    defaults = {"scale": np.array([2], np.int64), "threshold": np.array([0.5], np.float32)}
    monkeypatch.setattr(model.runner, "defaults", defaults)
    return model
