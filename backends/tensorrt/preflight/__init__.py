"""What TensorRT refuses of a graph or computes wrongly.

"measured" is tests/pipeline/preflight: it builds the pattern with tensorrt_rtx on a CPU, and fails when a row is no
longer needed. The parser of tensorrt-rtx is that of TensorRT 11; what it refuses is refused for both. Where NVIDIA says
that TensorRT takes an operator that tensorrt-rtx has not, the row is for the latter alone.
"""

from backends.preflight import Row as _Row
from backends.tensorrt.preflight.known_wrong import KNOWN_WRONG as _KNOWN_WRONG
from backends.tensorrt.preflight.refused_by_parser import REFUSED_BY_PARSER as _REFUSED_BY_PARSER
from backends.tensorrt.preflight.refused_by_rtx import REFUSED_BY_RTX as _REFUSED_BY_RTX

ROWS: tuple[_Row, ...] = (*_KNOWN_WRONG, *_REFUSED_BY_RTX, *_REFUSED_BY_PARSER)
"""The first row that hits a node is the one that explains a refusal, so what is special comes first."""
