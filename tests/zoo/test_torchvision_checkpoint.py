"""torchvision:// checkpoints of the zoo's own configs: found where a download lies, fetched by a network that is faked.

No test here reaches torchvision's host but the last one. The weights are random; their file has the name that
torchvision's would have, with the hash of what is in it.
"""

import hashlib
import io
import itertools
from collections.abc import Callable
from http.client import IncompleteRead
from pathlib import Path
from types import SimpleNamespace
from typing import Self
from urllib.error import URLError

import pytest
import torch
from torch import nn
from torchvision.models import get_weight

from tests.examples import slow_but
from zoo import build_model
from zoo.checkpoint import load_checkpoint
from zoo.errors import InputError

CONFIGS = Path(__file__).parents[2] / "configs"
LRASPP = CONFIGS / "segmentation" / "lraspp_mobilenet-v3-large_coco-voc.py"  # the smallest file
WEIGHTS = {
    LRASPP: "LRASPP_MobileNet_V3_Large_Weights.COCO_WITH_VOC_LABELS_V1",
    CONFIGS / "detection" / "ssdlite320_mobilenet-v3-large_coco.py": "SSDLite320_MobileNet_V3_Large_Weights.COCO_V1",
    CONFIGS / "detection" / "faster-rcnn_mobilenet-v3-large-fpn-320_coco.py": (
        "FasterRCNN_MobileNet_V3_Large_320_FPN_Weights.COCO_V1"  # frozen batch norm
    ),
}
SOURCE = f"torchvision://{WEIGHTS[LRASPP]}"

Place = Callable[[str, bytes], Path]
Answer = Callable[[], bytes]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Gives weights the address of a host that refuses and a file name of the hash; says where a download would lie."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(torch.hub, "_hub_dir", None)

    def named(name: str, content: bytes) -> Path:
        file = f"made-{hashlib.sha256(content).hexdigest()[:8]}.pth"
        monkeypatch.setattr(get_weight(name).value, "url", f"https://127.0.0.1:1/models/{file}")
        return tmp_path / "hub" / "checkpoints" / file

    return named


def saved(model: nn.Module, *, archive: bool = True) -> bytes:
    """What torch.save writes; not as an archive, as it did before 1.6, when some of torchvision's files were made."""
    stream = io.BytesIO()
    torch.save(model.state_dict(), stream, _use_new_zipfile_serialization=archive)
    return stream.getvalue()


def seeded(config: Path, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return build_model(config, weights=False)


def same(one: nn.Module, other: nn.Module) -> bool:
    mine, theirs = one.state_dict(), other.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


def answer_with(monkeypatch: pytest.MonkeyPatch, *answers: Answer) -> list[str]:
    """In the place of urlopen: a fake whose answers are read one after the other, then nothing; what was asked for."""
    asked: list[str] = []

    class FakeResponse:
        def __init__(self) -> None:
            self.parts = itertools.chain(answers, itertools.repeat(lambda: b""))

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None: ...

        def info(self) -> SimpleNamespace:
            return SimpleNamespace(get_all=lambda _header: None)

        def read(self, _size: int) -> bytes:
            return next(self.parts)()

    def fake_urlopen(request: object) -> FakeResponse:
        asked.append(request.full_url)  # type: ignore[attr-defined]
        return FakeResponse()

    monkeypatch.setattr(torch.hub, "urlopen", fake_urlopen)
    return asked


def broken() -> bytes:
    raise IncompleteRead(b"", 10)


@pytest.mark.parametrize(
    ("config", "archive"),
    slow_but(itertools.product(WEIGHTS, (True, False)), (LRASPP, True), (LRASPP, False)),
    ids=lambda value: value.stem if isinstance(value, Path) else None,
)
def test_a_config_takes_the_file_that_is_there(config: Path, archive: bool, place: Place) -> None:
    source = seeded(config, 1)
    content = saved(source, archive=archive)
    path = place(WEIGHTS[config], content)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert not same(seeded(config, 2), source)
    assert same(build_model(config), source)


def test_a_download_is_kept(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    source = seeded(LRASPP, 1)
    content = saved(source)
    path = place(WEIGHTS[LRASPP], content)
    asked = answer_with(monkeypatch, lambda: content[:1000], lambda: content[1000:])
    for _ in range(2):
        assert same(build_model(LRASPP), source)
    assert asked == [f"https://127.0.0.1:1/models/{path.name}"]
    assert list(path.parent.iterdir()) == [path]


def test_a_host_that_refuses(place: Place) -> None:
    path = place(WEIGHTS[LRASPP], b"")
    with pytest.raises(InputError) as error:
        build_model(LRASPP)
    message = str(error.value)
    assert message.startswith(f"checkpoint https://127.0.0.1:1/models/{path.name} cannot be downloaded: ")
    assert "refused" in message
    assert message.endswith(f"; without a network, put the file at {path}")
    assert "\n" not in message
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([lambda: b"half", broken], "IncompleteRead"),
        ([lambda: b"another file"], r'invalid hash value \(expected "[0-9a-f]{8}", got'),
        ([], "invalid hash value"),
    ],
)
def test_what_is_not_whole_is_not_kept(
    answers: list[Answer], reason: str, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place(WEIGHTS[LRASPP], b"the right file")
    answer_with(monkeypatch, *answers)
    with pytest.raises(InputError, match=f"cannot be downloaded: {reason}.*put the file at"):
        load_checkpoint(nn.Conv2d(3, 3, 3), SOURCE)
    assert not list(path.parent.iterdir())


def test_a_folder_that_cannot_be_made(place: Place) -> None:
    path = place(WEIGHTS[LRASPP], b"")
    path.parents[1].write_text("a file where the hub should be", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be downloaded: .*(exists|Not a directory)"):
        load_checkpoint(nn.Conv2d(3, 3, 3), SOURCE)


@pytest.mark.slow
def test_the_real_download_of_the_smallest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(torch.hub, "_hub_dir", None)
    try:
        model = build_model(LRASPP)
    except InputError as error:
        if isinstance(error.__cause__, URLError):
            pytest.skip(f"torchvision's host cannot be reached from here: {error.__cause__.reason}")
        raise
    with torch.no_grad():
        assert model(torch.rand(1, 3, 64, 96))["out"].isfinite().all()
