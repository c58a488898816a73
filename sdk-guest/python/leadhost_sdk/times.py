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


_DOTNET = re.compile(r"/Date\((-?[0-9]+)(?:[+-][0-9]{4})?\)/")
_DAY = re.compile("[0-9]{1,2} [0-9]{4}")
_WEEKDAYS = "mon tue wed thu fri sat sun".split()
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
# Of North America, in RFC 822.
_ZONES = "EST EDT CST CDT MST MDT PST PDT".split()
# Names of one zone each.
_OTHER_ZONES = {
    "BRT": "-03:00",
    "BRST": "-02:00",
    "ART": "-03:00",
    "WET": "+00:00",
    "WEST": "+01:00",
    "CET": "+01:00",
    "CEST": "+02:00",
}
_NAMED_ZONE = re.compile(r"(.*)\[([A-Za-z0-9/_+-]{0,64})\]")
_OFFSET = re.compile(r"(?:Z|[+-][0-9]{2}:[0-9]{2})$")
_BASIC = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})[Tt]([0-9]{2})([0-9]{2})([0-9]{2})?(?![0-9])(.*)")


def time(text: str | None) -> str | None:
    """Returns a time; None for a text that is none."""
    text = (text or "").strip()
    # RFC 9557 names the zone after the time: the host knows its offset.
    named = _NAMED_ZONE.fullmatch(text)
    text, zone = (named[1], named[2]) if named else (text, "")
    found = _read(text) or _read(_rearranged(text))
    is_local = found is not None and not _OFFSET.search(found)
    return f"{found}[{zone}]" if is_local and zone else found


def _rearranged(text: str) -> str:
    """Returns an epoch or ISO 8601 of `Mon Mar 02 2026 09:15:30 GMT-0300 (…)`, `Mar 2, 2026, 9:15 AM`,
    RFC 2822, RFC 850, Java's `Mon Mar 02 09:15:30 BRT 2026`, `20260302T091530Z` and
    `/Date(1772453730000)/`; of another text none."""
    epoch = _DOTNET.fullmatch(text)
    if epoch:
        return epoch[1]
    basic = _BASIC.fullmatch(text)
    if basic:
        year, month, day, hour, minute, second, zone = basic.groups("00")
        return f"{year}-{month}-{day}T{hour}:{minute}:{second}{zone}"
    words = text[:120].replace(",", " ").partition("(")[0].split()
    if words and words[0][:3].lower() in _WEEKDAYS:
        del words[0]
    half = next((word for word in words if word.lower() in ("am", "pm")), None)
    if half:
        words.remove(half)
    # RFC 850 joins the date.
    if words and words[0].count("-") == 2:
        words[:1] = words[0].split("-")
    # C and Java have the year at the end.
    if len(words) > 2 and ":" in words[2]:
        words.insert(2, words.pop())
    if not 3 <= len(words) <= 5:
        return ""
    first, second, year, clock, zone = words + ["00:00:00", ""][len(words) - 3 :]
    day, month = (first, second) if first[:1].isdecimal() else (second, first)
    # By RFC 2822.
    if day == first and len(year) == 2 and len(words) > 3:
        year = ("20" if year < "50" else "19") + year
    name = month[:3].lower()
    if name not in _MONTHS or not _DAY.fullmatch(f"{day} {year}"):
        return ""
    zone = _OTHER_ZONES.get(zone, zone)
    if zone in _ZONES:
        at = _ZONES.index(zone)
        zone = f"-0{5 + at // 2 - at % 2}:00"
    for utc in ("GMT", "UTC", "UT"):
        if zone.startswith(utc):
            zone = zone.removeprefix(utc) or "Z"
            break
    return f"{year}-{_MONTHS.index(name) + 1}-{day}T{_of_day(clock, half)}{zone}"


def _of_day(clock: str, half: str | None) -> str:
    """Returns the time of day of a clock with twelve hours."""
    hour, _, rest = clock.partition(":")
    if half is None:
        return clock
    is_hour = hour.isdecimal() and 1 <= int(hour) <= 12
    return f"{int(hour) % 12 + 12 * (half.lower() == 'pm')}:{rest}" if is_hour else half


def _read(text: str) -> str | None:
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
