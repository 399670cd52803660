"""Data for a report, made by hand: no model is run, so that a page takes a moment."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, save_model

from pipeline.parity.records import Case, ParityRecord
from pipeline.proof.latency_record import Latency
from pipeline.proof.module_error_record import ModuleError, ModuleErrors
from pipeline.proof.preview import Panel, Preview
from pipeline.report.deployment_page import ReportData
from rewriters import ExportRecord
from rewriters.export_record import Fired
from zoo.comparison import Borderline, Figure, Findings
from zoo.manifest import Manifest, file_record
from zoo.preprocess import Preprocess
from zoo.target import AxisRange
from zoo.tasks import ClassInfo
from zoo.tasks.scatter import Point, Scatter
from zoo.tensor_spec import TensorSpec

NASTY = "<script>alert(1)</script>&\"'.jpg"
SMALL, LARGE = (60, 90), (640, 960)


def write_model(folder: Path) -> Path:
    """A file with a subgraph-free graph of three operators, one of them of nobody's standard."""
    nodes = [
        helper.make_node("Relu", ["images"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Twist", ["b"], ["c"], domain="acme"),
        helper.make_node("Identity", ["c"], ["scores"]),
    ]
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3, 8, 8])] for name in ("images", "scores")]
    graph = helper.make_graph(nodes, "made", *ends)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("acme", 1)]
    path = folder / "model.onnx"
    save_model(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def made_data(folder: Path, sides: tuple[int, int] = SMALL) -> ReportData:
    """Of a detector with four images of noise, which no format makes small. The model file is written."""
    chance = np.random.default_rng(0)
    manifest = Manifest(
        name="made_digits",
        task="detection",
        classes=(ClassInfo("one", 1),),
        preprocess=Preprocess((64, 96)),
        inputs=(TensorSpec("images", "float32", ("batch", 3, 64, 96)),),
        outputs=(TensorSpec("scores", "float32", ("batch", 10)),),
        axes={"batch": AxisRange(1, 2, 4)},
        output_level="final",
        backend="onnxruntime",
        precision={"stored": "fp32", "computed": "fp32"},
        provider="cpu",
        exporter="dynamo",
        opset=20,
        versions={"torch": "2.15.0", "onnx": "1.23.2"},
        files={"model.onnx": file_record(write_model(folder))},
        parity={"verdict": "passed"},
        checkpoint={"sha256": "0" * 64},
    )
    scores = Figure("scores", "", 1e-6, 1e-7, 1.0, 40, 5e-4)
    record = ParityRecord(
        {"graph": {"scores": 5e-4}, "pipeline": {"scores": 0.03}},
        (
            Case("graph", ("a.jpg", NASTY), (2, 3, 64, 96), Findings((scores,), 20)),
            Case("pipeline", (NASTY,), (1, 3, 64, 96), Findings((scores,), 9, (Borderline("a one", "it may"),))),
        ),
    )
    export = ExportRecord(
        "dynamo",
        20,
        (Fired("nms", "a loop of unknown length " * 6, 2),),
        ("a warning",),
        1.5,
        2**28,
        4,
        manifest.inputs,
        manifest.outputs,
    )
    previews = [
        Preview(
            folder / f"previews/{number}.png",
            f"{number}.jpg",
            tuple(
                Panel(title, chance.integers(0, 256, (*sides, 3)).astype(np.uint8), f"{number} objects")
                for title in ("PyTorch", "onnxruntime", "difference")
            ),
        )
        for number in range(4)
    ]
    points = tuple(
        Point(NASTY, "one", float(score), float(score + error))
        for score, error in zip(chance.random(200), chance.normal(0, 1e-6, 200), strict=True)
    )
    return ReportData(
        manifest,
        record,
        export,
        previews,
        scatter=Scatter("score", "200 detections that both found", points, "Scores"),
        modules=ModuleErrors(
            "no module is past 0.0001; 30 pairs of tensors compared",
            [
                ModuleError(f"backbone.layer{n}.conv", abs(float(chance.normal(0, 1e-6))), 0.0, "equal")
                for n in range(30)
            ],
            1e-4,
        ),
        latency=[Latency("PyTorch", 1, 12.0, 13.0, 15.0, 50), Latency("onnxruntime", 1, 6.0, 6.5, 7.0, 50)],
    )


def missed(data: ReportData) -> ReportData:
    """The same with a gate that was missed, and published all the same."""
    case = data.record.cases[0]
    findings = replace(case.findings, failures=("scores differ by 0.2",))
    cases = (replace(case, findings=findings), *data.record.cases[1:])
    return replace(data, record=ParityRecord(data.record.gates, cases, allowed=True))
