"""The plots of module errors: by name, relative and absolute errors apart."""

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from pipeline.proof.module_error_record import ModuleError, ModuleErrors
from pipeline.report.deployment_page import write_report
from pipeline.report.module_plots import module_plots, shortened
from tests.pipeline.report.made import made_data

pytest.importorskip("bokeh", reason="plots are Bokeh's")


def test_modules_are_named_and_their_two_errors_have_an_axis_each() -> None:
    rows = [ModuleError(f"layer{n}", 10.0 ** -(n % 7), 1e-6 * n, "equal") for n in range(40)]
    modules = ModuleErrors("a verdict", rows, 1e-4)
    relative, absolute = module_plots(modules)
    assert "'layer39'" in str(relative["item"])
    assert "'layer5'" not in str(relative["item"])  # the 20 largest relative errors
    starts = [str(plot["item"]).count("'LogScale'") for plot in (relative, absolute)]
    assert starts == [1, 1]
    assert "dashed: the threshold, 0.0001" in relative["title"]
    assert module_plots(ModuleErrors("a verdict", [ModuleError("a", 0.0, 0.0, "equal")], 1e-4)) == []


def test_a_long_name_keeps_its_end() -> None:
    assert shortened("backbone.body.layer1.0.conv1") == "backbone.body.layer1.0.conv1"
    assert shortened("roi_heads.mask_predictor.backbone.body.layer1.0") == "\u2026backbone.body.layer1.0"
    assert shortened("a" * 50) == "\u2026" + "a" * 29


def test_a_module_that_is_not_finite_has_a_point_of_its_own(tmp_path: Path) -> None:
    data = made_data(tmp_path)
    assert data.modules is not None
    assert '"not finite"' not in write_report(tmp_path, data).read_text(encoding="utf-8")
    rows = [*data.modules.rows, ModuleError("head.softmax", inf, inf, "differs")]
    broken = replace(data, modules=replace(data.modules, rows=rows, notes=["rounded to fp16"]))
    page = write_report(tmp_path, broken).read_text(encoding="utf-8")
    assert '"not finite"' in page
    assert "rounded to fp16" in page
    assert ("head.softmax", None) in [(row["module"], row["error"]) for row in broken.modules.to_dict()["rows"]]
