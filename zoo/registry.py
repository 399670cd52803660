"""The registries (mmengine), scope ``zoo``. Needs mmengine; production code never imports this module."""

from mmengine.registry import DATASETS as MMENGINE_DATASETS
from mmengine.registry import METRICS as MMENGINE_METRICS
from mmengine.registry import MODELS as MMENGINE_MODELS
from mmengine.registry import Registry

MODELS = Registry("model", parent=MMENGINE_MODELS, scope="zoo", locations=["zoo.models"])
DATASETS = Registry("dataset", parent=MMENGINE_DATASETS, scope="zoo", locations=["zoo.datasets"])
METRICS = Registry("metric", parent=MMENGINE_METRICS, scope="zoo", locations=["zoo.metrics"])
