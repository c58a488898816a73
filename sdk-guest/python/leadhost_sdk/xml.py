"""XML as a tree, for sources that still send it (ADF).

An element with only text is that text; any other is a dict with its attributes as `@name`, its
text as `#text`, and its children by name; repeated children are a list. It is read, not validated:
processing instructions, comments and document types are skipped, and an entity is one of XML or of
HTML, or a character number; any other stays as it is, so nothing is expanded and nothing fetched. The
name of an element is without its prefix, which each sender chooses.
"""

import re
from html.entities import name2codepoint
from typing import Any

from .plugin import problem

__all__: list[str] = []

# Deeper nesting is no lead.
MAX_DEPTH = 64
# A batch of a thousand leads has a hundred thousand elements.
MAX_ELEMENTS = 200_000

# No part of a tag gives back what it has, so the time grows with the length of the text.
_NAME = r"[^\s/>=<\"'&]++"
_VALUE = r"(?:\"[^\"]*+\"|'[^']*+')"
_TAG = re.compile(rf"<({_NAME})((?:\s*+{_NAME}\s*+=\s*+{_VALUE})*+)\s*+(/?)>")
_ATTRIBUTE = re.compile(rf"({_NAME})\s*+=\s*+({_VALUE})")
_ENTITY = re.compile(r"&(?:([a-zA-Z][a-zA-Z0-9]{1,7})|#([0-9]{1,8})|#[xX]([0-9a-fA-F]{1,7}));")
_ENTITIES = {name: chr(code) for name, code in name2codepoint.items()} | {"apos": "'"}
_SKIPPED = [("<?", "?>", "a processing instruction"), ("<!--", "-->", "a comment")]


class _Malformed(Exception):
    """What is wrong, and where."""


class _Element:
    __slots__ = ("fields", "name", "texts")

    def __init__(self, name: str, attributes: str):
        self.name = name
        self.texts: list[str] = []
        found = _ATTRIBUTE.findall(attributes) if attributes else ()
        self.fields: dict[str, Any] = {f"@{key}": _unescaped(quoted[1:-1]) for key, quoted in found}

    def value(self) -> Any:
        text = "".join(self.texts).strip()
        if not self.fields:
            return text
        if text:
            self.fields["#text"] = text
        return self.fields

    def add(self, name: str, value: Any) -> None:
        known = self.fields.get(name)
        # An element's own value is never a list, so a list means that this element repeats.
        if isinstance(known, list):
            known.append(value)
        else:
            self.fields[name] = value if known is None else [known, value]


def parse_xml(text: str) -> dict[str, Any]:
    """Returns a document as a dict with its root element under the element's name. Raises a
    problem with line and column, which refuses the whole body."""
    try:
        return _document(text)
    except _Malformed as error:
        what, at = error.args
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        message = f"the body is not valid XML: {what} at line {line} column {column}"
        raise problem(message) from None


def _document(text: str) -> dict[str, Any]:
    """Reads with a list of the open elements, so that depth costs no call stack."""
    open_elements: list[_Element] = []
    end = elements = 0
    while True:
        start = text.find("<", end)
        if start < 0:
            what = "an element is not closed" if open_elements else "there is no element"
            raise _Malformed(what, len(text))
        if open_elements and start > end:
            open_elements[-1].texts.append(_unescaped(text[end:start]))
        if text.startswith(("<?", "<!"), start):
            end = _skipped(text, start, open_elements)
            continue
        if text.startswith("</", start):
            end = _after(text, ">", start, "a tag")
            if not open_elements or open_elements[-1].name != text[start + 2 : end - 1].strip():
                raise _Malformed("a closing tag has no opening one", start)
        else:
            tag = _TAG.match(text, start)
            if tag is None:
                raise _Malformed("a tag is not complete", start)
            elements += 1
            if elements > MAX_ELEMENTS:
                raise _Malformed("there are too many elements", start)
            if len(open_elements) == MAX_DEPTH:
                raise _Malformed("elements are nested too deep", start)
            end = tag.end()
            open_elements.append(_Element(tag[1], tag[2]))
            if not tag[3]:
                continue
        element = open_elements.pop()
        if not open_elements:
            return {_local(element.name): element.value()}
        open_elements[-1].add(_local(element.name), element.value())


def _local(name: str) -> str:
    return name.rpartition(":")[2] or name


def _skipped(text: str, start: int, open_elements: list[_Element]) -> int:
    """Returns the end of a processing instruction, a comment, a CDATA section, whose text counts,
    or a document type."""
    for begin, close, what in _SKIPPED:
        if text.startswith(begin, start):
            return _after(text, close, start, what)
    if text.startswith("<![CDATA[", start):
        end = _after(text, "]]>", start, "a CDATA section")
        if open_elements:
            open_elements[-1].texts.append(text[start + len("<![CDATA[") : end - len("]]>")])
        return end
    end = _after(text, ">", start, "a document type")
    subset = text.find("[", start, end)
    if subset < 0:
        return end
    return _after(text, ">", _after(text, "]", subset, "a document type"), "a document type")


def _after(text: str, close: str, start: int, what: str) -> int:
    end = text.find(close, start)
    if end < 0:
        raise _Malformed(f"{what} is not closed", start)
    return end + len(close)


def _unescaped(text: str) -> str:
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    name, number, hexadecimal = entity.groups()
    if name:
        return _ENTITIES.get(name, entity[0])
    code = int(number) if number else int(hexadecimal, 16)
    # A zero and half of a surrogate pair are no characters.
    is_character = 0 < code < 0xD800 or 0xDFFF < code < 0x110000
    return chr(code) if is_character else entity[0]
