"""Writing metadata into the model: what runs it, and people, can read there what it is."""

from collections.abc import Mapping

import onnx

from rewriters.graph_rewriters.graph_rewriter import Edited, graph_rewriter
from zoo.errors import InputError

RESERVED = ("device", "forward", "metadata", "session")
"""Ultralytics' ONNX loader makes each key a name of its own; these would take the place of what it needs."""


@graph_rewriter()
def set_metadata(model: onnx.ModelProto, *, props: Mapping[str, str]) -> Edited:
    """Write keys and values into the model's metadata; what else is there stays. All are sorted by key."""
    for key in props:
        if key in RESERVED or not key:
            raise InputError(
                f'set_metadata: the key "{key}" cannot be used: Ultralytics\' loader breaks on '
                f"{', '.join(RESERVED)} and on an empty one; give another name"
            )
    before = {entry.key: entry.value for entry in model.metadata_props}
    after = dict(sorted({**before, **props}.items()))
    changes = [f"{key}: {value}" for key, value in after.items() if before.get(key) != value]
    if not changes and list(before) != list(after):
        changes = ["sorted the keys"]
    if changes:
        onnx.helper.set_model_props(model, after)
    return model, changes
