"""Helpers for reading what forms send: JSON whose numbers keep every digit, and texts
that may be blank. Copy this file into your own converter."""

import json
import re
from typing import Optional

from wit_world.imports import core

# Most nesting that is read. The parser recurses, and its stack ends before Python's own limit.
MAX_DEPTH = 64

# A string that is not closed ends with the text, so that each character is read once.
STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
NO_BRACKETS = re.compile(r"[^\[\]{}]+")


class Number(str):
    """A number of a JSON text, as it was written."""


def parse_body(content: core.Content) -> object:
    """Returns the JSON value of a body; raises ValueError if it is not JSON."""
    if isinstance(content, core.Content_Text):
        text = content.value
    else:
        # The host passes a UTF-8 body as text, so bytes are not UTF-8: old senders'
        # Latin-1, in which every byte is a character.
        text = content.value.decode("latin-1")
    text = text.removeprefix("\ufeff")
    if is_too_deep(text):
        raise ValueError("nested too deeply")
    value = json.loads(text, parse_int=Number, parse_float=Number, parse_constant=refuse)
    if "\\ud" in text or "\\uD" in text:
        # Half of a surrogate pair is not text, and cannot leave the component:
        # UnicodeEncodeError is a ValueError.
        attribute_text(value).encode()
    return value


def is_too_deep(text: str) -> bool:
    """Whether a JSON text is nested deeper than MAX_DEPTH. Does not recurse."""
    brackets = NO_BRACKETS.sub("", STRING.sub("", text))
    for _ in range(MAX_DEPTH):
        # The innermost level.
        brackets = brackets.replace("[]", "").replace("{}", "")
        if not brackets:
            return False
    return bool(brackets)


def text_of(value: object) -> Optional[str]:
    """Returns a scalar as trimmed text, a number as it was written; else None."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value.strip() or None
    return None


def is_absent(value: object) -> bool:
    """Whether a value is empty: null, a blank text, {} or []."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or value == [] or value == {}


def attribute_text(value: object) -> str:
    """Returns a value as the JSON text that an attribute carries."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, list):
        return "[" + ",".join(map(attribute_text, value)) + "]"
    if isinstance(value, dict):
        pairs = (attribute_text(name) + ":" + attribute_text(item) for name, item in value.items())
        return "{" + ",".join(pairs) + "}"
    return json.dumps(value, ensure_ascii=False)


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
