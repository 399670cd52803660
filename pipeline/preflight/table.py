"""The table: what is known to be refused or computed wrongly, by which backend and version, and what is done.

"measured" is tests/pipeline/preflight: it builds the pattern with tensorrt_rtx on a CPU, and fails when a row is no
longer needed. The parser of tensorrt-rtx is that of TensorRT 11; what it refuses is refused for both. Where NVIDIA says
that TensorRT takes an operator that tensorrt-rtx has not, the row is for the latter alone.
"""

from pipeline.preflight.known_wrong import KNOWN_WRONG
from pipeline.preflight.onnxruntime_rows import ONNXRUNTIME_ROWS
from pipeline.preflight.refused_by_parser import REFUSED_BY_PARSER
from pipeline.preflight.refused_by_rtx import REFUSED_BY_RTX
from pipeline.preflight.row import Row

ROWS: tuple[Row, ...] = (*KNOWN_WRONG, *REFUSED_BY_RTX, *REFUSED_BY_PARSER, *ONNXRUNTIME_ROWS)
"""The first row that hits a node is the one that explains a refusal, so what is special comes first."""
