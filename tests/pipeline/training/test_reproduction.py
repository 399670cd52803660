"""A reproduction counts where it is whole, and its main figure is that of the published weights."""

from dataclasses import replace

import pytest

from pipeline.training import (
    Recipe,
    check_figures,
    check_proof,
    check_recipe,
    check_unchanged,
    check_whole,
    reproduction,
)
from tests.zoo.cards.training_records import CONFIG, again, record, run
from zoo.errors import GateError, InputError

METRIC = "segmentation/mIoU"
RECIPE = Recipe(iterations=4, batch_size=1, optimizer={}, crop=(64, 64), size=(64, 64))


@pytest.mark.parametrize("change", [-3.0, -0.01, 0.0, 3.0])
def test_within(change: float) -> None:
    check_figures(again(60.0, change), CONFIG, METRIC)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (-3.01, rf"{CONFIG}: {METRIC} is 60\.00, -3\.01 from the published weights; expected at most 3\.0 .* fix the"),
        (3.01, r"\+3\.01 from the published weights; .* publish the new weights"),
    ],
)
def test_outside(change: float, message: str) -> None:
    with pytest.raises(GateError, match=message):
        check_figures(again(60.0, change), CONFIG, METRIC)


def test_decibels_count_for_more() -> None:
    check_figures(again(30.0, -0.1), CONFIG, METRIC, "dB")
    with pytest.raises(GateError, match=r"is 30\.00, -0\.11 from the published weights; expected at most 0\.1 "):
        check_figures(again(30.0, -0.11), CONFIG, METRIC, "dB")


def test_nothing_to_judge_proves_nothing() -> None:
    with pytest.raises(GateError, match="has nothing to judge"):
        check_figures(again(None, None), CONFIG, METRIC)


def test_only_a_whole_run_counts() -> None:
    check_whole(run(iterations=4), RECIPE)
    with pytest.raises(InputError, match="written after 3 iterations, the recipe has 4; give the last one"):
        check_whole(run(iterations=3), RECIPE)


def test_the_published_training_is_no_proof_of_itself() -> None:
    with pytest.raises(InputError, match="--reproduce: this is the training that x.safetensors was published from"):
        check_proof(run(remark="again", minutes=99.0), record())


def test_another_backbone_is_no_proof() -> None:
    published = record(training=run(backbone_sha256="a" * 64))
    check_proof(run(began="later", backbone_sha256="a" * 64), published)
    check_proof(run(began="later"), published)  # an older checkpoint, which does not tell
    with pytest.raises(InputError, match=f"another file of train.backbone, sha256 {'b' * 64}, than the published one"):
        check_proof(run(began="later", backbone_sha256="b" * 64), published)


def test_a_run_is_held_to_config_and_recipe() -> None:
    recorded = RECIPE.to_dict()
    check_recipe(run(recipe=recorded), CONFIG, replace(RECIPE, seed=7))
    check_recipe(run(recipe=None), CONFIG, RECIPE)
    with pytest.raises(InputError, match=f"was trained by {CONFIG}, not by configs/y.py; give that config"):
        check_recipe(run(recipe=recorded), "configs/y.py", RECIPE)
    with pytest.raises(InputError, match=r"by another recipe: train\.max_grad_norm was 10\.0 and is 1\.0; put"):
        check_recipe(run(recipe=recorded), CONFIG, replace(RECIPE, max_grad_norm=1.0))


def test_a_recipe_that_has_changed_since_it_was_published() -> None:
    check_unchanged(record(recipe=RECIPE.to_dict()), replace(RECIPE, seed=7))
    with pytest.raises(InputError, match=r"since x\.safetensors was published: train\.warmup was 100 and is 3; put it"):
        check_unchanged(record(recipe=RECIPE.to_dict()), replace(RECIPE, warmup=3))


def test_what_is_recorded() -> None:
    ours, theirs = {CONFIG: {METRIC: 60.0}}, {CONFIG: {METRIC: 61.5}}
    again = reproduction(run(seed=9), b"weights", ours, theirs)
    assert (again.seed, again.figures, again.differences) == (9, ours, {CONFIG: {METRIC: -1.5}})
    assert again.sha256 == record(b"weights").sha256
    assert reproduction(run(), b"others", ours, theirs).sha256 != again.sha256
