"""`zooport init` of a model of a library, then `zooport deploy` of the config by each exporter, on two images."""

import shutil
from pathlib import Path

import pytest

from tests.zoo_configs import ROOT
from zooport.verbs import run_verb

EXPORTERS = ("dynamo", "torchscript")
IMAGES = ("one.png", "two.png")
UNKNOWN_PROCESSOR = "whose code is not known here"


def copy_images(folder: Path) -> None:
    """Two of the digits' own."""
    images = sorted((ROOT / "zoo/data/digits/val/images").iterdir())
    for image, name in zip(images, IMAGES, strict=False):
        shutil.copy(image, folder / name)


def init(source: str, size: tuple[int, int], capsys: pytest.CaptureFixture[str], *flags: str) -> None:
    """The config is written. An image processor whose code is not known is refused first, with the way out: --size."""
    capsys.readouterr()  # what the library printed while it saved the model
    if run_verb(["init", source, *flags]) != 0:
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert UNKNOWN_PROCESSOR in err
        assert "--size HEIGHT WIDTH writes a config for you to complete" in err
        assert run_verb(["init", source, *flags, "--size", *map(str, size)]) == 0


def deploy(config: str, capsys: pytest.CaptureFixture[str], *, may_be_blank: bool = False) -> None:
    """Proved, by both exporters. `may_be_blank`: random weights may give nothing to compare, which is refused."""
    for exporter in EXPORTERS:
        capsys.readouterr()
        code = run_verb(["deploy", config, "--exporter", exporter, "--image", *IMAGES])
        err = capsys.readouterr().err
        if may_be_blank and code:
            assert code == 3
            assert "both found nothing" in err
            assert "give --image with objects that the model knows, or trained weights" in err
        else:
            assert code == 0, f"{exporter}: {err}"
