"""JSON as sources send it: numbers keep every digit, and an absent value has many forms."""

import codecs
import contextlib
import json
import re
from typing import Any, Optional, Union

Path = Union[str, list[str]]

# Deeper nesting is no lead, would exhaust the stack of the component, and as an attribute is
# refused by the host.
MAX_DEPTH = 127

# Half of a surrogate pair is in the group.
_ESCAPE = re.compile(r"(?is)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(\\ud[89a-f][0-9a-f]{2})|\\.")

# Found when the component is built, which has no files later.
_WINDOWS_1252 = codecs.lookup("cp1252")


class Number(str):
    """A number of a JSON text, as it was written."""


def parse_json(text: str) -> Any:
    """Returns the value of a JSON text, its numbers as `Number`; raises ValueError if it is
    not JSON or is nested too deep. Half of a surrogate pair, which cannot leave the component, is
    U+FFFD."""
    if _is_deep(text):
        raise ValueError("nested too deep")
    text = text.removeprefix("\ufeff")
    if re.search(r"\\u[dD]", text):
        text = _ESCAPE.sub(lambda escape: "\\ufffd" if escape[1] else escape[0], text)
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=_refuse)


def json_text(value: Any) -> str:
    """Returns a value as JSON text, its numbers as they were sent."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, dict):
        fields = (json_text(name) + ":" + json_text(inner) for name, inner in value.items())
        return "{" + ",".join(fields) + "}"
    return json.dumps(value, ensure_ascii=False)


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
    return _WINDOWS_1252.decode(data, "replace")[0]


def text_of(value: Any) -> Optional[str]:
    """Returns a scalar as trimmed text, a number as it was sent; else None."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.strip() or None if isinstance(value, str) else None


def whole_number(value: Any) -> Optional[str]:
    """Returns the digits of a whole number, also of one with a fraction or an exponent, as
    programs write large numbers: of 1.1987654321e+10; else None."""
    form = r"([0-9]+)(?:[.]([0-9]+))?(?:[eE][+]?([0-9]{1,2}))?"
    parts = re.fullmatch(form, value) if isinstance(value, Number) else None
    if parts is None:
        return None
    point = len(parts[1]) + int(parts[3] or 0)
    digits = (parts[1] + (parts[2] or "")).ljust(point, "0")
    is_whole = point <= 20 and not digits[point:].strip("0")
    return digits[:point].lstrip("0") if is_whole else None


def is_absent(value: Any) -> bool:
    """Whether a value is empty: null, a blank text, {} or []."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or value == [] or value == {}


def find(value: Any, paths: tuple[Path, ...]) -> Optional[tuple[Any, Any, str]]:
    """Returns the place of the first path that leads to a scalar: the dict or list that it is
    in, its key there, and its text. A path is keys joined by dots, with indexes in brackets:
    `contact.phones[0]`. A key with a dot or a bracket in it is in a list: `["a.b", "c"]`."""
    for path in paths:
        steps = path if isinstance(path, list) else re.sub(r"\[(\w+)\]", r".\1", path).split(".")
        of, found = None, value
        for step in steps:
            is_index = isinstance(found, list) and step.isdecimal()
            of, key = found, int(step) if is_index else step
            found = _member(of, key)
        text = text_of(found)
        if text is not None:
            return of, key, text
    return None


def text_at(value: Any, *paths: Path) -> Optional[str]:
    """Returns the text at the first path that leads to a scalar; else None."""
    found = find(value, paths)
    return found and found[2]


def _member(value, key):
    if isinstance(value, list):
        return value[key] if isinstance(key, int) and key < len(value) else None
    return value.get(key) if isinstance(value, dict) else None


def _refuse(constant):
    raise ValueError(f"{constant} is no JSON")


def _is_deep(text):
    """Whether brackets outside of strings are nested deeper than a lead's."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = 0
    for bracket in re.sub(r'(?s)\\.|"[^"\\]*(?:\\.[^"\\]*)*"|[^][{}]', "", text):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            return True
    return False
