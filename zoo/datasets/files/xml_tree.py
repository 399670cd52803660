"""XML as elements that know their lines, for messages that name them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from xml.parsers import expat

from zoo.datasets.files.faults import Faults


@dataclass
class Element:
    """An XML element: `text` is its own, without that of its children."""

    tag: str
    line: int
    text: str = ""
    children: list[Self] = field(default_factory=list)

    def child(self, tag: str) -> Self | None:
        """The first child of that tag."""
        return next((child for child in self.children if child.tag == tag), None)


def read_xml(path: Path, faults: Faults) -> Element | None:
    """The root element of a file; None, and a fault with line and column, where it cannot be read."""
    root = Element("", 0)
    open_elements = [root]
    parser = expat.ParserCreate()

    def start(tag: str, _attributes: dict[str, str]) -> None:
        element = Element(tag, parser.CurrentLineNumber)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_tag: str) -> None:
        open_elements.pop()

    def text(characters: str) -> None:
        open_elements[-1].text += characters

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    try:
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        faults.add(path, f"not XML at column {error.offset + 1}: {expat.ErrorString(error.code)}", error.lineno)
        return None
    except OSError as error:
        faults.add(path, f"cannot be read ({error.strerror})")
        return None
    except (ValueError, LookupError) as error:  # an encoding that expat or Python does not have
        faults.add(path, f"cannot be read ({error}); save it as UTF-8")
        return None
    return root.children[0]
