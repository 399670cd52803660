"""The card as data: read as it was written, and rendered without a fact more or less."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.training import CheckpointCard, checkpoint_page, rounded
from pipeline.training.checkpoint_card import differences
from tests.pipeline.training.cards import CONFIG, again, card, run
from zoo.errors import InputError

POINTS = st.floats(0, 100) | st.just(math.nan)
FIGURES = st.dictionaries(st.text(min_size=1), st.dictionaries(st.text(min_size=1), POINTS))


@given(figures=FIGURES, minutes=st.floats(0, 1e4), remark=st.text(), amp=st.booleans())
def test_read_gives_what_was_written(
    figures: dict[str, dict[str, float]],
    minutes: float,
    remark: str,
    amp: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("card") / "x.json"
    training = run(minutes=round(minutes, 1), remark=remark, amp=amp)
    made = card(figures=rounded(figures), training=training, reproduced=(again(),))
    path.write_text(made.to_json(), encoding="utf-8")
    assert CheckpointCard.read(path) == made


def test_figures_are_rounded_and_nothing_to_judge_is_null() -> None:
    assert rounded({CONFIG: {"a": 1.23456, "b": math.nan}}) == {CONFIG: {"a": 1.23, "b": None}}


def test_differences() -> None:
    ours = {CONFIG: {"a": 60.1, "b": None, "c": 5.0}}
    theirs = {CONFIG: {"a": 62.0, "b": 1.0, "c": None}}
    assert differences(ours, theirs) == {CONFIG: {"a": -1.9, "b": None, "c": None}}


def test_the_same_weights_are_listed_once() -> None:
    first = card().with_reproduction(again(sha256="1" * 64)).with_reproduction(again(sha256="2" * 64))
    assert [entry.sha256[0] for entry in first.reproduced] == ["1", "2"]
    newer = first.with_reproduction(again(sha256="1" * 64, main=61.0))
    assert [entry.sha256[0] for entry in newer.reproduced] == ["2", "1"]
    assert newer.reproduced[1].figures[CONFIG]["segmentation/mIoU"] == 61.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"x\.json is not as tools/train\.py --publish writes it: JSONDecodeError"),
        ("[]", r"is not as tools/train\.py"),
        ("{}", r"KeyError: 'training'"),
        (card().to_json().replace('"licence"', '"license"'), r"unexpected keyword argument 'license'"),
        (
            card().to_json().replace('"seed": 0,\n    "iterations": 4,\n    "min', '"iterations": 4,\n    "min'),
            "'seed'",
        ),
    ],
)
def test_what_is_no_card(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        CheckpointCard.read(tmp_path / "x.json")


def test_no_card() -> None:
    with pytest.raises(
        InputError, match=r"none\.json: no such file; python tools/train\.py CONFIG --publish writes it"
    ):
        CheckpointCard.read(Path("none.json"))


class TestPage:
    def test_it_has_every_fact(self) -> None:
        made = replace(card(), reproduced=(again(change=-0.5), again(sha256=card().sha256)))
        page = checkpoint_page(made)
        for fact in (
            "# x\n",
            "`x.safetensors`, 7 bytes",
            made.sha256,
            "parameters: 7",
            f"| `{CONFIG}` | segmentation/mIoU | 59.50 |",
            f"| `{CONFIG}` | segmentation/mAcc | nothing to judge |",
            "seed 0; 4 of 4 iterations",
            "12 minutes on 2 CPU cores\n",
            "start: random weights",
            f"- `{CONFIG}`: 512 images of DigitsSegmentation (split gate)\n",
            "schedule: 1 iterations of warm-up, then a half cosine to 0 at 4\n",
            "torch 2.15.0, Python 3.11.7",
            f"| 1 | `{CONFIG}` | segmentation/mIoU | 60.00 | -0.50 |",
            f"| 2 | `{CONFIG}` | segmentation/mIoU | 60.00 | +0.50 |",
        ):
            assert fact in page
        assert re.search(r"^1\. seed 0, 4 iterations, .*: other weights$", page, re.MULTILINE)
        assert re.search(r"^2\. seed 0, 4 iterations, .*: the published weights, to the bit$", page, re.MULTILINE)

    def test_it_says_where_and_how_it_was_trained(self) -> None:
        page = checkpoint_page(card(training=run(device="NVIDIA H100", amp=True, remark="alone")))
        assert "12 minutes on NVIDIA H100, mixed precision, alone\n" in page

    def test_it_says_from_which_backbone_and_that_it_was_resumed(self) -> None:
        training = run(backbone_sha256="ab" * 32, resumed=1)
        page = checkpoint_page(card(training=training, recipe={**card().recipe, "backbone": "../x/y.safetensors"}))
        assert f"start: the backbone of `y.safetensors` (sha256 `{'ab' * 32}`)\n" in page
        assert "2 CPU cores, resumed once\n" in page
        twice = checkpoint_page(card(reproduced=(replace(again(), resumed=2),)))
        assert "1. seed 0, 4 iterations, 12 minutes on 2 CPU cores, resumed 2 times, " in twice

    @pytest.mark.parametrize(
        ("warmup", "words"), [(0, "a half cosine to 0 at 4"), (4, "a constant rate"), (9, "a constant rate")]
    )
    def test_it_says_how_the_rate_went(self, warmup: int, words: str) -> None:
        assert f"- schedule: {words}\n" in checkpoint_page(card(recipe={**card().recipe, "warmup": warmup}))

    def test_it_says_where_the_recipe_is_not_on_record(self) -> None:
        words = "its checkpoint is older than the record of recipes"
        assert words not in checkpoint_page(card(reproduced=(again(),)))
        assert words in checkpoint_page(card(training=run(recipe=None)))
        assert words in checkpoint_page(card(reproduced=(replace(again(), recipe=None),)))

    def test_without_reproductions_there_is_no_table_of_them(self) -> None:
        assert "Made again" not in checkpoint_page(card())

    def test_it_follows_from_the_json_alone(self, tmp_path: Path) -> None:
        made = card(reproduced=(again(),), recipe={**card().recipe, "also": ("y.py",), "crop": (64, 64)})
        (tmp_path / "x.json").write_text(made.to_json(), encoding="utf-8")
        assert checkpoint_page(CheckpointCard.read(tmp_path / "x.json")) == checkpoint_page(made)
        json.loads(made.to_json(), parse_constant=pytest.fail)
