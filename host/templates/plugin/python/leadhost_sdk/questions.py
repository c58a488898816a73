"""Lists of questions and answers, and dicts of them by a key, as form builders send them: each
question is read as the name of a field, and its answer as the field's value."""

import functools
from typing import Any, NamedTuple, Optional

from . import names
from .looks import fold, is_email_name, is_name_question, is_others, is_phone_name
from .looks import looks_like_email, looks_like_phone
from .values import is_absent, text_of

# A longer list is no form: the host takes as many attributes of a lead.
MAX_QUESTIONS = 200
# Objects and lists around one answer.
MAX_WRAPPED = 5

_CONTACTS = frozenset(names.PHONES + names.EMAILS)
_USUAL = frozenset(
    names.FULL_NAMES + names.FIRST_NAMES + names.LAST_NAMES + names.NAMES + names.MESSAGES
)


def questions_in(name: str, value: Any, beside: dict[str, Any]) -> Optional[dict[str, Any]]:
    """Returns the answers by their questions of a list or a dict with this folded name, or None
    if it is something else: a question with its answer is all that each of its elements has, and
    its own name is a usual one, or one of the answers is a phone or an e-mail address. The key of
    a dict's member is its question, if it has none itself."""
    is_form = name in names.QUESTION_LISTS
    is_group = isinstance(value, (list, dict)) and 1 <= len(value) <= MAX_QUESTIONS
    if not is_group or name in _CONTACTS or (is_others(name) and not is_form):
        return None
    titles, out = _titles(beside), {}
    items = sorted(value.items()) if isinstance(value, dict) else [(None, item) for item in value]
    for key, item in items:
        pair = None if is_absent(item) else _pair(item, key, titles)
        if pair is False:
            return None
        if pair is not None:
            question, answer = pair
            out[free(question, out)] = answer
    is_form = is_form or any(is_contact(*pair) for pair in out.items())
    return out if out and is_form else None


def free(name: str, taken: dict[str, Any]) -> str:
    """Returns a name, with a number if another question has it already: `Phone 2`."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name} {number}", number + 1
    return free


def is_contact(question: str, answer: Any) -> bool:
    """Whether a question asks for a phone or an e-mail address, and the answer is one."""
    meaning, text = meaning_of(question), text_of(answer)
    is_phone = meaning.is_phone and text is not None and looks_like_phone(text)
    return is_phone or (meaning.is_email and text is not None and looks_like_email(text))


def is_question(item: Any) -> bool:
    """Whether a value is a question with its answer."""
    return isinstance(_pair(item, None, {}), tuple)


class Meaning(NamedTuple):
    """What a question asks for."""

    is_phone: bool
    is_email: bool
    is_usual: bool
    is_other: bool


@functools.lru_cache(maxsize=10_000)
def meaning_of(question):
    name = fold(question)
    return Meaning(
        is_phone=name in names.PHONES or is_phone_name(name),
        is_email=name in names.EMAILS or is_email_name(name),
        is_usual=name in _USUAL or is_name_question(name),
        is_other=is_others(name),
    )


def _pair(item, key, titles):
    """Returns a question with its answer, None if it has no answer, False if it is neither."""
    if not isinstance(item, dict):
        return False
    fields = {fold(key): item[key] for key in sorted(item, reverse=True)}
    # Some answers are under the name of their type.
    kind = fold(text_of(fields.get("type")) or "")
    own = [] if kind in names.QUESTION_NAMES else [kind]
    # A person is no question.
    if any(name in _CONTACTS for name in fields if name not in own):
        return False
    answers = [name for name in names.ANSWERS + own if name in fields]
    at = next((name for name in answers if not is_absent(fields[name])), None)
    answer = _unwrapped(fields.get(at))
    if is_absent(answer):
        return None if answers else False
    question = _question(fields, key, at, answer, titles)
    return False if question is None or _is_record(question, answer) else (question, answer)


def _question(fields, key, at, answer, titles):
    """Returns the name that says most: one that asks for a contact and has it, or has it by its
    type, then one that asks for a name or a message, then the most readable one."""
    # A key takes the place of the question's id, after all names that say more.
    own = (
        key if key and name == "questionid" else _name_in(fields.get(name))
        for name in names.QUESTION_NAMES
        if name != at
    )
    asked = list(filter(None, (titles.get(_id_in(fields)), *own)))
    is_other = any(meaning_of(name).is_other for name in asked)
    kinds = (text_of(fields.get(name)) for name in ([] if is_other else names.KINDS))
    kinds = list(filter(None, kinds))
    contacts = (name for name in asked + kinds if is_contact(name, answer))
    usual = (name for name in asked if meaning_of(name).is_usual)
    return next(contacts, None) or next(usual, None) or next(iter(asked + kinds), None)


def _name_in(value):
    """Returns the text of a question, or of an object that describes it."""
    if not isinstance(value, dict):
        return text_of(value)
    inside = (text_of(value.get(key)) for key in ("title", "label", "name", "ref", "id"))
    return next(filter(None, inside), None)


def _id_in(fields):
    field = fields.get("field")
    inside = field.get("id") if isinstance(field, dict) else None
    return text_of(inside) or text_of(fields.get("questionid")) or text_of(fields.get("id"))


def _titles(beside):
    """Returns the titles of questions, by their ids, that a source sends beside the answers."""
    definition = beside.get("definition")
    listed = definition.get("fields") if isinstance(definition, dict) else beside.get("questions")
    listed = listed[:MAX_QUESTIONS] if isinstance(listed, list) else []
    known = [one for one in reversed(listed) if isinstance(one, dict)]
    titles = ((text_of(one.get("id")), text_of(one.get("title"))) for one in known)
    return {name: title for name, title in titles if name and title}


def _unwrapped(value):
    """Returns what is in objects and lists that have nothing else, or the label of a choice."""
    for _ in range(MAX_WRAPPED):
        if isinstance(value, dict):
            labels = [value[key] for key in ("label", "labels", "other") if key in value]
            only = labels[:1] or (list(value.values()) if len(value) == 1 else [])
        else:
            only = value if isinstance(value, list) and len(value) == 1 else []
        if not only:
            break
        value = only[0]
    return value


def _is_record(question, answer):
    """Whether an answer has a person or more answers in it, so that the list is one of leads."""
    if meaning_of(question).is_phone or meaning_of(question).is_email:
        return False
    if isinstance(answer, list):
        return any(isinstance(node, dict) for node in answer)
    return isinstance(answer, dict) and not _CONTACTS.isdisjoint(map(fold, answer))
