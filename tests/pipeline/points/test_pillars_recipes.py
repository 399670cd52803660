"""The recipes of PointPillars and CenterPoint for synthetic streets: read, and of models that are small enough."""

from pathlib import Path

import pytest

from pipeline.training import Recipe
from zoo import build_model
from zoo.config import load_config

CONFIGS = Path(__file__).resolve().parents[3] / "configs" / "detection3d"
SHIPPED_BYTES = 3_000_000  # of both together, in half precision


@pytest.mark.parametrize(
    ("name", "iterations"), [("pointpillars_streets", 2400), ("centerpoint-pillars_streets", 6000)]
)
def test_a_recipe_is_read(name: str, iterations: int) -> None:
    config = load_config(CONFIGS / f"{name}.py")
    recipe = Recipe.from_config(config)
    assert (recipe.iterations, recipe.batch_size, recipe.turn) == (iterations, 4, 20.0)
    assert config.train_dataset == {"type": "Streets", "split": "train"}


def test_both_models_are_small_enough_to_ship() -> None:
    models = [build_model(path, weights=False) for path in sorted(CONFIGS.glob("*.py"))]
    assert [type(model).__name__ for model in models] == ["CenterPoint", "PointPillars"]
    assert 2 * sum(tensor.numel() for model in models for tensor in model.state_dict().values()) < SHIPPED_BYTES
