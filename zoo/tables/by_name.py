"""The known tables."""

from zoo.tables.coco import CocoTable
from zoo.tables.comma_separated import CommaSeparated
from zoo.tables.json_lines import JsonLines
from zoo.tables.parquet import Parquet
from zoo.tables.table import Table

TABLES: dict[str, type[Table]] = {table.name: table for table in (JsonLines, CocoTable, CommaSeparated, Parquet)}
"""By the names that the command line has for them."""
