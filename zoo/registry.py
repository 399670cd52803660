"""The registries (mmengine), scope ``zoo``. Needs mmengine; production code never imports this module."""

import inspect
from typing import Any

from mmengine.registry import DATASETS as MMENGINE_DATASETS
from mmengine.registry import METRICS as MMENGINE_METRICS
from mmengine.registry import MODELS as MMENGINE_MODELS
from mmengine.registry import Registry

from zoo.custom_imports import class_of
from zoo.entry_points import FAMILIES, entry_point_faults, load_entry_points
from zoo.errors import InputError, nearest

MODELS = Registry("model", parent=MMENGINE_MODELS, scope="zoo", locations=["zoo.models"])
DATASETS = Registry("dataset", parent=MMENGINE_DATASETS, scope="zoo", locations=["zoo.datasets"])
METRICS = Registry("metric", parent=MMENGINE_METRICS, scope="zoo", locations=["zoo.metrics"])


def registered_class(registry: Registry, base: type[Any], what: str, kind: object) -> type[Any]:
    """The subclass of ``base`` that a config's ``type`` names: as registered, or with its module ("my_file.Mine").

    ``what``: "dataset" or "evaluator", for the message. Raises InputError for an unknown one, naming the nearest, and
    for one that is no subclass.
    """
    if kind not in registry.module_dict:
        load_entry_points(FAMILIES)
    known = {
        name: registered
        for name, registered in registry.module_dict.items()
        if inspect.isclass(registered) and issubclass(registered, base)
    }
    if kind in known:
        return known[str(kind)]
    custom = class_of(str(kind))
    if custom is None:
        raise InputError(f'unknown {what} type "{kind}"; {nearest(str(kind), known)}{entry_point_faults(FAMILIES)}')
    if not (inspect.isclass(custom) and issubclass(custom, base)):
        raise InputError(
            f'{what} type "{kind}": got {custom!r}, expected a subclass of {base.__module__}.{base.__name__}'
        )
    return custom
