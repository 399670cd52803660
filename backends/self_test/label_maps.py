"""A label map beside the one that was proved."""

import numpy as np

from backends.self_test.deviation import Deviation
from backends.self_test.kept_part import Array
from backends.self_test.stored import SelfTest


def labels(name: str, test: SelfTest, label_map: Array, gate: float) -> Deviation:
    """Of the pixels that PyTorch was sure of; `gate`: the part of them that may have another label."""
    sure = np.unpackbits(test.sure, count=label_map.size).astype(bool).reshape(label_map.shape)
    wrong, count = int((label_map != test.outputs[name])[sure].sum()), int(sure.sum())
    detail = f"{wrong} of {count} pixels that PyTorch was sure of"
    return Deviation(name, wrong / max(1, count), gate, "of the pixels", detail)
