"""export_onnx: what it checks before and after, what it leaves untouched, and the bytes it writes."""

import hashlib
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.onnx._internal.torchscript_exporter import registration

import rewriters.patching.rewriter as registry
from rewriters import ExportRecord, export_onnx
from rewriters.exporters import by_dynamo
from rewriters.family_rewriters import import_all_rewriters
from tests.exporters import DYNAMO_LATER
from tests.pipeline.doctor.failing_models import ScriptedFunctions
from tests.rewriters.small_models import (
    CLASSES,
    contract,
    detection_specs,
    export,
    fixed_target,
    small_faster_rcnn,
    small_segmentor,
)
from zoo.errors import ExportError, InputError
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

EXPORTERS = ["torchscript", "dynamo"]
LOGITS = [TensorSpec("logits", "float32", ("batch", CLASSES, 64, 96))]


def export_segmentor(path: Path, exporter: str, **options: Any) -> None:
    export(
        contract(small_segmentor("whole"), "decoded"), fixed_target(64, 96, exporter=exporter), path, LOGITS, **options
    )


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
class TestFile:
    def test_the_same_model_twice_gives_the_same_bytes(self, exporter: str, tmp_path: Path) -> None:
        for name in ("a.onnx", "b.onnx"):
            export_segmentor(tmp_path / name, exporter, metadata={"zooport.task": "test", "a": "b"})
        assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()

    @pytest.mark.slow
    def test_two_processes_write_the_same_bytes(self, exporter: str, tmp_path: Path) -> None:
        script = (
            "import sys; from pathlib import Path; from tests.rewriters.test_export_onnx import export_segmentor\n"
            "export_segmentor(Path(sys.argv[1]), sys.argv[2])"
        )
        path = tmp_path / "other.onnx"
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script, str(path), exporter],
            check=True,
            cwd=Path(__file__).parents[2],
        )
        export_segmentor(tmp_path / "own.onnx", exporter)
        digests = {hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("own.onnx", "other.onnx")}
        assert len(digests) == 1

    def test_no_local_path_is_in_it_and_module_names_are(self, exporter: str, tmp_path: Path) -> None:
        export_segmentor(tmp_path / "m.onnx", exporter)
        content = (tmp_path / "m.onnx").read_bytes()
        for text in (sys.prefix, str(Path(__file__).parents[2]), "site-packages", ".py"):
            assert text.encode() not in content
        model = onnx.load(tmp_path / "m.onnx")
        convolutions = [node for node in model.graph.node if node.op_type == "Conv"]
        names = [node.name + str(node.metadata_props) for node in convolutions]
        assert any("backbone" in name for name in names)
        assert any("decode_head" in name for name in names)

    def test_metadata_shapes_and_opset_are_in_it(self, exporter: str, tmp_path: Path) -> None:
        export_segmentor(tmp_path / "m.onnx", exporter, metadata={"zooport.task": "semantic-segmentation"})
        model = onnx.load(tmp_path / "m.onnx")
        assert {entry.key: entry.value for entry in model.metadata_props} == {"zooport.task": "semantic-segmentation"}
        dims = [dim.dim_param or dim.dim_value for dim in model.graph.output[0].type.tensor_type.shape.dim]
        assert dims == ["batch", CLASSES, 64, 96]
        assert [entry.version for entry in model.opset_import if entry.domain == ""] == [20]

    def test_a_static_batch_stays_static(self, exporter: str, tmp_path: Path) -> None:
        target = fixed_target(64, 96, exporter=exporter, batch=AxisRange.fixed(2))
        specs = [TensorSpec("logits", "float32", (2, CLASSES, 64, 96))]
        record = export(contract(small_segmentor("whole"), "decoded"), target, tmp_path / "m.onnx", specs)
        assert record.inputs[0].shape == (2, 3, 64, 96)


class Failing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = small_segmentor("whole")

    def forward(self, images: Tensor) -> Tensor:
        self.inner(images)
        self.inner.train()
        raise RuntimeError("on purpose")


def state() -> tuple[object, ...]:
    """What an export must leave as it was: torch's symbolic registry, and every patched attribute."""
    import_all_rewriters()  # an export registers those that it needs
    groups = {name: registration.registry.get_function_group(name) for name in registration.registry.all_functions()}
    # what was registered besides torch's own functions, which it loads at the first export of a process
    overrides = {name: dict(group._functions._overrides) for name, group in groups.items()}
    symbolics = {name: functions for name, functions in overrides.items() if functions}
    patched = [getattr(rewriter.target, rewriter.attribute) for rewriter in registry.REWRITERS]
    return symbolics, patched


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
class TestRestores:
    def test_after_an_export(self, exporter: str, tmp_path: Path) -> None:
        model = small_faster_rcnn()
        module = contract(model)
        weights = {name: value.clone() for name, value in model.state_dict().items()}
        before = state()
        export(module, fixed_target(64, 96, exporter=exporter), tmp_path / "m.onnx", detection_specs(20))
        assert state() == before
        assert not any(submodule.training for submodule in module.modules())
        assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())

    def test_after_a_failure(self, exporter: str, tmp_path: Path) -> None:
        module = Failing().eval()
        before = state()
        with pytest.raises(ExportError, match=f"torch's {exporter} exporter refused the model"):
            export(module, fixed_target(64, 96, exporter=exporter), tmp_path / "m.onnx", LOGITS)
        assert state() == before
        assert not any(submodule.training for submodule in module.modules())
        assert not list(tmp_path.iterdir())


class Folded(nn.Module):
    """images [N, 3, H, W] -> the same, by patches; torchscript refuses to fold to a size that it does not know."""

    def forward(self, images: Tensor) -> Tensor:
        patches = functional.unfold(images, 2, stride=2)
        return functional.fold(patches, tuple(images.shape[2:]), 2, stride=2)


class Refuses(nn.Module):
    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        raise InputError("a line of ours")


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_an_error_of_ours_comes_as_it_is_and_its_causes_end(exporter: str, tmp_path: Path) -> None:
    """The exporters wrap it, and what wraps it has it as its own cause."""
    module = contract(small_segmentor("whole"), "decoded")
    module.forward = Refuses().forward  # type: ignore[method-assign]
    with pytest.raises(InputError, match="^a line of ours$") as raised:
        export(module, fixed_target(64, 96, exporter=exporter), tmp_path / "m.onnx", LOGITS)
    seen: set[int] = set()
    error: BaseException | None = raised.value
    while error is not None:
        assert id(error) not in seen
        seen.add(id(error))
        error = error.__cause__ or error.__context__


def test_torch_prints_no_graph_of_what_it_refuses(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    specs = [TensorSpec("out", "float32", ("batch", 3, 64, 96))]
    with pytest.raises(ExportError, match="torchscript exporter refused the model: TypeError"):
        export(Folded().eval(), fixed_target(64, 96, exporter="torchscript"), tmp_path / "m.onnx", specs)
    assert capfd.readouterr() == ("", "")


def test_what_other_threads_write_to_stderr_is_seen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def traced(*inputs: Any, **options: Any) -> Any:
        sys.stderr.write("the graph\n")
        other = threading.Thread(target=lambda: sys.stderr.write("of another thread\n"))
        other.start()
        other.join()
        return SimpleNamespace(model_proto=onnx.ModelProto())

    monkeypatch.setattr(torch.onnx, "export", traced)
    by_dynamo(nn.Identity(), {"images": torch.rand(1)}, opset=20, shapes=None, operators=None)
    assert capsys.readouterr().err == "of another thread\n"


@pytest.mark.slow
def test_another_thread_finds_the_same_things_with_onednn_on(tmp_path: Path) -> None:
    """The default: during a dynamo export the last bits of convolutions move, by no more than this."""
    module = contract(small_faster_rcnn())
    images = torch.rand(2, 3, 64, 96, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        expected = module(images)
    done = threading.Event()
    found: list[tuple[Tensor, ...]] = []

    def run() -> None:
        while not done.is_set():
            with torch.no_grad():
                found.append(module(images))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        export(contract(small_faster_rcnn()), fixed_target(64, 96), tmp_path / "m.onnx", detection_specs(20))
    finally:
        done.set()
        thread.join()
    assert len(found) > 3
    for outputs in found:
        for got, want in zip(outputs, expected, strict=True):
            torch.testing.assert_close(got, want, atol=1e-4, rtol=0)


@pytest.mark.slow
def test_two_exports_at_once_record_their_own_warnings(tmp_path: Path) -> None:
    before = warnings.showwarning, list(warnings.filters)
    records: dict[str, ExportRecord] = {}

    def run(exporter: str) -> None:
        module = contract(small_segmentor("whole"), "decoded")
        target = fixed_target(64, 96, exporter=exporter)
        records[exporter] = export(module, target, tmp_path / f"{exporter}.onnx", LOGITS)

    threads = [threading.Thread(target=run, args=(exporter,)) for exporter in EXPORTERS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert any("legacy TorchScript" in warning for warning in records["torchscript"].warnings)
    assert not any("legacy TorchScript" in warning for warning in records["dynamo"].warnings)
    assert (warnings.showwarning, list(warnings.filters)) == before


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:TF32 acceleration on top of oneDNN:UserWarning")  # said by switching oneDNN off
@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_another_thread_gets_the_same_results_during_an_export(exporter: str, tmp_path: Path) -> None:
    """A second thread runs the very model eagerly, over and over, while this one exports it.

    torch.export itself turns oneDNN off for the whole process (torch/export/_trace.py, 2.15), which moves the last
    bits of convolutions. With oneDNN off from the start, results are equal to the bit.
    """
    with torch.backends.mkldnn.flags(enabled=False):
        run_beside_an_export(exporter, tmp_path)


def run_beside_an_export(exporter: str, tmp_path: Path) -> None:
    model = small_faster_rcnn()
    module = contract(model)
    images = torch.rand(2, 3, 64, 96, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        expected = module(images)
    done = threading.Event()
    rounds: list[bool] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            while not done.is_set():
                with torch.no_grad():
                    rounds.append(all(torch.equal(a, b) for a, b in zip(module(images), expected, strict=True)))
        except BaseException as error:  # noqa: BLE001  # shown by the assertion below
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        export(contract(model), fixed_target(64, 96, exporter=exporter), tmp_path / "m.onnx", detection_specs(20))
    finally:
        done.set()
        thread.join()
    assert not errors
    assert len(rounds) > 3
    assert all(rounds)


class Early(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        if images.sum() == 0:
            return torch.zeros(1, 4)
        return images.sum(dim=(2, 3))


class TestRefusals:
    def test_an_output_that_became_a_constant(self, tmp_path: Path) -> None:
        target = fixed_target(32, 32, exporter="torchscript", batch=AxisRange.fixed(1))
        specs = [TensorSpec("boxes", "float32", ("n", 4))]
        with pytest.raises(ExportError, match=r"early return.*real image that has objects.*lower score threshold"):
            export_onnx(
                Early().eval(),
                target,
                tmp_path / "m.onnx",
                example={"images": torch.zeros(1, 3, 32, 32)},
                output_specs=specs,
            )
        assert not list(tmp_path.iterdir())

    def test_a_module_in_training_mode(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"is in training mode; call module\.eval\(\) first"):
            export(
                contract(small_segmentor("whole"), "decoded").train(), fixed_target(64, 96), tmp_path / "m.onnx", LOGITS
            )

    def test_one_submodule_in_training_mode(self, tmp_path: Path) -> None:
        module = contract(small_segmentor("whole"), "decoded")
        module.model.decode_head.train()
        with pytest.raises(InputError, match=r"model\.decode_head is in training mode"):
            export(module, fixed_target(64, 96), tmp_path / "m.onnx", LOGITS)

    def test_an_example_of_one_for_a_dynamic_batch(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="batch of 1, which dynamo would freeze; give two or more"):
            export_onnx(
                contract(small_segmentor("whole"), "decoded"),
                fixed_target(64, 96),
                tmp_path / "m.onnx",
                example={"images": torch.rand(1, 3, 64, 96)},
                output_specs=LOGITS,
            )

    def test_a_required_rewriter_that_does_not_act(self, tmp_path: Path) -> None:
        with pytest.raises(ExportError, match=r"did not act: zoo\.EncoderDecoder\.slide_inference"):
            export_segmentor(
                tmp_path / "m.onnx", "torchscript", required_rewriters=["zoo.EncoderDecoder.slide_inference"]
            )

    @pytest.mark.parametrize("options", [{}, {"accumulate": "pad"}])
    def test_a_required_rewriter_that_does_not_exist(self, options: dict[str, str], tmp_path: Path) -> None:
        required = [{"name": "zoo.EncoderDecoder.slide", **options}]
        with pytest.raises(
            InputError,
            match='unknown rewriter "zoo.EncoderDecoder.slide".*nearest: "zoo.EncoderDecoder.slide_inference"',
        ):
            export_segmentor(tmp_path / "m.onnx", "torchscript", required_rewriters=required)

    @pytest.mark.parametrize(
        ("spec", "words"),
        [
            (TensorSpec("logits", "float16", ("batch", CLASSES, 64, 96)), "is float32, the contract asks for float16"),
            (TensorSpec("logits", "float32", ("batch", CLASSES, 64)), "has 4 axes"),
            (
                TensorSpec("logits", "float32", ("batch", CLASSES + 1, 64, 96)),
                r"\(4\) vs \(5\)",
            ),
        ],
    )
    def test_an_output_that_breaks_the_contract(self, spec: TensorSpec, words: str, tmp_path: Path) -> None:
        target = fixed_target(64, 96, exporter="torchscript")
        with pytest.raises(ExportError, match=words):
            export(contract(small_segmentor("whole"), "decoded"), target, tmp_path / "m.onnx", [spec])

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="cannot be written: No such file or directory"):
            export_segmentor(tmp_path / "missing" / "m.onnx", "torchscript")


def test_a_model_that_holds_compiled_functions(tmp_path: Path) -> None:
    target = fixed_target(8, 8, exporter="torchscript", batch=AxisRange.fixed(2))
    specs = [TensorSpec("result", "float32", (2, 3, 8, 8))]
    export(ScriptedFunctions().eval(), target, tmp_path / "m.onnx", specs)
    assert (tmp_path / "m.onnx").is_file()


class Keywords(nn.Module):
    """A forward in mmengine's manner: more than tensors."""

    def forward(self, images: Tensor, targets: None = None, mode: str = "loss", get_loss: bool = True) -> Any:
        if mode != "tensor" or get_loss:
            return {"loss": images.mean()}
        return images.mean(dim=(2, 3))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_keyword_arguments_of_forward_come_from_the_contract(exporter: str, tmp_path: Path) -> None:
    from zoo.tasks.semantic_segmentation.proof.contracts import SegmentationDecoded

    module = SegmentationDecoded(Keywords(), {"mode": "tensor", "get_loss": False})
    export(
        module,
        fixed_target(32, 32, exporter=exporter),
        tmp_path / "m.onnx",
        [TensorSpec("mean", "float32", ("batch", 3))],
    )
    assert (tmp_path / "m.onnx").is_file()
