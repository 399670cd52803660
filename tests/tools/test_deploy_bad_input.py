"""A user's mistake: its exit code, one line that says what to do, and nothing left behind."""

import importlib.util
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from backends import gpu as gpu_module
from backends.backend import Backend
from backends.gpu import Gpu
from backends.onnxruntime import providers
from backends.tensorrt import build_check
from pipeline.stages import prepared
from tests.tools.tiny import Run, Tiny

Deploy = Callable[[Sequence[str]], Run]


def check_refused(run: Run, tiny: Tiny, code: int, words: str) -> None:
    """The exit code, one line on stderr that matches ``words``, no traceback, and no work dir."""
    assert run.code == code, run.err
    assert re.search(words, run.err), run.err
    assert run.err.startswith("error: ")
    assert run.err.count("\n") == 1
    assert not tiny.work_dir.parent.exists()


@pytest.mark.parametrize(("backend", "library"), [("tensorrt", "tensorrt"), ("tensorrt-rtx", "tensorrt_rtx")])
def test_backends_whose_library_is_missing(
    deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch, backend: str, library: str
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == library else find(name, *rest))
    run = deploy(tiny.with_images("--backend", backend))
    check_refused(run, tiny, 4, f"backend {backend} is not available: {library} is not installed; pip install")


ONE_GPU = [Gpu("NVIDIA H100", "9.0")]


@pytest.mark.parametrize(
    ("arguments", "gpus", "code", "words"),
    [
        (["--backend", "tensorrt"], [], 4, "tensorrt builds on a GPU, and there is none here"),
        (["--backend", "tensorrt", "--device", "cuda:7"], ONE_GPU, 4, "device cuda:7: this machine has no such GPU"),
        (["--backend", "tensorrt-rtx", "--device", "cuda:7"], ONE_GPU, 4, "device cuda:7: this machine has no such"),
        (["--backend", "tensorrt-rtx", "--engine", "refittable=true"], [], 4, "refittable: .* compiles .* on a GPU"),
        (
            ["--backend", "tensorrt-rtx", "--engine", "compute_capabilities=8.9,9.9"],
            [],
            2,
            "compute_capabilities: got 9.9, but tensorrt_rtx builds for 8.9, 12.0",
        ),
        (
            ["--backend", "tensorrt-rtx", "--engine", "batches=2,9"],
            [],
            2,
            "batches: got 9, expected 1 to 4, the graph's range; give --dynamic batch=MIN:OPT:MAX with room",
        ),
        (
            ["--backend", "tensorrt-rtx", "--engine", "batches=1", "--dynamic", "batch=1:1:1"],
            [],
            2,
            "batches: got 1, but the graph's batch is fixed",
        ),
        (["--engine", "timeout_seconds=60"], [], 2, "engine options with backend onnxruntime: it builds no engine"),
        (["--device", "cuda:7"], ONE_GPU, 4, "device cuda:7: this machine has no such GPU; give --device cpu"),
    ],
)
def test_what_cannot_be_built_here_is_reported_before_the_model_is_made(
    deploy: Deploy,
    tiny: Tiny,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    gpus: list[Gpu],
    code: int,
    words: str,
) -> None:
    library = SimpleNamespace(__name__="tensorrt_rtx", ComputeCapability=SimpleNamespace(__members__={}))
    library.ComputeCapability.__members__ |= {"NONE": 0, "SM120": 1, "SM89": 2}

    def gpu(index: int = 0) -> Gpu | None:
        return gpus[index] if index < len(gpus) else None

    monkeypatch.setattr(Backend, "lack", lambda backend: None)
    monkeypatch.setattr(Backend, "import_library", lambda backend: library)
    monkeypatch.setattr(build_check, "library", lambda backend: library)
    monkeypatch.setattr(build_check, "gpu", gpu)
    monkeypatch.setattr(gpu_module, "gpu", gpu)
    monkeypatch.setattr(providers, "provider_options", lambda *given: ("", {}))
    monkeypatch.setattr(prepared, "build_model", lambda *given: pytest.fail("the model was made"))
    check_refused(deploy(tiny.with_images(*arguments)), tiny, code, words)


def test_engine_options_of_the_config_are_for_the_backends_that_have_engines(deploy: Deploy, tiny: Tiny) -> None:
    tiny.write('export = dict(exporter="torchscript", opset=17, engine=dict(workspace_mib=64))\n')
    assert deploy(tiny.with_images()).code == 0
    run = deploy(tiny.with_images("--engine", "workspace_mib=32"))
    assert (run.code, run.err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--backend", "onnxruntim"], 2, 'unknown backend "onnxruntim"; nearest: "onnxruntime", '),
        (["--backend", "pytorch"], 2, "backend pytorch is the reference itself.*--backend onnxruntime"),
        (
            ["--precision", "fp16"],
            2,
            "precision fp16 is judged by the metric on a data set; config .* has no dataset and",
        ),
        (
            ["--precision", "fp16", "--output-level", "decoded"],
            2,
            "which output level decoded does not have; give --output-l",
        ),
        (["--half-io"], 2, "fp16 inputs and outputs with precision fp32"),
        (["--engine", "workspace_mib"], 2, "--engine workspace_mib: expected OPTION=VALUE"),
        (["--engine", "workspace=3"], 2, 'unknown option "workspace"; nearest: "workspace_mib"'),
        (["--engine", "workspace_mib=much"], 2, "workspace_mib is 'much', expected an integer from 1 to"),
        (["--calibration-images", "0"], 2, "calibration_images is 0, expected 1 or more images"),
        (["--precision", "fp61"], 2, 'unknown precision "fp61"; nearest: "fp16"'),
        (["--exporter", "dynamite"], 2, 'unknown exporter "dynamite"; nearest: "dynamo"'),
        (["--output-level", "finl"], 2, 'unknown level "finl"; nearest: "final"'),
        (["--opset", "12"], 2, "opset 12: expected 17 to "),
        (["--opset", "17", "--exporter", "dynamo"], 2, "opset 17 with exporter dynamo: expected 18 or above"),
        (["--opset", "21"], 2, "opset 21 with exporter torchscript: it writes up to 20"),
        (["--opset", "new"], 2, "--opset: invalid int value: 'new'; see zooport deploy --help"),
        (["--device", "gpu"], 2, 'device "gpu": expected cpu, cuda or cuda:N'),
        (["--device", "cuda:0"], 4, "provider CUDAExecutionProvider is not available"),
        (["--bakend", "x"], 2, 'unknown argument --bakend; nearest: "--backend"'),
        (["--dynamic", "hight"], 2, '--dynamic hight: unknown axis "hight"; nearest: "height"'),
        (
            ["--dynamic", "height=600:640:400"],
            2,
            "--dynamic height=600:640:400: min 600 is above max 400. Give min:opt",
        ),
        (["--dynamic", "batch=4:2:8"], 2, "--dynamic batch=4:2:8: min 4 is above opt 2. Give min:opt:max in rising"),
        (["--dynamic", "batch=0:2:8"], 2, "--dynamic batch=0:2:8: min 0 is below 1"),
        (
            ["--dynamic", "batch=4"],
            2,
            "--dynamic batch=4: expected three integers min:opt:max, for example batch=",
        ),
        (["--dynamic", "batch", "batch=1:2:4"], 2, "--dynamic batch=1:2:4: batch is given twice"),
        (["--image"], 2, "argument --image: expected at least one argument"),
        (["--image", "nowhere/at/all.jpg"], 2, "image nowhere/at/all.jpg: no such file"),
        (["--image", "."], 2, r"image \.: is a folder; give its files one by one"),
        (["--checkpoint", "none.pth"], 2, r"checkpoint none\.pth: no such file"),
        (["--json", "no/such/folder/out.json"], 2, "--json no/such/folder/out.json: not a file in an existing folder"),
    ],
)
def test_flags(deploy: Deploy, tiny: Tiny, arguments: list[str], code: int, words: str) -> None:
    more = arguments if "--image" in arguments else ["--image", *map(str, tiny.images), *arguments]
    check_refused(deploy(tiny.arguments(*more)), tiny, code, words)


def test_no_config_at_all(deploy: Deploy) -> None:
    run = deploy([])
    assert (run.code, run.out) == (2, "")
    assert run.err == "error: the following arguments are required: CONFIG; see zooport deploy --help\n"


class TestConfig:
    def test_no_such_file_names_the_nearest(self, deploy: Deploy, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(Path(__file__).parents[2])
        wrong = "configs/segmentation/fcn_r18_digit.py"
        run = deploy([wrong, "--work-dir", str(tiny.work_dir)])
        words = f"config {wrong}: no such file; nearest: .configs/segmentation/fcn_r18_digits.py"
        check_refused(run, tiny, 2, words)

    def test_all_faults_together_each_with_the_nearest_name(self, deploy: Deploy, tiny: Tiny) -> None:
        tiny.write('dateset = dict(type="x")\nevaluator = dict()\ngates = 3\n')
        run = deploy(tiny.with_images())
        check_refused(run, tiny, 2, 'unknown key "dateset"; nearest: "dataset"')
        check_refused(run, tiny, 2, '"gates": expected dict, got int')
        check_refused(run, tiny, 2, '"evaluator" has no "type"')

    def test_an_unknown_key_of_export(self, deploy: Deploy, tiny: Tiny) -> None:
        tiny.write('export = dict(exportr="dynamo")\n')
        check_refused(deploy(tiny.with_images()), tiny, 2, 'unknown key export."exportr"; nearest: "exporter"')

    def test_an_unknown_key_of_preprocess(self, deploy: Deploy, tiny: Tiny) -> None:
        tiny.write('preprocess = dict(size=(64, 96), rezise="stretch")\n')
        check_refused(deploy(tiny.with_images()), tiny, 2, 'preprocess: unknown key "rezise"; nearest: "resize"')

    def test_an_unknown_gate(self, deploy: Deploy, tiny: Tiny) -> None:
        tiny.write("gates = dict(graph=dict(logit=1))\n")
        check_refused(deploy(tiny.with_images()), tiny, 2, 'gates: unknown gate "graph.logit"; nearest: "logits"')

    def test_an_unknown_model(self, deploy: Deploy, tiny: Tiny) -> None:
        tiny.write('model = dict(type="TinySegmentr")\n')
        check_refused(
            deploy(tiny.with_images()), tiny, 2, 'unknown model type "TinySegmentr"; nearest: "TinySegmentor"'
        )

    def test_an_argument_that_the_model_does_not_take(self, deploy: Deploy, tiny: Tiny) -> None:
        tiny.write('model = dict(type="TinySegmentor", depth=3)\n')
        check_refused(deploy(tiny.with_images()), tiny, 2, "model TinySegmentor cannot be built.*depth")

    def test_an_unknown_task(self, deploy: Deploy, tiny: Tiny) -> None:
        tiny.write('task = dict(type="SemanticSegmentaton", classes=[dict(name="x", category_id=None)])\n')
        check_refused(deploy(tiny.with_images()), tiny, 2, 'unknown task "SemanticSegmentaton"; nearest: "Semantic')

    def test_not_python(self, deploy: Deploy, tiny: Tiny) -> None:
        tiny.config.write_text("model = dict(", encoding="utf-8")
        check_refused(deploy(tiny.with_images()), tiny, 2, r"config .*tiny\.py, line 1: ")

    def test_too_few_images_and_no_data_set(self, deploy: Deploy, tiny: Tiny) -> None:
        words = "parity needs 2 different images that fit the target, got 1; give --image twice or more"
        check_refused(deploy(tiny.arguments("--image", tiny.images[0], tiny.images[0])), tiny, 2, words)

    def test_an_unknown_data_set(self, deploy: Deploy, tiny: Tiny) -> None:
        tiny.write('dataset = dict(type="DigitsSegmentatio")\n')
        check_refused(
            deploy(tiny.arguments()),
            tiny,
            2,
            'unknown dataset type "DigitsSegmentatio"; nearest: "DigitsSeg.*; with --image twice or more no data',
        )

    @pytest.mark.parametrize("options", ['splt="val"', "split=3", 'split="val", root=3'])
    def test_a_wrong_argument_of_a_data_set(self, deploy: Deploy, tiny: Tiny, options: str) -> None:
        tiny.write(f'dataset = dict(type="DigitsDetection", {options})\n')
        check_refused(deploy(tiny.arguments()), tiny, 2, "dataset DigitsDetection cannot be built from its config: ")

    def test_a_size_that_is_one_number(self, deploy: Deploy, tiny: Tiny) -> None:
        tiny.write("preprocess = dict(size=256)\n")
        check_refused(deploy(tiny.with_images()), tiny, 2, r"preprocess: got size 256, expected \(height, width\)")

    def test_a_rewriter_without_a_name(self, deploy: Deploy, tiny: Tiny) -> None:
        tiny.write('export = dict(rewriters=[dict(accumulate="pad")])\n')
        check_refused(deploy(tiny.with_images()), tiny, 2, r'"export.rewriters\[0\]": expected a name or dict\(name=')

    @pytest.mark.parametrize(
        ("forward", "words"),
        [
            ('mod="tensor"', "TinySegmentor.forward got an unexpected keyword argument 'mod'; correct export.forward"),
            ('mode="tensr"', r'TinySegmentor.forward refuses it \(ValueError: unknown mode "tensr"\); correct export'),
            ('mode="predict"', r"TinySegmentor.forward gave a tensor \[1, 64, 96\], expected a tensor \[N, C, H, W\]"),
        ],
    )
    def test_what_the_models_forward_does_not_take(self, deploy: Deploy, tiny: Tiny, forward: str, words: str) -> None:
        tiny.write(f"export = dict(forward=dict({forward}))\n")
        check_refused(deploy(tiny.with_images()), tiny, 2, r"tiny\.py: export\.forward=\{.*\}: " + words)


class Bomb:
    """Unpickled, it runs code."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.target}",)


class TestCheckpoint:
    def test_of_another_model(self, deploy: Deploy, tiny: Tiny) -> None:
        other = tiny.folder / "other.safetensors"
        save_file({"conv.weight": torch.zeros(4, 3, 3, 3), "head.weight": torch.zeros(2)}, other)
        run = deploy(tiny.with_images("--checkpoint", other))
        check_refused(run, tiny, 2, r"other\.safetensors is not of this model: .*missing.*conv\.bias")
        check_refused(run, tiny, 2, r"unknown.*head\.weight.*conv\.weight \[4, 3, 3, 3\] for \[4, 3, 1, 1\]")

    @pytest.mark.parametrize("saved", ["torch", "pickle"])
    def test_with_code_in_it_is_not_run(self, deploy: Deploy, tiny: Tiny, saved: str) -> None:
        evil, trace = tiny.folder / "evil.pth", tiny.folder / "pwned"
        if saved == "torch":
            torch.save({"state_dict": Bomb(trace)}, evil)
        else:
            evil.write_bytes(pickle.dumps(Bomb(trace)))
        run = deploy(tiny.with_images("--checkpoint", evil))
        check_refused(run, tiny, 2, r"evil\.pth holds pickled Python objects.*was not loaded")
        assert not trace.exists()

    @pytest.mark.parametrize("name", ["cut.safetensors", "cut.pth"])
    def test_cut_short(self, deploy: Deploy, tiny: Tiny, name: str) -> None:
        path = tiny.folder / name
        state = {"conv.weight": torch.zeros(4, 3, 1, 1), "conv.bias": torch.zeros(4)}
        save_file(state, path) if name.endswith("safetensors") else torch.save(state, path)
        path.write_bytes(path.read_bytes()[:-20])
        check_refused(deploy(tiny.with_images("--checkpoint", path)), tiny, 2, f"{name} cannot be read")

    def test_not_a_state_dict(self, deploy: Deploy, tiny: Tiny) -> None:
        torch.save([1, 2, 3], tiny.folder / "list.pth")
        run = deploy(tiny.with_images("--checkpoint", tiny.folder / "list.pth"))
        check_refused(run, tiny, 2, r"list\.pth: expected a state dict of tensors, got list")


class TestImage:
    @pytest.mark.parametrize("name", ["cut.jpg", "cut.png"])
    @pytest.mark.parametrize("kept", [0.98, 0.5, 0.05])
    def test_cut_short(
        self, deploy: Deploy, tiny: Tiny, image_file: Callable[..., Path], name: str, kept: float
    ) -> None:
        path = image_file(name, 200, 300)
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * kept)])
        run = deploy(tiny.arguments("--image", tiny.images[0], path))
        check_refused(run, tiny, 2, f"image .*{name}: corrupt or truncated")

    def test_damaged_inside(self, deploy: Deploy, tiny: Tiny, image_file: Callable[..., Path]) -> None:
        path = image_file("bad.png", 200, 300)
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)
        check_refused(deploy(tiny.arguments("--image", path)), tiny, 2, r"image .*bad\.png: corrupt or truncated")

    def test_not_an_image(self, deploy: Deploy, tiny: Tiny) -> None:
        path = tiny.folder / "words.jpg"
        path.write_text("not an image", encoding="utf-8")
        check_refused(deploy(tiny.arguments("--image", path)), tiny, 2, r"image .*words\.jpg: not an image")
        path.write_bytes(b"")
        check_refused(deploy(tiny.arguments("--image", path)), tiny, 2, r"image .*words\.jpg: not an image")

    @pytest.mark.parametrize("size", [(31, 96), (96, 31), (1, 1)])
    def test_smaller_than_32_pixels(
        self, deploy: Deploy, tiny: Tiny, image_file: Callable[..., Path], size: tuple[int, int]
    ) -> None:
        run = deploy(tiny.arguments("--image", image_file("small.png", *size)))
        check_refused(run, tiny, 2, rf"image .*small\.png: got {size[0]}x{size[1]} pixels .*expected 32 or more")

    def test_outside_the_range_of_the_target(self, deploy: Deploy, tiny: Tiny, image_file: Callable[..., Path]) -> None:
        big = image_file("big.png", 300, 96)
        bounds = ("--dynamic", "height=32:64:128", "width=32:96:128")
        run = deploy(tiny.arguments(*bounds, "--image", tiny.images[0], big))
        check_refused(run, tiny, 2, r"big\.png: its tensor would have height 320, the target takes 32 to 128")


class TestWorkDir:
    @pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="no /sys on this system")
    def test_read_only(self, deploy: Deploy, tiny: Tiny) -> None:
        run = deploy([str(tiny.config), "--image", *map(str, tiny.images), "--work-dir", "/sys/zooport"])
        check_refused(run, tiny, 2, "/sys/zooport/.*: cannot write the deployment .*or give another --work-dir")
        assert "export" not in run.out  # it was found out before the long work

    def test_a_file(self, deploy: Deploy, tiny: Tiny) -> None:
        (tiny.folder / "file").write_text("x", encoding="utf-8")
        run = deploy([str(tiny.config), "--image", *map(str, tiny.images), "--work-dir", str(tiny.folder / "file")])
        check_refused(run, tiny, 2, "Not a directory.*give another --work-dir")

    def test_two_deploys_at_once(self, deploy: Deploy, tiny: Tiny) -> None:
        hold = "import sys; from pathlib import Path; from pipeline.publishing.lock import locked\n"
        hold += "with locked(Path(sys.argv[1])): print('held', flush=True); sys.stdin.readline()"
        tiny.place.parent.mkdir(parents=True)
        with subprocess.Popen(
            [sys.executable, "-c", hold, str(tiny.place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as holder:
            assert holder.stdout is not None
            holder.stdout.readline()
            run = deploy(tiny.with_images())
            holder.communicate("\n")
        assert run.code == 2
        assert f"{tiny.place}: process {holder.pid} is writing into it right now; wait" in run.err
        assert list(tiny.place.parent.iterdir()) == []


def test_json_has_the_error(deploy: Deploy, tiny: Tiny) -> None:
    path = tiny.folder / "out.json"
    deploy(tiny.with_images("--backend", "onnx", "--json", path))
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["exit_code"] == 2
    assert content["error"].startswith('unknown backend "onnx"')


def test_verbose_shows_the_traceback(deploy: Deploy, tiny: Tiny) -> None:
    run = deploy(tiny.with_images("--backend", "onnx", "-v"))
    assert run.code == 2
    assert "Traceback" in run.err
    assert run.err.splitlines()[-1].startswith("error: unknown backend")
