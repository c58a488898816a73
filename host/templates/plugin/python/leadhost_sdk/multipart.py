"""Bodies of the type multipart/form-data. A delimiter counts only at the beginning of a line, so the
time grows with the length of the body and no faster. The last delimiter may be missing."""

import re
from typing import Optional

from .items import problem
from .values import decoded

# RFC 2046 allows 70 characters; some senders use a few more.
MAX_BOUNDARY = 200
# A form has some dozen fields.
MAX_PARTS = 1000
# Bytes of the headers of one part.
MAX_HEADERS = 8 * 1024


def multipart_fields(content_type: str, body: bytes) -> list[tuple[str, str]]:
    """Returns the parts as names and texts, in their order: of a file, its name. Raises a problem,
    which refuses the whole delivery."""
    boundary = (_parameter(content_type, "boundary") or "").encode()
    if not 0 < len(boundary) <= MAX_BOUNDARY:
        raise problem("the multipart body's boundary is missing or too long")
    fields: list[tuple[str, str]] = []
    begin = None
    line = 0
    while True:
        end = body.find(b"\n", line)
        if body.startswith(b"--" + boundary, line):
            rest = body[line + 2 + len(boundary) : len(body) if end < 0 else end]
            if re.fullmatch(rb"(--)?[ \t\r]*", rest):
                if begin is not None:
                    _add(fields, body[begin:line])
                if rest.startswith(b"--"):
                    return fields
                begin = len(body) if end < 0 else end + 1
        if end < 0:
            break
        line = end + 1
    if begin is None:
        raise problem("the multipart body has no delimiter in it")
    if begin < len(body):
        _add(fields, body[begin:])
    return fields


def _add(fields, part):
    if len(fields) == MAX_PARTS:
        raise problem(f"the multipart body has more than {MAX_PARTS} parts")
    part = part.removesuffix(b"\n").removesuffix(b"\r")
    # A part without headers begins with an empty line.
    blank = re.match(rb"\r?\n", part) or re.search(rb"\n\r?\n", part)
    end, text = (blank.start(), part[blank.end() :]) if blank else (len(part), b"")
    if end > MAX_HEADERS:
        raise problem("a part of the multipart body has too long headers")
    name, file = "", None
    for line in decoded(part[:end]).split("\n"):
        header, colon, value = line.partition(":")
        if colon and header.strip().lower() == "content-disposition":
            name, file = _parameter(value, "name") or "", _parameter(value, "filename")
    fields.append((name, decoded(text) if file is None else file))


def _parameter(header: str, wanted: str) -> Optional[str]:
    """Returns a parameter of a header: `name=value` or `name="value"`."""
    form = r'[;\s]*([^=;]*)(=(?:"((?:\\["\\]|[^"])*)"?|([^;]*)))?'
    given = header[header.find(";") :] if ";" in header else ""
    for name, value, quoted, plain in re.findall(form, given):
        if value and name.strip().lower() == wanted:
            # Other backslashes are those of a Windows path, as old browsers sent it.
            return re.sub(r'\\(["\\])', r"\1", quoted) or plain.rstrip()
    return None
