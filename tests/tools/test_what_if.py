"""tools/what_if.py: choices and the search on a tiny model, and its errors, one line each."""

import json
from collections.abc import Callable, Sequence

import pytest

from tests.tools.conftest import in_this_process, tool
from tests.tools.tiny import Run, Tiny

CONFIG = "configs/segmentation/fcn_r18_digits.py"
Tool = Callable[[Sequence[str]], Run]


@pytest.fixture
def what_if(capsys: pytest.CaptureFixture[str]) -> Tool:
    """Run tools/what_if.py in this process."""
    return in_this_process(tool("what_if"), capsys)


def calibrated(voc: Tiny, *more: str) -> list[str]:
    """The tiny config, on training pictures of its own."""
    return [str(voc.config), "--calibration-image", str(voc.folder / "training"), *more]


def test_choices_are_judged_by_the_metric(voc: Tiny, what_if: Tool) -> None:
    done = voc.folder / "done.json"
    run = what_if(calibrated(voc, "--keep-fp32", "conv", "--json", str(done)))
    assert run.code == 0, run.err
    found = json.loads(done.read_text(encoding="utf-8"))
    nothing, kept = found["trials"]
    assert (nothing["keep_fp32"], kept["keep_fp32"]) == ([], ["conv"])
    assert nothing["layers"]["int8"] > 0
    assert "int8" not in kept["layers"]  # its only layer is kept, so that nothing is lost
    assert kept["value"] == found["reference"] > 0
    assert found["needed"] is None
    assert "kept in fp32" in run.out
    assert found["judge"]["images"] == 7


def test_what_must_stay_is_searched_by_matched_results(tiny: Tiny, what_if: Tool) -> None:
    done = tiny.folder / "done.json"
    pictures = list(map(str, tiny.images))
    given = [str(tiny.config), "--calibration-image", *pictures, "--image", *pictures, "--judge", "matched"]
    run = what_if([*given, "--tolerance", "1e-9", "--json", str(done)])
    assert run.code == 0, run.err
    found = json.loads(done.read_text(encoding="utf-8"))
    assert found["reference"] == 100
    if found["trials"][0]["within"]:  # whether a pixel changes is the processor's
        assert found["needed"] == []
    else:
        assert found["needed"] == ["conv"]
        assert 'keep_fp32=["conv"]' in run.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--limit", "0"], "--limit 0: expected 1 or more"),
        (["--tolerance", "-1"], "--tolerance -1: expected more than 0"),
        (["--keep-fp32", "layer1", "--depth", "3"], "--depth is of the search, and --keep-fp32 gives the choices"),
    ],
)
def test_a_wrong_value_is_one_line(what_if: Tool, arguments: list[str], words: str) -> None:
    run = what_if([CONFIG, *arguments])
    assert run.code == 2
    assert words in run.err
    assert run.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--judge", "matched"], "matched results have no gate; give --tolerance"),
        ([], "no dataset and evaluator to judge by; add them, or give --judge matched"),
    ],
)
def test_what_cannot_be_judged_is_one_line(tiny: Tiny, what_if: Tool, arguments: list[str], words: str) -> None:
    pictures = list(map(str, tiny.images))
    images = ["--image", *pictures] if arguments else []
    run = what_if([str(tiny.config), "--calibration-image", *pictures, *images, *arguments])
    assert run.code == 2
    assert words in run.err


def test_an_unknown_module_names_the_nearest(voc: Tiny, what_if: Tool) -> None:
    run = what_if(calibrated(voc, "--keep-fp32", "covn"))
    assert run.code == 5
    assert 'no node is of a module "covn"; nearest: "conv"' in run.err
