"""The body of a delivery: JSON, or a form, urlencoded or in parts, with the bracket paths that
form builders send."""

import contextlib
import re
from typing import Any, Optional, Union
from urllib.parse import unquote_to_bytes

from wit_world.imports import core

from .items import problem
from .looks import fold
from .multipart import multipart_fields
from .names import JSON_TEXTS
from .values import decoded, parse_json

# Brackets deeper than this stay part of the last key.
MAX_DEPTH = 16


def parse_body(delivery: core.Delivery) -> Any:
    """Returns the body as JSON values. A text in it that is itself JSON, under a name such as
    `rawRequest` or `payload`, is what it contains. Raises a problem, which refuses the whole
    delivery."""
    body = _parsed(delivery)
    for name, value in body.items() if isinstance(body, dict) else ():
        # Form builders send the whole answer as JSON in one field, where no path leads into a
        # text. A text that is not JSON stays.
        is_json = isinstance(value, str) and value.lstrip().startswith(("{", "["))
        if is_json and fold(name) in JSON_TEXTS:
            with contextlib.suppress(ValueError):
                body[name] = parse_json(value)
    return body


def _parsed(delivery):
    if content_type(delivery) == "multipart/form-data":
        body = delivery.body.value
        data = body.encode() if isinstance(body, str) else body
        return _tree(multipart_fields(header(delivery, "content-type") or "", data))
    text = body_text(delivery.body)
    # Some senders label JSON as a form.
    is_json = text.removeprefix("\ufeff").lstrip().startswith(("{", "["))
    if content_type(delivery) == "application/x-www-form-urlencoded" and not is_json:
        return parse_form(text if isinstance(delivery.body, core.Content_Text) else delivery.body.value)
    try:
        return parse_json(text)
    except ValueError:
        raise problem("the body is not valid JSON") from None


def forms_in(body: Any) -> list[tuple[Any, str]]:
    """Returns the forms of a body and their paths: of a list, of a list under `leads`, of the
    changes that Meta sends, or one."""
    changes = _changes_in(body)
    if changes:
        return changes
    leads = body.get("leads") if isinstance(body, dict) else None
    forms, prefix = (leads, "leads.") if isinstance(leads, list) else (body, "")
    if isinstance(forms, list):
        return [(form, f"{prefix}{index}") for index, form in enumerate(forms)]
    return [(body, "")]


def _changes_in(body):
    """Returns the values of `entry[].changes[]`."""
    return [
        (change.get("value") if isinstance(change, dict) else change, f"entry.{of}.changes.{at}.value")
        for of, entry in enumerate(_listed(body, "entry"))
        for at, change in enumerate(_listed(entry, "changes"))
    ]


def _listed(value, key):
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, list) else []


def parse_form(body: Union[str, bytes]) -> dict[str, Any]:
    """Returns a form as a tree: `a[b][0]=x` is {"a": {"b": ["x"]}}, `a=x&a=y` a list. A name
    or a value that is not UTF-8 is read by itself, as `decoded` does."""
    data = body.encode() if isinstance(body, str) else body
    pairs = filter(None, data.removeprefix(b"\xef\xbb\xbf").strip().split(b"&"))
    parts = (pair.partition(b"=") for pair in pairs)
    return _tree((_decode(name), _decode(value)) for name, _, value in parts)


def _tree(fields):
    """Returns names and texts as a tree."""
    root = _Node()
    for name, text in fields:
        node = root
        for step in _steps(name):
            node = node.child(step)
        node.values.append(text)
    tree = root.tree()
    if isinstance(tree, list):
        return {str(index): value for index, value in enumerate(tree)}
    return tree or {}


def body_text(body: core.Content) -> str:
    """Returns the text of a body; `decoded` reads bytes, which are not UTF-8."""
    return body.value if isinstance(body, core.Content_Text) else decoded(body.value)


def content_type(delivery: core.Delivery) -> str:
    """Returns the media type, in lower case and without parameters; empty if there is none."""
    return (header(delivery, "content-type") or "").partition(";")[0].strip().lower()


def header(delivery: core.Delivery, name: str) -> Optional[str]:
    """Returns the first header of this name; else None."""
    return dict(reversed(delivery.headers)).get(name.lower())


def query_field(delivery: core.Delivery, name: str) -> Optional[str]:
    """Returns the first field of this name in the query; else None."""
    return dict(reversed(delivery.query)).get(name)


class _Node:
    def __init__(self):
        self.values = []
        self.children = {}
        self.appended = 0

    def child(self, step):
        key = step
        # `a[]` is the first index that is free.
        while step == "" and (key == "" or key in self.children):
            key, self.appended = str(self.appended), self.appended + 1
        return self.children.setdefault(key, _Node())

    def tree(self):
        if not self.children:
            return self.values if len(self.values) > 1 else next(iter(self.values), None)
        indexes = [str(index) for index in range(len(self.children))]
        if not self.values and all(index in self.children for index in indexes):
            return [self.children[index].tree() for index in indexes]
        tree = {key: node.tree() for key, node in self.children.items()}
        if self.values:
            tree[""] = self.values if len(self.values) > 1 else self.values[0]
        return tree


def _steps(name):
    """Splits `a[b][]` into `a`, `b` and an empty step."""
    match = re.fullmatch(r"([^\[]+)((?:\[[^\]]*\])+)", name)
    if match is None:
        return [name]
    keys = match[2][1:-1].split("][")
    if len(keys) < MAX_DEPTH:
        return [match[1], *keys]
    rest = "][".join(keys[MAX_DEPTH - 1 :])
    return [match[1], *keys[: MAX_DEPTH - 1], f"[{rest}]"]


def _decode(text):
    return decoded(unquote_to_bytes(text.replace(b"+", b" ")))
