"""What a model found in many inputs, as one table: JSON lines, COCO's results, CSV or Parquet; and drawn.

Rows are kept in a journal while they come, so that a run that was stopped can go on, and the tables are made of it at
the end: each is whole, or not there.
"""

from zoo.tables.by_name import TABLES
from zoo.tables.output import Output
from zoo.tables.table import Row, Table

__all__ = ["TABLES", "Output", "Row", "Table"]
