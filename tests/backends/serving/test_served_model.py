"""A served deployment: what it says of itself, its answers beside those of load, and what it refuses."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from backends import load
from backends.serving.protocol import DEPLOYMENT, DTYPES, manifest_content
from backends.serving.served_model import ServedModel, ServedModelSettings
from backends.serving.v2_schema import METADATA
from tests.backends.serving.conftest import ADJUSTABLE, OUTPUTS, write_tensors
from zoo.errors import InputError
from zoo.input_kinds.image.reading import read_image

Serve = Callable[[str], ServedModel]


@pytest.fixture
def serve(deployments: dict[str, Path], files: list[Path]) -> Iterator[Serve]:
    models: list[ServedModel] = []

    def start(name: str) -> ServedModel:
        models.append(ServedModel(ServedModelSettings(name, deployments[name], files[0].read_bytes())))
        return models[-1]

    yield start
    for model in models:
        model.close()


def tensor(name: str, array: np.ndarray) -> dict[str, Any]:
    return {
        "name": name,
        "shape": list(array.shape),
        "datatype": DTYPES[array.dtype.name],
        "data": array.ravel().tolist(),
    }


def ask(model: ServedModel, *tensors: Mapping[str, Any], outputs: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    fields = {"inputs": tensors, "outputs": [{"name": name} for name in outputs]}
    body, _ = model.infer(json.dumps(fields).encode(), None)
    dtypes = {protocol: name for name, protocol in DTYPES.items()}
    return {
        each["name"]: np.array(each["data"], dtypes[each["datatype"]]).reshape(each["shape"])
        for each in json.loads(body)["outputs"]
    }


def content(path: Path) -> np.ndarray:
    return np.frombuffer(path.read_bytes(), np.uint8)[np.newaxis]


@pytest.mark.parametrize("name", OUTPUTS)
def test_answers_are_those_of_load(name: str, serve: Serve, deployments: dict[str, Path], files: list[Path]) -> None:
    served = serve(name)
    with load(deployments[name], threads=1) as model:
        for path in files:
            answer = ask(served, tensor("file", content(path)))
            manifest = np.frombuffer(manifest_content(model.manifest), np.uint8)
            expected = {**model(read_image(path)).arrays, DEPLOYMENT: manifest}
            assert list(answer) == list(expected)
            for key, array in expected.items():
                assert answer[key].dtype == array.dtype
                assert np.array_equal(answer[key], array[np.newaxis])


@pytest.mark.parametrize("name", OUTPUTS)
def test_describes_what_it_answers(name: str, serve: Serve, files: list[Path]) -> None:
    served = serve(name)
    described = served.describe()
    Draft202012Validator(METADATA).validate(described)
    assert described["name"] == name
    assert described["platform"] == "zooport_onnxruntime"
    settings = [{"name": "score_threshold", "datatype": "FP32", "shape": [1, 1]}] if name == ADJUSTABLE else []
    assert described["inputs"] == [{"name": "file", "datatype": "UINT8", "shape": [1, -1]}, *settings]
    outputs = {each["name"]: each for each in described["outputs"]}
    assert set(outputs) >= {DEPLOYMENT, *OUTPUTS[name]}
    for key, array in ask(served, tensor("file", content(files[1]))).items():
        assert outputs[key]["datatype"] == DTYPES[array.dtype.name]
        assert len(outputs[key]["shape"]) == array.ndim


def test_settings_are_those_of_a_call(serve: Serve, deployments: dict[str, Path], files: list[Path]) -> None:
    served = serve(ADJUSTABLE)
    with load(deployments[ADJUSTABLE], threads=1) as model:
        expected = [model(read_image(path), score_threshold=0.5) for path in files]
        assert expected != [model(read_image(path)) for path in files]
    threshold = tensor("score_threshold", np.full((1, 1), 0.5, np.float32))
    for path, result in zip(files, expected, strict=True):
        answer = ask(served, tensor("file", content(path)), threshold)
        assert all(np.array_equal(answer[key], array[np.newaxis]) for key, array in result.arrays.items())


def test_a_file_needs_no_batch_axis(serve: Serve, files: list[Path]) -> None:
    served = serve("detector")
    flat, batch = (ask(served, tensor("file", array)) for array in (content(files[0])[0], content(files[0])))
    assert all(np.array_equal(flat[key], batch[key]) for key in batch)


def test_only_what_is_asked_for_is_sent(serve: Serve, files: list[Path]) -> None:
    served = serve("detector")
    assert list(ask(served, tensor("file", content(files[0])), outputs=("scores", "boxes"))) == ["scores", "boxes"]
    assert list(ask(served, outputs=(DEPLOYMENT,))) == [DEPLOYMENT]


FILE = np.zeros((1, 4), np.uint8)


@pytest.mark.parametrize(
    ("tensors", "outputs", "message"),
    [
        ([], (), "file"),
        ([tensor("file", FILE)], (), "not an image"),
        ([tensor("file", FILE.astype(np.float32))], (), 'input "file" is float32, expected UINT8'),
        (
            [tensor("file", FILE.repeat(2, 0))],
            (),
            'input "file": shape [2, 4], expected [1, bytes]; send one file in each',
        ),
        ([tensor("file", FILE[np.newaxis])], (), 'input "file": shape [1, 1, 4], expected [1, bytes]'),
        ([tensor("fil", FILE)], (), 'unknown input "fil"; '),
        ([tensor("score_threshold", np.zeros((1, 2), np.float32))], (), "2 numbers, expected 1"),
        ([], ("boxs",), "file"),
    ],
)
def test_a_bad_request_is_one_line_and_the_model_answers_on(
    serve: Serve, files: list[Path], tensors: list[dict[str, Any]], outputs: tuple[str, ...], message: str
) -> None:
    served = serve(ADJUSTABLE)
    with pytest.raises(InputError) as refusal:
        ask(served, *tensors, outputs=outputs)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert "boxes" in ask(served, tensor("file", content(files[0])))


def test_an_unknown_output_is_named(serve: Serve, files: list[Path]) -> None:
    with pytest.raises(InputError, match='unknown output "boxs".*boxes'):
        ask(serve("detector"), tensor("file", content(files[0])), outputs=("boxs",))


def test_a_check_makes_a_call(serve: Serve) -> None:
    served = serve("detector")
    served.check()
    served.close()
    with pytest.raises(InputError, match="closed"):
        served.check()


def test_a_first_image_that_is_none_is_refused(deployments: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="not an image"):
        ServedModel(ServedModelSettings("cars", deployments["detector"], b"no image"))


def test_an_output_with_the_name_of_the_manifest_is_refused(files: list[Path], tmp_path: Path) -> None:
    folder = write_tensors(tmp_path / "tensors", deployment="brightness")
    with pytest.raises(InputError, match='^cars: output "deployment": a server has a tensor of its own'):
        ServedModel(ServedModelSettings("cars", folder, files[0].read_bytes()))
