"""What a converter needs of the contract: its functions with defaults, and the items that it
returns."""

import functools
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import converter as c
from wit_world.exports.converter import Consent, Conversion, Item, Listing
from wit_world.imports import core

from .plugin import take_notes, with_own_notes, wrong_type
from .values import is_absent, json_text

__all__ = [
    "USUAL_SECRETS",
    "Consent",
    "Conversion",
    "Converter",
    "Item",
    "Listing",
    "attribute",
    "conversion",
    "ignored",
    "invalid",
    "lead",
    "listing",
    "read_each",
]

_SECRETS = """
    google_key apikey api_key api-key x-api-key access_token accessToken refresh_token refreshToken
    session_token id_token auth_token authToken client_secret clientSecret app_secret private_key
    password passwd senha
""".split()

# The places of the usual secrets in a body, whose values the host masks. A `sender_checks` of your
# own returns them as `carried_secrets`.
USUAL_SECRETS = [core.Location("json", name) for name in _SECRETS]

T = TypeVar("T")

NOTHING = "the lead has no id, name, phone, e-mail address, message or listing"


class Converter(exports.Converter):
    """A converter that checks no sender, answers no handshake and fetches nothing."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        for name in ("describe", "sender_checks", "handshake", "convert", "complete"):
            if name in vars(cls):
                setattr(cls, name, with_own_notes(vars(cls)[name]))
        if "convert" in vars(cls):
            setattr(cls, "convert", _checked(vars(cls)["convert"]))

    def sender_checks(self, config: str) -> core.SenderPolicy:
        return core.SenderPolicy(checks=[], carried_secrets=USUAL_SECRETS)

    def handshake(self, delivery: core.Delivery) -> core.HandshakeAnswer | None:
        return None

    def complete(self, completion: c.Completion) -> list[Item]:
        raise Err(c.Failure("give-up", "this converter fetches nothing", None))


def conversion(items: Iterable[Item], reply: core.Reply | None = None) -> Conversion:
    """Returns what `convert` returns: the items, and the lines of `note`. An invalid item without a
    path gets its index, if there are others."""
    items = list(items)
    for index, item in enumerate(items):
        if not isinstance(item, Item):
            raise wrong_type(f"items[{index}]", "an item", item)
        outcome = item.outcome
        if isinstance(outcome, c.Outcome_Invalid) and not outcome.value.path and len(items) > 1:
            outcome.value.path = str(index)
    return c.Conversion(items=items, reply=reply, notes=take_notes())


# Errors of items whose places are written to the log.
MAX_LOGGED = 3


def read_each(values: Iterable[T], read: Callable[[T], Item]) -> list[Item]:
    """Returns what `read` makes of each value. One for which it raises is an invalid item with the
    reason, and the others are given; if it raises for all of them, the call ends with the first
    error."""
    items: list[Item] = []
    raised: list[Exception] = []
    for value in values:
        try:
            items.append(read(value))
        except Err as refused:
            raised.append(refused)
            items.append(invalid(refused.value.message, refused.value.path))
        except Exception as error:
            raised.append(error)
            items.append(invalid(f"{type(error).__name__}: {error}"))
    if raised and len(raised) == len(items):
        raise raised[0]
    for error in raised[:MAX_LOGGED]:
        traceback.print_exception(error)
    return items


def invalid(message: str, path: str = "") -> Item:
    """Returns an item without a lead, and why; the other items of the body are not affected."""
    return c.Item(route=[], outcome=c.Outcome_Invalid(core.Problem(message, path)))


def ignored(why: str) -> Item:
    """Returns an item about which nothing is to be done, and why."""
    return c.Item(route=[], outcome=c.Outcome_Ignored(why))


def attribute(name: str | None, value: Any) -> tuple[str, str] | None:
    """Returns a name with a value as JSON text, which keeps its type and digits; None if one of
    them is absent."""
    try:
        return (name, json_text(value)) if name and not is_absent(value) else None
    except (TypeError, ValueError):
        raise wrong_type(f"the attribute {name}", "a value of JSON", value) from None


def listing(kind: str, reference: str | None) -> Listing | None:
    """Returns a reference to what the lead asks about: `client` is the workspace's own id, `portal`
    the source's; None if it is absent."""
    return None if is_absent(reference) else c.Listing(kind, reference or "")


Texts = Iterable["str | None | list[str] | list[str | None]"]
Pair = tuple[str, str | None]
Pairs = Iterable["Pair | None | list[Pair | None]"]


def lead(
    *,
    external_id: str | None = None,
    action: str = "create",
    is_test: bool = False,
    name: str | None = None,
    phones: Texts = (),
    emails: Texts = (),
    region: str | None = None,
    listings: Iterable["Listing | None | list[Listing | None]"] = (),
    message: str | None = None,
    occurred_at: str | None = None,
    source: str | None = None,
    consents: Iterable[Consent | None] = (),
    campaign: Pairs = (),
    attributes: Pairs = (),
    route: Pairs = (),
) -> Item:
    """Returns an item with a lead, or an invalid one if nothing says who it is or what it is about.
    Blank texts and pairs without a value are absent, lists in lists are spread, and a phone or an
    e-mail address counts once. Raises TypeError, which names the field, for a value of another
    type."""
    if not isinstance(is_test, bool):
        raise wrong_type("is_test", "True or False", is_test)
    made = c.Lead(
        external_id=_text("external_id", external_id),
        action=_text("action", action) or "create",
        is_test=is_test,
        name=_text("name", name),
        phones=_texts("phones", phones),
        emails=_texts("emails", emails),
        region=_text("region", region),
        listings=_records("listings", listings, Listing),
        message=_text("message", message),
        occurred_at=_text("occurred_at", occurred_at),
        source=_text("source", source),
        consents=_records("consents", consents, Consent),
        campaign=_pairs("campaign", campaign),
        attributes=_pairs("attributes", attributes),
    )
    known = (made.external_id, made.name, made.phones, made.emails, made.message, made.listings)
    outcome = c.Outcome_Lead(made) if any(known) else c.Outcome_Invalid(core.Problem(NOTHING, ""))
    return c.Item(route=_pairs("route", route), outcome=outcome)


def _text(field: str, value: object) -> str | None:
    if not isinstance(value, str | None):
        raise wrong_type(field, "a text", value)
    return str(value) if value and not value.isspace() else None


def _texts(field: str, entries: object) -> list[str]:
    found = (_text(place, entry) for place, entry in _spread(field, entries))
    return list(dict.fromkeys(filter(None, found)))


def _pairs(field: str, entries: object) -> list[tuple[str, str]]:
    pairs = []
    for place, entry in _spread(field, entries):
        if not isinstance(entry, tuple) or len(entry) != 2:
            raise wrong_type(place, "a name and a value", entry)
        name, value = (_text(f"{place}[{index}]", entry[index]) for index in (0, 1))
        if name is None:
            raise wrong_type(f"{place}[0]", "a text", entry[0])
        if value is not None:
            pairs.append((name, value))
    return pairs


def _records(field: str, entries: object, kind: type) -> list[Any]:
    records = []
    for place, entry in _spread(field, entries):
        if not isinstance(entry, kind):
            raise wrong_type(place, f"a {kind.__name__}", entry)
        for name, value in vars(entry).items():
            if not isinstance(value, bool if name == "granted" else str):
                expected = "True or False" if name == "granted" else "a text"
                raise wrong_type(f"{place}.{name}", expected, value)
        records.append(entry)
    return records


def _spread(field: str, entries: Any) -> Iterator[tuple[str, Any]]:
    """Yields what is present of a list and of the lists in it, with its place."""
    if isinstance(entries, str | dict) or not isinstance(entries, Iterable):
        raise wrong_type(field, "a list", entries)
    for index, entry in enumerate(entries):
        place = f"{field}[{index}]"
        if isinstance(entry, list):
            yield from _spread(place, entry)
        elif entry is not None:
            yield place, entry


def _checked(convert: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that raises if `convert` returns no conversion."""

    @functools.wraps(convert)
    def check(*values: Any, **named: Any) -> Conversion:
        answer = convert(*values, **named)
        if not isinstance(answer, Conversion):
            raise wrong_type("the result of convert", "a conversion", answer)
        return answer

    return check
