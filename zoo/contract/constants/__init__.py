"""The constants of a PyTorch model that its exported graph must hold, declared by each family of models.

A family registers a function for its class, so that families outside of this package can:

    @graph_constants.register(MyDetector)
    def _(model: MyDetector, case: Case) -> Iterator[Constant]: ...

What is declared is compared by value with what the nodes of the exported graph read.
"""

from zoo.contract.constants import dense, segmentation, ssd, two_stage, yolov5
from zoo.contract.constants.constant import Attributes, Case, Constant, Read, graph_constants

__all__ = [
    "Attributes",
    "Case",
    "Constant",
    "Read",
    "dense",
    "graph_constants",
    "segmentation",
    "ssd",
    "two_stage",
    "yolov5",
]
