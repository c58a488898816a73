"""Other people in a lead's body: dicts with a phone or an e-mail address of their own. As an
attribute of the lead, an erasure of theirs would not find them."""

from . import names
from .looks import digits, fold, is_business, looks_like_email, looks_like_phone
from .questions import is_question, meaning_of
from .values import MAX_DEPTH, is_absent, parse_json, text_of

# Dicts in a person that hold a part of it.
MAX_PERSON_DEPTH = 8
# Places that are noted, and the length of a path there.
MAX_REPORTED = 20
MAX_PATH = 200

_CONTAINERS = frozenset(names.CONTAINERS)
# What a dict that is a phone or an e-mail address has it under.
_VALUES = frozenset([*names.NUMBERS, "address"])


class Rest:
    """What was not read of a form, without other people."""

    def __init__(self, read, phones, emails):
        # The keys that were read, by the id of each dict and list.
        self._read = read
        # Those of the lead.
        self._phones = phones
        self._emails = {email.lower() for email in emails}
        # The places of other people.
        self.left_out: list[str] = []

    def of_form(self, form):
        """Returns the members of a dict that is the lead."""
        left = {key: inner for key, inner in form.items() if key not in self._read.get(id(form), ())}
        rests = {key: self._of(inner, key, key) for key, inner in left.items()}
        return {key: rest for key, rest in rests.items() if not is_absent(rest)}

    def _of(self, value, name, path, in_business=False, is_item=False, depth=1):
        """Returns the rest of a value; the value itself if that is all of it."""
        if isinstance(value, str):
            return self._of_text(value, name, path, in_business, depth)
        if not isinstance(value, (dict, list)):
            return value
        if depth > MAX_DEPTH:
            # Only in a text is anything as deep. It is not read, so there may be people in it.
            return self._leave_out(path)
        is_list = isinstance(value, list)
        if not is_list:
            in_business = is_business(fold(name), in_business)
            if (is_item or not in_business) and self._is_other_person(name, value):
                return self._leave_out(path)
        read = self._read.get(id(value), ())
        rests, is_whole = {}, True
        for key, inner in enumerate(value) if is_list else value.items():
            own, at = (name, path) if is_list else (key, _below(path, key))
            rest = None if key in read else self._of(inner, own, at, in_business, is_list, depth + 1)
            is_whole = is_whole and rest is inner and key not in read
            if not is_absent(rest):
                rests[key] = rest
        if is_whole:
            return value
        return list(rests.values()) if is_list else rests

    def _of_text(self, text, name, path, in_business, depth):
        """Returns a text; None if it is JSON with other people in it."""
        if not text.lstrip().startswith(("{", "[")):
            return text
        try:
            inner = parse_json(text)
        except ValueError:
            return text
        told = len(self.left_out)
        if self._of(inner, name, path, in_business, depth=depth) is inner:
            return text
        del self.left_out[told:]
        return self._leave_out(path)

    def _is_other_person(self, name, value):
        phones, emails = [], []
        _contacts_in(value, phones, emails)
        asked = meaning_of(name)
        # The phones of one person are dicts with a phone as well.
        is_contact = asked.is_phone or asked.is_email
        is_person = phones and emails if is_contact else phones or emails
        if not is_person or is_question(value) or self._has_read(value):
            return False
        is_own = all(any(is_same_phone(own, phone) for own in self._phones) for phone in phones)
        return not is_own or not self._emails.issuperset(emails)

    def _has_read(self, value):
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return id(value) in self._read or any(map(self._has_read, inside))

    def _leave_out(self, path):
        if path not in self.left_out and len(self.left_out) < MAX_REPORTED:
            self.left_out.append(path)


def is_same_phone(one, other):
    """One number may come whole and in parts."""
    short, long = sorted((digits(one), digits(other)), key=len)
    return one == other or (len(short) >= 8 and long.endswith(short))


def _contacts_in(value, phones, emails, depth=0):
    """Adds the phones and the e-mail addresses of a dict, and of those in it that hold a part of
    a person."""
    for key, inner in value.items():
        asked = meaning_of(key)
        is_contact = asked.is_phone or asked.is_email
        if not is_contact and fold(key) not in _CONTAINERS:
            continue
        for node in inner if is_contact and isinstance(inner, list) else [inner]:
            texts = [node]
            if isinstance(node, dict):
                texts = [text for key, text in node.items() if fold(key) in _VALUES]
                if depth < MAX_PERSON_DEPTH:
                    _contacts_in(node, phones, emails, depth + 1)
            for text in filter(None, map(text_of, texts)):
                if asked.is_phone and looks_like_phone(text):
                    phones.append(text)
                elif asked.is_email and looks_like_email(text):
                    emails.append(text.lower())


def _below(path, name):
    """Returns the path of a member; a hostile one is cut."""
    whole = f"{path}.{name}" if path and name else path or name
    return whole if len(whole) <= MAX_PATH else path
