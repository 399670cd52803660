"""A page as its tags and its text."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Tags with their attributes, in order, and the text outside of style and script.

    ``unlabelled``: the fields without a name.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.hidden = ""
        self.in_label = False
        self.unlabelled: list[dict[str, str]] = []
        self.source = text
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self.hidden = tag if tag in ("script", "style") else self.hidden
        self.in_label = self.in_label or tag == "label"
        named = self.in_label or dict(attrs).get("aria-label")
        if tag in ("input", "select", "textarea") and not named:
            self.unlabelled.append(self.tags[-1][1])

    def handle_endtag(self, tag: str) -> None:
        self.hidden = "" if tag == self.hidden else self.hidden
        self.in_label = self.in_label and tag != "label"

    def handle_data(self, data: str) -> None:
        self.text += "" if self.hidden else data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]
