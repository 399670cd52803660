"""Computing once, now, what is the same for every input: the pass of this name as a graph rewriter."""

import onnx

from rewriters.graph_passes import fold_constants as constants
from rewriters.graph_rewriters.graph_rewriter import Edited, graph_rewriter
from zoo.byte_sizes import MEBIBYTE
from zoo.errors import InputError


@graph_rewriter()
def fold_constants(model: onnx.ModelProto, *, max_bytes: int = MEBIBYTE) -> Edited:
    """Compute what depends on no input, and make initializers of it; sizes of static axes as well.

    `max_bytes`: a result that is larger than what it is computed from by more than this stays computed at run time.
    Subgraphs count. Operators that ONNX Runtime does not know, random numbers and quantisation stay. What nothing reads
    (any more) is dropped.
    """
    if max_bytes < 0:
        raise InputError(f"fold_constants: max_bytes is {max_bytes}, expected 0 or more")
    return model, constants.fold_constants(model, max_bytes)
