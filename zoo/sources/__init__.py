"""From what people name, such as a folder, a glob or a camera, to inputs one after another.

Which files and recordings hold inputs is the business of the input kind; nothing here knows an image.
"""

from zoo.sources.finding import find_sources
from zoo.sources.item import Item
from zoo.sources.reading import list_items, read_item, read_items
from zoo.sources.reading_ahead import read_ahead
from zoo.sources.source import Source, SourceNames

__all__ = ["Item", "Source", "SourceNames", "find_sources", "list_items", "read_ahead", "read_item", "read_items"]
