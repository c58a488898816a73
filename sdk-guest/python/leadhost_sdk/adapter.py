"""What an adapter needs of the contract: its functions with defaults, requests, answers and events.
The functions that read a tree are here too, so that an adapter imports this module alone."""

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import adapter as a
from wit_world.exports.adapter import Event as Event
from wit_world.exports.adapter import EventBody as EventBody
from wit_world.exports.adapter import SendAnswer as SendAnswer
from wit_world.exports.adapter import SendStep as SendStep
from wit_world.exports.adapter import TemplatePage as TemplatePage
from wit_world.exports.adapter import TemplateSend as TemplateSend
from wit_world.exports.adapter import TemplateStep as TemplateStep
from wit_world.exports.adapter import Webhook as Webhook
from wit_world.imports import core

from .forms import form_fields
from .plugin import take_notes, with_own_notes
from .reading import *

_URL = re.compile(r"(?i)(https?)://([^/?#@\s]+)(/[^?#\s]*)?(?:\?([^#\s]*))?(?:#\S*)?")

Segments = list[core.Segment]
Pairs = Iterable[tuple[str, str]]


class Adapter(exports.Adapter):
    """An adapter that checks no sender, has no routes, answers no handshake and lists no
    templates. `send` returns a request or an answer, or raises `refused(…)`."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        for name in ("describe", "sender_checks", "routes", "handshake", "read_answer", "read_webhook"):
            if name in vars(cls):
                setattr(cls, name, with_own_notes(vars(cls)[name]))
        if "send" in vars(cls):
            setattr(cls, "send", _with_refusals(with_own_notes(vars(cls)["send"])))

    def sender_checks(self, config: str) -> core.SenderPolicy:
        return core.SenderPolicy(checks=[], carried_secrets=[])

    def routes(self, config: str) -> list[tuple[str, str]]:
        return []

    def handshake(self, delivery: core.Delivery) -> core.HandshakeAnswer | None:
        return None

    def list_templates(self, config: str) -> TemplateStep:
        return a.TemplateStep_Unlisted()

    def read_templates(self, config: str, response: core.HttpResponse) -> TemplatePage:
        why = "this adapter never requests templates and cannot read such a response"
        raise Err(a.Refused("request", "", "", why, "", None))


def hmac_sha256_hex(secret: str, header: str, prefix: str = "") -> core.SenderCheck:
    """Returns the check of a hex HMAC-SHA256 of the raw body in a header."""
    proof = core.Location("header", header)
    return core.SenderCheck(secret, "hmac-sha256", proof, "hex", prefix, "", 0, [])


def post_json(url: str, headers: Iterable[tuple[str, str | Segments]], body: Any) -> SendStep:
    """Returns the step of a POST with a JSON body to a whole URL."""
    all_headers = [*headers, ("content-type", "application/json")]
    return call(request("POST", url, all_headers, json_text(body)))


def call(request: core.HttpRequest) -> SendStep:
    """Returns the step that has the host make a request."""
    return a.SendStep_Call(request)


def request(
    method: str,
    url: str,
    headers: Iterable[tuple[str, str | Segments]] = (),
    body: str | bytes | Segments = (),
) -> core.HttpRequest:
    """Returns a request to a whole URL, percent-encoded where it needs to be. A header and a body are
    a text, or segments where a secret is in it. Raises ValueError for a URL of another scheme."""
    parts = _URL.fullmatch(url)
    if parts is None:
        expected = "`https://…`, or `http://…` for a server on this machine while developing"
        raise ValueError(f"a request needs a whole URL, {expected}, not `{url}`")
    scheme, authority, path, query = parts.groups(default="")
    return core.HttpRequest(
        method=method,
        scheme=scheme.lower(),
        authority=authority,
        path=[literal(path or "/")],
        query=[(name, [literal(value)]) for name, value in form_fields(query)],
        headers=[(name, _segments(value)) for name, value in headers],
        body=_segments(body),
    )


def _segments(value: str | bytes | Segments) -> Segments:
    if isinstance(value, str):
        return [literal(value)]
    return [core.Segment_Bytes(value)] if isinstance(value, bytes) else list(value)


def literal(text: str) -> core.Segment:
    return core.Segment_Literal(text)


def secret(name: str) -> core.Segment:
    """Returns a segment that the host fills with a secret; the adapter never sees it."""
    return core.Segment_Slot(core.Slot("secret", [core.SlotArgument_Secret(name)]))


class refused(Exception):
    """A refusal: to be raised in `send`, or as an answer with `refusal`."""

    def __init__(self, category: str, text: str, code: str = "", retry_after_seconds: int | None = None):
        super().__init__(text)
        self.value = a.Refused(category, code, "", text, "", retry_after_seconds)


def refusal(refused: refused) -> SendAnswer:
    return a.SendAnswer_Refused(refused.value)


def accepted(*external_ids: str) -> SendAnswer:
    return a.SendAnswer_Accepted(a.Accepted(list(external_ids), None, "accepted", []))


def unknown(why: str) -> SendAnswer:
    """Nothing shows whether the provider has the message, so the host does not send it again."""
    return a.SendAnswer_Unknown(why)


def retry_after(response: core.HttpResponse) -> int | None:
    """Returns the seconds of a `retry-after` header; else None."""
    value = dict(reversed(response.headers)).get("retry-after", "").strip()
    return int(value) if value.isdecimal() and len(value) < 10 else None


def answer_body(response: core.HttpResponse) -> Any:
    """Returns the JSON of a provider's answer; an empty dict if it is none, such as a page of a
    proxy on the way."""
    try:
        return parse_json(body_text(response.body))
    except ValueError:
        return {}


class Requested(NamedTuple):
    """The template of a send, and the texts for the placeholders of its body."""

    name: str
    language: str
    values: list[str]


def requested(message: TemplateSend) -> Requested:
    """Returns the template of a send. Raises a refusal if it has no meaning."""
    try:
        template = parse_json(message.template)
    except ValueError:
        raise refused("request", "the template is not valid JSON") from None
    name = text(template, "name")
    if name is None:
        raise refused("request", "the template has no `name`")
    language = text(template, "language.code") or text(template, "language")
    if language is None:
        raise refused("request", "the template has no `language.code`")
    parts = list_(template, "components")
    body = next((part for part in parts if (text(part, "type") or "").lower() == "body"), None)
    return Requested(name, language, texts(body, "parameters[*].text"))


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


def webhook(events: list[Event], reply: core.Reply | None = None) -> Webhook:
    """Returns what `read_webhook` returns: the events, and the lines of `note`."""
    return a.Webhook(events=events, reply=reply, notes=take_notes())


def event(body: EventBody, route: Pairs = ()) -> Event:
    """Returns an event: its body is of `status`, `inbound`, `other` or `invalid`, or one of the
    contract's."""
    return a.Event(list(route), body, [])


def status(
    external_id: str,
    word: str,
    *,
    message_id: str | None = None,
    occurred_at: str | None = None,
    recipient_id: str | None = None,
    errors: Iterable[a.ChannelError] = (),
) -> EventBody:
    """Returns a status of a message."""
    errors = list(errors)
    return a.EventBody_Status(
        a.StatusUpdate(external_id, message_id, word, occurred_at, recipient_id, errors)
    )


def inbound(
    external_id: str,
    sender_id: str,
    *,
    sender_phone: str | None = None,
    sender_name: str | None = None,
    kind: str = "text",
    content: str | None = None,
    occurred_at: str | None = None,
    reply_to: str | None = None,
    attributes: Pairs = (),
) -> EventBody:
    """Returns a message of a contact."""
    who = (external_id, sender_id, sender_phone, sender_name)
    what = (kind, content, occurred_at, reply_to, list(attributes))
    return a.EventBody_Inbound(a.InboundMessage(*who, *what))


def other(what: str) -> EventBody:
    """Returns an event about which nothing is to be done, in words."""
    return a.EventBody_Other(what)


def invalid(message: str, path: str = "") -> EventBody:
    """Returns an event that cannot be read, and why; the others are not affected."""
    return a.EventBody_Invalid(core.Problem(message, path))


def _with_refusals(send: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that answers with the refusal that `send` raises."""

    @functools.wraps(send)
    def answer(*values: Any, **named: Any) -> SendStep:
        try:
            return send(*values, **named)
        except refused as error:
            return a.SendStep_Answer(refusal(error))

    return answer
