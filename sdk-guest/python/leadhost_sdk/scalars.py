"""Texts as sources write them: each function takes one that may be absent, and returns one that the
host can use, if it is one."""

import re

__all__ = ["email", "join", "phone", "yes"]

# What Meta sends in place of an answer of a test lead begins with this.
TEST_MARK = "<test lead"

_CODE = re.compile("[0-9+() ]+")
_ISO_CODE = re.compile("[A-Za-z]{2}")
_NOT_DIGITS = re.compile("[^0-9]")
_NOT_LETTERS = re.compile("[^0-9a-z]")
# Between groups of digits, a point is a sign of the phone.
_NUMBER = re.compile(r"([0-9]+)(?:[.]0|(?:[.]([0-9]*))?[eE][+]?([0-9]{1,2}))")

# In lower case and without accents.
_YES = frozenset("true 1 yes y sim s si on test teste aceito accepted granted".split())


def join(*texts: str | None) -> str | None:
    """Returns texts with a space between. One that is the last words of those before it is left out:
    some sources send the whole name as the first."""
    joined = ""
    for text in filter(None, map(_present, texts)):
        if not f" {joined}".lower().endswith(f" {text}".lower()):
            joined = f"{joined} {text}".lstrip()
    return joined or None


def phone(text: str | None, area: str | None = None, country: str | None = None) -> str | None:
    """Returns a phone as it was written, with the area code and the country (a calling code, or the
    ISO code) that are beside it, unless it has them itself; None if it has at most three digits. A
    whole number that a program wrote as `1.1987654321e+10` is its digits."""
    number = _whole_number(_present(text) or "")
    digits = _digits(number)
    if len(digits) <= 3 or number.startswith(TEST_MARK):
        return None
    if number.startswith(("+", "p:")):
        return number
    area = _digits(area).lstrip("0") if _is_code(area) else ""
    if area and len(digits) < 10:
        number = f"({area}) {number}"
    return _in_country(number, digits, (country or "").strip())


def _in_country(phone: str, number: str, country: str) -> str:
    """Returns a phone with its country. The host knows whether a number has its country's code
    already: it gets the country of such a number as the context of RFC 3966."""
    code = _digits(country)
    if _ISO_CODE.fullmatch(country):
        return f"{phone};phone-context={country}"
    if len(number) > 11 or not _is_code(country) or len(code) > 3:
        return phone
    # A number of North America with its country's code.
    if code == "1" and len(number) == 11 and number.startswith("1"):
        return f"+{phone}"
    return f"{phone};phone-context=+{code}" if number.startswith(code) else f"+{code} {phone}"


def email(text: str | None) -> str | None:
    """Returns an e-mail address; None if there is no `@` in it."""
    return _present(text) if text and "@" in text else None


def yes(text: str | None) -> bool:
    """Whether a text means yes, in the languages of usual forms."""
    letters = _NOT_LETTERS.sub("", (text or "").lower().replace("í", "i"))
    return letters in _YES


def _present(text: str | None) -> str | None:
    return (text and text.strip()) or None


def _digits(text: str | None) -> str:
    return _NOT_DIGITS.sub("", text or "")


def _is_code(text: str | None) -> bool:
    return bool(_CODE.fullmatch(text or "")) and 1 <= len(_digits(text)) <= 4


def _whole_number(text: str) -> str:
    """Returns the digits of a whole number with a fraction or an exponent, as programs write large
    numbers; any other text as it is."""
    parts = _NUMBER.fullmatch(text)
    if parts is None:
        return text
    point = len(parts[1]) + int(parts[3] or 0)
    digits = (parts[1] + (parts[2] or "")).ljust(point, "0")
    is_whole = point <= 20 and not digits[point:].strip("0")
    return digits[:point].lstrip("0") if is_whole else text
