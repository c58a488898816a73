"""Reads a form of unknown shape by the usual names of fields, as the mapping converter
does: in the form itself, in the dicts in it that are known to hold a lead, and in its lists
of questions and answers. The place with a phone or an e-mail address comes first. What is
read is noted, so that all the rest can be kept."""

import re
from typing import Any, NamedTuple, Optional

from wit_world.exports.converter import Listing

from . import names
from .items import note_once
from .looks import digits, fold, is_email_name, is_full_phone, is_name_question, is_others
from .looks import is_phone_name, is_phone_number
from .looks import looks_like_email, looks_like_name, looks_like_phone
from .people import Rest, is_same_phone
from .questions import free, is_contact, questions_in
from .time import time_of
from .values import Path, find, is_absent, json_text, text_of, whole_number

# Real containers are three deep.
MAX_DEPTH = 5
MAX_PLACES = 16
# The host takes no more phones or e-mail addresses of a lead; further ones stay attributes.
MAX_CONTACTS = 20
# Each code is compared with each phone.
MAX_CODES = 20
# A longer text is not the name of a source.
MAX_SOURCE = 200
# What Meta sends as the values of a test lead begins with this.
TEST_MARK = "<test lead"


class Field(NamedTuple):
    """A value, and the dict or list that it is in under its key."""

    of: Any
    key: Any
    value: Any


class Found(NamedTuple):
    of: Any
    key: Any
    text: str


class Fields:
    def __init__(self, form: dict[str, Any]):
        self._form = form
        # The keys that were read, by the id of each dict and list.
        self._read: dict[int, set[Any]] = {}
        # The contacts of the lead.
        self._phones: list[str] = []
        self._emails: list[str] = []
        # Whether the name may be an event's, or says nothing without a phone or an e-mail address.
        self._is_name_unsure = False
        self._places: list[Place] = []
        self._collect(form, "", 0)
        best = next((place for place in self._places if place.has_contact()), None)
        if best is not None:
            self._places.remove(best)
            self._places.insert(0, best)

    def take(self, *paths: Path) -> Optional[str]:
        """Returns the text at the first of these paths: `take("deal.ref", "phones[0]")`."""
        found = find(self._form, paths)
        return self._take(found and Found(*found))

    def external_id(self) -> Optional[str]:
        plain = [place for place in self._places if not place.is_person and not place.is_of_fields]
        return (
            self._text("IDS", [place for place in self._places if not place.is_about])
            or self._take(next(filter(None, map(Place.response_id, self._places)), None))
            or self._text("PLAIN_IDS", plain)
        )

    def is_test(self) -> bool:
        """Returns whether the lead is a test: a field says so, or a value is Meta's for a test
        lead."""
        said = self._text("TESTS", self._places)
        return fold(said or "") in names.YES or any(map(Place.has_test_mark, self._places))

    def is_lead(self, found: dict[str, Any]) -> bool:
        """Whether what was read is a lead, which the mapping converter asks in the same way: it
        has a phone or an e-mail address, or an id and a form's answers, or a name with an id, a
        message or a listing."""
        has_id = found.get("external_id") is not None
        is_answered = has_id and any(map(Place.has_answers, self._places))
        is_named = found.get("name") is not None and not self._is_name_unsure
        has_more = has_id or found.get("message") is not None or bool(found.get("listings"))
        has_contact = bool(found.get("phones") or found.get("emails"))
        return has_contact or is_answered or (is_named and has_more)

    def name(self) -> Optional[str]:
        """Returns the name, joined if it came in two parts."""
        best = self._places[0]
        # Beside a contact's dict, or the answers of a form, `name` may be that of a form.
        is_other = best.has_questions or not best.is_person
        is_apart = best.has_contact() and not best.is_form and is_other
        for place in self._places:
            is_plain = not is_apart or place is best or place.is_person or place.has_questions
            name = self._name_in(place, is_plain)
            if name is not None:
                self._is_name_unsure = place.is_form and "EVENTS" in place.shape.kinds
                return name
        self._is_name_unsure = True
        for place in self._places:
            full = self._take(place.of_lead(_WHOLE_OF_LEAD))
            parts = [] if full else [self._take(place.of_lead(part)) for part in _PARTS_OF_LEAD]
            name = full or " ".join(filter(None, parts))
            if name:
                return name
        return None

    def phones(self) -> list[str]:
        """Returns all phones, likeliest first, with the area code that is beside them."""
        out: list[str] = []
        for place in self._places:
            self._phones_in(place, place.named("PHONES"), is_phone_number, out)
        if not out:
            for place in self._places:
                self._phones_in(place, place.likely(is_phone_name), looks_like_phone, out)
                if place.text("BARE_AREA_CODES") is not None:
                    self._phones_in(place, place.named("BARE_NUMBERS"), looks_like_phone, out)
        if not out:
            for place in filter(_has_questions, self._places):
                self._phones_in(place, place.likely(_is_own), is_full_phone, out)
        self._phones = out
        return out

    def emails(self) -> list[str]:
        out: list[str] = []
        for place in self._places:
            self._emails_in(place.named("EMAILS"), out)
        if not out:
            for place in self._places:
                self._emails_in(place.likely(is_email_name), out)
        if not out:
            for place in filter(_has_questions, self._places):
                self._emails_in(place.likely(_is_own), out)
        self._emails = out
        return out

    def message(self) -> Optional[str]:
        return self._text("MESSAGES", self._places)

    def listings(self) -> list[Listing]:
        """Returns the client's own references of listings first, then the portal's."""
        client: list[str] = []
        portal: list[str] = []
        for place in self._places:
            self._push(client, place.named("CLIENT_LISTINGS"))
            self._push(portal, place.named("PORTAL_LISTINGS"))
            for field in place.named("LISTING_OBJECTS"):
                if isinstance(field.value, dict):
                    listing = Place(field.value)
                    self._push(client, listing.named("LISTING_REFERENCES")[:1])
                    self._push(portal, listing.named("LISTING_IDS")[:1])
        return [
            *(Listing("client", reference) for reference in client),
            *(Listing("portal", reference) for reference in portal if reference not in client),
        ]

    def occurred_at(self) -> Optional[str]:
        """Returns the time of the lead: of one field, or of a date and a time of day."""
        for place in self._places:
            day, hour = place.text("DATES"), place.text("HOURS")
            if day is not None and hour is not None and ":" in hour.text:
                time = time_of(f"{day.text} {hour.text}")
                if time is not None:
                    self._take(day)
                    self._take(hour)
                    return time
            for found in filter(None, map(_scalar, place.named("TIMES"))):
                time = time_of(found.text)
                if time is not None:
                    self._take(found)
                    return time
        return None

    def source(self) -> Optional[str]:
        """Returns where the lead came from."""
        found = next(filter(None, (place.text("SOURCES") for place in self._places)), None)
        return self._take(found) if found and len(found.text) <= MAX_SOURCE else None

    def campaign(self) -> list[tuple[str, str]]:
        """Returns the fields of the campaign, by the names that the host knows."""
        fields = ((name, self._text(name, self._places)) for name in names.CAMPAIGN)
        return [(name, text) for name, text in fields if text is not None]

    def rest(self) -> list[tuple[str, str]]:
        """Returns what was not read so far, as attributes: call it last. Other people are left
        out, and a note says where they are: an erasure would not find them in an attribute."""
        left = Rest(self._read, self._phones, self._emails)
        rest = left.of_form(self._form)
        for place in filter(_is_asked, self._places):
            for question, answer in left.of_form(place.value).items():
                rest[free(question, rest)] = answer
        for path in sorted(left.left_out):
            note_once(f"the people under `{path}` are not kept with the lead; the raw delivery has them")
        return [(name, json_text(rest[name])) for name in sorted(rest)]

    def _collect(self, value, name, depth):
        if not isinstance(value, dict) or depth > MAX_DEPTH or len(self._places) >= MAX_PLACES:
            return
        place = Place(value, is_person=name in names.PERSONS, is_form=depth == 0)
        place.is_of_fields = name in names.FIELD_GROUPS
        place.is_about = name == "summary"
        place.has_questions = place.shape.has_question_mark or name in names.QUESTION_GROUPS
        self._places.append(place)
        for name, key in place.shape.folded:
            asked = questions_in(name, value[key], value)
            if asked is not None and len(self._places) < MAX_PLACES:
                self._places.append(Place(asked, is_person=True, is_asked=True))
                # The answers take the place of the list or the dict.
                self._take(Found(value, key, ""))
            elif name in _CONTAINERS:
                self._collect(_only(Field(value, key, value[key])).value, name, depth + 1)

    def _take(self, found):
        if found is None:
            return None
        self._read.setdefault(id(found.of), set()).add(found.key)
        return found.text

    def _push(self, out, fields):
        for field in fields:
            found = _scalar(field) if len(out) < MAX_CONTACTS else None
            if found is not None and self._take(found) not in out:
                out.append(found.text)

    def _text(self, kind, places):
        found = (place.text(kind) for place in places)
        return self._take(next(filter(None, found), None))

    def _name_in(self, place, is_plain):
        full = place.text("FULL_NAMES")
        if full is not None:
            return self._take(full)
        first, last = place.text("FIRST_NAMES"), place.text("LAST_NAMES")
        if first is not None and last is not None:
            is_whole = first.text.lower().endswith(last.text.lower())
            parts = [self._take(first), self._take(last)]
            return parts[0] if is_whole else " ".join(parts)
        if not is_plain:
            return None
        for field in place.named("NAMES"):
            inner = _only(field).value
            if isinstance(inner, dict) and fold(field.key) not in names.CONTAINERS:
                name = self._name_in(Place(inner), True)
                if name is not None:
                    return name
            found = _scalar(field)
            if found is not None and looks_like_name(found.text):
                return self._take(found)
        asked = filter(None, map(_scalar, place.likely(is_name_question) if place.has_questions else []))
        named = (found for found in asked if looks_like_name(found.text))
        return self._take(next(named, None) or first or last)

    def _phones_in(self, place, fields, fits, out):
        for field, node in ((field, node) for field in fields for node in _nodes(field)):
            inner = Place(node.value) if isinstance(node.value, dict) else None
            found = _scalar(node) if inner is None else inner.text("NUMBERS")
            if found is not None:
                number = whole_number(found.of[found.key])
                found = found._replace(text=number or found.text)
            if found is None or not fits(found.text) or len(out) == MAX_CONTACTS:
                continue
            phone = self._with_codes(self._take(found), inner, place, fold(field.key))
            if not any(is_same_phone(known, phone) for known in out):
                out.append(phone)

    def _with_codes(self, phone, inner, place, name):
        """Adds the codes that are in or beside a phone, if it has none itself."""
        number = digits(phone)
        if phone.startswith("+") or len(number) > 11:
            return phone
        area, country = (
            (inner and inner.text(codes)) or place.code(name, codes)
            for codes in ("AREA_CODES", "COUNTRY_CODES")
        )
        if inner and inner.is_phone_only():
            area = inner.text("PHONE_AREAS") or area
        area_code, country_code = _code(area).lstrip("0"), _code(country)
        if len(number) < 10 and 1 <= len(area_code) <= 4:
            self._take(area)
            phone = f"({area_code}) {phone}"
        if 1 <= len(country_code) <= 3:
            self._take(country)
            # A number of North America may have its country code already.
            has_code = country_code == "1" and len(number) == 11 and number[0] == "1"
            phone = f"+{phone}" if has_code else f"+{country_code} {phone}"
        return phone

    def _emails_in(self, fields, out):
        for node in (node for field in fields for node in _nodes(field)):
            if isinstance(node.value, dict):
                found = Place(node.value).address()
            else:
                found = _scalar(node)
            if found is not None and looks_like_email(found.text) and len(out) < MAX_CONTACTS:
                if self._take(found) not in out:
                    out.append(found.text)


class Shape:
    """The keys of a dict by the lists that their folded names are in."""

    def __init__(self, keys):
        self.folded = [(fold(key), key) for key in sorted(keys)]
        ranked: dict[str, list[tuple[int, str]]] = {}
        for name, key in self.folded:
            for kind, rank in _RANKS.get(name, ()):
                ranked.setdefault(kind, []).append((rank, key))
        self.kinds = {
            kind: [key for _, key in sorted(keys, key=lambda ranked: ranked[0])]
            for kind, keys in ranked.items()
        }
        self.has_question_mark = any("?" in key for key in keys)
        # The codes of phones, by what is left of their names without the code's own word.
        self.codes = {
            kind: [
                (name.removeprefix(word) if name.startswith(word) else name.removesuffix(word), key)
                for word in getattr(names, kind)
                for name, key in self.folded
                if name != word and (name.startswith(word) or name.endswith(word))
            ][:MAX_CODES]
            for kind in ("AREA_CODES", "COUNTRY_CODES")
        }


class Place:
    """A dict, and its keys by the usual names of fields. The forms of a list share a shape."""

    def __init__(self, value, is_person=False, is_form=False, is_asked=False):
        self.value = value
        self.is_person = is_person
        self.is_form = is_form
        # Whether the keys are questions, and the values their answers.
        self.is_asked = is_asked
        # Whether it is one of single fields, whose `id` is a field's.
        self.is_of_fields = False
        # Whether it describes where the lead comes from.
        self.is_about = False
        # Whether the keys are the questions of a form.
        self.has_questions = is_asked
        keys = tuple(value)
        self.shape = _SHAPES.get(keys) or _SHAPES.setdefault(keys, Shape(keys))

    def named(self, kind):
        """Returns the fields that have a value under a name of this list, likeliest first."""
        keys = self.shape.kinds.get(kind, ())
        fields = (Field(self.value, key, self.value[key]) for key in keys)
        return [field for field in fields if not is_absent(field.value)]

    def likely(self, is_name):
        keys = (key for name, key in self.shape.folded if is_name(name))
        return [Field(self.value, key, self.value[key]) for key in keys]

    def text(self, kind):
        return next(filter(None, map(_scalar, self.named(kind))), None)

    def code(self, phone, kind):
        """Returns the code of the phone under a name: `ddd_celular` of `celular`, `ddd2` of
        `telefone2`, then `contactDDD` of `contactPhone`, then one without the name of a phone."""
        fields = ((rest, Field(self.value, key, self.value[key])) for rest, key in self.shape.codes[kind])
        found = [(rest, _scalar(field)) for rest, field in fields]
        codes = [(rest, code) for rest, code in found if 1 <= len(_code(code)) <= 4]
        own = (code for rest, code in codes if _is_own_code(phone, rest))
        of_owner = (code for rest, code in codes if _is_of_owner(phone, rest))
        return next(own, None) or next(of_owner, None) or self.text(kind)

    def is_phone_only(self):
        """Whether a dict has nothing but the parts of a phone."""
        return all(name in _PHONE_PARTS for name, _ in self.shape.folded)

    def address(self):
        """Returns the address in a dict that is an e-mail address."""
        others = [Field(self.value, key, self.value.get(key)) for key in ("value", "address")]
        return next(filter(None, map(_scalar, self.named("EMAILS") + others)), None)

    def of_lead(self, usual):
        """Returns a name whose key says whose it is: `buyer_name`, `nomeDoComprador`."""
        found = filter(None, map(_scalar, self.likely(usual.__contains__)))
        return next((name for name in found if looks_like_name(name.text)), None)

    def has_contact(self):
        if self.named("PHONES") or self.named("EMAILS"):
            return True
        if self.is_asked and any(is_contact(*pair) for pair in self.value.items()):
            return True
        answers = filter(None, map(_scalar, self.likely(_is_own) if self.has_questions else []))
        return any(looks_like_email(answer.text) for answer in answers)

    def has_answers(self):
        return self.is_asked and any(not isinstance(one, dict) for one in self.value.values())

    def has_test_mark(self):
        return any(_is_test_mark(value) for value in self.value.values())

    def response_id(self):
        """Returns Typeform's own id of a response."""
        token = self.text("TOKENS")
        beside = token and all(self.has(word) for word in ("formid", "answers"))
        return token if beside else None

    def has(self, word):
        return any(not is_absent(field.value) for field in self.likely(word.__eq__))


_SHAPES: dict[tuple[str, ...], Shape] = {}

_CONTAINERS = frozenset(names.CONTAINERS)
_PHONE_PARTS = frozenset(
    names.PHONES
    + names.NUMBERS
    + names.AREA_CODES
    + names.PHONE_AREAS
    + names.COUNTRY_CODES
    + names.PHONE_DETAILS
)
# The lists that a folded name is in, and its rank in each.
_RANKS: dict[str, list[tuple[str, int]]] = {}
_LISTS = {kind: kept for kind, kept in vars(names).items() if isinstance(kept, list)}
for _kind, _list in (_LISTS | names.CAMPAIGN).items():
    for _rank, _name in enumerate(_list):
        _RANKS.setdefault(_name, []).append((_kind, _rank))


def _only(field):
    """Returns the only element of a list, and all else as it is."""
    value = field.value
    return Field(value, 0, value[0]) if isinstance(value, list) and len(value) == 1 else field


def _nodes(field):
    value = field.value
    if isinstance(value, list):
        return [Field(value, index, node) for index, node in enumerate(value)]
    return [field]


def _scalar(field):
    """Returns the text of a field, also of a list of one and of {"value": "…"}. JSON is no text."""
    of, key, value = _only(field)
    if isinstance(value, dict):
        of, key, value = value, "value", value.get("value")
    text = text_of(value)
    is_json = text is not None and text.startswith(("{", "[")) and text.endswith(("}", "]"))
    return None if text is None or is_json else Found(of, key, text)


def _is_test_mark(value):
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        value = value.get("value")
    return isinstance(value, str) and value.lstrip().startswith(TEST_MARK)


def _code(found):
    return digits(found.text) if found and re.fullmatch("[0-9+() ]+", found.text) else ""


def _stem(name):
    """Returns the name of a phone without the words around it, as its code has it."""
    return re.sub("(numero|number)$", "", re.sub("^(numero(de|do)?|number)", "", name))


def _is_own_code(phone, rest):
    return _stem(phone) == _stem(rest) or (rest.isdigit() and phone.endswith(rest))


def _is_of_owner(phone, owner):
    """Whether a phone's name is that of its owner with a usual name of a phone."""
    phone = _stem(phone)
    rests = {phone.removeprefix(owner), phone.removesuffix(owner)} - {phone}
    return any(_stem(rest) in names.PHONES for rest in rests)


def _names_of_lead(words):
    """Returns what a word of a name and one for the lead make: `buyername`, `nomedocomprador`."""
    links = ("", "do", "da", "de", "del")
    pairs = [(word, lead) for word in words for lead in names.LEAD_WORDS]
    after = (word + link + lead for word, lead in pairs for link in links)
    return frozenset([*(lead + word for word, lead in pairs), *after])


# Made when the component is built, so that they cost a call nothing.
_WHOLE_OF_LEAD = _names_of_lead(names.NAME_WORDS)
_PARTS_OF_LEAD = [_names_of_lead(words) for words in (names.FIRST_NAME_WORDS, names.LAST_NAME_WORDS)]


def _is_asked(place):
    return place.is_asked


def _has_questions(place):
    return place.has_questions


def _is_own(name):
    return not is_others(name)
