"""JSON as sources send it: numbers keep every digit, and an absent value has many forms."""

import codecs
import contextlib
import json
import re
from itertools import accumulate
from typing import Any

__all__ = ["Number", "json_text", "parse_json"]

# Deeper nesting is no lead, would exhaust the stack of the component, and as an attribute is
# refused by the host.
MAX_DEPTH = 127
# More than ten thousand leads have, and less than fills the memory of a call.
MAX_GROUPS = 250_000
MAX_VALUES = 1_000_000

# Patterns are compiled when the component is built: a call begins without any that another has used.
_SURROGATE = re.compile(r"\\u[dD]")
# In windows-1252 `â€`, `ðŸ`, and `Ã` after a small letter.
_UNWRITTEN = re.compile(rb"\xe2\x80|\xf0\x9f|[a-z]\xc3")
# Half of a surrogate pair is in the group.
_ESCAPE = re.compile(r"(?is)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(\\ud[89a-f][0-9a-f]{2})|\\.")

# What is not a bracket outside of a text; a text that is not closed is the rest. A repetition that
# never gives back what it has needs no memory for each character.
_NO_BRACKETS = re.compile(r'(?s)"(?:[^"\\]++|\\.)*+"?|[^][{}"]++')

_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}

# Found when the component is built, which has no files later.
_WINDOWS_1252 = codecs.lookup("cp1252")


class Number(str):
    """A number of a JSON text, as it was written."""

    # Without a dict of its own, it needs a third of the memory.
    __slots__ = ()


def parse_json(text: str) -> Any:
    """Returns the value of a JSON text, its numbers as `Number`; raises ValueError if it is
    not JSON, is nested too deep or has too many values. Half of a surrogate pair, which cannot leave
    the component, is U+FFFD, and a control character in a text, which templates put there, is itself."""
    if _is_large(text):
        raise ValueError("nested too deep, or too many values")
    text = text.removeprefix("\ufeff")
    if _SURROGATE.search(text):
        text = _ESCAPE.sub(lambda escape: "\\ufffd" if escape[1] else escape[0], text)
    return json.loads(text, strict=False, parse_int=Number, parse_float=Number, parse_constant=_refuse)


def json_text(value: Any) -> str:
    """Returns a value as JSON text, its numbers as they were sent."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, dict):
        fields = (json_text(str(name)) + ":" + json_text(inner) for name, inner in value.items())
        return "{" + ",".join(fields) + "}"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def decoded(data: bytes) -> str:
    """Returns bytes as text: of UTF-8, with U+FFFD for each bad sequence, if at least as many
    characters of several bytes are good as bad, or if windows-1252 would read `â€`, `ðŸ`, or `Ã`
    after a small letter, which nobody writes; else of windows-1252, as old senders mean by
    Latin-1."""
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode()
    text = data.decode(errors="replace")
    bad = text.count("\ufffd")
    others = len(text) - len(text.encode("ascii", "ignore"))
    if bad <= others - bad or _UNWRITTEN.search(data):
        return text
    return _WINDOWS_1252.decode(data, "replace")[0]


def is_absent(value: Any) -> bool:
    """Whether a value is empty: null, a blank text, {} or []."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, (list, tuple, dict)) and not value)


def scalar_text(value: Any) -> str | None:
    """Returns a scalar as trimmed text, a number as it was sent; of an element of XML with
    attributes its text; else None."""
    if isinstance(value, dict):
        value = value.get("#text")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return json_text(value)
    return value.strip() or None if isinstance(value, str) else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _is_large(text: str) -> bool:
    """Whether it may have too many values, or brackets outside of texts are nested too deep."""
    groups = text.count("[") + text.count("{")
    if groups > MAX_GROUPS or text.count(",") > MAX_VALUES:
        return True
    if groups <= MAX_DEPTH:
        return False
    brackets = _NO_BRACKETS.sub("", text)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > MAX_DEPTH
