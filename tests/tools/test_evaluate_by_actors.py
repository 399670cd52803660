"""`zooport evaluate --engine ray` with actors in this process: the figures of one process."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pipeline.base.weights import weights_sha256
from pipeline.evaluation import by_actors
from pipeline.evaluation.actor import ReferenceSubject
from pipeline.evaluation.by_actors import _block_size
from pipeline.evaluation.input_policy import default_policy
from pipeline.evaluation.plan import plan_evaluation
from tests.tools.tiny import SAMPLE_IMAGES, Run, Tiny, TinySegmentor
from zoo.config import load_config
from zoo.errors import InputError

pytestmark = pytest.mark.usefixtures("no_plots")
Evaluate = Callable[[Sequence[str]], Run]
RAY = ("--engine", "ray")


class Pool:
    """In place of Ray: two actors in turns, whose blocks come last first; interrupted after `stop_after` of them."""

    def __init__(self) -> None:
        self.numbers: list[list[int]] = []
        self.stop_after: int | None = None

    @contextmanager
    def cluster(self, address: str | None) -> Iterator[Any]:
        yield SimpleNamespace(put=lambda value: value, nodes=lambda: [{"Alive": True, "Resources": {"CPU": 2}}])

    def computed(self, ray: Any, worker: type, arguments: Any, rows: Any, actors: Any) -> Iterator[dict[str, Any]]:
        assert actors.size == 2
        workers = [worker(arguments[0], lambda reference: reference[0]) for _ in range(2)]
        for place, row in enumerate(reversed(list(rows))):
            if place == self.stop_after:
                raise KeyboardInterrupt
            self.numbers.append(json.loads(row["numbers"]))
            answer = workers[place % 2]({name: [value] for name, value in row.items()})
            yield {name: value for name, (value,) in answer.items()}


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    made = Pool()
    monkeypatch.setattr(by_actors, "cluster", made.cluster)
    monkeypatch.setattr(by_actors, "computed", made.computed)
    return made


def rows(evaluate: Evaluate, tiny: Tiny, *more: object, code: int = 0) -> list[dict[str, Any]]:
    file = tiny.folder / "rows.json"
    run = evaluate([*tiny.arguments(*more), "--json", str(file)])
    assert run.code == code, run.err
    found: list[dict[str, Any]] = json.loads(file.read_text())["rows"]
    return found


def figures(found: Sequence[dict[str, Any]]) -> list[Any]:
    return [[row[key] for key in ("name", "figures", "difference", "interval", "gate", "verdict")] for row in found]


def test_the_figures_of_one_process(voc: Tiny, evaluate: Evaluate, pool: Pool) -> None:
    expected = figures(rows(evaluate, voc))
    assert figures(rows(evaluate, voc, *RAY)) == expected
    assert sorted(chain(*pool.numbers[:7])) == list(range(7))
    assert len(pool.numbers) == 2 * 7, "each model in blocks of one image"
    pool.numbers.clear()
    assert figures(rows(evaluate, voc, *RAY, "--batch-size", 3)) == expected
    assert sorted(map(len, pool.numbers)) == [1, 1, 3, 3, 3, 3]
    limited = rows(evaluate, voc, "--limit", 3)
    assert figures(rows(evaluate, voc, *RAY, "--limit", 3)) == figures(limited) != expected


def test_what_was_interrupted_continues_by_either_engine(voc: Tiny, evaluate: Evaluate, pool: Pool) -> None:
    expected = figures(rows(evaluate, voc))
    pool.stop_after = 3
    run = evaluate(voc.arguments(*RAY))
    assert (run.code, run.err) == (130, "interrupted; continue with --resume\n")
    pool.stop_after = None
    pool.numbers.clear()
    found = rows(evaluate, voc, *RAY, "--resume")
    assert found[0]["images_resumed"] == 3
    assert sorted(chain(*pool.numbers[:4])) == [0, 1, 2, 3], "the last three were done"
    assert figures(found) == expected
    again = rows(evaluate, voc, "--resume")
    assert [row["images_resumed"] for row in again] == [7, 7]
    assert figures(again) == expected


def test_an_engine_continues_the_other_on_a_device_that_pytorch_does_not_have(
    voc: Tiny, evaluate: Evaluate, pool: Pool
) -> None:
    on_auto = ("--backend", "openvino", "--device", "auto", "--limit", 3)
    expected = figures(rows(evaluate, voc, *on_auto))
    found = rows(evaluate, voc, *on_auto, *RAY, "--resume")
    assert [row["images_resumed"] for row in found] == [3, 3]
    assert figures(found) == expected


def test_a_data_set_without_a_metric(tiny: Tiny, evaluate: Evaluate, pool: Pool) -> None:
    tiny.write(SAMPLE_IMAGES)
    (row,) = rows(evaluate, tiny, *RAY, "--limit", 3, "--backend", "pytorch")
    assert row["figures"] == {}
    assert row["latency_ms"]["p50"] > 0


def test_what_an_actor_refuses_is_the_error_of_one_process(voc: Tiny, evaluate: Evaluate, pool: Pool) -> None:
    image = voc.folder / "voc/JPEGImages/4.jpg"
    image.write_bytes(image.read_bytes()[:-200])
    here, there = evaluate(voc.arguments("--backend", "pytorch")), evaluate(voc.arguments("--backend", "pytorch", *RAY))
    assert (here.code, here.err) == (there.code, there.err)
    assert (there.code, there.err.count("\n")) == (2, 1)
    assert "4.jpg" in there.err


def test_a_machine_of_the_cluster_without_the_device(
    voc: Tiny, evaluate: Evaluate, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    run = evaluate(voc.arguments("--backend", "pytorch", "--device", "cuda", *RAY))
    assert (run.code, run.err.count("\n")) == (4, 1)
    assert "device cuda: PyTorch finds 0 CUDA devices here; give --device cpu" in run.err


def test_other_weights_on_a_machine_of_the_cluster(voc: Tiny) -> None:
    config = load_config(voc.config)
    plan = plan_evaluation(config, voc.work_dir, limit=None, gate_split=False)
    weights = weights_sha256(TinySegmentor())
    with ReferenceSubject(default_policy(config), 1, "cpu", None, weights).opened(plan, lambda _: None) as model:
        assert model.name == "pytorch"
    with pytest.raises(InputError, match=r"tiny\.safetensors: has other weights on a machine of the cluster"):
        ReferenceSubject(default_policy(config), 1, "cpu", None, "other").opened(plan, lambda _: None)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--engine", "spark"), '--engine "spark": expected one of local, ray'),
        (("--workers", "2"), "--workers is for --engine ray; add that, or leave it out"),
        (("--address", "auto"), "--address is for --engine ray; add that, or leave it out"),
        ((*RAY, "--workers", "0"), "--workers 0: expected 1 or more"),
        ((*RAY, "--gpus", "0"), "--gpus 0: expected for each actor a share from 0.01 to 1, or an integer up to 1024"),
        ((*RAY, "--address", "head"), "--address head: expected ray://HOST:10001, HOST:6379, or auto"),
        ((*RAY, "--show-dir", "drawn"), "--show-dir with --engine ray, whose actors draw nothing; leave it out"),
        ((*RAY, "--launcher", "pytorch"), "--launcher pytorch with --engine ray: give one of the two"),
        (
            (*RAY, "--workers", "3"),
            "--workers 3: each actor takes 1 CPU, and the cluster has 2 CPUs, so 1 of them would never start",
        ),
    ],
)
def test_wrong_arguments(voc: Tiny, evaluate: Evaluate, pool: Pool, flags: tuple[str, ...], message: str) -> None:
    run = evaluate(voc.arguments(*flags))
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert run.err.startswith(f"error: {message}")
    assert not Path("drawn").exists()
    assert not voc.place.exists(), "before anything is deployed"


def test_blocks_are_whole_batches() -> None:
    assert [_block_size(images, 2, 1) for images in (1, 100, 10_000)] == [1, 13, 32]
    assert [_block_size(images, 2, 8) for images in (1, 100, 10_000)] == [8, 16, 32]
    assert _block_size(10_000, 2, 64) == 64
