"""Helpers for reading what forms send: JSON whose numbers keep every digit, and texts
that may be blank. Copy this file into your own converter."""

import codecs
import contextlib
import json
import re
from typing import Optional

from wit_world.imports import core

# Most nesting that is read. The parser recurses, and its stack ends before Python's own limit.
MAX_DEPTH = 64

# A string that is not closed ends with the text, so that each character is read once.
STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
NO_BRACKETS = re.compile(r"[^\[\]{}]+")
# Half of a surrogate pair is in the group.
ESCAPE = re.compile(r"(?is)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(\\ud[89a-f][0-9a-f]{2})|\\.")

# Found when the component is built, which has no files later.
WINDOWS_1252 = codecs.lookup("cp1252")


class Number(str):
    """A number of a JSON text, as it was written."""


def parse_body(content: core.Content) -> object:
    """Returns the JSON value of a body; raises ValueError if it is not JSON."""
    # The host passes a UTF-8 body as text, so bytes are not UTF-8.
    text = content.value if isinstance(content, core.Content_Text) else decoded(content.value)
    text = text.removeprefix("\ufeff")
    if is_too_deep(text):
        raise ValueError("nested too deeply")
    if "\\ud" in text or "\\uD" in text:
        # Half of a surrogate pair cannot leave the component: it becomes U+FFFD.
        text = ESCAPE.sub(lambda escape: "\\ufffd" if escape[1] else escape[0], text)
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=refuse)


def is_too_deep(text: str) -> bool:
    """Whether a JSON text is nested deeper than MAX_DEPTH. Does not recurse."""
    brackets = NO_BRACKETS.sub("", STRING.sub("", text))
    for _ in range(MAX_DEPTH):
        # The innermost level.
        brackets = brackets.replace("[]", "").replace("{}", "")
        if not brackets:
            return False
    return bool(brackets)


def decoded(data: bytes) -> str:
    """Returns bytes as text: of UTF-8, with U+FFFD for each bad sequence, if at least as many
    characters of several bytes are good as bad, or if windows-1252 would read `â€`, `ðŸ`, or `Ã`
    after a small letter, which nobody writes; else of windows-1252, as old senders mean by
    Latin-1."""
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode()
    text = data.decode(errors="replace")
    bad = text.count("\ufffd")
    is_good = bad <= sum(character > "\x7f" for character in text) - bad
    if is_good or re.search(rb"\xe2\x80|\xf0\x9f|[a-z]\xc3", data):
        return text
    return WINDOWS_1252.decode(data, "replace")[0]


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
