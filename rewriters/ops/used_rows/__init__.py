"""zooport::used_rows and zooport::to_slots, a pair around what runs on rows (RoIs) of which many are empty.

    rows = used_rows(slots, used);  found = network(rows);  result = to_slots(found, used)

In PyTorch every row runs, so that shapes are fixed and no tracer meets a size that depends on the data. In ONNX the
rows that are not used are left out, so that nobody pays for them. Both give the same result, zeros where a slot is not
used, as long as the network in between treats each row by itself and asks nobody how many there are.
"""

from rewriters.ops.used_rows import registration
from rewriters.ops.used_rows.torch_operator import to_slots, used_rows

__all__ = ["registration", "to_slots", "used_rows"]
