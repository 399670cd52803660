"""Families of models: what the export, the comparison and the training ask of a model, registered beside it.

A family registers itself for its models' classes, in the zoo and outside of it alike:

    @register(MyDetector)
    class MyFamily(Family):
        rewriters = "my_package.my_rewriters"

`family_of(model)` is the one way to ask; nothing outside of a family's own folders knows it by name. Needs torch.
"""

from zoo.families.contracts import contract_module, who_has
from zoo.families.detector import DetectorFamily
from zoo.families.family import Contracts, Family, PluginNode, Scales, Sliding
from zoo.families.first_step import first_step
from zoo.families.generic import Generic
from zoo.families.layout import Layout
from zoo.families.layouts import check_layout, find_layout, layout_of, layouts
from zoo.families.registry import families, family_of, register
from zoo.families.sizes import check_exporter, checked_divisor, needs_one_size, part_of_one_size

__all__ = [
    "Contracts",
    "DetectorFamily",
    "Family",
    "Generic",
    "Layout",
    "PluginNode",
    "Scales",
    "Sliding",
    "check_exporter",
    "check_layout",
    "checked_divisor",
    "contract_module",
    "families",
    "family_of",
    "find_layout",
    "first_step",
    "layout_of",
    "layouts",
    "needs_one_size",
    "part_of_one_size",
    "register",
    "who_has",
]
