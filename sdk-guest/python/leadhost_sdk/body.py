"""The body of a delivery as one tree, whatever its format: JSON, a form, urlencoded or in parts, or
XML. Senders post JSON as a form and XML as plain text, so the content type counts only if the body
agrees with it."""

import contextlib
from typing import Any

from wit_world.imports import core

from .forms import form_tree, parse_form, urlencoded_tree
from .multipart import multipart_fields
from .plugin import problem
from .values import decoded, parse_json
from .xml import parse_xml

__all__ = ["body_text", "content_type", "header", "parse", "query_field"]

# Under these names form builders send the whole answer as JSON in one field, where no path leads
# into a text: in lower case, without anything but letters and digits.
JSON_TEXTS = frozenset("rawrequest datajson message payload data json lead body".split())


def parse(delivery: core.Delivery) -> Any:
    """Returns the body as a tree of dicts, lists and texts. At its top, a text that is itself JSON,
    under a name such as `rawRequest` or `payload`, is what it contains. Raises a problem, which
    refuses the whole delivery."""
    body = _parsed(delivery)
    for name, value in body.items() if isinstance(body, dict) else ():
        if _is_json(value) and "".join(filter(str.isalnum, name.lower())) in JSON_TEXTS:
            # A text that is not JSON stays.
            with contextlib.suppress(ValueError):
                body[name] = parse_json(value)
    return body


def _parsed(delivery: core.Delivery) -> Any:
    kind = content_type(delivery)
    if kind == "multipart/form-data":
        body = delivery.body.value
        data = body.encode() if isinstance(body, str) else body
        return form_tree(multipart_fields(header(delivery, "content-type") or "", data))
    text = body_text(delivery.body)
    trimmed = text.lstrip("\ufeff \t\r\n")
    begin = trimmed[:1]
    if not begin and delivery.query:
        # Some senders send all data in the address.
        return urlencoded_tree(delivery.query)
    if not begin:
        raise problem("the body is empty")
    if begin in '{["':
        return _json(trimmed)
    if begin == "<":
        return parse_xml(text)
    if kind == "application/x-www-form-urlencoded" or "=" in text:
        # Each value of bytes that are not UTF-8 has an encoding of its own.
        return parse_form(text if isinstance(delivery.body, core.Content_Text) else delivery.body.value)
    raise problem(f"the body is neither JSON nor XML nor a form (content type `{kind}`)")


def _json(text: str) -> Any:
    try:
        body = parse_json(text)
        # A sender that serialised the body twice.
        return parse_json(body) if _is_json(body) else body
    except ValueError:
        raise problem("the body is not valid JSON") from None


def _is_json(value: Any) -> bool:
    return isinstance(value, str) and value.lstrip().startswith(("{", "["))


def body_text(body: core.Content) -> str:
    """Returns the text of a body, also of one whose bytes are not UTF-8."""
    return body.value if isinstance(body, core.Content_Text) else decoded(body.value)


def content_type(delivery: core.Delivery) -> str:
    """Returns the media type, in lower case and without parameters; empty if there is none."""
    return (header(delivery, "content-type") or "").partition(";")[0].strip().lower()


def header(delivery: core.Delivery, name: str) -> str | None:
    """Returns the first header of this name; else None."""
    return dict(reversed(delivery.headers)).get(name.lower())


def query_field(delivery: core.Delivery, name: str) -> str | None:
    """Returns the first field of this name in the query; else None."""
    return dict(reversed(delivery.query)).get(name)
