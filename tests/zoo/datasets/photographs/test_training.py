"""Random crops of the training photographs: one scale for each batch, the small one made from the large one."""

import numpy as np
import pytest
import torch

from zoo.datasets.digits.photographs import TRAIN_PHOTOGRAPHS, VAL_PHOTOGRAPHS
from zoo.datasets.photographs.low_resolution import low_resolution
from zoo.datasets.photographs.training import PhotographTraining, collate

pytest.importorskip("skimage")


def test_a_batch_has_one_scale_the_next_in_turn() -> None:
    dataset = PhotographTraining(6, 2, (20, 24), (2, 3, 4), zoom=(0.5, 1.0))
    batches = [collate([dataset[2 * number], dataset[2 * number + 1]]) for number in range(3)]
    assert [tuple(batch["images"].shape) for batch in batches] == [(2, 3, 20, 24)] * 3
    assert [tuple(batch["targets"].shape) for batch in batches] == [(2, 3, 40, 48), (2, 3, 60, 72), (2, 3, 80, 96)]


def test_the_same_seed_gives_the_same_samples() -> None:
    first, again, other = (PhotographTraining(3, 1, (20, 24), (3,), seed=seed)[2] for seed in (0, 0, 1))
    assert torch.equal(first["target"], again["target"])
    assert not torch.equal(first["target"], other["target"])


def test_the_small_one_is_the_large_one_made_small() -> None:
    """But for its border, where the large one's surroundings count."""
    item = PhotographTraining(1, 1, (20, 24), (3,))[0]
    large = (item["target"] * 255).round().byte().permute(1, 2, 0).numpy()
    small = (item["image"] * 255).round().byte().permute(1, 2, 0).numpy()
    np.testing.assert_array_equal(low_resolution(large, 3)[2:-2, 2:-2], small[2:-2, 2:-2])


def test_training_never_sees_what_is_held_out() -> None:
    assert not set(TRAIN_PHOTOGRAPHS) & set(VAL_PHOTOGRAPHS)
