"""One model of planted faults: exported once, then deployed with one fault after another up to its verdict."""

import copy
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx
from fault_list import Fault
from torch import nn

from pipeline.alignment.aligning import MEMORY, THRESHOLDS, align_subject
from pipeline.alignment.subject import subject_of
from pipeline.deploying import make_deployment
from pipeline.export.reference_run import ReferenceRun
from pipeline.inputs.named_input import read_input
from pipeline.job.deploy_target import deploy_target
from pipeline.job.job import Job, plan_job
from pipeline.parity.errors import ParityMissedError
from pipeline.proof.fallback_runtime import open_deployment
from pipeline.stages import exported, measured, prepared, staged
from zoo.config import load_config
from zoo.datasets import config_dataset
from zoo.errors import ExportError, ZooportError
from zoo.families import family_of
from zoo.input_kinds import input_kind
from zoo.manifest import ONNX_FILE
from zoo.tasks import Result
from zoo.tasks.detection.proof import DetectionProof
from zoo.tasks.proof import proof_of
from zoo.tasks.super_resolution import SuperResolutionResult

ROOT = Path(__file__).resolve().parents[1]
VAL = ROOT / "zoo/data/digits/val/images"
LEVELS = 1  # of 255, between two restored images
STOPPED = "no module: ONNX Runtime refuses the graph"


class ProvedError(Exception):
    """Raised where a deploy has its verdict: what follows it is for people."""


@dataclass
class Trial:
    """A model, and what a deploy of it needs beside the fault. ``begin`` makes it."""

    config: str
    work: Path
    sound: onnx.ModelProto = field(default_factory=onnx.ModelProto)
    _kept: dict[str, Any] = field(default_factory=dict)
    _expected: list[Result] = field(default_factory=list)

    def begin(self) -> str:
        """A deploy without a fault: its verdict, and all that the others take from it."""
        verdict = self.deploy(None)
        self._expected = self._results(self.work / "planted")
        return verdict

    def deploy(self, fault: Fault | None) -> str:
        """The first failure of a deploy, "passed" where there is none. The folder stays in ``work``."""
        planted = self.work / "planted"
        shutil.rmtree(planted, ignore_errors=True)
        config = load_config(ROOT / "configs" / f"{self.config}.py")
        with self._proof_alone(fault, planted), ExitStack() as stack:
            if fault is not None:
                stack.enter_context(fault.runtime())
            try:
                make_deployment(plan_job(config, deploy_target(config, exporter="torchscript"), (), self.work / "out"))
            except ProvedError:
                return "passed"
            except ParityMissedError as error:
                return error.record.failures[0]
            except ZooportError as error:
                return f"{type(error).__name__}: {error}"
        raise AssertionError("a deploy ends with its verdict")

    @contextmanager
    def _proof_alone(self, fault: Fault | None, planted: Path) -> Iterator[None]:
        """The real deploy, with what is the same every time kept, the fault planted, and the end cut off."""
        steps = {"build_model": prepared, "run_reference": prepared, "export_step": exported, "manifest": staged}
        real = {name: getattr(module, name) for name, module in steps.items()}

        def build_model(*arguments: Any) -> nn.Module:
            model: nn.Module = self._once("model", lambda: real["build_model"](*arguments))
            return model

        def run_reference(job: Job, model: nn.Module) -> ReferenceRun:
            self._kept["job"] = job
            reference: ReferenceRun = self._once("reference", lambda: real["run_reference"](job, model))
            return reference

        def export_step(job: Job, model: nn.Module, reference: Any, folder: Path, *more: Any) -> Any:
            record = self._once("record", lambda: real["export_step"](job, model, reference, folder, *more))
            if not self.sound.graph.node:
                self.sound.CopyFrom(onnx.load(folder / ONNX_FILE))
            onnx.save(self.graph(fault), folder / ONNX_FILE)
            return record

        def manifest(*arguments: Any) -> Any:
            self._kept["windows"] = arguments[4]
            made = real["manifest"](*arguments)
            return made if fault is None or fault.manifest is None else fault.manifest(made)

        def module_errors(_job: Job, _model: nn.Module, folder: Path, _windows: Any) -> None:
            shutil.copytree(folder, planted)
            raise ProvedError

        with (
            patch.object(prepared, "build_model", build_model),
            patch.object(prepared, "run_reference", run_reference),
            patch.object(exported, "export_step", export_step),
            patch.object(staged, "manifest", manifest),
            patch.object(measured, "module_errors", module_errors),
        ):
            yield

    def _once(self, name: str, make: Any) -> Any:
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def graph(self, fault: Fault | None) -> onnx.ModelProto:
        """The exported graph, with the fault where it has one."""
        model = copy.deepcopy(self.sound)
        if fault is not None and fault.graph is not None:
            fault.graph(model)
        return model

    def named(self, fault: Fault) -> str | None:
        """The module that an alignment of the faulty graph names, None where it names none; STOPPED where it ends."""
        job, model = self._kept["job"], self._kept["model"]
        subject = subject_of(job, model, self.graph(fault), self._kept["windows"])
        try:
            return align_subject(subject, THRESHOLDS["fp32"], MEMORY, images=2).first_name
        except ExportError:  # a size that is a constant elsewhere in the graph is another one here
            return STOPPED

    def changed(self, fault: Fault) -> tuple[int, int, int]:
        """Images of the validation set: all, with another result, and with one beyond the contract's bounds."""
        with fault.runtime():
            found = self._results(self.work / "planted")
        pairs = list(zip(self._expected, found, strict=True))
        different = sum(one != two for one, two in pairs)
        return len(pairs), different, sum(self._beyond(one, two) for one, two in pairs)

    def _results(self, folder: Path) -> list[Result]:
        with open_deployment(folder).deployment as deployment:
            images = list(self._once("images", lambda: _images(self._kept["job"])))
            return [result for start in range(0, len(images), 2) for result in deployment(images[start : start + 2])]

    def _beyond(self, one: Result, two: Result) -> bool:
        job, model = self._kept["job"], self._kept["model"]
        proof = proof_of(job.task)
        if isinstance(proof, DetectionProof):
            rule = family_of(model).decision_rule(model)
            return bool(proof.compare_sets(one, two, job.gates["graph"], rule).failures)
        if isinstance(one, SuperResolutionResult) and isinstance(two, SuperResolutionResult):
            return bool(np.abs(one.image.astype(int) - two.image).max(initial=0) > LEVELS)
        return one != two


def _images(job: Job) -> list[Any]:
    if job.task.name == "super-resolution":
        assert job.config.dataset is not None  # of every shipped config
        dataset = config_dataset(job.config, "dataset")
        return [dataset.image_item(index)["image"] for index in range(min(len(dataset), 64))]
    return [read_input(input_kind("image"), path).value for path in sorted(VAL.glob("*.jpg"))]


@contextmanager
def trial_of(config: str) -> Iterator[Trial]:
    """A trial in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="zooport-planted-") as folder:
        yield Trial(config, Path(folder))
