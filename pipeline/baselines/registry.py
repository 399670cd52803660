"""All baselines that there are."""

from collections.abc import Mapping

from backends.registry import backends
from pipeline.baselines.baseline import Baseline, registered
from pipeline.baselines.same_graph import SameGraph
from zoo.errors import InputError, nearest
from zoo.subpackages import import_modules


def baselines() -> Mapping[str, Baseline]:
    """Those of this folder's modules, and for every other backend the deployment's graph in it; by their names."""
    import_modules("pipeline.baselines")
    graphs: dict[str, Baseline] = {name: SameGraph(backend) for name, backend in backends().items()}
    return dict(sorted((graphs | dict(registered())).items()))


def get_baseline(name: str) -> Baseline:
    """The baseline of that name. Raises InputError that names the nearest where there is none."""
    known = baselines()
    if name not in known:
        raise InputError(f'--against: unknown baseline "{name}"; {nearest(name, known)}')
    return known[name]
