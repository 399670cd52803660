"""A zoo of two small configs, with cards that say what nobody measured, and the pages that show them."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from zoo.cards import BackendFigures, Card, Measured, fingerprint, measured_file, pages, problems, read_card
from zoo.cards.pages import BEGIN, END
from zoo.config import load_config
from zoo.listing import list_models

BASE = """
task = dict(type="SemanticSegmentation", classes=[dict(name="x", category_id=1)])
dataset = dict(type="ImageFolder", root="images")
evaluator = dict(type="MeanIoU", num_classes=1)
"""
CONFIG = """
_base_ = ["_base_/base.py"]
model = dict(type="TinySegmentor")
checkpoint = "weights.safetensors"
preprocess = dict(size=(64, 96))
export = dict(exporter="torchscript", opset=17)
train = dict(iterations=3, scale=(1.0, 2.0))
card = dict(what="a tiny model", paper="none, 2020, https://example.org/paper", licence="Apache-2.0")
"""
MEASURED = Measured(
    fingerprint="",
    checkpoint_sha256="ab" * 32,
    parameters=1_234_567,
    flops=7_654_000_000,
    input_size=(64, 96),
    images=64,
    metric="segmentation/mIoU",
    unit="points",
    rows=(
        BackendFigures(
            name="pytorch",
            backend="pytorch",
            precision="fp32",
            figures={"segmentation/mIoU": 75.6, "segmentation/aAcc": 96.76},
            difference=None,
            interval=None,
            gate=None,
            verdict="reference",
        ),
        BackendFigures(
            name="onnxruntime-fp32",
            backend="onnxruntime",
            precision="fp32",
            figures={"segmentation/mIoU": 75.61, "segmentation/aAcc": None},
            difference=0.01,
            interval=(-0.02, 0.03),
            gate=0.1,
            verdict="passed",
        ),
    ),
    machine={"processor": "an abacus", "threads": 2, "python": "3.11.7", "versions": {"torch": "2.15.0"}},
    date="2026-01-02",
)


@dataclass(frozen=True)
class TinyZoo:
    """Configs "one" and "two" under `root`/configs, what was measured in `root`/measured, and the two pages."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "measured"

    @property
    def configs(self) -> list[str]:
        return list_models(self.root / "configs")

    @property
    def one(self) -> Path:
        return self.root / "configs" / "one.py"

    @property
    def weights(self) -> Path:
        return self.root / "configs" / "weights.safetensors"

    @property
    def readme(self) -> Path:
        return self.root / "README.md"

    @property
    def docs(self) -> Path:
        return self.root / "docs" / "zoo.md"

    def cards(self) -> list[Card]:
        return [read_card(path, self.folder) for path in self.configs]

    def problems(self) -> list[str]:
        return problems(self.cards(), self.root, self.folder)

    def measured(self, path: str | Path) -> Measured:
        return replace(MEASURED, fingerprint=fingerprint(load_config(path)))

    def make(self) -> None:
        """All files, all of them current."""
        for folder in (self.root / "configs" / "_base_", self.folder, self.docs.parent):
            folder.mkdir(parents=True)
        (self.root / "configs" / "_base_" / "base.py").write_text(BASE, encoding="utf-8")
        self.weights.write_bytes(b"weights")
        for name in ("one", "two"):
            path = self.root / "configs" / f"{name}.py"
            path.write_text(CONFIG, encoding="utf-8")
            self.write_measured(path)
        for page in (self.readme, self.docs):
            page.write_text(f"# Before\n\n{BEGIN}\n{END}\n\nAfter.\n", encoding="utf-8")
        self.write_pages()

    def write_measured(self, path: str | Path) -> None:
        text = json.dumps(self.measured(path).to_dict())
        measured_file(path, self.folder).write_text(text, encoding="utf-8")

    def write_pages(self) -> None:
        for page, text in pages(self.cards(), self.root).items():
            page.write_text(text, encoding="utf-8")
