"""Forms with the bracket paths that form builders send, as a tree: `a[b][0]=x` is
{"a": {"b": ["x"]}}, `a=x&a=y` a list."""

import binascii
import re
from collections.abc import Iterable
from typing import Any

from .plugin import problem
from .values import decoded

__all__ = ["parse_form"]

# Brackets deeper than this stay part of the last key.
MAX_DEPTH = 16
# Names and keys of a form, and runs of percent-encoded bytes: more than a batch of a thousand leads
# has, and less than takes the time of a call.
MAX_KEYS = 50_000
MAX_ESCAPES = 500_000

_ESCAPED = re.compile(rb"(?:%[0-9a-fA-F]{2})++")
_BRACKETS = re.compile(r"([^\[]++)((?:\[[^\]]*+\])++)")
_LOST_PLUS = re.compile(" [0-9][0-9 ()-]*+")


def parse_form(body: str | bytes) -> dict[str, Any]:
    """Returns an urlencoded form as a tree. A name or a value that is not UTF-8 is read by itself,
    as another encoding's."""
    return urlencoded_tree(form_fields(body))


def form_fields(body: str | bytes) -> list[tuple[str, str]]:
    """Returns the names and values of an urlencoded form, in their order."""
    data = body.encode() if isinstance(body, str) else body
    may_be_large = data.count(b"%") > MAX_ESCAPES
    if data.count(b"&") > MAX_KEYS or (may_be_large and len(_ESCAPED.findall(data)) > MAX_ESCAPES):
        raise _too_large()
    pairs = filter(None, data.removeprefix(b"\xef\xbb\xbf").strip().split(b"&"))
    parts = (pair.partition(b"=") for pair in pairs)
    return [(_decoded(name), _decoded(value)) for name, _, value in parts]


def urlencoded_tree(fields: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Returns names and values as a tree. A phone whose plus was not percent-encoded, so that it
    arrived as a space, gets it back: no person types a space there."""
    return form_tree((name, f"+{text[1:]}" if _lost_plus(text) else text) for name, text in fields)


def form_tree(fields: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Returns names and texts as a tree."""
    root = _Node()
    count = 0
    for name, text in fields:
        node = root
        for key in _keys(name):
            node = node.child(key)
            count += 1
        if count > MAX_KEYS:
            raise _too_large()
        node.texts.append(text)
    tree = root.tree()
    if isinstance(tree, list):
        return {str(index): value for index, value in enumerate(tree)}
    return tree or {}


class _Node:
    __slots__ = ("appended", "children", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.children: dict[str, _Node] = {}
        self.appended = 0

    def child(self, key: str) -> "_Node":
        found = key
        # `a[]` is the first index that is free.
        while key == "" and (found == "" or found in self.children):
            found, self.appended = str(self.appended), self.appended + 1
        return self.children.setdefault(found, _Node())

    def tree(self) -> Any:
        own = self.texts if len(self.texts) > 1 else next(iter(self.texts), None)
        if not self.children:
            return own
        indexes = [str(index) for index in range(len(self.children))]
        if own is None and all(index in self.children for index in indexes):
            return [self.children[index].tree() for index in indexes]
        tree = {} if own is None else {"": own}
        return tree | {key: node.tree() for key, node in self.children.items()}


def _keys(name: str) -> list[str]:
    """Splits `a[b][]` into `a`, `b` and an empty key."""
    match = _BRACKETS.fullmatch(name)
    if match is None:
        return [name]
    keys = match[2][1:-1].split("][")
    if len(keys) < MAX_DEPTH:
        return [match[1], *keys]
    rest = "][".join(keys[MAX_DEPTH - 1 :])
    return [match[1], *keys[: MAX_DEPTH - 1], f"[{rest}]"]


def _lost_plus(text: str) -> bool:
    is_phone = text.startswith(" ") and _LOST_PLUS.fullmatch(text)
    return bool(is_phone) and 10 <= sum(map(str.isdecimal, text)) <= 15


def _decoded(text: bytes) -> str:
    """Decodes whole runs at once, and keeps no pieces: a long text of escapes would take too many
    steps, and too much memory."""
    text = text.replace(b"+", b" ")
    plain, end = bytearray(), 0
    for run in _ESCAPED.finditer(text):
        plain += text[end : run.start()] + binascii.unhexlify(run[0].replace(b"%", b""))
        end = run.end()
    return decoded(bytes(plain + text[end:]))


def _too_large() -> Exception:
    return problem(f"the form has more than {MAX_KEYS} fields or {MAX_ESCAPES} escapes")
