"""A deployment's self-test: what it says on a machine that computes otherwise, and on one that does not."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from backends import load
from backends.onnxruntime import session
from backends.self_test import proof
from backends.self_test.check import SelfTestFailedError
from backends.self_test.proof import lacking
from tests.backends.conftest import SLOTS, add_self_test, recompute, rewrite_manifest
from zoo.errors import InputError
from zoo.manifest import SELF_TEST_FILE, Manifest
from zoo.processor import Processor, parsed, processor

CORNERS = np.arange(SLOTS, dtype=np.float32)
BOXES = np.stack([CORNERS, CORNERS * 2, CORNERS + 40, CORNERS * 2 + 30], axis=1)[None]
FALLING = (1 / (CORNERS + 1))[None]


@pytest.mark.parametrize("task", ["Detection", "SemanticSegmentation"])
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_this_machine_computes_what_was_proved(deploy: Callable[..., Path], task: str, precision: str) -> None:
    folder = add_self_test(deploy(task=task), precision)
    with load(folder, check=True) as model:
        checked = model.check()
    assert checked.words.startswith(f"this machine computes what was proved on {processor()}, onnxruntime ")
    assert onnxruntime.__version__ in checked.words
    assert all(found.passed and found.worst == 0 for found in checked.deviations)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("level", ["DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_ALL"])
def test_neither_threads_nor_optimisation_fail_it(
    deploy: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, level: str, threads: int
) -> None:
    folder = add_self_test(deploy())
    usual = session.session_options

    def options(*given: Any, **more: Any) -> onnxruntime.SessionOptions:
        made = usual(*given, **more)
        made.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_{level}")
        return made

    monkeypatch.setattr(session, "session_options", options)
    load(folder, threads=threads, check=True).close()


@pytest.mark.parametrize(
    ("constants", "words"),
    [
        (
            {"all_boxes": BOXES + np.float32(0.1)},
            r"boxes: off by 0\.1 px, gate 0\.05 px \(4 of 4 detections beyond it\)",
        ),
        ({"falling": FALLING * np.float32(0.99)}, r"scores: off by 0\.00\d+, gate 0\.0005 \(4 of 4 detections"),
        (
            {"all_labels": np.arange(11, SLOTS + 11)[None]},
            r"detections: off by 8 detections, gate 0 .*4 .* missing, 4 are new",
        ),
        ({"all_boxes": BOXES * np.float32("nan")}, "detections: off by 8 detections"),
    ],
)
def test_a_machine_that_computes_otherwise(
    deploy: Callable[..., Path], constants: dict[str, np.ndarray], words: str
) -> None:
    folder = recompute(add_self_test(deploy()), **constants)
    load(folder).close()
    with pytest.raises(
        SelfTestFailedError, match=rf"small: this machine does not compute what was proved on .*{words}"
    ) as caught:
        load(folder, check=True)
    assert caught.value.exit_code == 3
    assert caught.value.data["passed"] is False
    json.dumps(caught.value.data, allow_nan=False)


def test_scores_that_saturate_fail_in_int8_and_rounding_does_not(deploy: Callable[..., Path]) -> None:
    folder = add_self_test(deploy(), "int8")
    load(recompute(folder, falling=FALLING * np.float32(0.9)), check=True).close()
    with pytest.raises(SelfTestFailedError, match=r"scores: off by 0\.5 of their size, gate 0\.3"):
        load(recompute(folder, falling=FALLING * np.float32(0.5)), check=True)


def test_a_deployment_without_a_self_test(deploy: Callable[..., Path]) -> None:
    folder = deploy()
    load(folder).close()
    with pytest.raises(InputError, match="small: this deployment carries no self-test .* deploy the model again"):
        load(folder, check=True)


def test_a_self_test_that_is_missing_or_changed(deploy: Callable[..., Path]) -> None:
    folder = add_self_test(deploy())
    path = folder / SELF_TEST_FILE
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"\1")
    with pytest.raises(InputError, match=rf"{SELF_TEST_FILE}: got (bytes|sha256) .* changed after it was deployed"):
        load(folder)
    path.unlink()
    with pytest.raises(InputError, match=rf"{SELF_TEST_FILE}: cannot be read"):
        load(folder)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"\x80\x04K\x01."])
def test_a_self_test_that_is_none(deploy: Callable[..., Path], content: bytes) -> None:
    from zoo.manifest import file_record

    folder = add_self_test(deploy())
    (folder / SELF_TEST_FILE).write_bytes(content)
    rewrite_manifest(folder, files={SELF_TEST_FILE: file_record(folder / SELF_TEST_FILE)})
    with pytest.raises(InputError, match=rf"small: {SELF_TEST_FILE}: not a self-test"):
        load(folder, check=True)


class TestAMachineThatLacksSomething:
    @pytest.fixture
    def manifest(self, deploy: Callable[..., Path]) -> Manifest:
        return Manifest.read(add_self_test(deploy(), "int8"))

    def on(self, monkeypatch: pytest.MonkeyPatch, *sets: str, architecture: str = "x86_64") -> None:
        here = Processor("This CPU", architecture, sets)
        monkeypatch.setattr(proof, "processor", lambda: here)

    def proved(self, manifest: Manifest, **changes: Any) -> Manifest:
        sets = {"architecture": "x86_64", "instruction_sets": ["avx2", "avx512_vnni"]}
        fields = {name: getattr(manifest, name) for name in manifest.__dataclass_fields__}
        return Manifest(**{**fields, "proved_on": {**manifest.proved_on, **sets, **changes}})  # type: ignore[dict-item]

    def test_instruction_sets(self, manifest: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
        self.on(monkeypatch, "avx2")
        assert "This CPU, has no avx512_vnni. It may compute something else" in (lacking(self.proved(manifest)) or "")
        self.on(monkeypatch, "avx2", "avx512f", "avx512_vnni")
        assert lacking(self.proved(manifest)) is None
        self.on(monkeypatch, "asimd", architecture="aarch64")
        assert "has the architecture aarch64" in (lacking(self.proved(manifest)) or "")
        assert lacking(self.proved(manifest, architecture="aarch64", instruction_sets=None)) is None

    def test_an_older_runtime(self, manifest: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
        self.on(monkeypatch, "avx2", "avx512_vnni")
        message = lacking(self.proved(manifest, versions={"onnxruntime": "99.0", "never-installed": "1.0"})) or ""
        assert f"has onnxruntime {onnxruntime.__version__}, older than 99.0" in message

    def test_fp32_rounds_alike_everywhere(self, deploy: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
        self.on(monkeypatch, architecture="aarch64")
        assert lacking(self.proved(Manifest.read(add_self_test(deploy())))) is None

    def test_halves_of_another_architecture(self, manifest: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
        halves = self.proved(manifest, versions={"onnxruntime": "99.0"})
        object.__setattr__(halves, "precision", {**halves.precision, "stored": "fp16"})
        self.on(monkeypatch)
        assert lacking(halves) is None
        self.on(monkeypatch, architecture="aarch64")
        assert "computes in fp16" in (lacking(halves) or "")

    def test_loading_says_so_once(
        self, deploy: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        folder = add_self_test(deploy(), "int8")
        self.on(monkeypatch, architecture="riscv64")
        proof.warn_once.cache_clear()
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                load(folder).close()
        (record,) = caplog.records
        assert "has the architecture riscv64" in record.getMessage()


def test_processors_of_two_architectures() -> None:
    intel = ["processor\t: 0", "model name\t: Xeon", "flags\t\t: fpu avx2 avx512_vnni amx_int8 fma", "processor\t: 1"]
    assert parsed(intel).instruction_sets == ("fma", "avx2", "avx512_vnni", "amx_int8")
    assert parsed(intel).processor == "Xeon"
    arm = ["processor : 0", "BogoMIPS : 50.00", "Features : fp asimd asimddp i8mm sve2", "CPU part : 0xd40"]
    assert parsed(arm).instruction_sets == ("asimd", "asimddp", "i8mm", "sve2")
    assert parsed([]).instruction_sets is None
    assert Processor.from_dict(json.loads(json.dumps(parsed(arm).to_dict()))) == parsed(arm)
