"""The bodies of webhooks and answers: JSON, or an urlencoded form."""

from typing import Any, Optional
from urllib.parse import parse_qsl

from wit_world.imports import core

from .adapter import problem
from .values import decoded, parse_json


def events_in(delivery: core.Delivery, key: str) -> list[Any]:
    """Returns the list of events under a key of a webhook's JSON body. Raises a problem, which
    refuses the whole body."""
    try:
        body = parse_json(body_text(delivery.body))
    except ValueError:
        raise problem("the body is not valid JSON") from None
    events = body.get(key) if isinstance(body, dict) else None
    if not isinstance(events, list):
        raise problem(f"the body has no list `{key}`")
    return events


def form_fields(delivery: core.Delivery) -> dict[str, str]:
    """Returns the fields of an urlencoded body; of two with one name, the last counts."""
    return dict(parse_qsl(body_text(delivery.body), keep_blank_values=True))


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
