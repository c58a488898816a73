"""Bodies of the type multipart/form-data. A delimiter counts only at the beginning of a line, so the
time grows with the length of the body and no faster. The last delimiter may be missing."""

import re

from .plugin import problem
from .values import decoded

# RFC 2046 allows 70 characters; some senders use a few more.
MAX_BOUNDARY = 200
# A form has some dozen fields.
MAX_PARTS = 1000
# Bytes of the headers of one part.
MAX_HEADERS = 8 * 1024

# Patterns are compiled when the component is built: a call begins without any that another has used.
_FIRST_BLANK = re.compile(rb"\r?\n")
_BLANK = re.compile(rb"\n\r?\n")
_PARAMETERS = re.compile(r'[;\s]*([^=;]*)(=(?:"((?:\\["\\]|[^"])*)"?|([^;]*)))?')
_ESCAPED = re.compile(r'\\(["\\])')


def multipart_fields(content_type: str, body: bytes) -> list[tuple[str, str]]:
    """Returns the parts as names and texts, in their order: of a file, its name. Raises a problem,
    which refuses the whole delivery."""
    boundary = (_parameter(content_type, "boundary") or "").encode()
    if not 0 < len(boundary) <= MAX_BOUNDARY:
        raise problem("the multipart body's boundary is missing or too long")
    fields: list[tuple[str, str]] = []
    begin = None
    for delimiter in re.finditer(rb"(?m)^--" + re.escape(boundary) + rb"(--)?[ \t\r]*+$", body):
        if begin is not None:
            fields.append(_field(body[begin : delimiter.start()]))
        if len(fields) > MAX_PARTS:
            raise problem(f"the multipart body has more than {MAX_PARTS} parts")
        if delimiter[1]:
            return fields
        begin = delimiter.end() + 1
    if begin is None:
        raise problem("the multipart body has no delimiter in it")
    return fields + [_field(body[begin:])] if begin < len(body) else fields


def _field(part: bytes) -> tuple[str, str]:
    part = part.removesuffix(b"\n").removesuffix(b"\r")
    # A part without headers begins with an empty line.
    blank = _FIRST_BLANK.match(part) or _BLANK.search(part)
    end, text = (blank.start(), part[blank.end() :]) if blank else (len(part), b"")
    if end > MAX_HEADERS:
        raise problem("a part of the multipart body has too long headers")
    name, file = "", None
    for line in decoded(part[:end]).split("\n"):
        header, colon, value = line.partition(":")
        if colon and header.strip().lower() == "content-disposition":
            name, file = _parameter(value, "name") or "", _parameter(value, "filename")
    return name, decoded(text) if file is None else file


def _parameter(header: str, wanted: str) -> str | None:
    """Returns a parameter of a header: `name=value` or `name="value"`."""
    given = header[header.find(";") :] if ";" in header else ""
    for name, value, quoted, plain in _PARAMETERS.findall(given):
        if value and name.strip().lower() == wanted:
            # Other backslashes belong to a Windows path, as old browsers sent it.
            return _ESCAPED.sub(lambda escape: escape[1], quoted) or plain.rstrip()
    return None
