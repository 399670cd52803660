"""The zoo as data: what each config says of itself, and what was measured of it. Needs mmengine, and no torch.

A card has three parts. The hand-written one is the config's `card` section. The measured one is
`zoo/cards/measured/<config>.json`, which tools/update_zoo.py alone writes. How the weights were made is in the record
beside them, `<weights>.json`, which tools/train.py alone writes.
"""

from zoo.cards.card import Card
from zoo.cards.fingerprint import checkpoint_sha256, config_sha256, fingerprint
from zoo.cards.measured_card import BackendFigures, Measured
from zoo.cards.pages import pages, problems
from zoo.cards.reading import MEASURED, measured_file, read_card
from zoo.cards.table import table
from zoo.cards.training_record import Figures, Reproduction, TrainingRecord, TrainingRun
from zoo.cards.training_section import UNTOLD

__all__ = [
    "MEASURED",
    "UNTOLD",
    "BackendFigures",
    "Card",
    "Figures",
    "Measured",
    "Reproduction",
    "TrainingRecord",
    "TrainingRun",
    "checkpoint_sha256",
    "config_sha256",
    "fingerprint",
    "measured_file",
    "pages",
    "problems",
    "read_card",
    "table",
]
