"""The record: verdict, deterministic JSON, gates as data."""

import json

import pytest

from pipeline.parity.errors import ParityMissedError
from pipeline.parity.gates import GRAPH, METRIC, merged_gates, metric_gate
from pipeline.parity.records import Case, MetricFigure, ParityRecord, dump_json, recorded
from zoo.comparison import Borderline, Figure, Findings, merge_figures
from zoo.errors import InputError

FOUND = Findings(
    figures=(Figure("boxes", "px", 0.01, 0.001, 0.999, 10, 0.05),),
    matched=3,
    borderline=(Borderline("label 1", "score at the threshold"),),
)
BLANK = Findings(blank=True)


def record(*cases: Case, allowed: bool = False) -> ParityRecord:
    return ParityRecord(merged_gates(), cases, allowed=allowed)


def case(kind: str, findings: Findings) -> Case:
    return Case(kind, ("a.jpg",), (1, 3, 256, 320), findings)


def test_passed() -> None:
    made = record(case("graph", FOUND), case("graph", BLANK), case("pipeline", FOUND))
    assert (made.passed, made.verdict, made.failures) == (True, "passed", ())


def test_one_failure_fails_and_says_where() -> None:
    made = record(case("graph", FOUND), case("pipeline", Findings(failures=("boxes: too far",))))
    assert made.verdict == "failed"
    assert made.failures == ("pipeline parity, a.jpg [1x3x256x320]: boxes: too far",)
    assert record(*made.cases, allowed=True).verdict == "failed-allowed"
    error = ParityMissedError(made)
    assert error.exit_code == 3
    assert "nothing was published" in str(error)
    assert error.data["parity"]["verdict"] == "failed"


def test_nothing_compared_is_no_pass() -> None:
    made = record(case("graph", FOUND), case("pipeline", BLANK), case("pipeline", BLANK))
    assert not made.passed
    assert made.failures[0].startswith("pipeline parity: nothing was compared, because PyTorch and the backend both")
    assert "--image" in made.failures[0]
    assert record().failures == ("parity: nothing was compared",)


def test_below_fp32_the_metric_decides() -> None:
    far = case("graph", Findings(FOUND.figures, matched=1, failures=("boxes: too far",)))

    def judged(value: float) -> ParityRecord:
        figure = MetricFigure("box AP", "points", 512, 70.0, value, 0.3)
        return ParityRecord(merged_gates(precision="fp16"), (far,), metric=(figure,))

    assert judged(69.8).verdict == "passed"
    assert json.loads(dump_json(judged(69.8).to_dict()))["metric"][0]["passed"]
    missed = judged(70.4)
    assert missed.failures == ("metric: box AP 70.40 on 512 images, PyTorch 70.00: difference +0.40 points, gate 0.3",)
    assert not judged(float("nan")).passed
    unjudged = ParityRecord(merged_gates(precision="fp16"), (far,), metric="nothing was measured", allowed=True)
    assert (unjudged.verdict, unjudged.failures) == ("failed-allowed", ("metric: nothing was measured",))


def test_recorded_figures_have_no_gate_but_those_of_the_input() -> None:
    same = Figure("input", "grey levels", 0.1, 0.1, None, 1, 0.99)
    given = case("pipeline", Findings(figures=(*FOUND.figures, same)))
    assert [figure.gate for figure in recorded(given).findings.figures] == [None, 0.99]


@pytest.mark.parametrize(
    ("findings", "words"),
    [
        (Findings.broken(("boxes: another shape",)), "boxes: another shape"),
        (Findings((Figure("boxes", "px", None, None, None, 1, None),)), "boxes: NaN or infinity"),
        (BLANK, "nothing was compared"),
    ],
)
def test_what_no_precision_excuses(findings: Findings, words: str) -> None:
    figure = MetricFigure("box AP", "points", 512, 70.0, 70.0, 0.3)
    made = ParityRecord(merged_gates(precision="fp16"), (case("graph", findings),), metric=(figure,))
    assert made.verdict == "failed"
    assert words in made.failures[0]


def test_the_metric_counts_what_the_task_takes() -> None:
    figure = MetricFigure("box AP", "points", 16, 70.0, 60.0, 0.3)
    cases = (case("graph", FOUND),)
    made = ParityRecord(merged_gates(precision="fp16"), cases, metric=(figure,), inputs="point clouds")
    assert made.failures[-1].startswith("metric: box AP 60.00 on 16 point clouds, PyTorch 70.00")


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_metric_of_a_model_that_finds_nothing_passes_nothing(value: float) -> None:
    figure = MetricFigure("box AP", "points", 512, value, value, 0.3)
    assert figure.sentence("images").endswith("gate 0.3: PyTorch itself is not above 0, so nothing is proved")
    assert not ParityRecord(merged_gates(precision="fp16"), (case("graph", FOUND),), metric=(figure,)).passed
    assert not ParityRecord(merged_gates(precision="fp16"), (case("graph", FOUND),), metric=()).passed


def test_figures_of_one_name_become_the_worst() -> None:
    worse = Figure("boxes", "px", 0.04, 0.004, 0.9, 30, 0.05)
    merged = merge_figures((FOUND.figures[0], worse, Figure("scores", "", 0.0, 0.0, None, 1, 1.0)))
    assert [figure.name for figure in merged] == ["boxes", "scores"]
    assert (merged[0].max_error, merged[0].cosine, merged[0].count) == (0.04, 0.9, 40)
    assert merged[0].mean_error == pytest.approx(0.00325)
    broken = merge_figures((worse, Figure("boxes", "px", None, None, None, 5, 0.05)))
    assert not broken[0].passed


def test_json_is_sorted_and_has_no_nan() -> None:
    text = dump_json(record(case("graph", FOUND), case("pipeline", FOUND)).to_dict())
    content = json.loads(text)
    assert text == json.dumps(content, indent=2, sort_keys=True) + "\n"
    assert content["verdict"] == "passed"
    assert content["summary"]["graph"]["figures"][0]["passed"] is True
    assert content["cases"][0]["findings"]["borderline"] == [{"what": "label 1", "reason": "score at the threshold"}]
    with pytest.raises(ValueError, match="JSON"):
        dump_json({"bad": float("nan")})


def test_gates_of_a_config_go_over_the_defaults() -> None:
    assert merged_gates()["graph"] == GRAPH
    assert merged_gates(precision="int8")["metric"] == METRIC["int8"] != merged_gates()["metric"]
    assert merged_gates({"graph": {"boxes": 1}})["graph"]["boxes"] == 1.0
    assert merged_gates({"graph": {"boxes": 1}})["graph"]["scores"] == GRAPH["scores"]


def test_faults_of_gates_are_shown_together() -> None:
    with pytest.raises(InputError) as caught:
        merged_gates({"grahp": {}, "graph": {"box": 1, "scores": -1, "logits": True}, "pipeline": 3})
    message = str(caught.value)
    assert 'unknown comparison "grahp"; nearest: "graph"' in message
    assert 'unknown gate "graph.box"; nearest: "boxes"' in message
    assert '"graph.scores": expected a positive number, got -1' in message
    assert '"graph.logits": expected a positive number, got True' in message
    assert '"pipeline": expected a dict of gates, got 3' in message


def test_the_gate_of_a_metric_is_that_of_its_unit() -> None:
    gates = merged_gates({"metric": {"points": 0.2}}, own={"metric": {"degrees": 0.5}})
    assert [metric_gate(gates, unit) for unit in ("points", "dB", "degrees")] == [0.2, 0.01, 0.5]
    with pytest.raises(
        InputError, match=r'no gate for a metric in "metres"; give the task gates=\{"metric": \{"metres"'
    ):
        metric_gate(gates, "metres")
