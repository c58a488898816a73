"""Recognises the names of fields, and the shapes of their values."""

import functools
import re
import unicodedata

from . import names


@functools.lru_cache(maxsize=10_000)
def fold(name):
    """Returns letters and digits in lower case, without accents and the number of `q3_name`."""
    name = re.sub(r"^q[0-9]+_(?=.)", "", name).lower()
    if not name.isascii():
        name = unicodedata.normalize("NFD", name)
    return name if name.isalnum() else "".join(filter(str.isalnum, name))


def digits(text):
    return re.sub("[^0-9]", "", text)


def is_phone_number(text):
    # A switch such as `whatsapp: 1` is no phone.
    return len(digits(text)) >= 4


def looks_like_phone(text):
    is_date = re.match("[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{2}/[0-9]{2}/[0-9]{4}", text)
    letters = sum(map(str.isalpha, text))
    is_short = 8 <= len(digits(text)) <= 20 and len(text) <= 40 and letters <= 5
    return is_short and "//" not in text and not is_date


def looks_like_email(text):
    return len(text) <= 254 and re.fullmatch(r"[^\s@]+@[^\s@]*\.[^\s@]*", text) is not None


def looks_like_name(text):
    return any(map(str.isalpha, text)) and not looks_like_email(text)


def is_phone_name(name):
    is_phone = any(part in name for part in names.PHONE_PARTS) and not name.endswith("id")
    return is_phone and not is_others(name)


def is_email_name(name):
    return any(part in name for part in names.EMAIL_PARTS) and not is_others(name)


def is_name_question(name):
    """Whether a question asks for the whole name: `Qual o seu nome completo?`."""
    return any(part in name for part in names.NAME_PARTS) and not is_others(name)


def is_full_phone(text):
    return re.fullmatch("[+][0-9()+. -]*", text) is not None and 10 <= len(digits(text)) <= 15


def is_others(name):
    """Whether a name is another person's; `client` is the advertiser, `cliente` the lead."""
    is_client = "client" in name and ("cliente" not in name or "clientemail" in name)
    return is_client or any(part in name for part in names.OTHERS)


@functools.lru_cache(maxsize=10_000)
def is_business(name, in_business):
    """Whether a dict of this name is no private person's: it is the advertiser's, one of its
    staff's, or a thing's, or the contact of one of these."""
    is_public = is_others(name) and not any(part in name for part in names.PRIVATE)
    is_thing = name in names.LISTING_OBJECTS or name in names.THINGS
    return is_public or is_thing or (in_business and name in names.CONTACT_OBJECTS)
