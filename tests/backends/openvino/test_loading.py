"""Deployments for OpenVINO: loaded, cached, with external data, and what is refused."""

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from backends import load
from backends.engine_options import EngineOptions
from backends.openvino import compiled_cache
from tests.backends.conftest import rewrite_manifest
from zoo.errors import BackendUnavailableError, InputError
from zoo.manifest import Manifest, file_record


@pytest.fixture
def folder(deploy: Callable[..., Path]) -> Path:
    return deploy(changes={"backend": "openvino"})


def scores(folder: Path, images: list[np.ndarray], **options: Any) -> list[np.ndarray]:
    with load(folder, threads=1, **options) as model:
        return [result.scores for result in model(images)]


def test_it_gives_what_onnxruntime_gives(deploy: Callable[..., Path], images: list[np.ndarray]) -> None:
    folder = deploy(dynamic_size=True, changes={"backend": "openvino"})
    with load(folder) as model:
        assert repr(model) == "<Deployment small: detection, openvino fp32>"
        found = model(images)
    expected = load(rewrite_manifest(folder, backend="onnxruntime"))(images)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-5)
        np.testing.assert_allclose(one.boxes, other.boxes, atol=1e-4)
        np.testing.assert_array_equal(one.labels, other.labels)


def test_workers_compute_side_by_side_in_one_model(folder: Path, images: list[np.ndarray]) -> None:
    with load(folder, threads=1) as plain, load(folder, workers=2) as model:
        compiled = model.runner._open()
        assert (compiled.get_property("NUM_STREAMS"), compiled.get_property("INFERENCE_NUM_THREADS")) == (2, 2)
        assert plain.runner._open().get_property("NUM_STREAMS") == 1
        futures = [model.submit(image) for image in images * 3]
        expected = [plain(image) for image in images] * 3
        assert [future.result() for future in futures] == expected


def test_a_second_load_takes_what_the_first_compiled(
    folder: Path, images: list[np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = scores(folder, images)
    kept = tmp_path / "kept"
    first = scores(folder, images, cache=kept)
    (blob,) = kept.rglob("*.blob")
    monkeypatch.setattr("backends.openvino.compiling.guard_quantised", lambda model: pytest.fail("it compiles"))
    monkeypatch.setattr("backends.openvino.compiling.with_free_inputs", lambda content: pytest.fail("it reads"))
    os.utime(blob, (1, 1))
    second = scores(folder, images, cache=str(kept))
    assert blob.stat().st_mtime > 1  # used just now
    for one, other, third in zip(plain, first, second, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, third)


def test_other_settings_are_compiled_apart(folder: Path, tmp_path: Path) -> None:
    for threads in (1, 2):
        load(folder, cache=tmp_path / "kept", threads=threads).close()
    assert len(list((tmp_path / "kept").rglob("*.blob"))) == 2


def test_what_another_zooport_compiled_is_compiled_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(folder, cache=tmp_path).close()
    monkeypatch.setattr("backends.openvino.opening.code_sha256", lambda: "another")
    load(folder, cache=tmp_path).close()
    assert len(list(tmp_path.rglob("*.blob"))) == 2


@pytest.mark.parametrize("kept", [slice(0, 0), slice(0, 40), slice(0, -7), slice(1, None)])
def test_a_damaged_one_is_compiled_again(folder: Path, images: list[np.ndarray], tmp_path: Path, kept: slice) -> None:
    plain = scores(folder, images, cache=tmp_path)
    (blob,) = tmp_path.rglob("*.blob")
    whole = blob.read_bytes()
    blob.write_bytes(whole[kept])
    for one, other in zip(plain, scores(folder, images, cache=tmp_path), strict=True):
        np.testing.assert_array_equal(one, other)
    assert blob.read_bytes()[40:60] == whole[40:60]  # written again


def test_the_oldest_go_when_there_are_too_many(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(folder, cache=tmp_path, threads=1).close()
    (oldest,) = tmp_path.rglob("*.blob")
    os.utime(oldest, (1, 1))
    earlier = tmp_path / "openvino-1.0"  # of an earlier version
    earlier.mkdir()
    oldest = oldest.rename(earlier / oldest.name)
    monkeypatch.setattr(compiled_cache, "MOST_BYTES", int(1.5 * oldest.stat().st_size))
    load(folder, cache=tmp_path, threads=2).close()
    (left,) = tmp_path.rglob("*.blob")
    assert left != oldest
    monkeypatch.setattr(compiled_cache, "MOST_BYTES", 100)
    load(folder, cache=tmp_path / "small").close()
    assert not list((tmp_path / "small").rglob("*.blob"))


def test_two_processes_share_a_cache(folder: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from backends import load; from backends.openvino import compiled_cache\n"
        "compiled_cache.MOST_BYTES = 60000\n"
        "for turn in range(3):\n"
        "    for threads in (1, 2):\n"
        "        load(sys.argv[1], cache=sys.argv[2], threads=threads).close()"
    )
    command = [sys.executable, "-W", "error", "-c", code, str(folder), str(tmp_path / "kept")]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in running:
        _, said = process.communicate(timeout=120)
        assert (process.returncode, said) == (0, "")


def test_a_cache_that_cannot_be_written_is_a_warning(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        load(folder, cache=tmp_path / "file").close()
    assert "not kept, and each load compiles it" in caplog.text


def test_weights_in_files_of_their_own(folder: Path, images: list[np.ndarray], tmp_path: Path) -> None:
    plain = scores(folder, images)
    model = onnx.load(folder / "model.onnx")
    onnx.save(model, folder / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    files = {name: file_record(folder / name) for name in ("model.onnx", "weights.bin")}
    rewrite_manifest(folder, files=files)
    for cache in (None, tmp_path / "kept", tmp_path / "kept"):
        for one, other in zip(plain, scores(folder, images, cache=cache), strict=True):
            np.testing.assert_array_equal(one, other)
    manifest = Manifest.read(folder)
    replace(manifest, files={"model.onnx": files["model.onnx"]}).write(folder)
    with pytest.raises(InputError, match="reads weights from 'weights.bin', which is not among the files"):
        load(folder)


def test_options_that_it_has_not(folder: Path) -> None:
    for option, value in (("cuda_graph", True), ("engine", EngineOptions()), ("spin", False)):
        with pytest.raises(InputError, match=f"{option} with backend openvino, which .*; leave it out"):
            load(folder, **{option: value})  # type: ignore[arg-type]
    with pytest.raises(InputError, match='device "cuda:0": expected cpu, gpu'):
        load(folder, provider="cuda:0")
    with pytest.raises(InputError, match="cache is 5, expected a folder's path, or None"):
        load(folder, cache=5)  # type: ignore[arg-type]


def test_threads_on_another_device_than_the_cpu_are_warned_of(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    for provider, threads, count in (("cpu", 2, 0), ("auto", None, 0), ("auto", 2, 1)):
        load(folder, provider=provider, threads=threads).close()
        assert len(caplog.records) == count
    assert caplog.records[0].getMessage() == f"{folder}: threads=2 has no effect on device auto; leave it out"


def test_without_openvino(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    words = 'backend openvino is not available: openvino is not installed; pip install "zooport.openvino."'
    with pytest.raises(BackendUnavailableError, match=words) as caught:
        load(folder)
    assert caught.value.exit_code == 4
