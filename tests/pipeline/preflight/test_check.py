"""What the preflight says: nodes with their modules, subgraphs, one line; and what explains a builder's refusal."""

from pathlib import Path

import onnx
import pytest
import torch

from backends.tensorrt.refused import EngineRefusedError
from pipeline.preflight import explain, preflight, refuse, steps
from rewriters import export_onnx
from rewriters.graph_rewriters import rewrite_graph
from rewriters.onnx_graph.module_paths import MODULE
from tests.exporters import DYNAMO_LATER
from tests.pipeline.preflight.graphs import EXAMPLES, X, graph, model, one, target_of
from tests.rewriters.encoder_decoders import CLASSES, small_encoder_decoder
from tests.rewriters.small_models import contract, fixed_target
from zoo.errors import ExportError
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

NAN = "z = NonZero (x) w = Cast <to = 1> (z) y = NonZero (w)"


def found_twice() -> onnx.ModelProto:
    result = model(graph(X, NAN, "int64[2, n] y"))
    result.graph.node[0].metadata_props.add(key=MODULE, value="rpn.head")
    return result


def test_a_finding_has_all_nodes_in_order_with_their_modules() -> None:
    (finding,) = preflight(found_twice(), target_of("tensorrt-rtx"))
    assert [(node.name, node.module) for node in finding.nodes] == [("NonZero_z", "rpn.head"), ("NonZero_y", None)]
    assert (finding.action, finding.versions, finding.row.name) == ("refuse", "1.7.1", "nonzero")
    assert finding.to_dict()["nodes"][0] == {"name": "NonZero_z", "operator": "NonZero", "module": "rpn.head"}


def test_subgraphs_are_searched_and_read_the_values_around_them() -> None:
    text = """agraph (bool c, float[N, 6000] x) => (float[N, k] y) <int64[1] k = {5000}> {
        y = If (c) <then_branch = t () => (float[N, k] u) { u, i = TopK (x, k) },
                    else_branch = e () => (float[N, k] v) { v, j = TopK <largest = 0> (x, k) }>
    }"""
    (finding,) = preflight(model(text), target_of("tensorrt"))
    assert finding.row.name == "large_topk"
    assert [node.name for node in finding.nodes] == ["u", "v"]


@pytest.mark.parametrize(
    ("how", "reader", "rows"),
    [("max", "Less", []), ("add", "Less", ["scatter_threads"]), ("max", "Greater", ["scatter_threads"])],
)
def test_a_maximum_is_right_where_what_it_lost_is_seen(how: str, reader: str, rows: list[str]) -> None:
    steps_text = f'a = ScatterND <reduction = "{how}"> (x, i, u) b = Gather (a, i) y = {reader} (b, u)'
    text = graph("float[12, 5] x, int64[1, 1] i, float[1, 5] u", steps_text, "bool[1, 1, 5] y", "")
    assert [finding.row.name for finding in preflight(model(text), target_of("onnxruntime"))] == rows


def test_findings_come_in_graph_order() -> None:
    text = graph(X, 'a = ScatterND <reduction = "add"> (x, i, u) y = NonZero (a)', "int64[4, n] y", "")
    text = text.replace("x)", "x, int64[1, 1] i, float[1, 3, 16, 16] u)", 1)
    findings = preflight(model(text), target_of("tensorrt-rtx"))
    assert [finding.row.name for finding in findings] == ["scatter_reduction", "nonzero"]


def test_the_refusal_is_one_line_with_node_module_reason_and_cure() -> None:
    error = refuse(preflight(found_twice(), target_of("tensorrt-rtx")))
    assert isinstance(error, ExportError)
    assert str(error) == (
        'tensorrt-rtx cannot take the graph: NonZero "NonZero_z" of module rpn.head, NonZero "NonZero_y": tensorrt-rtx '
        "has no NonZero, which a boolean index or torch.nonzero becomes (tensorrt-rtx 1.7.1; NVIDIA/TensorRT-RTX#36; "
        "measured); write the choice with where or topk of a fixed number"
    )


def test_a_warning_and_a_rewrite_refuse_nothing() -> None:
    for name in ("sort", "inner_uint8"):
        example = EXAMPLES[name]
        assert refuse(preflight(model(example.hit), target_of(example.backend))) is None


def test_the_steps_of_the_findings_cure_the_graph() -> None:
    target, before = target_of("tensorrt-rtx"), model(EXAMPLES["inner_uint8"].hit)
    assert steps(preflight(before, target)) == ["cast_bytes_last"]
    after, _ = rewrite_graph(before, steps(preflight(before, target)))
    assert preflight(after, target) == ()


def test_what_the_steps_leave_is_refused() -> None:
    text = graph(X, "b = Cast <to = 2> (x) c = Add (b, b) y = Identity (c)", "uint8[N, 3, 16, 16] y")
    target = target_of("tensorrt-rtx")
    after, _ = rewrite_graph(model(text), steps(preflight(model(text), target)))
    findings = preflight(after, target)
    assert refuse(findings) is None
    assert "uint8 is supported" in str(refuse(findings, rewritten=True))


def segformer(path: Path, exporter: str, batch: int | str, **options: object) -> onnx.ModelProto:
    """Of images [`batch`, 3, 64, 128], "batch" for 1 to 8 of them. `options`: of the sliding windows."""
    sizes = {"batch": AxisRange.fixed(batch)} if isinstance(batch, int) else {}
    target = fixed_target(64, 128, exporter=exporter, backend="tensorrt", **sizes)
    example = {"images": torch.rand(batch if isinstance(batch, int) else 2, 3, 64, 128)}
    specs = [TensorSpec("logits", "float32", (batch, CLASSES, 64, 128))]
    module = contract(small_encoder_decoder("segformer", **options), "decoded")
    export_onnx(module, target, path, example=example, output_specs=specs)
    return onnx.load(path)


ONE_IMAGE = target_of("tensorrt", batch=AxisRange.fixed(1))


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
def test_our_segformer_is_that_pattern_above_a_batch_of_one(exporter: str, tmp_path: Path) -> None:
    graph_ = segformer(tmp_path / "m.onnx", exporter, "batch")
    (finding,) = preflight(graph_, target_of("tensorrt"))
    assert preflight(graph_, ONE_IMAGE) == (finding,), "of windows that the host cuts of one image"
    assert finding.row.name == "segformer_batch"
    assert {node.module for node in finding.nodes} >= {"backbone.layers.0.1.0.attn.attn"}
    assert preflight(segformer(tmp_path / "m.onnx", exporter, 1), ONE_IMAGE) == ()


@pytest.mark.slow
@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_windows_of_one_image_are_a_batch(exporter: str, tmp_path: Path) -> None:
    windows = {"mode": "slide", "crop_size": (64, 64), "stride": (64, 64)}
    (finding,) = preflight(segformer(tmp_path / "m.onnx", exporter, 1, **windows), ONE_IMAGE)
    assert finding.row.name == "segformer_batch"
    assert "--slide host --window-batch 1" in finding.row.cure


RTX = target_of("tensorrt-rtx")


class TestExplain:
    def error(self, node: str | None, operator: str | None, reason: str) -> EngineRefusedError:
        return EngineRefusedError(node, operator, reason)

    def test_a_parsers_error_names_node_module_and_cure(self) -> None:
        explained = explain(self.error("NonZero_z", "NonZero", "no\n plugin"), found_twice(), RTX)
        assert str(explained) == (
            'TensorRT refuses NonZero "NonZero_z" of module rpn.head: no plugin; write the choice with where or topk '
            "of a fixed number (NVIDIA/TensorRT-RTX#36; measured)"
        )

    def test_a_builders_error_names_the_node_in_its_text_alone(self) -> None:
        graph_ = model(EXAMPLES["large_topk"].hit)
        reason = "ITopKLayer TopK_y: TopK_y: K exceeds the maximum value allowed (3840)."
        line = str(explain(self.error(None, None, reason), graph_, target_of("tensorrt-rtx")))
        assert line.startswith('TensorRT refuses TopK "TopK_y": ITopKLayer')
        assert "rpn_pre_nms_top_n_test" in line

    def test_what_no_row_is_about_gets_what_helps_in_general(self) -> None:
        explained = str(explain(self.error("Relu_y", "Relu", "no"), model(one("Relu (x)")), target_of("tensorrt-rtx")))
        assert "symbolic rewriter" in explained
        assert "--output-level" in explained

    def test_a_node_that_the_graph_has_not(self) -> None:
        explained = explain(self.error("gone", "Det", "false"), model(one("Relu (x)")), RTX)
        assert str(explained) == 'TensorRT refuses Det "gone": false'
        assert (
            str(explain(self.error(None, None, "killed"), model(one("Relu (x)")), RTX))
            == "TensorRT refuses the graph: killed"
        )
