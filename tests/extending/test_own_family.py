"""A family of models from outside: by a config's custom_imports, and by an entry point."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from pipeline import align, deploy, evaluate
from pipeline.report.zoo_page import write_zoo
from rewriters.patching import rewriter as registry
from zoo import build_model
from zoo.config import config_target, load_config
from zoo.datasets.evaluation_dataset import EvaluationDataset
from zoo.errors import InputError
from zoo.families import families, family_of
from zoo.families import registry as family_registry
from zoo.registry import DATASETS, MODELS, registered_class

CONFIG = Path(__file__).parent / "family" / "spots_digits.py"
REWRITER = "spot_detector.SpotDetector.spots"


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is forgotten behind it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    models, by_class = dict(MODELS.module_dict), dict(family_registry._by_class)
    loaded, rewriters = set(sys.modules), list(registry.REWRITERS)
    yield
    MODELS.module_dict.clear()
    MODELS.module_dict.update(models)
    family_registry._by_class.clear()
    family_registry._by_class.update(by_class)
    for name in ("spot_detector", "spot_rewriters"):
        if name not in loaded:
            sys.modules.pop(name, None)
    registry.REWRITERS[:] = [one for one in registry.REWRITERS if one in rewriters or one.name != REWRITER]


def test_a_detector_of_ones_own_is_deployed_aligned_evaluated_and_reported(forgotten: None, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = build_model(CONFIG, weights=False)
    assert family_of(model).name == "SpotDetector"
    with torch.no_grad():
        model.head.weight[:10] *= 6  # so that cells differ
    checkpoint = tmp_path / "spots.safetensors"
    save_file(model.state_dict(), checkpoint)

    target = config_target(load_config(CONFIG)).with_(exporter="torchscript")  # the quick one
    deployment = deploy(CONFIG, target, checkpoint=checkpoint, work_dir=tmp_path)
    assert [entry["name"] for entry in deployment.manifest.rewriters] == [REWRITER]
    assert deployment.manifest.axes["batch"].max == 4
    folder = tmp_path / "detection/spots_digits/onnxruntime-fp32-torchscript"
    assert "SpotDetector" in (folder / "report.html").read_text(encoding="utf-8")

    aligned = align(CONFIG, deployment=folder, checkpoint=checkpoint)
    assert aligned.pairs
    assert aligned.first_name is None

    rows = evaluate(CONFIG, deployments=[folder], checkpoint=checkpoint, work_dir=tmp_path, limit=2).rows
    assert [row.verdict for row in rows] == ["reference", "passed"]
    pages, faults = write_zoo(tmp_path, tmp_path / "zoo.html")
    assert [page["verdict"] for page in pages] == ["passed"]
    assert not faults


def test_the_page_is_made_of_its_code() -> None:
    page = (CONFIG.parents[3] / "docs/extending.md").read_text(encoding="utf-8")
    for file in CONFIG.parent.glob("*.py"):
        assert f"```python\n{file.read_text(encoding='utf-8')}```" in page, (
            f"docs/extending.md lacks {file.name} as it is"
        )


OUTSIDE = """
from torch import nn
from zoo.families import Family, register

class Outside(nn.Module):
    pass

@register(Outside)
class OutsideFamily(Family):
    name = "a model from outside"
"""


def test_an_entry_point_registers_a_family(forgotten: None, install: Callable[..., None]) -> None:
    assert "a model from outside" not in [family.name for family in families()]
    install("zooport.families", "outside", "outside_family", OUTSIDE)
    assert "a model from outside" in [family.name for family in families()]


def test_an_entry_point_that_cannot_be_imported_is_named_and_left_out(
    forgotten: None, install: Callable[..., None], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    install("zooport.families", "outside", "outside_family", "import no_such_library")
    assert family_of(nn.Identity()) is family_registry.GENERIC
    words = "entry point outside of outside (zooport.families): outside_family cannot be imported: ModuleNotFoundError"
    assert words in caplog.text
    (tmp_path / "config.py").write_text(
        'model = dict(type="OutsideModel")\ntask = dict(type="Tensors")\npreprocess = dict(size=(64, 64))\n'
    )
    with pytest.raises(InputError, match='unknown model type "OutsideModel"; nearest: .*; ' + re.escape(words)):
        build_model(tmp_path / "config.py", weights=False)
    with pytest.raises(InputError, match='unknown dataset type "OutsideData"; nearest: .*; ' + re.escape(words)):
        registered_class(DATASETS, EvaluationDataset, "dataset", "OutsideData")
