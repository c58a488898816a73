"""Times as sources write them, without a configured format: epochs, ISO 8601, and day before
month. The result is RFC 3339, or local time if the source names no zone: the host knows the
connection's."""

import re
from calendar import monthrange
from datetime import datetime, timedelta

__all__ = ["time"]

_EPOCH = re.compile(r"[0-9]{9,16}(\.[0-9]*)?")
_CLOCK = (
    r"(?:(?:[Tt]|[ ,]+(?:às )?)(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})"
    r"(?::(?P<second>[0-9]{1,2})(?P<fraction>\.[0-9]+)?)?\s*"
    r"(?P<zone>Z|z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_YEAR_FIRST = re.compile(r"(?P<year>[0-9]{4})([-/])(?P<month>[0-9]{1,2})\2(?P<day>[0-9]{1,2})" + _CLOCK)
_DAY_FIRST = re.compile(r"(?P<day>[0-9]{1,2})([-/.])(?P<month>[0-9]{1,2})\2(?P<year>[0-9]{4})" + _CLOCK)


def time(text: str | None) -> str | None:
    """Returns a time; None for a text that is none."""
    text = (text or "").strip()
    if _EPOCH.fullmatch(text):
        return _epoch(text.split(".")[0])
    parts = _YEAR_FIRST.fullmatch(text) or _DAY_FIRST.fullmatch(text)
    if parts is None:
        return None
    year, month, day = (int(parts[name]) for name in ("year", "month", "day"))
    # The month comes first where the second number can only be a day.
    if month > 12 and parts.re is _DAY_FIRST:
        month, day = day, month
    hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
    is_day = year >= 1 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]
    zone = _zone(parts["zone"] or "")
    if not is_day or hour > 23 or minute > 59 or second > 60 or zone is None:
        return None
    fraction = (parts["fraction"] or "")[:10]
    date = f"{year:04}-{month:02}-{day:02}"
    return f"{date}T{hour:02}:{minute:02}:{min(second, 59):02}{fraction}{zone}"


def _epoch(digits: str) -> str | None:
    """Reads seconds, milliseconds or microseconds: nine digits or more are after 1973."""
    if len(digits) == 15:
        return None
    number = int(digits[:13] if len(digits) == 16 else digits)
    milliseconds = number if number > 10**11 else number * 1000
    moment = datetime(1970, 1, 1) + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").removesuffix(".000") + "Z"


def _zone(text: str) -> str | None:
    if not text.startswith(("+", "-")):
        return "Z" if text else ""
    hours, minutes = text[1:3], text[3:].replace(":", "") or "00"
    return f"{text[0]}{hours}:{minutes}" if hours < "15" and minutes < "60" else None
