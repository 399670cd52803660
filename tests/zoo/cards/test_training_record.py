"""How weights were made, as data: read as it was written, and shown without a fact more or less."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.zoo.cards.training_records import CONFIG, again, record, run
from zoo.cards import TrainingRecord
from zoo.cards.training_section import training_section
from zoo.errors import InputError
from zoo.input_kinds import input_kind

POINTS = st.floats(0, 100) | st.none()
ROOT = Path(__file__).parents[3]
FIGURES = st.dictionaries(st.text(min_size=1), st.dictionaries(st.text(min_size=1), POINTS))


@given(figures=FIGURES, minutes=st.floats(0, 1e4), remark=st.text(), amp=st.booleans())
def test_read_gives_what_was_written(
    figures: dict[str, dict[str, float | None]],
    minutes: float,
    remark: str,
    amp: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("card") / "x.json"
    training = run(minutes=round(minutes, 1), remark=remark, amp=amp)
    made = record(figures=figures, training=training, reproduced=(again(),))
    path.write_text(made.to_json(), encoding="utf-8")
    assert TrainingRecord.read(path) == made


def test_the_same_weights_are_listed_once() -> None:
    first = record().with_reproduction(again(sha256="1" * 64)).with_reproduction(again(sha256="2" * 64))
    assert [entry.sha256[0] for entry in first.reproduced] == ["1", "2"]
    newer = first.with_reproduction(again(sha256="1" * 64, main=61.0))
    assert [entry.sha256[0] for entry in newer.reproduced] == ["2", "1"]
    assert newer.reproduced[1].figures[CONFIG]["segmentation/mIoU"] == 61.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"card .*x\.json: not a JSON file .*; expected what tools/train\.py --publish writes"),
        ("[]", r"got a JSON list, expected an object; expected what tools/train\.py"),
        ("{}", r"KeyError: 'training'"),
        (record().to_json().replace('"licence"', '"license"'), r"unexpected keyword argument 'license'"),
        (
            record().to_json().replace('"seed": 0,\n    "iterations": 4,\n    "min', '"iterations": 4,\n    "min'),
            "'seed'",
        ),
    ],
)
def test_what_is_no_record(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        TrainingRecord.read(tmp_path / "x.json")


def test_no_record() -> None:
    with pytest.raises(
        InputError, match=r"none\.json: no such file; python tools/train\.py CONFIG --publish writes it"
    ):
        TrainingRecord.read(Path("none.json"))


def link(path: Path) -> str:
    return f"../{path.relative_to(ROOT).as_posix()}"


def shown(training: TrainingRecord, kind: str = "image") -> str:
    return "\n".join([*training_section(training, input_kind(kind), link), ""])


class TestPage:
    def test_it_has_every_fact(self) -> None:
        made = replace(record(), reproduced=(again(change=-0.5), again(sha256=record().sha256)))
        page = shown(made)
        for fact in (
            "\n    python tools/train.py configs/segmentation/x.py --publish\n",
            "- data: 2 `train` scenes of the digits ([card](../zoo/data/digits/README.md)), never mirrored.\n",
            "a norm of 10\n",
            "seed 0; 4 of 4 iterations",
            "12 minutes on 2 CPU cores\n",
            "start: random weights",
            "schedule: 1 iterations of warm-up, then a half cosine to 0 at 4\n",
            "torch 2.15.0, Python 3.11.7",
            f"| 1 | `{CONFIG}` | segmentation/mIoU | 60.00 | -0.50 |",
            f"| 2 | `{CONFIG}` | segmentation/mIoU | 60.00 | +0.50 |",
        ):
            assert fact in page
        assert re.search(r"^1\. seed 0, 4 iterations, .*: other weights$", page, re.MULTILINE)
        assert re.search(r"^2\. seed 0, 4 iterations, .*: the published weights, to the bit$", page, re.MULTILINE)

    def test_it_says_which_data_of_ones_own(self) -> None:
        own = {
            "num_scenes": None,
            "val_interval": 9,
            "load_from": "../x/y.pth",
            "train_dataset": {"type": "CocoDetection", "images": "train", "annotations": "train.json"},
        }
        page = shown(record(recipe={**record().recipe, **own}))
        for fact in (
            "- data: CocoDetection, images train, annotations train.json, never mirrored\n",
            "- weights: the best of the validations on the config's `dataset`, one every 9 iterations\n",
            "- batch: 2 tensors of 64x64 (height x width)\n",
            "- scale: as the config's `preprocess` says, times 1.0 to 1.0\n",
            "- start: the weights of `y.pth`\n",
        ):
            assert fact in page
        assert "photograph" not in page
        del own["train_dataset"]
        assert "- data: the config's `train_dataset`, never" in shown(record(recipe={**record().recipe, **own}))

    def test_of_point_clouds_it_has_no_sizes_in_pixels(self) -> None:
        own = {
            "crop": None,
            "size": None,
            "num_scenes": None,
            "val_interval": 9,
            "mirror": True,
            "turn": 20.0,
            "train_dataset": {"type": "Streets", "split": "train"},
        }
        page = shown(record(recipe={**record().recipe, **own}), "points")
        assert (
            "- data: Streets, split train ([card](../zoo/data/streets/README.md)), half of it mirrored, turned by up "
            "to 20 degrees\n"
        ) in page
        assert "- batch: 2 point clouds\n- scale: the point cloud, times 1.0 to 1.0\n" in page

    def test_it_says_where_and_how_it_was_trained(self) -> None:
        page = shown(record(training=run(device="NVIDIA H100", amp=True, remark="alone")))
        assert "12 minutes on NVIDIA H100, mixed precision, alone\n" in page
        assert "12 minutes on 1 CPU core\n" in shown(record(training=run(threads=1)))

    def test_it_says_from_which_backbone_and_that_it_was_resumed(self) -> None:
        training = run(backbone_sha256="ab" * 32, resumed=1)
        page = shown(record(training=training, recipe={**record().recipe, "backbone": "../x/y.safetensors"}))
        assert f"start: the backbone of `y.safetensors` (sha256 `{'ab' * 32}`)\n" in page
        assert "2 CPU cores, resumed once\n" in page
        twice = shown(record(reproduced=(replace(again(), resumed=2),)))
        assert "1. seed 0, 4 iterations, 12 minutes on 2 CPU cores, resumed 2 times, " in twice

    @pytest.mark.parametrize(
        ("warmup", "words"), [(0, "a half cosine to 0 at 4"), (4, "a constant rate"), (9, "a constant rate")]
    )
    def test_it_says_how_the_rate_went(self, warmup: int, words: str) -> None:
        assert f"- schedule: {words}\n" in shown(record(recipe={**record().recipe, "warmup": warmup}))

    def test_it_says_where_the_recipe_is_not_on_record(self) -> None:
        words = "its checkpoint is older than the record of recipes"
        assert words not in shown(record(reproduced=(again(),)))
        assert words in shown(record(training=run(recipe=None)))
        assert words in shown(record(reproduced=(replace(again(), recipe=None),)))

    def test_without_reproductions_there_is_no_table_of_them(self) -> None:
        assert "Reproductions" not in shown(record())

    def test_it_follows_from_the_json_alone(self, tmp_path: Path) -> None:
        made = record(reproduced=(again(),), recipe={**record().recipe, "also": ("y.py",), "crop": (64, 64)})
        (tmp_path / "x.json").write_text(made.to_json(), encoding="utf-8")
        assert shown(TrainingRecord.read(tmp_path / "x.json")) == shown(made)
        json.loads(made.to_json(), parse_constant=pytest.fail)
