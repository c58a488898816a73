"""Reads the leads of {{name}}.

Each field has the path of its value: `contact.phones[0]`, `answers[?question=Budget].text`, `"key.with.dots"`. What is
not there is left out. Raise the version with each change.
"""

from typing import Any

import leadhost_sdk as sdk


class Converter(sdk.Converter):
    def describe(self) -> sdk.Description:
        return sdk.description("{{name}}", "1.0.0", "Leads of {{name}}")

    def convert(self, delivery: sdk.Delivery) -> sdk.Conversion:
        body = sdk.parse(delivery)
        return sdk.conversion(sdk.read_each({{items}}, lambda item: read(item, body)))


def read(item: Any, body: Any) -> sdk.Item:
    return sdk.lead(
{{lead}}
    )
