"""The task of any module: names of outputs, what is refused, comparison, results, drawing."""

import dataclasses
import io
import json
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from pipeline.parity.gates import merged_gates
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import eager_runner, graph_parity, graph_references
from tests.small_tasks import small_task
from zoo.comparison.decision_rule import DecisionRule
from zoo.errors import InputError
from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.preprocess import Geometry
from zoo.tasks import OutputRole, build_task
from zoo.tasks.proof import Compared, EagerResult, Rounding, proof_of
from zoo.tasks.tensors import Tensors, TensorsResult

GATES = merged_gates(own=Tensors.gates)
RULE = DecisionRule()
GEOMETRY = Geometry((40, 40), (64, 64), (64, 64))
PLACED = ReferenceInput(torch.zeros(1, 3, 64, 64), (64, 64), (40, 40))
IMAGE = np.random.default_rng(0).integers(0, 256, (40, 50, 3)).astype(np.uint8)
HEATMAP = np.random.default_rng(1).random((1, 16, 24)).astype(np.float32)
EMBEDDING = np.linspace(-1, 1, 32, dtype=np.float32)
RESULT = TensorsResult({"embedding": EMBEDDING, "heatmap": HEATMAP})


class Pair(NamedTuple):
    near: Tensor
    far: Tensor


@dataclasses.dataclass
class Depth:
    """As transformers' ModelOutput: fields that are None are no outputs."""

    predicted_depth: Tensor
    hidden_states: Any = None


def bound(make: Callable[[Tensor], Any], *sizes: int, **options: Any) -> Any:
    """The task, once a module that makes this of its images has run."""
    chance = torch.Generator().manual_seed(0)
    runs = [(size, make(torch.rand(size, 3, 8, 12, generator=chance))) for size in sizes or (1, 2)]
    return proof_of(build_task({"type": "Tensors", **options})).bound(lambda: runs)


def names(task: Any) -> list[str]:
    return [spec.name for spec in task.outputs("final")]


class TestNames:
    @pytest.mark.parametrize(
        ("make", "expected"),
        [
            (lambda x: {"b": x, "a": x.mean(1)}, ["b", "a"]),
            (lambda x: OrderedDict(late=x, early=None), ["late"]),
            (lambda x: Pair(x, x + 1), ["near", "far"]),
            (lambda x: Depth(x.mean(1)), ["predicted_depth"]),
            (lambda x: (x, x + 1), ["o0", "o1"]),
            (lambda x: [x], ["o0"]),
            (lambda x: x, ["o0"]),
            (lambda x: {0: x, "1": x + 1}, ["0", "1"]),
        ],
    )
    def test_come_from_what_forward_gives(self, make: Callable[[Tensor], Any], expected: list[str]) -> None:
        task = bound(make)
        assert names(task) == expected
        assert all(spec.shape == () for spec in task.outputs("final"))  # a run tells it
        assert task.options == {"keep": expected}
        assert task.outputs("raw") == task.outputs("decoded") == ()

    def test_keep_chooses_and_orders(self) -> None:
        task = bound(lambda x: {"a": x, "b": x + 1, "hidden": (x, x)}, keep=["b", "a"], rows=["a"])
        assert names(task) == ["b", "a"]
        assert task.options == {"keep": ["b", "a"], "rows": ["a"]}
        again = build_task({"type": "tensors", "classes": (), **json.loads(json.dumps(task.options))})
        assert (names(again), again.roles) == (["b", "a"], {"a": OutputRole.ROW})


REFUSED: list[tuple[Callable[[Tensor], Any], dict[str, Any], str]] = [
    (lambda x: {"a": x, "b": (x, x)}, {}, r'output "b" is a tuple, expected a tensor; keep only .*keep=\["a"\]'),
    (lambda _: {"a": 3.0}, {}, 'output "a" is a float, expected a tensor; give tensors'),
    (lambda _: {}, {}, "the module gives no output"),
    (lambda x: {1: x, "1": x}, {}, 'output "1" comes twice'),
    (lambda x: {"images": x}, {}, 'output "images" has the name of the graph\'s input'),
    (lambda x: {"a\n": x}, {}, r"output 'a\\n': expected a name of printable characters"),
    (lambda x: {"a": x}, {"keep": ["b"]}, 'the module gives no output "b"; nearest: "a"'),
    (lambda x: {"a": x.mean()}, {}, r'output "a" has the shape \[\] for a batch of 1: expected the batch as its first'),
    (lambda x: {"a": x.transpose(0, 1)}, {}, r'output "a" has the shape \[3, 1, 8, 12\] for a batch of 1'),
    (lambda x: {"a": x[:, :0]}, {}, r'output "a" is empty: \[1, 0, 8, 12\]'),
    (lambda x: {"a": x / 0}, {}, 'output "a" has NaN or infinity in PyTorch itself'),
    (lambda x: {"a": x.bfloat16()}, {}, 'output "a" is bfloat16, which no backend gives'),
    (lambda x: {"a": x.to(torch.complex64)}, {}, 'output "a" is complex64'),
    (lambda x: {"a": x @ x.transpose(2, 3).mean((0, 1)), "b": x.flatten(1) @ x.flatten(1).T}, {}, 'output "b": its'),
    (lambda x: {"a": x.flatten(1)[:, : int(x.sum())]}, {}, r'output "a": its shape depends on the data: \[1, \d+\]'),
    (lambda x: {"a": x.mean((1, 2, 3))}, {"rows": ["a"]}, r'output "a" has the shape \[1\], and no rows'),
    (lambda x: {"a": x, "b": x[:, :2]}, {"rows": ["a", "b"]}, "the same number of rows, got a 3, b 2"),
    (lambda x: {"a": x}, {"rows": ["b"]}, 'rows has "b", which is not an output; there are a'),
    (lambda x: {"a": x} if len(x) == 1 else {"b": x}, {}, "gives the outputs b for one batch and a for another"),
]


class TestRefusals:
    @pytest.mark.parametrize(("make", "options", "words"), REFUSED)
    def test_each_names_the_output(self, make: Callable[[Tensor], Any], options: dict[str, Any], words: str) -> None:
        with pytest.raises(InputError, match=words) as raised:
            bound(make, **options)
        assert "\n" not in str(raised.value)

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"keep": "a"}, "task Tensors: keep: got 'a', expected a list of names, for example [\"embedding\""),
            ({"keep": ["a", 1]}, "expected a list of names"),
            ({"keep": ["a", "a"]}, 'task tensors: keep has "a" twice'),
            ({"keep": ["a"], "rows": ["b"]}, 'task tensors: rows has "b", which is not in keep'),
            ({"kep": ["a"]}, 'task Tensors: unknown key "kep"; nearest: "keep"'),
            ({"classes": [{"name": "a"}]}, "task tensors: got 1 classes, but it has none"),
        ],
    )
    def test_of_a_config(self, fields: dict[str, Any], words: str) -> None:
        with pytest.raises(InputError) as raised:
            build_task({"type": "Tensors", **fields})
        assert words in str(raised.value)

    def test_a_batch_of_one_alone_is_taken(self) -> None:
        assert names(bound(lambda x: {"a": x}, 1, 1)) == ["a"]


class TestResults:
    def test_a_result_is_a_mapping_of_arrays(self) -> None:
        assert list(RESULT) == ["embedding", "heatmap"]
        assert RESULT.names == {0: "embedding", 1: "heatmap"}
        assert RESULT["heatmap"] is RESULT.tensors["heatmap"]
        assert repr(RESULT) == "<TensorsResult: embedding float32 [32], heatmap float32 [1, 16, 24]>"
        assert len(RESULT) == 2
        with pytest.raises(ValueError, match="read-only"):
            RESULT["embedding"][0] = 1
        assert json.loads(json.dumps(RESULT.to_dict()))["embedding"] == EMBEDDING.tolist()
        assert RESULT == TensorsResult.of_arrays(RESULT.arrays) == pickle.loads(pickle.dumps(RESULT))
        assert TensorsResult({"embedding": EMBEDDING}) != RESULT
        assert TensorsResult({"half": EMBEDDING.astype(np.float16)})["half"].dtype == np.float32

    def test_the_task_splits_a_batch(self) -> None:
        outputs = {"embedding": np.stack([EMBEDDING, -EMBEDDING]), "heatmap": np.stack([HEATMAP, HEATMAP])}
        task = build_task({"type": "Tensors", "keep": ["heatmap", "embedding"]})
        first, second = task.results(outputs, [GEOMETRY, GEOMETRY])
        assert list(first) == ["heatmap", "embedding"]  # type: ignore[call-overload]
        assert first["embedding"].tolist() == (-second["embedding"]).tolist()  # type: ignore[index]
        assert first.geometry == GEOMETRY
        with pytest.raises(InputError, match='tensors: no output "heatmap" among embedding'):
            task.results({"embedding": outputs["embedding"]}, [GEOMETRY])

    def test_files_hold_any_name(self) -> None:
        ((ending, content),) = small_task("tensors").files(IMAGE, TensorsResult({"file": EMBEDDING, "a/b": HEATMAP}))
        assert ending == ".npz"
        with np.load(io.BytesIO(content)) as arrays:
            assert sorted(arrays) == ["a/b", "file"]
            np.testing.assert_array_equal(arrays["a/b"], HEATMAP)

    def test_drawing_has_a_panel_for_each_output(self) -> None:
        task = small_task("tensors")
        drawn = task.draw(IMAGE, RESULT)
        assert drawn.shape == (160, 50 + 4 + 160 + 4 + 240, 3)  # a histogram, and a map of 16 x 24
        np.testing.assert_array_equal(drawn[:40, :50], IMAGE)
        other = TensorsResult({"embedding": EMBEDDING**3, "heatmap": HEATMAP})
        assert not np.array_equal(drawn, task.draw(IMAGE, other))
        assert task.caption(RESULT).startswith("embedding [32]: -1 to 1; heatmap [1, 16, 24]: ")
        assert task.caption(TensorsResult({"rows": np.zeros((0, 4), np.float32)})) == "rows [0, 4]: no values"


def compared(reference: TensorsResult, candidate: TensorsResult, kind: str = "graph", **options: Any) -> Any:
    proof = proof_of(build_task({"type": "Tensors", **options}))
    return proof.compare(eager(reference), PLACED, candidate, GATES[kind], RULE)


def eager(result: TensorsResult) -> EagerResult:
    return EagerResult(np.zeros((3, 64, 64), np.float32), result)


def moved(by: float, name: str = "heatmap") -> TensorsResult:
    arrays = RESULT.arrays
    changed = arrays[name].copy()
    changed.flat[7] += by
    return TensorsResult({**arrays, name: changed})


class Halves(torch.nn.Module):
    def forward(self, images: Tensor) -> dict[str, Tensor]:
        return {"embedding": images.mean(dim=(2, 3)).half()}


def test_outputs_of_float16_are_compared_in_float32() -> None:
    model, images = Halves().eval(), np.random.default_rng(0).random((2, 3, 64, 64)).astype(np.float32)
    task = bound(model)
    references = graph_references(model, task, "final", {}, [GraphInput((), {"images": images})])
    runner = eager_runner(model, task, "final", {}, image_sizes=False, layout="zooport")
    (case,) = graph_parity(runner, references, task, "final", GATES["graph"], RULE)
    assert (case.findings.failures, case.findings.blank) == ((), False)


class TestComparison:
    def test_floats_are_judged_by_their_range(self) -> None:
        assert not compared(RESULT, moved(5e-5)).failures
        findings = compared(RESULT, moved(3e-4))
        assert [words.partition(":")[0] for words in findings.failures] == ["heatmap"]
        assert not compared(RESULT, moved(1.9e-4, "embedding")).failures  # its range is 2

    def test_one_value_alone_has_no_range_and_still_counts(self) -> None:
        one, near, far = (TensorsResult({"o0": np.array([value], np.float32)}) for value in (0.5, 0.50005, 0.501))
        assert not compared(one, near).failures
        assert not compared(one, near).blank
        assert compared(one, far).failures

    def test_one_value_for_each_image_has_no_range(self) -> None:
        proof = proof_of(small_task("tensors"))
        ours = np.array([[0.512], [0.513]], np.float32)
        for error, good in ((1e-6, True), (1e-3, False)):
            theirs = {"o0": ours + np.float32(error)}
            assert (proof.compare_outputs("final", {"o0": ours}, theirs, GATES["graph"], RULE).failures == ()) is good

    @pytest.mark.parametrize("filler", [-1e9, -65504, np.finfo(np.float32).min, np.finfo(np.float32).max])
    def test_what_masks_are_filled_with_does_not_hide_an_error(self, filler: float) -> None:
        filled = np.where(np.arange(32) % 4 == 0, np.float32(filler), EMBEDDING)
        ours = TensorsResult({"embedding": filled})
        for error, good in ((1e-5, True), (1e-2, False)):
            changed = filled.copy()
            changed[1] += np.float32(error)
            assert (compared(ours, TensorsResult({"embedding": changed})).failures == ()) is good
        lost = filled.copy()
        lost[4] = 0.5
        assert compared(ours, TensorsResult({"embedding": lost})).failures

    def test_constant_outputs_prove_nothing(self) -> None:
        constant = TensorsResult({"o0": np.ones(5, np.float32)})
        assert compared(constant, constant).blank
        both = TensorsResult({"o0": np.ones(5, np.float32), "o1": EMBEDDING})
        assert not compared(both, both).blank
        proof = proof_of(small_task("tensors"))
        assert proof.is_blank({"o0": np.ones((2, 5))})
        assert list(proof.exercised(both.arrays)) == [("outputs that vary", "o0", 0), ("outputs that vary", "o1", 1)]

    def test_whole_numbers_are_judged_by_how_many_change(self) -> None:
        labels = np.zeros((200, 200), np.int64)
        labels[:3] = 1
        other = labels.copy()
        other[10, :3] = 1
        ours = TensorsResult({"labels": labels})
        assert not compared(ours, TensorsResult({"labels": other})).failures  # 3 of 40000
        other[11, :3] = 1
        findings = compared(ours, TensorsResult({"labels": other}))
        assert findings.failures == ("labels: largest error 0.00015 of values, gate 0.0001 of values",)
        few = TensorsResult({"labels": np.array([3, 4])})
        assert compared(few, TensorsResult({"labels": np.array([3, 5])})).failures

    def test_another_shape_or_name_or_nan_is_a_fault(self) -> None:
        other = TensorsResult({"embedding": EMBEDDING[:-1], "heatmap": HEATMAP})
        assert compared(RESULT, other).faults == (
            "embedding: the backend gives float32 [1, 31], PyTorch float32 [1, 32]",
        )
        assert compared(RESULT, TensorsResult({"embedding": EMBEDDING})).faults
        assert compared(RESULT, moved(np.nan)).failures == ("heatmap: NaN or infinity in the outputs",)

    def test_rows_are_a_set_together(self) -> None:
        chance = np.random.default_rng(2)
        boxes, labels = chance.random((20, 4)).astype(np.float32), np.arange(20)
        order = chance.permutation(20)
        ours = TensorsResult({"boxes": boxes, "labels": labels})
        theirs = TensorsResult({"boxes": boxes[order], "labels": labels[order]})
        assert not compared(ours, theirs, rows=["boxes", "labels"]).failures
        assert compared(ours, theirs).failures
        torn = TensorsResult({"boxes": boxes[order], "labels": labels})
        assert "rows have no partner within the gates" in compared(ours, torn, rows=["boxes", "labels"]).failures[-1]

    def test_what_rounding_moves_is_borderline(self) -> None:
        proof, placed = proof_of(small_task("tensors")), PLACED
        gates = GATES["pipeline"]
        assert proof.compare(eager(RESULT), placed, moved(0.03), gates, RULE).failures
        rounding = Rounding((moved(0.02),), 0.0)
        findings = proof.compare(eager(RESULT), placed, moved(0.03), gates, RULE, rounding)
        assert not findings.failures
        assert findings.borderline[0].what.startswith("heatmap is 0.03")
        assert proof.compare(eager(RESULT), placed, moved(0.1), gates, RULE, rounding).failures


class TestReport:
    PROOF = proof_of(small_task("tensors"))

    def test_what_differs_has_a_panel(self) -> None:
        drawn, words = self.PROOF.difference(IMAGE, RESULT, moved(0.5), GATES["pipeline"])
        assert words == "heatmap: 1 of 384 values differ, by 0.5 at most"
        assert drawn is not None
        assert drawn.shape == (160, 50 + 4 + 240, 3)
        assert self.PROOF.difference(IMAGE, RESULT, RESULT, GATES["pipeline"]) == (None, "all values are equal")

    def test_a_histogram_of_the_errors(self) -> None:
        pairs = [Compared("a.png", PLACED, eager(RESULT), moved(5e-5))]
        histogram: Any = self.PROOF.scatter(pairs, GATES["graph"])
        assert sum(histogram.counts.values()) == 32 + 384
        assert histogram.counts[0] == 32 + 384 - 1
        assert len(histogram.counts) == 2
        assert max(histogram.counts) <= 50
        assert histogram.words == "embedding: 0 of range at most; heatmap: 5.02e-05 of range at most"

    def test_agreement(self) -> None:
        agreement = self.PROOF.agreement
        assert agreement([RESULT], [RESULT]) == 100
        assert 90 < agreement([RESULT], [moved(0.5)]) < 100
        other = TensorsResult({"embedding": -EMBEDDING, "heatmap": HEATMAP})
        assert agreement([RESULT], [other]) == 50
