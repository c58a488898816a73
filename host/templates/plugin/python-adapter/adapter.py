"""Sends the messages of {{name}}, and reads the provider's answers and webhooks.

The provider is made up: it takes `from`, `to`, `template`, `language` and `values` at
`/v1/messages`, answers with an `id`, and posts a list of `events`. Replace its address, names
and codes with your own, and raise the version with each change.
"""

import json
from typing import Any

import leadhost_sdk.adapter as sdk

HOST = "api.provider.example"
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["number"],
    "properties": {
        "number": {
            "description": "The number that messages are sent from, in E.164.",
            "type": "string",
            "pattern": "^\\+[0-9]{8,15}$",
        },
    },
}


class Adapter(sdk.Adapter):
    def describe(self) -> sdk.Description:
        secrets = [
            sdk.SecretDeclaration("token", "static", "The token for calls", True),
            sdk.SecretDeclaration("webhook-key", "static", "The key with which the provider signs", False),
        ]
        summary = "Messages of {{name}}"
        return sdk.description("{{name}}", "1.0.0", summary, config_schema=SCHEMA, secrets=secrets, hosts=[HOST])

    def sender_checks(self, config: str) -> sdk.SenderPolicy:
        return sdk.SenderPolicy([sdk.hmac_sha256_hex("webhook-key", "x-signature")], [])

    def routes(self, config: str) -> list[tuple[str, str]]:
        """One address may serve several numbers. Returns the number of this instance."""
        return [("number", json.loads(config)["number"])]

    def send(self, message: sdk.TemplateSend) -> sdk.SendStep:
        template = sdk.requested(message)
        token = [sdk.literal("Bearer "), sdk.secret("token")]
        body = {
            "from": json.loads(message.config)["number"],
            "language": template.language,
            # The provider repeats it in each status.
            "reference": message.message_id,
            "template": template.name,
            "to": message.recipient,
            "values": template.values,
        }
        return sdk.post_json(f"https://{HOST}/v1/messages", [("authorization", token)], body)

    def read_answer(self, message: sdk.TemplateSend, response: sdk.HttpResponse) -> sdk.SendAnswer:
        body = sdk.answer_body(response)
        id = sdk.text(body, "id")
        if response.status == 200:
            return sdk.accepted(id) if id else sdk.unknown("the provider answered 200 without an id")
        code = sdk.text(body, "error.code") or ""
        category = CATEGORIES.get(response.status) or CATEGORIES.get(code)
        # After a 5xx, nothing shows whether the message was sent.
        if category is None and response.status >= 500:
            return sdk.unknown(f"the provider answered {response.status}")
        text = sdk.text(body, "error.message") or ""
        return sdk.refusal(sdk.refused(category or "request", text, code, sdk.retry_after(response)))

    def read_webhook(self, delivery: sdk.Delivery) -> sdk.Webhook:
        events = sdk.events_in(delivery, "events")
        return sdk.webhook([event(one, index) for index, one in enumerate(events)])


# By status, and by the provider's codes.
CATEGORIES: dict[int | str, str] = {
    401: "connection",
    402: "account",
    403: "connection",
    429: "throttled-number",
    "no-such-template": "unknown-template",
    "not-reachable": "recipient",
}


def event(given: Any, index: int) -> sdk.Event:
    id = sdk.text(given, "id")
    if id is None:
        return sdk.event(sdk.invalid("an event needs `id`", f"events.{index}.id"))
    at = sdk.time(sdk.text(given, "at"))
    number = sdk.text(given, "number")
    route = [] if number is None else [("number", number)]
    state, sender = sdk.text(given, "state"), sdk.text(given, "from")
    if state is not None:
        reference = sdk.text(given, "reference")
        return sdk.event(sdk.status(id, state, message_id=reference, occurred_at=at), route)
    if sender is not None:
        text = sdk.text(given, "text")
        return sdk.event(sdk.inbound(id, sender, sender_phone=sender, content=text, occurred_at=at), route)
    return sdk.event(sdk.other("neither a status nor a message"), route)
