"""zooport triton --ensemble: its files, and what its steps compute, in a stand-in for Triton's stub."""

import re
import runpy
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from backends import load
from backends.serving.protocol import DEPLOYMENT, FILE, read_manifest
from backends.serving.triton_config import Serving
from backends.serving.triton_ensemble import ensemble_models
from backends.serving.triton_steps import GEOMETRY, GRAPH
from tests.backends.serving.conftest import ADJUSTABLE, BATCH, ENSEMBLES, OUTPUTS
from tests.backends.serving.stub import InferenceResponse, Request, TritonError, module
from zooport.verbs import run_verb


class Ensemble:
    """The three models of an ensemble, the graph's in ONNX Runtime."""

    def __init__(self, models: Path, name: str) -> None:
        self.before, self.after = (step(models / f"{name}-{kind}") for kind in ("preprocessing", "postprocessing"))
        self.manifest, self.outputs = self.before.manifest, OUTPUTS[name]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.graph = onnxruntime.InferenceSession(models / f"{name}-graph" / "1" / "model.onnx", options)

    def run(self, content: bytes, **settings: float) -> dict[str, np.ndarray]:
        return {name: array[0] for name, array in self.response(content, **settings).arrays().items()}

    def response(self, content: bytes, **settings: float) -> InferenceResponse:
        prepared = self.preprocessed(content, **settings).arrays()
        feeds = {spec.name: prepared[GRAPH + spec.name] for spec in self.manifest.inputs}
        names = [spec.name for spec in self.manifest.outputs]
        computed = {GRAPH + name: array for name, array in zip(names, self.graph.run(names, feeds), strict=True)}
        (response,) = self.after.execute([Request({**computed, GEOMETRY: prepared[GEOMETRY]}, self.outputs)])
        return response

    def preprocessed(self, content: bytes, **settings: float) -> InferenceResponse:
        inputs = {name: np.array([[value]], np.float32) for name, value in settings.items()}
        outputs = [GRAPH + spec.name for spec in self.manifest.inputs]
        names = [*outputs, GEOMETRY, DEPLOYMENT]
        request = Request({FILE: np.frombuffer(content, np.uint8)[np.newaxis].copy(), **inputs}, names)
        (response,) = self.before.execute([request])
        return response


def step(place: Path) -> Any:
    model = runpy.run_path(str(place / "1" / "model.py"))["TritonPythonModel"]()
    model.initialize({"model_repository": str(place), "model_version": "1"})
    return model


@pytest.fixture(params=ENSEMBLES)
def ensemble(request: pytest.FixtureRequest, ensembles: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Ensemble]:
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", module())
    return request.param, Ensemble(ensembles, request.param)


def test_results_are_those_of_load(
    ensemble: tuple[str, Ensemble], deployments: dict[str, Path], files: list[Path]
) -> None:
    name, steps = ensemble
    settings = [{}, {"score_threshold": 0.5}] if name == ADJUSTABLE else [{}]
    with load(deployments[name], threads=1) as local:
        for path in files:
            for setting in settings:
                expected = local(local.task.kind.read(path), **setting).arrays
                arrays = steps.run(path.read_bytes(), **setting)
                assert arrays.keys() == expected.keys()
                for key, array in arrays.items():
                    assert array.dtype == expected[key].dtype
                    np.testing.assert_array_equal(array, expected[key])


def test_a_bad_request_is_400_and_one_line(ensemble: tuple[str, Ensemble], files: list[Path]) -> None:
    name, steps = ensemble
    for content, settings in [(b"no image", {}), (files[0].read_bytes(), {"score_threshold": np.nan})]:
        if settings and name != ADJUSTABLE:
            continue
        error = steps.preprocessed(content, **settings).error
        assert error is not None
        assert error.code == TritonError.INVALID_ARG
        assert "\n" not in str(error)


def test_two_files_and_two_thresholds_are_refused(ensemble: tuple[str, Ensemble], files: list[Path]) -> None:
    name, steps = ensemble
    content = np.frombuffer(files[0].read_bytes(), np.uint8)[np.newaxis].copy()
    bad: list[tuple[dict[str, np.ndarray], str]] = [({FILE: content.repeat(2, 0)}, 'input "file": shape [2, ')]
    if name == ADJUSTABLE:
        thresholds = np.zeros((2, 1), np.float32)
        bad += [({FILE: content, "score_threshold": thresholds}, 'input "score_threshold": 2 numbers, expected 1')]
    for inputs, message in bad:
        refused, answered = steps.before.execute([Request(inputs, [GEOMETRY]), Request({FILE: content}, [GEOMETRY])])
        assert refused.error.code == TritonError.INVALID_ARG
        assert str(refused.error).startswith(f"the request: {message}")
        assert answered.arrays()


def test_the_manifest_is_an_output_without_a_file_and_the_last_step_refuses_the_rest(
    ensemble: tuple[str, Ensemble],
) -> None:
    _, steps = ensemble
    (content,) = steps.preprocessed(b"").arrays()[DEPLOYMENT]
    assert read_manifest(content.tobytes(), "here") == steps.manifest
    error = steps.response(b"").error
    assert error is not None
    assert error.code == TritonError.INVALID_ARG
    assert str(error).startswith("image: 0 bytes, expected the content of a file")


def test_no_two_steps_are_parallel(ensembles: Path) -> None:
    """Triton 2.51 can crash where one of two fails: each step takes something that only the one before gives."""
    for name in ENSEMBLES:
        text = (ensembles / name / "config.pbtxt").read_text(encoding="utf-8")
        steps = text.split("  step {")[1:]
        assert len(steps) == 3
        for before, after in pairwise(steps):
            given = set(re.findall(r'output_map .* value: "(.*)" }', before))
            assert given & set(re.findall(r'input_map .* value: "(.*)" }', after))


def test_every_config_parses_and_every_tensor_has_its_place(ensembles: Path) -> None:
    """By the protobuf that Triton itself reads: a step's map names all its inputs, and tensors that there are."""
    proto = pytest.importorskip("tritonclient.grpc.model_config_pb2", reason="needs tritonclient[grpc]")
    text_format = pytest.importorskip("google.protobuf.text_format")
    configs = {
        path.parent.name: text_format.Parse(path.read_text(encoding="utf-8"), proto.ModelConfig())
        for path in ensembles.glob("*/config.pbtxt")
    }
    assert len(configs) == 4 * len(ENSEMBLES)
    for name in ENSEMBLES:
        config = configs[name]
        tensors = {each.name for each in config.input}
        for part in config.ensemble_scheduling.step:
            model = configs[part.model_name]
            assert set(part.input_map) == {each.name for each in model.input}
            assert set(part.input_map.values()) <= tensors
            assert set(part.output_map) <= {each.name for each in model.output}
            tensors |= set(part.output_map.values())
        assert {each.name for each in config.output} <= tensors
        graph = configs[f"{name}-graph"]
        assert (graph.backend, graph.default_model_filename) == ("onnxruntime", "model.onnx")
        assert graph.max_batch_size == (0 if name == ADJUSTABLE else BATCH)
        for warmup in graph.model_warmup:
            for key, value in warmup.inputs.items():
                size = (ensembles / f"{name}-graph" / "warmup" / value.input_data_file).stat().st_size
                assert size == 4 * np.prod(value.dims), key


def test_a_graph_on_a_cpu_makes_no_batches_unless_they_are_asked_for(
    deployments: dict[str, Path], files: list[Path]
) -> None:
    with load(deployments["detector"], threads=1) as model:
        result = model(model.task.kind.read(files[0]))
        models = ensemble_models(model, files[0].read_bytes(), result, Serving("cars"))
    assert all("max_batch_size: 0" in each.config for each in models)


def test_an_engine_is_run_by_tritons_tensorrt_on_a_gpu(deployments: dict[str, Path], files: list[Path]) -> None:
    with load(deployments["detector"], threads=1) as model:
        result = model(model.task.kind.read(files[0]))
        model.manifest = replace(model.manifest, backend="tensorrt")
        models = ensemble_models(model, files[0].read_bytes(), result, Serving("cars", instances=3))
    proto = pytest.importorskip("tritonclient.grpc.model_config_pb2", reason="needs tritonclient[grpc]")
    text_format = pytest.importorskip("google.protobuf.text_format")
    configs = {each.name: text_format.Parse(each.config, proto.ModelConfig()) for each in models}
    assert len(configs) == 4
    assert all(config.name == name for name, config in configs.items())
    graph = configs["cars-graph"]
    assert (graph.backend, graph.default_model_filename) == ("tensorrt", "model.engine")
    (group,) = graph.instance_group
    assert (group.kind, group.count, graph.max_batch_size) == (proto.ModelInstanceGroup.KIND_GPU, 1, BATCH)
    assert not graph.parameters
    (group,) = configs["cars-preprocessing"].instance_group
    assert (group.kind, group.count) == (proto.ModelInstanceGroup.KIND_CPU, 3)


def test_the_graph_has_the_options_of_our_sessions_on_a_gpu(deployments: dict[str, Path], files: list[Path]) -> None:
    with load(deployments["detector"], threads=1) as model:
        result = model(model.task.kind.read(files[0]))
        model.manifest = replace(model.manifest, provider="cuda:0")
        models = ensemble_models(model, files[0].read_bytes(), result, Serving("cars"))
    proto = pytest.importorskip("tritonclient.grpc.model_config_pb2", reason="needs tritonclient[grpc]")
    text_format = pytest.importorskip("google.protobuf.text_format")
    configs = [text_format.Parse(each.config, proto.ModelConfig()) for each in models]
    (graph,) = (config for config in configs if config.name == "cars-graph")
    (accelerator,) = graph.optimization.execution_accelerators.gpu_execution_accelerator
    assert (accelerator.name, dict(accelerator.parameters)) == ("cuda", {"use_tf32": "0"})
    assert {name: value.string_value for name, value in graph.parameters.items()} == {"cudnn_conv_algo_search": "1"}


def test_what_triton_cannot_run_by_itself_is_one_line(
    deployments: dict[str, Path],
    ensembles: Path,
    files: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    flags = ["--image", str(files[0]), "--ensemble", "--out"]
    assert run_verb(["triton", str(deployments["slide"]), *flags, str(out)]) == 2
    assert "the host cuts its images into windows" in capsys.readouterr().err
    assert not out.exists() or list(out.iterdir()) == []
    folder = str(deployments["detector"])
    assert run_verb(["triton", folder, *flags, str(ensembles), "--name", "detector"]) == 2
    error = capsys.readouterr().err
    assert "there is such a model already" in error
    assert error.count("\n") == 1
    assert not list(ensembles.glob(".*"))
