"""The constants of a PyTorch model that its exported graph must hold, as its family declares them.

What is declared is compared by value with what the nodes of the exported graph read.
"""

from zoo.contract.constants.constant import Attributes, Case, Constant, Read

__all__ = ["Attributes", "Case", "Constant", "Read"]
