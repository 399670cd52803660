"""The zoo as data: what each config says of itself, and what was measured of it. Needs mmengine, and no torch.

A card's hand-written part is the config's `card` section; its measured part is `zoo/cards/measured/<config>.json`, a
file that tools/update_zoo.py alone writes.
"""

from zoo.cards.card import Card
from zoo.cards.fingerprint import checkpoint_sha256, fingerprint
from zoo.cards.measured_card import BackendFigures, Measured
from zoo.cards.pages import pages, problems
from zoo.cards.reading import MEASURED, measured_file, read_card
from zoo.cards.table import table

__all__ = [
    "MEASURED",
    "BackendFigures",
    "Card",
    "Measured",
    "checkpoint_sha256",
    "fingerprint",
    "measured_file",
    "pages",
    "problems",
    "read_card",
    "table",
]
