"""What converters and adapters share: who they are, problems, notes and the log."""

import functools
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

from componentize_py_types import Err
from wit_world.imports import core
from wit_world.imports.core import (
    Delivery,
    Description,
    HandshakeAnswer,
    HttpResponse,
    Location,
    Reply,
    SecretDeclaration,
    SenderCheck,
    SenderPolicy,
)

from . import watch

__all__ = [
    "Delivery",
    "Description",
    "HandshakeAnswer",
    "HttpResponse",
    "Location",
    "Reply",
    "SecretDeclaration",
    "SenderCheck",
    "SenderPolicy",
    "description",
    "log",
    "note",
    "problem",
]


def description(
    name: str,
    version: str,
    summary: str,
    *,
    config_schema: dict[str, Any] | str = "",
    secrets: Iterable[SecretDeclaration] = (),
    hosts: Iterable[str] = (),
) -> Description:
    """Returns a description; `summary` is one line for people."""
    schema = config_schema if isinstance(config_schema, str) else json.dumps(config_schema)
    return core.Description(name, version, summary, schema, list(secrets), list(hosts))


def problem(message: str, path: str = "") -> Err[core.Problem]:
    """Returns a problem to be raised, which refuses the whole body. Any other exception is a
    crash of the plugin instead."""
    return Err(core.Problem(message, path))


def log(*values: object) -> None:
    """Writes a line to the log of the call, which the host keeps also after a crash."""
    print(*values, file=sys.stderr, flush=True)


# More lines than a person reads.
MAX_NOTES = 200
_notes: list[str] = []


def note(line: object) -> None:
    """Adds a line to the notes of the delivery."""
    if len(_notes) < MAX_NOTES:
        _notes.append(str(line))


def take_notes() -> list[str]:
    """Returns the lines so far, and forgets them."""
    lines = _notes.copy()
    _notes.clear()
    return lines


def with_own_notes(call: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that begins without notes and rounds: what a call left that refused its body, or
    failed, is not the next call's."""

    @functools.wraps(call)
    def begin(*values: Any, **named: Any) -> Any:
        _notes.clear()
        watch.begin()
        return call(*values, **named)

    return begin


def wrong_type(field: str, expected: str, value: object) -> TypeError:
    """Returns the error of a value that the contract does not have: the runtime would name neither
    the field nor the line."""
    try:
        shown = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError):
        shown = repr(value)
    shown = "None" if value is None else shown
    return TypeError(f"`{field}` must be {expected}, not {shown[:80]}")
