"""Which windows a target lets the backend cut."""

from pathlib import Path

import onnx
import pytest
import torch
from torch import nn

from pipeline.export.export_step import export_file
from pipeline.export.host_part import deployment_inputs
from pipeline.export.host_windows import WindowModel, WindowsOnHost, host_windows
from tests.rewriters.small_models import fixed_target, small_segmentor
from zoo.errors import InputError
from zoo.input_kinds import input_kind
from zoo.target import AxisRange
from zoo.windows import Windows


@pytest.fixture(scope="module")
def model() -> nn.Module:
    return small_segmentor(crop_size=(32, 48), stride=(20, 40), blend="gaussian")


def test_the_models_windows_and_the_targets_batch(model: nn.Module) -> None:
    target = fixed_target(64, 96).with_(slide="host", window_batch=3)
    assert host_windows(model, target) == Windows((32, 48), (20, 40), "gaussian", 3)
    assert host_windows(model, target.with_(window_batch=None)) == Windows((32, 48), (20, 40), "gaussian", 8)
    assert host_windows(model, fixed_target(64, 96)) is None


def test_an_image_smaller_than_a_window_has_a_window_of_its_size(model: nn.Module) -> None:
    windows = host_windows(model, fixed_target(16, 96).with_(slide="host"))
    assert windows == Windows((16, 48), (16, 40), "gaussian")


def test_a_dynamic_size_begins_at_the_window(model: nn.Module) -> None:
    target = fixed_target(64, 96).with_(slide="host", width=AxisRange(40, 96, 200))
    with pytest.raises(InputError, match="width may be 40 pixels and a window has 48; give --dynamic width=48:96:200"):
        host_windows(model, target)


def test_a_window_batch_in_the_graph_needs_a_fixed_size(model: nn.Module) -> None:
    target = fixed_target(64, 96).with_(window_batch=4)
    assert host_windows(model, target) is None
    with pytest.raises(InputError, match="window_batch 4 with a dynamic size"):
        host_windows(model, target.with_(height=AxisRange(32, 64, 100)))


def test_the_images_of_a_target() -> None:
    target = fixed_target(64, 96).with_(width=AxisRange(48, 96, 200), batch=AxisRange.fixed(2))
    (images,) = deployment_inputs(input_kind("image"), target)
    assert images.shape == (2, 3, 64, "width")


def test_graph_rewriters_act_on_the_windows_file(model: nn.Module, tmp_path: Path) -> None:
    target = fixed_target(64, 96, exporter="torchscript", slide="host")
    windows = host_windows(model, target)
    assert windows is not None
    host = WindowsOnHost(WindowModel(model, {}), windows)
    record = export_file(
        host.module,
        host.file_target(target),
        tmp_path / "m.onnx",
        example=host.file_example({"images": torch.rand(2, 3, 64, 96)}),
        output_specs=host.file_outputs(()),
        steps=[{"name": "set_metadata", "props": {"owner": "somebody"}}],
    )
    assert "graph.set_metadata" in {fired.name for fired in record.rewriters}
    assert [entry.value for entry in onnx.load(tmp_path / "m.onnx").metadata_props] == ["somebody"]
