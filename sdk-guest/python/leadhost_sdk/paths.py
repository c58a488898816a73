"""Reads a tree by paths: `contact.phones[0]`, `phones[*].value`, `phones[?type=home].value`,
`"cpf/cnpj"`, `["a.b"]`. The empty path is the value itself. What is absent (None, a blank text, {}
or []) is not there.

A key is compared exactly and then, if there is none, without the case of ASCII letters. XML and
forms repeat what other formats send once: a key that a list does not have is looked up in its first
element, and what is there once is its own first element. A key with a prefix of XML (`sf:Id`) also stands
for the name without it: elements are read without prefixes.
"""

import functools
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from .values import Number, is_absent, scalar_text

__all__ = ["at", "list_", "number", "text", "texts"]

# Patterns are compiled when the component is built: a call begins without any that another has used.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# Groups of three digits, and decimals after the other sign.
_GROUPED = re.compile(r"([+-]?[1-9][0-9]{0,2}([.,])[0-9]{3}(?:\2[0-9]{3})*)(?:(?!\2)[.,]([0-9]+))?")
_ESCAPED = re.compile(r"(?s)\\(.)")

Step = Callable[[Any], Iterable[Any]]


def at(value: Any, path: str = "") -> Any:
    """Returns the first value that a path leads to; else None."""
    return next(iter(_found(value, path)), None)


def text(value: Any, path: str = "") -> str | None:
    """Returns the first scalar that a path leads to as trimmed text, also within a list,
    a number with the digits that were sent; else None."""
    return next(filter(None, map(scalar_text, list_(value, path))), None)


def texts(value: Any, path: str = "") -> list[str]:
    """Returns all texts that a path leads to; a list is its elements."""
    return [found for found in map(scalar_text, list_(value, path)) if found is not None]


def number(value: Any, path: str = "") -> float | None:
    """Returns the first number that a path leads to, also one in a text, as people write it: `500.000`
    is five hundred thousand, and `12,5` is twelve and a half; else None."""
    found = filter(None, map(_number_text, list_(value, path)))
    numbers = (float(one) for one in found if _NUMBER.fullmatch(one))
    return next(filter(math.isfinite, numbers), None)


def _number_text(value: Any) -> str | None:
    text = scalar_text(value)
    if text is None or isinstance(value, (Number, int, float)):
        return text
    parts = _GROUPED.fullmatch(text)
    if parts is None:
        return text.replace(",", ".")
    return f"{parts[1].replace(parts[2], '')}.{parts[3] or 0}"


def list_(value: Any, path: str = "") -> list[Any]:
    """Returns the values that a path leads to: of one list its elements, of one other value a
    list."""
    found = _found(value, path)
    return found[0] if len(found) == 1 and isinstance(found[0], list) else found


def _found(value: Any, path: str) -> list[Any]:
    return [one for one in _walked(value, _steps(path)) if not is_absent(one)]


def _walked(value: Any, steps: tuple[Step, ...]) -> list[Any]:
    if not steps:
        return [value]
    step, rest = steps[0], steps[1:]
    if step is _each and isinstance(value, dict):
        # What is there once is its own element, unless only its members lead further.
        is_map = not rest and all(isinstance(one, dict) for one in value.values())
        own = [] if is_map else _walked(value, rest)
        if any(not is_absent(one) for one in own):
            return own
    return [inner for one in step(value) for inner in _walked(one, rest)]


_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_STEP = re.compile(
    rf"\.?\[(?:\s*(?P<index>\*|[0-9]{{1,9}})\s*|{_QUOTED}|\?(?P<keys>[^=\[]*)=(?:{_QUOTED}|(?P<word>[^\]]*)))\]"
    rf"|\.?(?:{_QUOTED}|(?P<key>[^.\[\"][^.\[]*))"
)


@functools.lru_cache(maxsize=1000)
def _steps(path: str) -> tuple[Step, ...]:
    """Parses a path. Raises ValueError, which names it and what is wrong: a mistake of the plugin."""
    rest = path.strip()
    # The mapping converter's sign of the whole body.
    if rest == "$" or rest.startswith(("$.", "$[")):
        rest = rest[1:].removeprefix(".")
    steps: list[Step] = []
    end = 0
    while end < len(rest):
        part = _STEP.match(rest, end)
        is_joined = part is not None and (part[0][0] == "[" or part[0].startswith(".") == (end > 0))
        if part is None or not is_joined:
            expected = 'must be `.key`, `."key"`, `[0]`, `[*]`, `[?key=text]` or `["key"]`'
            raise ValueError(f"path `{path}`: `{rest[end:]}` {expected}")
        steps.append(_step(part))
        end = part.end()
    return tuple(steps)


def _step(part: re.Match[str]) -> Step:
    in_brackets, wanted, quoted = part[2], part[4], part[6]
    if part["index"]:
        return _each if part["index"] == "*" else functools.partial(_element, int(part["index"]))
    if part["keys"] is not None:
        text = part["word"].strip() if wanted is None else _unescaped(wanted)
        return functools.partial(_matching, _steps(part["keys"]), text)
    if part["key"] == "*":
        return _all
    key = next(filter(lambda key: key is not None, (in_brackets, quoted)), None)
    key = part["key"] if key is None else _unescaped(key)
    index = int(key) if key.isdecimal() and len(key) < 10 else None
    return functools.partial(_member, key, key.encode().lower(), index)


def _unescaped(quoted: str) -> str:
    return _ESCAPED.sub(lambda escape: escape[1], quoted)


def _member(key: str, lower: bytes, index: int | None, value: Any) -> list[Any]:
    while isinstance(value, list):
        if index is not None and index < len(value):
            return [value[index]]
        value = value[0] if value else None
    if not isinstance(value, dict):
        return []
    if key in value:
        return [value[key]]
    for wanted in (lower, lower.rpartition(b":")[2]):
        for name in value:
            if name.encode().lower() == wanted:
                return [value[name]]
    return []


def _element(index: int, value: Any) -> list[Any]:
    elements = value if isinstance(value, list) else [value]
    return elements[index : index + 1]


def _each(value: Any) -> Iterable[Any]:
    return _all(value)


def _all(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else [value]


def _matching(keys: tuple[Step, ...], wanted: str, value: Any) -> list[Any]:
    elements = value if isinstance(value, list) else [value]
    return [one for one in elements if wanted in map(scalar_text, _walked(one, keys))]
