"""What a converter needs beside the language. The types of the contract are in `bindings`,
for editors and tests; in a component, the build makes them."""

from .body import body_text, content_type, forms_in, header, parse_body, parse_form, query_field
from .fields import Fields
from .items import (
    USUAL_SECRETS,
    Converter,
    conversion,
    description,
    ignored,
    invalid,
    lead,
    note,
    problem,
)
from .values import Number, is_absent, json_text, parse_json, text_at, text_of

__all__ = [
    "Converter",
    "Fields",
    "Number",
    "USUAL_SECRETS",
    "body_text",
    "content_type",
    "conversion",
    "description",
    "forms_in",
    "header",
    "ignored",
    "invalid",
    "is_absent",
    "json_text",
    "lead",
    "note",
    "parse_body",
    "parse_form",
    "parse_json",
    "problem",
    "query_field",
    "text_at",
    "text_of",
]
