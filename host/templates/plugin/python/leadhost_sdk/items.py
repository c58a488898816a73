"""The records of the contract, with the parts that few converters fill."""

import functools
from typing import Any, Callable, Iterable, Optional

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import converter as c
from wit_world.imports import core

from . import names

# The places of the usual secrets (`google_key`, `password`, …) in a body, whose values the host
# masks. A `sender_checks` of your own returns them as `carried_secrets`.
USUAL_SECRETS = [core.Location("json", name) for name in names.USUAL_SECRETS]


class Converter(exports.Converter):
    """A converter that checks no sender, answers no handshake and fetches nothing."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        for name in ("describe", "sender_checks", "handshake", "convert", "complete"):
            if name in vars(cls):
                setattr(cls, name, _with_own_notes(vars(cls)[name]))
        if "convert" in vars(cls):
            setattr(cls, "convert", _checked(vars(cls)["convert"]))

    def sender_checks(self, config: str) -> core.SenderPolicy:
        return core.SenderPolicy(checks=[], carried_secrets=USUAL_SECRETS)

    def handshake(self, delivery: core.Delivery) -> Optional[core.HandshakeAnswer]:
        return None

    def complete(self, completion: c.Completion) -> list[c.Item]:
        raise Err(c.Failure("give-up", "this converter fetches nothing", None))


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


def conversion(items: list[c.Item], reply: Optional[core.Reply] = None) -> c.Conversion:
    """Returns what `convert` returns: the items, and the lines of `note`."""
    _check("items", items, [c.Item])
    lines = _notes.copy()
    _notes.clear()
    return c.Conversion(items=items, reply=reply, notes=lines)


def lead(route: Iterable[tuple[str, str]] = (), **fields: Any) -> c.Item:
    """Returns an item with a lead. Fields that are left out are empty."""
    empty: dict[str, Any] = {
        "external_id": None,
        "action": "create",
        "is_test": False,
        "name": None,
        "phones": [],
        "emails": [],
        "region": None,
        "listings": [],
        "message": None,
        "occurred_at": None,
        "source": None,
        "consents": [],
        "campaign": [],
        "attributes": [],
    }
    given = empty | fields
    for name, shape in _LEAD.items():
        _check(f"lead.{name}", given[name], shape)
    return c.Item(route=list(route), outcome=c.Outcome_Lead(c.Lead(**given)))


# The shape of a lead in the contract: a type, a list of a shape, or a tuple of shapes.
_TEXT, _PAIRS = Optional[str], [(str, str)]
_LEAD: dict[str, Any] = {
    "external_id": _TEXT,
    "action": str,
    "is_test": bool,
    "name": _TEXT,
    "phones": [str],
    "emails": [str],
    "region": _TEXT,
    "listings": [c.Listing],
    "message": _TEXT,
    "occurred_at": _TEXT,
    "source": _TEXT,
    "consents": [c.Consent],
    "campaign": _PAIRS,
    "attributes": _PAIRS,
}


def _check(field: str, value: Any, shape: Any) -> None:
    """Raises if a value is not of the contract's shape: the runtime would not name the field."""
    if isinstance(shape, list):
        _expect(field, value, isinstance(value, list), "a list")
        for index, one in enumerate(value):
            _check(f"{field}[{index}]", one, shape[0])
    elif isinstance(shape, tuple):
        fits = isinstance(value, tuple) and len(value) == len(shape)
        _expect(field, value, fits, f"a tuple of {len(shape)}")
        for index, one in enumerate(value):
            _check(f"{field}[{index}]", one, shape[index])
    elif shape == _TEXT:
        _expect(field, value, value is None or isinstance(value, str), "str or None")
    else:
        _expect(field, value, isinstance(value, shape), shape.__name__)
        for name in vars(value) if shape in (c.Listing, c.Consent) else ():
            _check(f"{field}.{name}", getattr(value, name), bool if name == "granted" else str)


def _expect(field: str, value: Any, fits: bool, expected: str) -> None:
    if not fits:
        raise TypeError(f"`{field}` must be {expected}, not {value!r:.80}")


def invalid(message: str, path: str = "") -> c.Item:
    """Returns an item without a lead, and why; the other items of the body are not affected."""
    return c.Item(route=[], outcome=c.Outcome_Invalid(core.Problem(message, path)))


def ignored(why: str) -> c.Item:
    """Returns an item about which nothing is to be done, and why."""
    return c.Item(route=[], outcome=c.Outcome_Ignored(why))


def problem(message: str, path: str = "") -> Err[core.Problem]:
    """Returns a problem to be raised, which refuses the whole body. Any other exception is a
    crash of the converter instead."""
    return Err(core.Problem(message, path))


def _with_own_notes(call: Callable) -> Callable:
    """Returns a function that begins without notes: those of a call that refused its body, or
    failed, are not the next call's."""

    @functools.wraps(call)
    def begin(*values: Any, **named: Any) -> Any:
        _notes.clear()
        return call(*values, **named)

    return begin


def _checked(convert: Callable) -> Callable:
    """Returns a function that raises if `convert` returns no conversion."""

    @functools.wraps(convert)
    def check(*values: Any, **named: Any) -> Any:
        answer = convert(*values, **named)
        _check("the result of convert", answer, c.Conversion)
        return answer

    return check


# More lines than a person reads.
MAX_NOTES = 200
_notes: list[str] = []


def note(line: object) -> None:
    """Adds a line to the notes of the delivery."""
    if len(_notes) < MAX_NOTES:
        _notes.append(str(line))


def note_once(line: str) -> None:
    """Adds a line unless the notes have it: the leads of a list are often alike."""
    if line not in _notes:
        note(line)
