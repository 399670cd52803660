"""The record of an engine, and what is refused by it."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from backends.engine_options import EngineOptions
from backends.tensorrt.engine_record import EngineRecord, check_record, record_path
from zoo.errors import InputError
from zoo.manifest import file_record

VERSION = "11.4.0.106"
DEVICE = "NVIDIA L4"


@pytest.fixture
def engine(tmp_path: Path) -> tuple[EngineRecord, Path, Path]:
    plan, onnx = tmp_path / "model.engine", tmp_path / "model.onnx"
    plan.write_bytes(b"plan")
    onnx.write_bytes(b"graph")
    record = EngineRecord(
        backend="tensorrt",
        library_version=VERSION,
        device=DEVICE,
        precision="fp16",
        options=EngineOptions(batches=(1, 4), workspace_mib=64),
        profiles=({"images": ((1, 3), (2, 3), (8, 3))}, {"images": ((4, 3), (4, 3), (4, 3))}),
        values={"scale": (2, 3, 4)},
        layers={"float16": 7, "float32": 2},
        onnx_sha256=file_record(onnx)["sha256"],
        plan_sha256=file_record(plan)["sha256"],
        bytes=4,
        warnings=("slow",),
    )
    return record, plan, onnx


def changed(record: EngineRecord, options: dict[str, Any], **fields: Any) -> EngineRecord:
    return dataclasses.replace(record, options=EngineOptions(**options), **fields)


def test_written_and_read_again(engine: tuple[EngineRecord, Path, Path]) -> None:
    record, plan, _ = engine
    path = record_path(plan)
    assert path.name == "model.engine.json"
    record.write(path)
    assert EngineRecord.read(path) == record
    record.write(path)
    assert EngineRecord.from_dict(json.loads(path.read_text())) == record


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read (No such file or directory); copy the deployment again"),
        ("{", "not a JSON file"),
        ("[]", "got a JSON list, expected an object"),
        ("{}", "no record of an engine ('options')"),
        ('{"options": {"speed": 1}}', 'unknown engine option "speed"'),
    ],
)
def test_no_record(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "model.engine.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError) as raised:
        EngineRecord.read(path)
    assert str(path) in str(raised.value)
    assert message in str(raised.value)


@pytest.mark.parametrize("name", ["backend", "plan_sha256"])
def test_a_field_of_another_type(engine: tuple[EngineRecord, Path, Path], name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is 5; build the engine again"):
        EngineRecord.from_dict(engine[0].to_dict() | {name: 5})


def test_what_fits_is_taken(engine: tuple[EngineRecord, Path, Path]) -> None:
    record, plan, onnx = engine
    check_record(record, plan, onnx, "tensorrt", VERSION, DEVICE)
    check_record(record, plan, onnx, "tensorrt", VERSION, None)  # no GPU is known: that is not the engine's fault


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("tensorrt-rtx", VERSION, DEVICE), "an engine of tensorrt, which tensorrt-rtx cannot load"),
        (("tensorrt", "11.4.1.2", DEVICE), "built by tensorrt 11.4.0.106, and this is 11.4.1.2"),
        (("tensorrt", VERSION, "NVIDIA A10"), "built on NVIDIA L4, and this is NVIDIA A10"),
    ],
)
def test_what_does_not_fit_is_refused(
    engine: tuple[EngineRecord, Path, Path], given: tuple[str, str, str], message: str
) -> None:
    record, plan, onnx = engine
    with pytest.raises(InputError) as raised:
        check_record(record, plan, onnx, *given)
    expected = f"{plan}: {message}; build it again: zooport deploy CONFIG --backend {given[0]}"
    assert str(raised.value) == expected


@pytest.mark.parametrize("name", ["model.engine", "model.onnx"])
def test_a_changed_file_is_refused(engine: tuple[EngineRecord, Path, Path], name: str) -> None:
    record, plan, onnx = engine
    (plan.parent / name).write_bytes(b"other")
    with pytest.raises(InputError, match=f"{name} has sha256 .*: the file changed; build it again"):
        check_record(record, plan, onnx, "tensorrt", VERSION, DEVICE)


@pytest.mark.parametrize(
    ("built", "here", "good"),
    [
        ("11.0.0.1", "11.4.0.106", True),
        ("10.12.0.36", "11.4.0.106", True),
        ("11.4.0.106", "11.0.0.1", False),
        ("11.4.0.106", "10.12.0.36", False),
        ("10.12.0.36", "12.0.0.1", False),
    ],
)
def test_version_compatible_engines_run_on_later_versions(
    engine: tuple[EngineRecord, Path, Path], built: str, here: str, good: bool
) -> None:
    record, plan, onnx = engine
    record = changed(record, {"version_compatible": True}, library_version=built)
    if good:
        check_record(record, plan, onnx, "tensorrt", here, DEVICE)
    else:
        with pytest.raises(InputError, match=f"built version-compatible by tensorrt {built}, and this is {here}"):
            check_record(record, plan, onnx, "tensorrt", here, DEVICE)


def test_a_hardware_compatible_engine_runs_on_another_gpu(engine: tuple[EngineRecord, Path, Path]) -> None:
    record, plan, onnx = engine
    check_record(changed(record, {"hardware_compatible": True}), plan, onnx, "tensorrt", VERSION, "NVIDIA A10")


@pytest.mark.parametrize(
    ("asked", "here", "fault"),
    [
        ((), "8.9", None),
        ((), None, None),
        ((), "7.5", "built for compute capability 8.0 and later, and this GPU has 7.5"),
        (("8.9", "12.0"), "12.0", None),
        (("8.9", "12.0"), "8.6", "built for compute capability 8.9, 12.0, and this GPU has 8.6"),
    ],
)
def test_an_rtx_engine_is_for_compute_capabilities_and_not_for_one_gpu(
    engine: tuple[EngineRecord, Path, Path], asked: tuple[str, ...], here: str | None, fault: str | None
) -> None:
    record, plan, onnx = engine
    record = changed(record, {"compute_capabilities": asked}, backend="tensorrt-rtx", device=None)
    if fault is None:
        check_record(record, plan, onnx, "tensorrt-rtx", VERSION, DEVICE, here)
    else:
        with pytest.raises(InputError, match=fault):
            check_record(record, plan, onnx, "tensorrt-rtx", VERSION, DEVICE, here)
