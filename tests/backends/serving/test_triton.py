"""zooport triton: the files that it writes, and what the Python model answers, in a stand-in for Triton's stub."""

import json
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from backends import load
from backends.serving import triton_model, triton_repository
from backends.serving.protocol import DEPLOYMENT, FILE, read_manifest
from backends.serving.triton_config import Serving
from backends.serving.triton_model import FOLDER, TritonPythonModel
from backends.serving.triton_python import python_model
from backends.serving.triton_repository import STAGED
from tests.backends.conftest import rewrite_manifest
from tests.backends.serving.conftest import ADJUSTABLE, ALONE, BATCH, OUTPUTS, arguments_of, write_tensors
from tests.backends.serving.stub import InferenceResponse, Request, TritonError, module
from zoo.errors import ExportError
from zooport.commands.triton_repository import MAX_INT32
from zooport.verbs import run_verb


def asked(content: bytes, outputs: list[str], **inputs: np.ndarray) -> Request:
    return Request({FILE: np.frombuffer(content, np.uint8)[np.newaxis].copy(), **inputs}, outputs)


def test_results_are_those_of_load(served: Any, deployments: dict[str, Path], files: list[Path]) -> None:
    name, model = served
    requests = [asked(path.read_bytes(), OUTPUTS[name]) for path in files]
    together, alone = model.execute(requests), [model.execute([request])[0] for request in requests]
    with load(deployments[name], threads=1) as local:
        for path, one, other in zip(files, together, alone, strict=True):
            expected = local(local.task.kind.read(path)).arrays
            for response in (one, other):
                arrays = response.arrays()
                assert list(arrays) == OUTPUTS[name]
                for key, array in arrays.items():
                    assert array.dtype == expected[key].dtype
                    np.testing.assert_array_equal(array[0], expected[key])


def test_bad_requests_are_400_and_the_others_are_answered(served: Any, files: list[Path]) -> None:
    name, model = served
    good = files[-1].read_bytes()
    small = cv2.imencode(".png", np.zeros((8, 8, 3), np.uint8))[1].tobytes()
    contents = [good, b"no image", b"", small, good[: len(good) // 2], good]
    responses: list[InferenceResponse] = model.execute([asked(content, OUTPUTS[name]) for content in contents])
    for response in responses[1:-1]:
        assert response.error is not None
        assert response.error.code == TritonError.INVALID_ARG
        assert str(response.error).startswith("image")
        assert "\n" not in str(response.error)
        assert "/tmp" not in str(response.error)
    first, last = responses[0].arrays(), responses[-1].arrays()
    assert all(np.array_equal(first[key], last[key]) for key in first)


def test_two_files_in_a_request_are_refused_and_the_other_requests_are_answered(served: Any, files: list[Path]) -> None:
    name, model = served
    content = np.frombuffer(files[-1].read_bytes(), np.uint8)
    two = Request({FILE: np.stack([content, content])}, OUTPUTS[name])
    first, second = model.execute([two, asked(files[-1].read_bytes(), OUTPUTS[name])])
    assert second.arrays()
    assert first.error.code == TritonError.INVALID_ARG
    shape = [2, len(content)]
    expected = f'the request: input "file": shape {shape}, expected [1, bytes]; send one file in each request'
    assert str(first.error) == expected


@pytest.mark.parametrize("error", [MemoryError(), ExportError("model: no room"), cv2.error("no room")])
@pytest.mark.parametrize("served", ["detector"], indirect=True)
def test_what_the_runtime_cannot_compute_is_a_fault_of_that_request(
    served: Any, files: list[Path], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    name, model = served
    images = [model._model.task.kind.read(path) for path in files[:2]]
    compute = model._model.runner.run

    def run(arrays: Any) -> Any:
        tensor, _ = model._model.preprocess([images[0]])
        if any(np.array_equal(row, tensor[0]) for row in arrays["images"]):
            raise error
        return compute(arrays)

    monkeypatch.setattr(model._model.runner, "run", run)
    bad, good = model.execute([asked(path.read_bytes(), OUTPUTS[name]) for path in files[:2]])
    assert bad.error.code == TritonError.INVALID_ARG
    assert good.arrays()


@pytest.mark.parametrize("served", ["detector"], indirect=True)
def test_a_file_that_memory_lacks_for_is_a_fault_if_the_first_call_still_works(
    served: Any, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, model = served
    read = triton_model.read_content
    lacking = {len(files[1].read_bytes())}

    def read_content(kind: Any, content: Any) -> Any:
        if content.size in lacking:
            raise MemoryError
        return read(kind, content)

    monkeypatch.setattr(triton_model, "read_content", read_content)
    (answer,) = model.execute([asked(files[1].read_bytes(), OUTPUTS[name])])
    assert answer.error.code == TritonError.INVALID_ARG
    lacking.add(model._first_call.stat().st_size)
    with pytest.raises(MemoryError):
        model.execute([asked(files[1].read_bytes(), OUTPUTS[name])])


@pytest.mark.parametrize("served", ["detector"], indirect=True)
def test_a_model_that_computes_nothing_any_more_is_no_fault_of_its_requests(
    served: Any, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Triton answers what `execute` raises with 500, and the client asks again."""
    name, model = served

    def run(_: Any) -> Any:
        raise ExportError("the GPU is lost")

    monkeypatch.setattr(model._model.runner, "run", run)
    with pytest.raises(ExportError, match="the GPU is lost"):
        model.execute([asked(files[0].read_bytes(), OUTPUTS[name])])


@pytest.mark.parametrize("served", [ADJUSTABLE], indirect=True)
def test_a_setting_of_another_size_is_refused_and_the_other_requests_are_answered(
    served: Any, files: list[Path]
) -> None:
    name, model = served
    thresholds = [np.full(shape, 0.5, np.float32) for shape in ((1, 1), (2, 1), (1, 0), (1, 1))]
    requests = [asked(files[-1].read_bytes(), OUTPUTS[name], score_threshold=each) for each in thresholds]
    good, two, none, last = model.execute(requests)
    for response, count in ((two, 2), (none, 0)):
        assert response.error.code == TritonError.INVALID_ARG
        assert str(response.error) == f'the request: input "score_threshold": {count} numbers, expected 1'
    assert all(np.array_equal(array, last.arrays()[key]) for key, array in good.arrays().items())


def test_the_manifest_is_an_output(served: Any) -> None:
    _, model = served
    (response,) = model.execute([asked(b"", [DEPLOYMENT])])
    (content,) = response.arrays()[DEPLOYMENT]
    assert read_manifest(content.tobytes(), "here") == model._model.manifest


def test_the_printed_command_binds_to_this_machine(
    deployments: dict[str, Path], files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "my models"
    data = tmp_path / "data.json"
    flags = ["--image", str(files[0]), "--out", str(out), "--json", str(data)]
    assert run_verb(["triton", str(deployments["detector"]), *flags]) == 0
    place, command = capsys.readouterr().out.splitlines()
    assert Path(place).parent == out
    binary, *arguments = shlex.split(command.removeprefix("start with: "))
    addresses = {f"--{each}-address": "127.0.0.1" for each in ("http", "grpc", "metrics")}
    assert binary == "tritonserver"
    assert dict(zip(*[iter(arguments)] * 2, strict=True)) == {"--model-repository": str(out), **addresses}
    assert json.loads(data.read_text())["command"] == command.removeprefix("start with: ")
    help_text = subprocess.run(
        [sys.executable, "-m", "zooport", "triton", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert all(f"{flag} {address}" in help_text for flag, address in addresses.items())


@pytest.mark.parametrize(
    ("provider", "serving", "expected"),
    [
        (None, Serving("cars"), ("KIND_CPU", 3, 0)),
        (None, Serving("cars", instances=5, batch=2), ("KIND_CPU", 5, 2)),
        ("cuda:1", Serving("cars"), ("KIND_GPU", 1, BATCH)),
        ("cuda", Serving("cars", instances=2, batch=1), ("KIND_GPU", 2, 0)),
        ("npu", Serving("cars"), ("KIND_CPU", 1, BATCH)),  # of OpenVINO: Triton knows NVIDIA's GPUs alone
    ],
)
def test_processes_and_batches_by_what_computes(
    deployments: dict[str, Path],
    files: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    provider: str | None,
    serving: Serving,
    expected: tuple[str, int, int],
) -> None:
    monkeypatch.setattr("backends.serving.triton_config.default_threads", lambda: 3)
    kind, count, batch = expected
    with load(deployments["detector"], threads=1) as model:
        result = model(model.task.kind.read(files[0]))
        model.manifest = replace(model.manifest, provider=provider)
        config = python_model(model, files[0].read_bytes(), result, serving).config
    assert f"instance_group [ {{ kind: {kind} count: {count} }} ]" in config
    assert f"max_batch_size: {batch}\n" in config


@pytest.mark.parametrize("form", [[], ["--ensemble"]])
def test_a_batch_that_the_graph_does_not_take_is_refused(
    deployments: dict[str, Path], files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], form: list[str]
) -> None:
    name, most = (ADJUSTABLE, 1) if form else ("detector", BATCH)
    flags = ["--image", str(files[0]), "--out", str(tmp_path), "--name", "cars", "--batch", str(most + 1), *form]
    assert run_verb(["triton", str(deployments[name]), *flags]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: --batch {most + 1}: the graph of cars takes at most {most} at a time")
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("flag", "value", "expected"),
    [
        ("--queue", 99999999999, "1 to 2147483647"),
        ("--timeout", 10**20, "1 to 2147483647"),
        ("--instances", 2**31, "1 to 2147483647"),
        ("--threads", 0, "1 to 1024"),
        ("--threads", 1025, "1 to 1024"),  # the server would load no model
        ("--delay", 2**31, "0 to 2147483647"),
        ("--delay", -1, "0 to 2147483647"),
    ],
)
def test_a_number_that_a_config_cannot_hold_is_refused(
    deployments: dict[str, Path],
    files: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    flag: str,
    value: int,
    expected: str,
) -> None:
    flags = ["--image", str(files[0]), "--out", str(tmp_path / "out"), flag, str(value)]
    assert run_verb(["triton", str(deployments["detector"]), *flags]) == 2
    assert capsys.readouterr().err == f"error: {flag} {value}: expected {expected}\n"
    assert not (tmp_path / "out").exists()


def test_the_largest_numbers_parse(deployments: dict[str, Path], files: list[Path], tmp_path: Path) -> None:
    proto = pytest.importorskip("tritonclient.grpc.model_config_pb2", reason="needs tritonclient[grpc]")
    text_format = pytest.importorskip("google.protobuf.text_format")
    flags = ["--image", str(files[0]), "--out", str(tmp_path), "--name", "cars"]
    for flag in ("--queue", "--timeout", "--delay", "--instances"):
        flags += [flag, str(MAX_INT32)]
    assert run_verb(["triton", str(deployments["detector"]), *flags]) == 0
    config = text_format.Parse((tmp_path / "cars" / "config.pbtxt").read_text(encoding="utf-8"), proto.ModelConfig())
    batching = config.dynamic_batching
    assert batching.default_queue_policy.max_queue_size == config.instance_group[0].count == MAX_INT32
    assert batching.default_queue_policy.default_timeout_microseconds == 1000 * MAX_INT32
    assert batching.max_queue_delay_microseconds == MAX_INT32


@pytest.mark.parametrize(
    ("form", "taken"),
    [
        ([], ["deployment"]),
        (["--ensemble"], ["deployment", "geometry", "file", "graph_images"]),
    ],
)
def test_an_output_with_the_name_of_another_tensor_is_refused(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], form: list[str], taken: list[str]
) -> None:
    for name in taken:
        folder = write_tensors(tmp_path / name, **{name: "brightness"})
        out = tmp_path / "out"
        assert run_verb(["triton", str(folder), "--image", str(files[0]), "--out", str(out), *form]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f'error: small: output "{name}": a server has a tensor of its own with that name; ')
        assert error.count("\n") == 1
        assert not out.exists() or not list(out.iterdir())


@pytest.mark.parametrize("name", ["file", "geometry"])
def test_a_python_model_may_have_outputs_with_the_names_of_inputs(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", module())
    folder = write_tensors(tmp_path / "small", **{name: "brightness"})
    flags = ["--image", str(files[0]), "--out", str(tmp_path), "--name", "cars"]
    assert run_verb(["triton", str(folder), *flags]) == 0
    model = TritonPythonModel()
    config = {"parameters": {"threads": {"string_value": "1"}}}
    model.initialize({"model_config": json.dumps(config), **arguments_of(tmp_path / "cars")})
    (response,) = model.execute([asked(files[0].read_bytes(), [name])])
    with load(folder, threads=1) as local:
        np.testing.assert_array_equal(response.arrays()[name][0], local(local.task.kind.read(files[0])).arrays[name])
    model.finalize()


@pytest.mark.parametrize(
    ("kind", "provider", "expected"),
    [
        ("CPU", None, None),
        ("CPU", "cuda", None),
        ("GPU", None, None),  # a config that was edited, of a deployment for the CPU
        ("GPU", "cuda", "cuda:1"),
        ("GPU", "cuda:0", "cuda:1"),
        ("GPU", "tensorrt", "tensorrt:1"),
    ],
)
def test_a_process_computes_on_the_gpu_that_triton_gives_it(
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    provider: str | None,
    expected: str | None,
) -> None:
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", module())
    place = tmp_path / "cars"
    shutil.copytree(repository / "detector", place)
    folder = place / "1" / FOLDER
    rewrite_manifest(folder, provider=provider)
    requested = []

    def without_gpu(path: Path, *, provider: str | None, threads: int) -> object:
        requested.append(provider)
        return load(path, provider="cpu", threads=threads)

    monkeypatch.setattr("backends.serving.triton_model.load", without_gpu)
    config = {"parameters": {"threads": {"string_value": "1"}}}
    model = TritonPythonModel()
    model.initialize({"model_config": json.dumps(config), **arguments_of(place, kind, device=1)})
    model.finalize()
    assert requested == [expected]


def test_nothing_is_written_over_and_nothing_half_written_is_left(
    repository: Path,
    deployments: dict[str, Path],
    files: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = str(deployments["detector"])
    assert run_verb(["triton", folder, "--image", str(files[0]), "--out", str(repository), "--name", "detector"]) == 2
    assert "there is such a model already" in capsys.readouterr().err
    (tmp_path / "bad.png").write_bytes(b"no image")
    out = tmp_path / "out"
    assert run_verb(["triton", folder, "--image", str(tmp_path / "bad.png"), "--out", str(out)]) == 2
    assert run_verb(["triton", folder, "--image", str(files[0]), "--out", str(out), "--name", "../x"]) == 2
    assert list(out.iterdir()) == []
    assert sorted(path.name for path in repository.iterdir()) == sorted(OUTPUTS)


def test_all_models_of_an_ensemble_are_published_or_none(
    deployments: dict[str, Path],
    files: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "models"
    (out / STAGED / "old").mkdir(parents=True)  # of a run that was killed
    command = ["triton", str(deployments["detector"]), "--image", str(files[0]), "--out", str(out), "--ensemble"]
    written: list[Path] = []
    write, rename = triton_repository._write, Path.rename

    def full(model: Any, place: Path, *arguments: Any) -> None:
        if written:
            raise OSError(28, "No space left on device")
        written.append(place)
        write(model, place, *arguments)

    def interrupted(path: Path, target: Path) -> Path:
        if target.name.endswith("-graph"):
            raise OSError(5, "Input/output error")
        return rename(path, target)

    for place, name, instead in ((triton_repository, "_write", full), (Path, "rename", interrupted)):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, instead)
            assert run_verb(command) != 0
        assert list(out.iterdir()) == []
    capsys.readouterr()
    assert run_verb(command) == 0
    assert len(list(out.iterdir())) == 4


def test_every_config_parses_and_has_no_unknown_field(repository: Path, files: list[Path]) -> None:
    """A misspelt field is an error of the protobuf that Triton itself reads."""
    proto = pytest.importorskip("tritonclient.grpc.model_config_pb2", reason="needs tritonclient[grpc]")
    text_format = pytest.importorskip("google.protobuf.text_format")
    for name, outputs in OUTPUTS.items():
        text = (repository / name / "config.pbtxt").read_text(encoding="utf-8")
        config = text_format.Parse(text, proto.ModelConfig())
        assert (config.name, config.backend) == (name, "python")
        assert [each.name for each in config.output] == [*outputs, DEPLOYMENT]
        assert (config.instance_group[0].count, config.max_batch_size) == (2, 0 if name in ALONE else BATCH)
        assert all(each.dims for each in (*config.input, *config.output))  # Triton loads no model otherwise
        assert config.dynamic_batching.default_queue_policy.max_queue_size == 8
        warmup = config.model_warmup[0].inputs[FILE]
        assert warmup.dims[-1] == (repository / name / "warmup" / warmup.input_data_file).stat().st_size
        with pytest.raises(text_format.ParseError):
            text_format.Parse(text.replace("max_queue_size", "max_queue_sise"), proto.ModelConfig())
