"""What submodules give while the whole model runs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import nn


@contextmanager
def module_outputs(modules: Mapping[str, nn.Module]) -> Iterator[dict[str, Any]]:
    """Fills a dictionary with each module's last output, under its name here; nothing stays on the modules."""
    seen: dict[str, Any] = {}
    hooks = [
        module.register_forward_hook(lambda _module, _args, output, name=name: seen.update({name: output}))
        for name, module in modules.items()
    ]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()
