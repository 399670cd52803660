"""Reading the card of a config, and saying what is wrong with it."""

import json
from pathlib import Path

from zoo.cards.card import Card
from zoo.cards.fingerprint import checkpoint_file, checkpoint_sha256, fingerprint
from zoo.cards.measured_card import Measured
from zoo.cards.training_record import TrainingRecord
from zoo.config import CardSection, ModelConfig, load_config
from zoo.config.located import is_address
from zoo.errors import InputError
from zoo.shipped import whereabouts

MEASURED = Path(__file__).parent / "measured"
UPDATE = "python tools/update_zoo.py"
PUBLISHED_AS = ".safetensors"  # by tools/train.py; whatever lies beside other files is none of ours


def measured_file(config: str | Path, folder: Path = MEASURED) -> Path:
    """Where the measured part of a config's card lies; the file may be missing."""
    return folder / f"{Path(config).stem}.json"


def read_card(path: str | Path, folder: Path = MEASURED) -> Card:
    """The card of a config file. Raises InputError where the config itself is faulty."""
    config = load_config(path)
    measured, problem = _measured(config, measured_file(path, folder))
    training, fault = _training(config)
    problem = problem or fault
    if config.card is None:
        problem = " has no card; add card=dict(what=..., paper=..., licence=...) to it, then run " + UPDATE
    section = config.card or CardSection("", "", "")
    return Card(
        config=str(path),
        task=config.task.name,
        kind=config.task.kind,
        what=section.what,
        paper=section.paper,
        licence=section.licence,
        checkpoint=config.checkpoint,
        dataset=config.dataset or {},
        recipe=config.train or {},
        measured=measured,
        training=training,
        problem=None if problem is None else f"{path}{problem}",
    )


def _measured(config: ModelConfig, file: Path) -> tuple[Measured | None, str | None]:
    """The measured part, and what is wrong with it."""
    again = f"run {UPDATE} {config.path}"
    if not file.is_file():
        # weights behind an address cannot be had on every machine, so nobody has to measure them
        return None, None if is_address(config.checkpoint) else f" was not measured; {again}"
    try:
        measured = Measured.from_dict(json.loads(file.read_text(encoding="utf-8")))
    except (KeyError, TypeError, ValueError) as error:
        return None, f" was measured, but {file} cannot be read ({type(error).__name__}: {error}); {again}"
    if (weights := checkpoint_file(config)) is not None and whereabouts(weights):
        return measured, None  # an installation, which has no weights: nothing to compare with
    try:
        current = fingerprint(config)
    except InputError as error:
        return measured, f" cannot be compared with what was measured: {error}"
    if current != measured.fingerprint:
        return measured, f", its checkpoint or its data has changed since it was measured; {again}"
    return measured, None


def _training(config: ModelConfig) -> tuple[TrainingRecord | None, str | None]:
    """The record beside the weights, if there is one, and what is wrong with it."""
    weights = checkpoint_file(config)
    if weights is None or weights.suffix != PUBLISHED_AS or not weights.with_suffix(".json").is_file():
        return None, None
    try:
        record = TrainingRecord.read(weights.with_suffix(".json"))
        current = checkpoint_sha256(config)
    except InputError as error:
        return None, f": {error}"
    if record.sha256 != current:
        again = f"python tools/train.py {config.path} --publish writes both"
        return record, f": {weights} is not the file that its training record describes; {again}"
    return record, None
