"""The records of the contract, with the parts that few adapters fill."""

import functools
import json
import re
from datetime import datetime, timedelta
from typing import Any, Callable, Iterable, NamedTuple, Optional

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import adapter as a
from wit_world.imports import core

from .values import parse_json, text_at, text_of

Segments = list[core.Segment]


class Adapter(exports.Adapter):
    """An adapter that checks no sender, has no routes, answers no handshake and lists no
    templates. `send` returns a request or an answer, or raises `refused(…)`."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        for name in ("describe", "sender_checks", "routes", "handshake", "read_answer", "read_webhook"):
            if name in vars(cls):
                setattr(cls, name, _with_own_notes(vars(cls)[name]))
        if "send" in vars(cls):
            cls.send = _with_refusals(_with_own_notes(vars(cls)["send"]))

    def sender_checks(self, config: str) -> core.SenderPolicy:
        return core.SenderPolicy(checks=[], carried_secrets=[])

    def routes(self, config: str) -> list[tuple[str, str]]:
        return []

    def handshake(self, delivery: core.Delivery) -> Optional[core.HandshakeAnswer]:
        return None

    def list_templates(self, config: str) -> a.TemplateStep:
        return a.TemplateStep_Unlisted()

    def read_templates(self, config: str, response: core.HttpResponse) -> a.TemplatePage:
        why = "this adapter never requests templates and cannot read such a response"
        raise Err(a.Refused("request", "", "", why, "", None))


def description(
    name: str,
    version: str,
    summary: str,
    config_schema: str = "",
    secrets: Iterable[core.SecretDeclaration] = (),
    hosts: Iterable[str] = (),
) -> core.Description:
    """Returns a description; `summary` is one line for people."""
    return core.Description(name, version, summary, config_schema, list(secrets), list(hosts))


def hmac_sha256_hex(secret: str, header: str, prefix: str = "") -> core.SenderCheck:
    """Returns the check of a hex HMAC-SHA256 of the raw body in a header."""
    proof = core.Location("header", header)
    return core.SenderCheck(secret, "hmac-sha256", proof, "hex", prefix, "", 0, [])


def post_json(
    authority: str, path: str, headers: Iterable[tuple[str, Segments]], body: Any
) -> a.SendStep:
    """Returns the step of a POST with a JSON body; `headers` are names and lists of segments."""
    json_type = ("content-type", [literal("application/json")])
    content = [literal(json.dumps(body, ensure_ascii=False, separators=(",", ":")))]
    all_headers = [*headers, json_type]
    request = core.HttpRequest("POST", "https", authority, [literal(path)], [], all_headers, content)
    return a.SendStep_Call(request)


def literal(text: str) -> core.Segment:
    return core.Segment_Literal(text)


def secret(name: str) -> core.Segment:
    """Returns a segment that the host fills with a secret; the adapter never sees it."""
    return core.Segment_Slot(core.Slot("secret", [core.SlotArgument_Secret(name)]))


class refused(Exception):
    """A refusal: to be raised in `send`, or as an answer with `refusal`."""

    def __init__(
        self, category: str, text: str, code: str = "", retry_after_seconds: Optional[int] = None
    ):
        super().__init__(text)
        self.value = a.Refused(category, code, "", text, "", retry_after_seconds)


def refusal(refused: refused) -> a.SendAnswer:
    return a.SendAnswer_Refused(refused.value)


def accepted(*external_ids: str) -> a.SendAnswer:
    return a.SendAnswer_Accepted(a.Accepted(list(external_ids), None, "accepted", []))


def unknown(why: str) -> a.SendAnswer:
    """Nothing shows whether the provider has the message, so the host does not send it again."""
    return a.SendAnswer_Unknown(why)


def retry_after(response: core.HttpResponse) -> Optional[int]:
    """Returns the seconds of a `retry-after` header; else None."""
    value = dict(reversed(response.headers)).get("retry-after", "").strip()
    return int(value) if re.fullmatch("[0-9]{1,9}", value) else None


class Requested(NamedTuple):
    """The template of a send, and the texts for the placeholders of its body."""

    name: str
    language: str
    values: list[str]


def requested(message: a.TemplateSend) -> Requested:
    """Returns the template of a send. Raises a refusal if it has no meaning."""
    try:
        template = parse_json(message.template)
    except ValueError:
        raise refused("request", "the template is not valid JSON") from None
    name = text_at(template, "name")
    if name is None:
        raise refused("request", "the template has no `name`")
    language = text_at(template, "language.code", "language")
    if language is None:
        raise refused("request", "the template has no `language.code`")
    components = template.get("components")
    bodies = (part for part in _list(components) if (text_at(part, "type") or "").lower() == "body")
    parameters = next(bodies, {}).get("parameters")
    values = (text_at(parameter, "text") for parameter in _list(parameters))
    return Requested(name, language, [value for value in values if value is not None])


def webhook(events: list[a.Event], reply: Optional[core.Reply] = None) -> a.Webhook:
    """Returns what `read_webhook` returns: the events, and the lines of `note`."""
    lines = _notes.copy()
    _notes.clear()
    return a.Webhook(events=events, reply=reply, notes=lines)


def event(body: a.EventBody, route: Iterable[tuple[str, str]] = ()) -> a.Event:
    """Returns an event: its body is of `status`, `inbound`, `other` or `invalid`, or one of the
    contract's."""
    return a.Event(list(route), body, [])


def status(external_id: str, word: str, **fields: Any) -> a.EventBody:
    """Returns a status of a message; fields that are left out are empty."""
    empty = {"message_id": None, "occurred_at": None, "recipient_id": None, "errors": []}
    return a.EventBody_Status(a.StatusUpdate(external_id, status=word, **(empty | fields)))


def inbound(external_id: str, sender_id: str, **fields: Any) -> a.EventBody:
    """Returns a message of a contact; fields that are left out are empty."""
    empty: dict[str, Any] = {
        "sender_phone": None,
        "sender_name": None,
        "kind": "text",
        "content": None,
        "occurred_at": None,
        "reply_to": None,
        "attributes": [],
    }
    return a.EventBody_Inbound(a.InboundMessage(external_id, sender_id, **(empty | fields)))


def other(what: str) -> a.EventBody:
    """Returns an event about which nothing is to be done, in words."""
    return a.EventBody_Other(what)


def invalid(message: str, path: str = "") -> a.EventBody:
    """Returns an event that cannot be read, and why; the others are not affected."""
    return a.EventBody_Invalid(core.Problem(message, path))


def problem(message: str, path: str = "") -> Err[core.Problem]:
    """Returns a problem to be raised, which refuses the whole body. Any other exception is a
    crash of the adapter instead."""
    return Err(core.Problem(message, path))


def time_text(value: Any) -> Optional[str]:
    """Returns an epoch (a number, or digits in a text) as RFC 3339, and an ISO text unchanged
    except that an offset like `+0000` gets its colon."""
    text = text_of(value)
    whole = (text or "").partition(".")[0]
    if re.fullmatch("[0-9]{5,15}", whole):
        # 1e11 seconds are the year 5138; 1e11 milliseconds are 1973.
        number = int(whole)
        milliseconds = number if number > 10**11 else number * 1000
        try:
            time = datetime(1970, 1, 1) + timedelta(milliseconds=milliseconds)
        except OverflowError:
            return None
        return time.isoformat(timespec="milliseconds").removesuffix(".000") + "Z"
    if text is None or ":" not in text:
        return text
    return re.sub("([+-][0-9]{2})([0-9]{2})$", r"\1:\2", text)


def _list(value):
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _with_refusals(send: Callable) -> Callable:
    """Returns a function that answers with the refusal that `send` raises."""

    @functools.wraps(send)
    def answer(*values: Any, **named: Any) -> a.SendStep:
        try:
            return send(*values, **named)
        except refused as error:
            return a.SendStep_Answer(refusal(error))

    return answer


def _with_own_notes(call: Callable) -> Callable:
    """Returns a function that begins without notes: those of a call that refused its body, or
    failed, are not the next call's."""

    @functools.wraps(call)
    def begin(*values: Any, **named: Any) -> Any:
        _notes.clear()
        return call(*values, **named)

    return begin


# The most notes of a delivery.
MAX_NOTES = 200
_notes: list[str] = []


def note(line: object) -> None:
    """Adds a line to the notes of the delivery."""
    if len(_notes) < MAX_NOTES:
        _notes.append(str(line))
