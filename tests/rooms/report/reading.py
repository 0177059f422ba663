"""A strict reader of pages: balanced tags, unique ids, text, figures and their tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input", "circle", "line", "path"}
URL_ATTRIBUTES = {
    "href",
    "src",
    "action",
    "formaction",
    "xlink:href",
    "data",
    "poster",
    "srcset",
    "background",
}


@dataclass
class Element:
    """A tag with its attributes, children and text pieces in order."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    def walk(self) -> list[Element]:
        found = [self]
        for child in self.children:
            if isinstance(child, Element):
                found += child.walk()
        return found

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.walk() if element.tag == tag]

    def has(self, name: str) -> bool:
        return name in self.attributes.get("class", "").split()

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


class Page(HTMLParser):
    """A parsed page; raises AssertionError at the first tag that does not close what was opened."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("root", {})
        self.open = [self.root]
        self.feed(source)
        self.close()
        assert len(self.open) == 1, f"never closed: {[element.tag for element in self.open[1:]]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute of <{tag}> is given twice"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def by_id(self, name: str) -> Element:
        (found,) = [element for element in self.root.walk() if element.attributes.get("id") == name]
        return found

    @property
    def visible(self) -> str:
        """The words of the body."""
        (body,) = self.root.all("body")
        return body.words
