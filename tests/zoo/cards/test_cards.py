"""The zoo's cards: what is shipped is measured and shown as it is now, and what is not says how to fix it."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.zoo.cards.tiny_zoo import BASE, CONFIG, MEASURED, TinyZoo
from tests.zoo.cards.training_records import record
from zoo import list_models
from zoo.cards import BackendFigures, Measured, fingerprint, measured_file, pages, problems, read_card, table
from zoo.cards.pages import BEGIN, END
from zoo.config import load_config
from zoo.config.located import is_address
from zoo.datasets import DIGITS_ROOT
from zoo.datasets.digits.cache import ANNOTATIONS
from zoo.datasets.digits.cache import SHIPPED as SHIPPED_DIGITS
from zoo.datasets.photographs.super_resolution_folder import PHOTOGRAPHS_ROOT
from zoo.datasets.streets.splits import SHIPPED as SHIPPED_STREETS
from zoo.datasets.streets.splits import STREETS_ROOT
from zoo.datasets.streets.stored import SCENES
from zoo.errors import InputError
from zoo.generated_data import DIGITS, PHOTOGRAPHS, STREETS

ROOT = Path(__file__).parents[3]
CONFIGS = list_models(ROOT / "configs")
UPDATE = "run python tools/update_zoo.py"

numbers = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(max_size=8)
rows = st.builds(
    BackendFigures,
    name=names,
    figures=st.dictionaries(names, st.none() | numbers, max_size=3),
    difference=st.none() | numbers,
    interval=st.none() | st.tuples(numbers, numbers),
    gate=st.none() | numbers,
)
measurements = st.builds(
    Measured,
    checkpoint_sha256=st.none() | names,
    input_size=st.tuples(st.integers(32, 4096), st.integers(32, 4096)),
    rows=st.lists(rows, max_size=3).map(tuple),
    machine=st.dictionaries(names, names | st.integers() | st.dictionaries(names, names)),
)


@pytest.fixture
def zoo(tmp_path: Path) -> TinyZoo:
    made = TinyZoo(tmp_path)
    made.make()
    return made


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: Path(path).stem)
class TestShipped:
    def test_is_measured_as_it_is_now(self, path: str) -> None:
        card = read_card(path)
        assert card.problem is None, card.problem
        assert card.state == ("not measured here" if is_address(card.checkpoint) else "measured")

    def test_says_what_it_is(self, path: str) -> None:
        card = read_card(path)
        assert card.what
        assert re.search(r"https://|\d{4}", card.paper), "a paper has an address, or a year"
        assert card.licence


class TestShippedZoo:
    def test_pages_are_what_the_cards_say(self) -> None:
        found = problems([read_card(path) for path in CONFIGS], ROOT)
        assert not found, "; ".join(found)

    def test_names_are_distinguished(self) -> None:
        assert len({measured_file(path) for path in CONFIGS}) == len(CONFIGS)


class TestFingerprint:
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ('"TinySegmentor"', '"TinySegmentor", width=2'),
            ("size=(64, 96)", "size=(64, 64)"),
            ("opset=17", "opset=18"),
        ],
    )
    def test_follows_the_config(self, old: str, new: str, zoo: TinyZoo) -> None:
        before = fingerprint(load_config(zoo.one))
        zoo.one.write_text(CONFIG.replace(old, new), encoding="utf-8")
        assert fingerprint(load_config(zoo.one)) != before

    @pytest.mark.parametrize(("old", "new"), [('name="x"', 'name="y"'), ('"images"', '"p"'), ("s=1)", "s=2)")])
    def test_follows_its_base(self, old: str, new: str, zoo: TinyZoo) -> None:
        before = fingerprint(load_config(zoo.one))
        assert old in BASE
        (zoo.one.parent / "_base_" / "base.py").write_text(BASE.replace(old, new), encoding="utf-8")
        assert fingerprint(load_config(zoo.one)) != before

    def test_follows_the_weights_wherever_they_lie(self, zoo: TinyZoo) -> None:
        before = fingerprint(load_config(zoo.one))
        zoo.weights.rename(zoo.root / "moved.safetensors")
        zoo.one.write_text(CONFIG.replace("weights.s", "../moved.s"), encoding="utf-8")
        assert fingerprint(load_config(zoo.one)) == before
        (zoo.root / "moved.safetensors").write_bytes(b"others")
        assert fingerprint(load_config(zoo.one)) != before

    @pytest.mark.parametrize(("old", "new"), [("iterations=3", "iterations=4"), ("a tiny model", "a model")])
    def test_is_not_about_words_and_recipes(self, old: str, new: str, zoo: TinyZoo) -> None:
        before = fingerprint(load_config(zoo.one))
        assert old in CONFIG
        zoo.one.write_text(CONFIG.replace(old, new), encoding="utf-8")
        assert fingerprint(load_config(zoo.one)) == before

    @pytest.mark.parametrize(
        ("source", "other"),
        [
            (f'"https://x.org/a.pth#sha256={"a" * 64}"', f'"https://x.org/a.pth#sha256={"b" * 64}"'),
            ('"torchvision://A.B"', '"torchvision://A.C"'),
            ("None", '"torchvision://A.B"'),
        ],
    )
    def test_follows_an_address(self, source: str, other: str, zoo: TinyZoo) -> None:
        found = set()
        for checkpoint in (source, other):
            zoo.one.write_text(CONFIG.replace('"weights.safetensors"', checkpoint), encoding="utf-8")
            found.add(fingerprint(load_config(zoo.one)))
        assert len(found) == 2

    @pytest.mark.parametrize(
        ("kind", "file"),
        [
            ("DigitsDetection", "annotations.json"),
            ("DigitsSegmentation", "annotations.json"),
            ("Streets", "scenes.json"),
        ],
    )
    def test_follows_what_a_generated_split_holds(self, kind: str, file: str, zoo: TinyZoo) -> None:
        annotations = zoo.root / "data" / "gate" / file
        annotations.parent.mkdir(parents=True)
        dataset = f'dataset = dict(_delete_=True, type="{kind}", split="gate", root="{zoo.root}/data")'
        zoo.one.write_text(f"{CONFIG}\n{dataset}\n", encoding="utf-8")
        found = {fingerprint(load_config(zoo.one))}
        for text in ("{}", "[]"):
            annotations.write_text(text, encoding="utf-8")
            found.add(fingerprint(load_config(zoo.one)))
        assert len(found) == 3

    def test_knows_where_generated_data_lies(self) -> None:
        assert (DIGITS.root, DIGITS.shipped, DIGITS.description) == (DIGITS_ROOT, SHIPPED_DIGITS, ANNOTATIONS)
        assert (STREETS.root, STREETS.shipped, STREETS.description) == (STREETS_ROOT, SHIPPED_STREETS, SCENES)
        assert PHOTOGRAPHS.root == PHOTOGRAPHS_ROOT
        for data in (DIGITS, STREETS):
            assert (data.root / data.shipped / str(data.description)).is_file()

    def test_a_config_of_more_than_plain_data_is_refused(self, zoo: TinyZoo) -> None:
        zoo.one.write_text(f"{CONFIG}\nmodel['act'] = {{1, 2}}", encoding="utf-8")
        with pytest.raises(InputError, match=r"one.py: .*set.*; a config holds only plain data"):
            fingerprint(load_config(zoo.one))


class TestProblems:
    def test_there_are_none(self, zoo: TinyZoo) -> None:
        assert zoo.problems() == []
        assert [card.state for card in zoo.cards()] == ["measured", "measured"]

    def found(self, zoo: TinyZoo) -> str:
        """What is wrong with the card of "one", which alone has something wrong with it."""
        one, two = zoo.cards()
        assert (two.state, two.problem) == ("measured", None)
        assert one.problem is not None
        assert re.match(rf"{re.escape(str(zoo.one))}[ ,]", one.problem)
        assert "\n" not in one.problem
        assert one.problem in zoo.problems()
        return f"{one.state}: {one.problem}"

    def test_a_config_that_changed(self, zoo: TinyZoo) -> None:
        zoo.one.write_text(CONFIG.replace("(64, 96)", "(96, 64)"), encoding="utf-8")
        assert re.search(rf"stale: .* has changed since it was measured; {UPDATE} .*one.py", self.found(zoo))

    def test_a_checkpoint_that_changed(self, zoo: TinyZoo) -> None:
        zoo.weights.write_bytes(b"others")
        assert [card.state for card in zoo.cards()] == ["stale", "stale"]

    def test_a_checkpoint_that_is_missing(self, zoo: TinyZoo) -> None:
        zoo.one.write_text(CONFIG.replace("weights.s", "weight.s"), encoding="utf-8")
        assert re.search(r"stale: .*weight.safetensors: no such file", self.found(zoo))

    def test_what_was_not_measured(self, zoo: TinyZoo) -> None:
        measured_file(zoo.one, zoo.folder).unlink()
        assert re.search(rf"not measured: .* was not measured; {UPDATE} .*one.py", self.found(zoo))

    def test_weights_that_are_not_shipped_need_no_measurement(self, zoo: TinyZoo) -> None:
        measured_file(zoo.one, zoo.folder).unlink()
        zoo.one.write_text(CONFIG.replace("weights.safetensors", "torchvision://A.B"), encoding="utf-8")
        one, two = zoo.cards()
        assert (one.state, one.problem, two.state) == ("not measured here", None, "measured")
        zoo.write_pages()
        assert zoo.problems() == []
        assert "one.py" not in zoo.readme.read_text(encoding="utf-8")
        docs = zoo.docs.read_text(encoding="utf-8")
        assert "| - | - | - | not measured here | - | - |" in docs
        assert "**Not measured here.**" in docs
        assert "- checkpoint: `torchvision://A.B`" in docs

    def test_weights_that_are_not_shipped_are_judged_where_they_were_measured(self, zoo: TinyZoo) -> None:
        zoo.one.write_text(CONFIG.replace("weights.safetensors", "torchvision://A.B"), encoding="utf-8")
        assert zoo.cards()[0].state == "stale"
        zoo.write_measured(zoo.one)
        assert zoo.cards()[0].state == "measured"

    @pytest.mark.parametrize(
        "content", ["{", "[]", "{}", json.dumps(MEASURED.to_dict() | {"rows": [{}]}), '{"rows": 3}']
    )
    def test_a_file_that_is_no_measurement(self, content: str, zoo: TinyZoo) -> None:
        measured_file(zoo.one, zoo.folder).write_text(content, encoding="utf-8")
        assert re.search(rf"not measured: .*one.json cannot be read .*; {UPDATE}", self.found(zoo))

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (record(b"others").to_json(), "is not the file that its training record describes; python tools/train.py "),
            ("{", r"card \S+weights\.json: not a JSON file .*; expected what tools/train\.py --publish writes"),
        ],
    )
    def test_a_record_of_other_weights(self, content: str, words: str, zoo: TinyZoo) -> None:
        zoo.weights.with_suffix(".json").write_text(content, encoding="utf-8")
        found = [card.problem or "" for card in zoo.cards()]
        assert len(found) == 2
        assert all(re.search(words, problem) for problem in found), found

    def test_a_config_without_card(self, zoo: TinyZoo) -> None:
        zoo.one.write_text(CONFIG.partition("card =")[0], encoding="utf-8")
        assert re.search(
            r"no card: .* has no card; add card=dict\(what=.*\) .* python tools/update_zoo.py", self.found(zoo)
        )

    def test_a_file_without_config(self, zoo: TinyZoo) -> None:
        (zoo.folder / "three.json").write_text("{}", encoding="utf-8")
        assert zoo.problems() == [f"{zoo.folder / 'three.json'} is of no config; remove it"]

    @pytest.mark.parametrize("page", ["readme", "docs"])
    def test_a_page_that_was_edited(self, page: str, zoo: TinyZoo) -> None:
        path: Path = getattr(zoo, page)
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("75.61", "76.61"), encoding="utf-8")
        assert zoo.problems() == [f"{path} is not what the cards say; {UPDATE}"]
        path.write_text(text.replace("After.", "After that."), encoding="utf-8")
        assert zoo.problems() == []  # what stands outside the block is the author's

    def test_a_recipe_that_changed_is_shown(self, zoo: TinyZoo) -> None:
        zoo.one.write_text(CONFIG.replace("iterations=3", "iterations=4"), encoding="utf-8")
        assert zoo.problems() == [f"{zoo.docs} is not what the cards say; {UPDATE}"]


class TestPages:
    def test_show_the_figures(self, zoo: TinyZoo) -> None:
        readme = zoo.readme.read_text(encoding="utf-8")
        row = "semantic-segmentation | a tiny model | 1.23 | 7.65 | 64x96 | mIoU | 75.60 | 75.61 |"
        assert f"| [one](configs/one.py) | {row}\n" in readme
        assert "| metric | pytorch | onnxruntime-fp32 |\n" in readme
        docs = zoo.docs.read_text(encoding="utf-8")
        assert f"| [one](#one) | {row}\n" in docs
        for part in (
            "## one\n",
            "https://example.org/paper",
            "licence: Apache-2.0",
            "[`weights.safetensors`](../configs/weights.safetensors)",
            "ab" * 32,
            '`{"iterations": 3, "scale": [1.0, 2.0]}`',
            "parameters: 1234567\n",
            "input: 64x96 (height x width), 7.654 GFLOPs",
            "| **mIoU** | 75.60 | 75.61 |",
            "| aAcc | 96.76 | - |",
            "| difference, points | - | +0.010 (-0.02 to +0.03) |",
            "| verdict | reference | passed |",
            "On 64 images (ImageFolder, root images), measured 2026-01-02 on an abacus, 2 threads, Python 3.11.7, ",
        ):
            assert part in docs, part

    def test_mark_what_is_stale(self, zoo: TinyZoo) -> None:
        zoo.one.write_text(CONFIG.replace("(64, 96)", "(96, 64)"), encoding="utf-8")
        zoo.write_pages()
        assert "| mIoU (stale) | 75.60 | 75.61 |" in zoo.readme.read_text(encoding="utf-8")
        assert "**Stale.**" in zoo.docs.read_text(encoding="utf-8")
        measured_file(zoo.one, zoo.folder).unlink()
        zoo.write_pages()
        assert "| - | - | - | not measured | - | - |" in zoo.readme.read_text(encoding="utf-8")
        assert "**Not measured.**" in zoo.docs.read_text(encoding="utf-8")

    def test_words_cannot_break_the_table(self, zoo: TinyZoo) -> None:
        zoo.one.write_text(CONFIG.replace("a tiny model", "a | b"), encoding="utf-8")
        zoo.write_pages()
        assert r"| a \| b |" in zoo.readme.read_text(encoding="utf-8")

    def test_the_recipe_of_another_config(self, zoo: TinyZoo) -> None:
        zoo.one.write_text(CONFIG.replace("iterations=3, scale=(1.0, 2.0)", 'config="two.py"'), encoding="utf-8")
        zoo.write_pages()
        assert "training recipe: that of [`two.py`](../configs/two.py)" in zoo.docs.read_text(encoding="utf-8")

    def test_show_how_the_weights_were_made(self, zoo: TinyZoo) -> None:
        assert "### Training" not in zoo.docs.read_text(encoding="utf-8")
        zoo.weights.with_suffix(".json").write_text(record(b"weights").to_json(), encoding="utf-8")
        zoo.write_pages()
        docs = zoo.docs.read_text(encoding="utf-8")
        assert docs.count("### Training\n\n    python tools/train.py configs/segmentation/x.py --publish\n") == 2
        assert "[`weights.safetensors`](../configs/weights.safetensors), 7 bytes, licence: Apache-2.0\n" in docs
        assert "training recipe: " not in docs
        assert zoo.problems() == []

    def test_the_weights_of_another_config_are_described_there(self, zoo: TinyZoo) -> None:
        zoo.weights.with_suffix(".json").write_text(record(b"weights").to_json(), encoding="utf-8")
        zoo.one.write_text(CONFIG.replace("iterations=3, scale=(1.0, 2.0)", 'config="two.py"'), encoding="utf-8")
        zoo.write_pages()
        assert zoo.docs.read_text(encoding="utf-8").count("### Training") == 1

    def test_what_is_outside_the_block_stays(self, zoo: TinyZoo) -> None:
        for page, text in pages(zoo.cards(), zoo.root).items():
            assert text.startswith(f"# Before\n\n{BEGIN}\n")
            assert text.endswith(f"{END}\n\nAfter.\n")
            assert text == page.read_text(encoding="utf-8")  # made twice, it is the same

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "0 times, expected once"),
            (f"{BEGIN}{BEGIN}{END}", "2 times, expected once"),
            (BEGIN, 'got "<!-- end of zoo table -->" 0 times'),
            (f"{END}{BEGIN}", "comes before"),
        ],
    )
    def test_need_both_markers(self, text: str, words: str, zoo: TinyZoo) -> None:
        zoo.readme.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=f"README.md: .*{words}.*; fix the page"):
            pages(zoo.cards(), zoo.root)

    def test_a_missing_page(self, zoo: TinyZoo) -> None:
        zoo.docs.unlink()
        with pytest.raises(InputError, match="zoo.md: no such file; run this in the root"):
            pages(zoo.cards(), zoo.root)


@given(measurements)
def test_what_was_measured_is_written_and_read(measured: Measured) -> None:
    assert Measured.from_dict(json.loads(json.dumps(measured.to_dict()))) == measured


def test_backends_of_all_cards_have_a_column(zoo: TinyZoo) -> None:
    content = zoo.measured(zoo.one).to_dict()
    content["rows"][1]["name"] = "tensorrt-fp16"
    measured_file(zoo.one, zoo.folder).write_text(json.dumps(content), encoding="utf-8")
    heads, (one, two) = table(zoo.cards())
    assert heads[-3:] == ["pytorch", "tensorrt-fp16", "onnxruntime-fp32"]
    assert (one[-3:], two[-3:]) == (["75.60", "75.61", "-"], ["75.60", "-", "75.61"])
