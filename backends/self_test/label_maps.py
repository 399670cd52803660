"""A label map beside the one that was proved."""

import numpy as np

from backends.self_test.deviation import Deviation
from backends.self_test.kept_part import LABEL_MAP, Array
from backends.self_test.stored import SelfTest


def labels(test: SelfTest, label_map: Array, gate: float) -> Deviation:
    """Of the pixels that PyTorch was sure of; `gate`: the part of them that may have another label."""
    sure = np.unpackbits(test.sure, count=label_map.size).astype(bool).reshape(label_map.shape)
    wrong, count = int((label_map != test.outputs[LABEL_MAP])[sure].sum()), int(sure.sum())
    detail = f"{wrong} of {count} pixels that PyTorch was sure of"
    return Deviation(LABEL_MAP, wrong / max(1, count), gate, "of the pixels", detail)
