"""transformers.utils.import_utils.torch_compilable_check, which checks sizes while a model is traced, does nothing."""

from collections.abc import Callable
from typing import Any

from transformers.utils import import_utils

from rewriters.patching.rewriter import rewrites


@rewrites(
    import_utils,
    "torch_compilable_check",
    reason="dynamo has no translation of the check (aten._is_all_true), and refuses every model that calls it; the "
    "unpatched model, which is compared, still checks",
    written_for="transformers 5.23",
)
def checked_before(_original: Callable[..., None], *_arguments: Any, **_options: Any) -> None:
    """Leaves no trace in the graph."""
