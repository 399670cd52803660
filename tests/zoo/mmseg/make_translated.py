"""Writes what mmsegmentation itself makes of tests/translated_segmentors.py: names, shapes, a few float64 logits.

pip install ".[mmseg]"
python tests/zoo/mmseg/make_translated.py [NAME ...]
"""

import sys
from pathlib import Path
from typing import Any

import torch

from tests.translated_segmentors import TRANSLATED, mmseg_section
from tests.zoo.mmseg.formula import described, formula_images, formula_state, sample
from zoo.build import build_section

FOLDER = Path(__file__).with_name("translated")
SIZE = (64, 96)


def main() -> None:
    for name in sys.argv[1:] or TRANSLATED:
        model: Any = build_section({"type": "MmsegSegmentor", "config": mmseg_section(name)}).eval().double()
        state = formula_state(model.model.state_dict())
        model.model.load_state_dict(state)
        with torch.no_grad():
            logits = model(formula_images(*SIZE).double())
        lines = [" ".join(f"{value:.12f}" for value in sample(logits).tolist()), *described(state)]
        (FOLDER / f"{name}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
