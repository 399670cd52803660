"""zooport::mark, which names a tensor (see zoo.ops.mark). The graph pass keep_marks takes its nodes out."""

from rewriters.ops.mark import registration

__all__ = ["registration"]
