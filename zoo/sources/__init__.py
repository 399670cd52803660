"""From what people name, such as a folder, a glob or a camera, to inputs one after another.

Which files and recordings hold inputs is the business of the input kind; nothing here knows an image.
"""

from zoo.sources.finding import find_sources
from zoo.sources.item import Item
from zoo.sources.reading import read_items
from zoo.sources.reading_ahead import read_ahead
from zoo.sources.source import Source, SourceNames

__all__ = ["Item", "Source", "SourceNames", "find_sources", "read_ahead", "read_items"]
