"""From config and flags to a target, its place, its preprocessing, and the cases of the graph comparison."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends.engine_options import EngineOptions
from pipeline.inputs.named_input import NamedInput, distinct
from pipeline.job.backend_options import parse_options
from pipeline.job.deploy_target import default_target, deploy_target, target_preprocess
from pipeline.job.deployment_path import deployment_place
from pipeline.job.job import plan_job
from pipeline.job.target_flags import parse_dynamic
from pipeline.parity.graph_inputs import GraphInput, batch_sizes, graph_inputs
from zoo.config import ModelConfig
from zoo.errors import InputError
from zoo.input_kinds import input_kind
from zoo.preprocess import Preprocess
from zoo.target import AxisRange, Target

IMAGE = input_kind("image")


def config(**export: Any) -> ModelConfig:
    return ModelConfig.from_dict(
        Path("net.py"),
        {
            "model": {"type": "Net"},
            "task": {"type": "Detection", "classes": [{"name": "x", "category_id": 1}]},
            "preprocess": {"size": (256, 320)},
            "export": {"exporter": "dynamo", "opset": 20, "inputs": {"batch": (1, 2, 8)}, **export},
        },
    )


def sample_images(count: int) -> list[NamedInput]:
    chance = np.random.default_rng(0)
    return [NamedInput(f"{i}.png", chance.integers(0, 255, (40 + i, 60, 3)).astype(np.uint8)) for i in range(count)]


def test_a_target_is_the_configs_with_what_was_asked_for() -> None:
    target = deploy_target(config(), {"height": AxisRange(64, 256, 512)}, exporter="torchscript", opset=None)
    assert (target.exporter, target.opset, target.axes["height"]) == ("torchscript", 20, AxisRange(64, 256, 512))
    assert target.axes["width"] == AxisRange.fixed(320)


def test_what_json_cannot_hold_is_found_before_the_export(tmp_path: Path) -> None:
    made = config()
    made.model["out_indices"] = {0, 2}
    with pytest.raises(InputError, match=r"config net\.py: Object of type set is not .*; a config holds only plain"):
        plan_job(made, None, [], tmp_path)


def test_default_bounds_surround_the_configs_size() -> None:
    target = deploy_target(config(inputs={"batch": 1}), parse_dynamic(["height", "width", "batch"], IMAGE.axes))
    assert target.axes["height"] == AxisRange(32, 256, 2048)
    assert target.batch == AxisRange(1, 2, 8)
    assert deploy_target(config(inputs={"batch": (2, 3, 4)}), parse_dynamic(["batch"], IMAGE.axes)).batch == AxisRange(
        2, 3, 4
    )


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("height=600:640:400", "min 600 is above max 400"),
        ("height=600:400:640", "min 600 is above opt 400"),
        ("height=400:700:640", "opt 700 is above max 640"),
        ("height=0:1:2", "min 0 is below 1"),
        ("height=", "expected three integers min:opt:max, for example height=320:640:960"),
        ("height=1:2", "expected three integers"),
        ("height=1:2:-3", "expected three integers"),
        ("depth", 'unknown axis "depth"; nearest: '),
    ],
)
def test_a_wrong_dynamic_flag_says_how_to_fix_it(flag: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_dynamic([flag], IMAGE.axes)
    assert str(caught.value).startswith(f"--dynamic {flag}: ")
    assert words in str(caught.value)


def test_options_of_the_config_and_of_the_command_line() -> None:
    made = config(engine={"workspace_mib": 64}, precision={"int8": {"keep_fp32": ["head"]}})
    assert deploy_target(made).precision_options.keep_fp32 == ()
    target = deploy_target(
        made,
        precision="int8",
        backend="tensorrt-rtx",
        engine=parse_options(["batches=1,4", "refittable=true", "compute_capabilities=8.9"], "tensorrt-rtx"),
        precision_options={"calibration_images": 5, "half_io": None},
    )
    assert isinstance(target.engine, EngineOptions)
    assert (target.engine.workspace_mib, target.engine.batches, target.engine.refittable) == (64, (1, 4), True)
    assert target.engine.compute_capabilities == ("8.9",)
    assert (target.precision_options.keep_fp32, target.precision_options.calibration_images) == (("head",), 5)


def test_options_in_the_place() -> None:
    made = config(precision={"int8": {"keep_fp32": ["head"]}})

    def name(backend: str = "onnxruntime", **options: Any) -> str:
        target = deploy_target(made, precision="int8", backend=backend, **options)
        return deployment_place("w", "detection", "net", target, default_target(made, backend, "int8")).name

    assert name() == "onnxruntime-int8"
    assert name(precision_options={"calibration_images": 5}) == "onnxruntime-int8-calibration5"
    assert name(precision_options={"calibration_method": "entropy"}) == "onnxruntime-int8-entropy"
    assert name(precision_options={"keep_fp32": []}).startswith("onnxruntime-int8-keep")
    assert name("tensorrt", engine={"batches": (1, 4), "workspace_mib": 64}) == "tensorrt-int8-wm64-b1x4"
    assert name("tensorrt", engine={"timeout_seconds": 5}) == "tensorrt-int8"


def test_place() -> None:
    default = deploy_target(config())

    def name(**changes: Any) -> str:
        return str(deployment_place("w", "detection", "net", default.with_(**changes), default))

    assert name() == str(Path("w/detection/net/onnxruntime-fp32"))
    assert name(exporter="torchscript").endswith("/onnxruntime-fp32-torchscript")
    assert name(level="raw", opset=19).endswith("/onnxruntime-fp32-raw-opset19")
    assert name(device="cuda:1").endswith("/onnxruntime-fp32-cuda1")
    assert name(device="cuda") == name(device="cuda:0")
    assert name(batch=AxisRange.fixed(4)).endswith("/onnxruntime-fp32-batch4")
    assert name(image_sizes=True, device="cuda").endswith("/onnxruntime-fp32-imagesizes-cuda0")
    sized = default.with_(image_sizes=True)
    assert deployment_place("w", "detection", "net", default, sized).name == "onnxruntime-fp32-noimagesizes"
    assert name(width=AxisRange(32, 320, 640), batch=AxisRange(1, 2, 3)).endswith("-batch1-2-3-width32-320-640")


def test_preprocessing_follows_the_targets_sizes() -> None:
    made = config()

    def sized(target: Target) -> tuple[Any, str]:
        rule = target_preprocess(made, target)
        return rule.size, rule.resize

    assert sized(deploy_target(made)) == ((256, 320), "letterbox")
    one = deploy_target(made, parse_dynamic(["height=64:128:256"], IMAGE.axes))
    assert sized(one) == ((128, 320), "letterbox")
    both = deploy_target(made, parse_dynamic(["height", "width"], IMAGE.axes))
    assert sized(both) == (None, "keep")


@pytest.mark.parametrize(
    ("axis", "sizes"),
    [
        *[((1, 2, 8), [1, 2, 5]), ((1, 1, 1), [1]), ((4, 4, 4), [4]), ((1, 2, 3), [1, 2, 3]), ((2, 8, 64), [2, 5, 8])],
        *[((8, 16, 32), [8, 9]), ((9, 9, 10), [9, 10]), ((16, 16, 16), [16])],
    ],
)
def test_batch_sizes(axis: tuple[int, int, int], sizes: list[int]) -> None:
    assert batch_sizes(AxisRange(*axis)) == sizes


@pytest.mark.parametrize(
    ("axis", "size"),
    [
        ((32, 256, 2048), 323),
        ((256, 256, 256), 256),
        ((200, 256, 260), 260),
        ((256, 256, 260), 260),
        ((64, 256, 256), 189),
    ],
)
def test_the_second_size(axis: tuple[int, int, int], size: int) -> None:
    assert AxisRange(*axis).other() == size


def test_every_image_is_compared_and_batches_mix_them() -> None:
    cases = graph_inputs(IMAGE, sample_images(3), deploy_target(config()), Preprocess((256, 320)))
    assert [case.images for case in cases] == [
        ("0.png",),
        ("1.png",),
        ("2.png",),
        ("1.png", "2.png"),
        ("2.png", "0.png", "1.png", "2.png", "0.png"),
    ]
    (tensor,) = cases[-1].arrays.values()
    assert tensor.shape == cases[-1].shape == (5, 3, 256, 320)
    assert not np.array_equal(tensor[0], tensor[1])


def test_a_fixed_batch_holds_different_images() -> None:
    fixed = Target({"batch": AxisRange.fixed(4), "height": AxisRange.fixed(64), "width": AxisRange.fixed(64)})
    cases = graph_inputs(IMAGE, sample_images(2), fixed, Preprocess((64, 64)))
    assert [case.images for case in cases] == [("0.png", "1.png", "0.png", "1.png")]


def test_a_second_size_where_sizes_are_dynamic() -> None:
    target = deploy_target(config(), parse_dynamic(["height=64:128:256", "width=64:128:256"], IMAGE.axes))
    cases = graph_inputs(IMAGE, sample_images(2), target, target_preprocess(config(), target))
    sizes = [case.shape for case in cases]
    assert sizes[-3:] == [(1, 3, 163, 163), (1, 3, 163, 163), (2, 3, 163, 163)]


def sizes_of(cases: list[GraphInput]) -> list[list[list[int]]]:
    return [case.arrays["image_sizes"].tolist() for case in cases]


def test_image_sizes_say_where_the_preprocessing_ends_each_image() -> None:
    target = deploy_target(config(inputs={"batch": (1, 2, 4), "image_sizes": True}))
    cases = graph_inputs(IMAGE, sample_images(3), target, Preprocess((256, 320)))
    assert all(case.arrays["image_sizes"].dtype == np.int64 for case in cases)
    # the images have 40, 41 and 42 rows, and 60 columns
    first, second, third = [213, 320], [219, 320], [224, 320]
    assert sizes_of(cases)[:4] == [[first], [second], [third], [second, third]]
    assert sizes_of(cases)[4] == [third, first, second, third]


@pytest.mark.parametrize("batch", [(1, 2, 8), (4, 4, 4), (2, 2, 2), (1, 1, 1)])
def test_one_batch_mixes_images_that_end_at_different_places(batch: tuple[int, int, int]) -> None:
    """Whatever the images are: with one that fills its tensor; with a batch of one in two cases."""
    target = deploy_target(config(inputs={"batch": batch, "image_sizes": True}))
    images = [NamedInput(f"{i}.png", np.full((64, 80, 3), i, np.uint8)) for i in range(2)]
    cases = graph_inputs(IMAGE, images, target, Preprocess((256, 320)))
    mixed = [case for case in cases if any(size != [256, 320] for size in case.arrays["image_sizes"].tolist())]
    full = [case for case in cases if [256, 320] in case.arrays["image_sizes"].tolist()]
    assert mixed
    assert full
    assert batch[2] == 1 or mixed[-1] is full[-1]
    assert all((case.arrays["images"][..., -1, -1] < 0.1).all() for case in mixed), "image outside, not padding"


def test_distinct_looks_at_the_pixels() -> None:
    first, second = sample_images(2)
    assert distinct([first, NamedInput("again", first.value.copy()), second]) == [first, second]
