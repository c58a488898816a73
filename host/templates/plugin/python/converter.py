"""Reads the leads of {{name}}: an object, or a list of objects.

A value under a usual name (`nome`, `first_name`, `telefone`, `e-mail`, …) fills its field,
wherever it is; everything else but other people is kept as an attribute.
`fields.take("deal.ref")` reads a name that is not usual, by its path. Raise the version with
each change.
"""

from typing import Any

import leadhost_sdk
from leadhost_sdk import Fields, conversion, description, forms_in, invalid, lead, parse_body
from wit_world.exports.converter import Conversion, Item
from wit_world.imports.core import Delivery, Description


class Converter(leadhost_sdk.Converter):
    def describe(self) -> Description:
        return description("{{name}}", "1.0.0", "Leads of {{name}}")

    def convert(self, delivery: Delivery) -> Conversion:
        forms = forms_in(parse_body(delivery))
        return conversion([read(form, path) for form, path in forms])


def read(form: Any, path: str) -> Item:
    if not isinstance(form, dict):
        return invalid("a lead must be an object", path)
    fields = Fields(form)
    found: dict[str, Any] = {
        "external_id": fields.external_id(),
        "is_test": fields.is_test(),
        "name": fields.name(),
        "phones": fields.phones(),
        "emails": fields.emails(),
        "listings": fields.listings(),
        "message": fields.message(),
        "occurred_at": fields.occurred_at(),
        "source": fields.source(),
        "campaign": fields.campaign(),
    }
    if not fields.is_lead(found):
        return invalid("the lead has no phone, no e-mail address and no name with an id or a message", path)
    # Last: what nothing above has read.
    return lead(**found, attributes=fields.rest())
