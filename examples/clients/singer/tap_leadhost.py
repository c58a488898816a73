"""A Singer tap of a workspace.

    TAP_LEADHOST_URL=... TAP_LEADHOST_WORKSPACE_KEY=mk_... \\
        python tap_leadhost.py --config=ENV [--state state.json] | some-target

Four entities and the report of failed messages. Every stream is declared as sorted, so the
tap resumes a broken pull where it stopped, and fails if a row arrives out of order.
"""

import re
from datetime import datetime, timedelta, timezone

from singer_sdk import RESTStream, Tap
from singer_sdk import typing as th
from singer_sdk.authenticators import BearerTokenAuthenticator
from singer_sdk.exceptions import ConfigValidationError

ERRORS_SINCE = "2026-01-01T00:00:00.000000Z"
# A report takes windows of at most 31 days.
WINDOW = timedelta(days=30)
STAMP = "%Y-%m-%dT%H:%M:%S.%fZ"


def stamp(said):
    """A time in any form that the service takes, in the one that the service writes."""
    # At most six decimals of a second are significant.
    text = re.sub(r"(\.\d{6})\d+", r"\1", str(said).strip().upper())
    for form in ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z"):
        try:
            time = datetime.strptime(text, form)
        except ValueError:
            continue
        # A bare date is its midnight, UTC.
        time = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
        return time.astimezone(timezone.utc).strftime(STAMP)
    wrong = f"The setting errors_since is no time such as 2026-11-01T00:00:00Z: {said!r}"
    raise ConfigValidationError(wrong, errors=[wrong])


def schema(texts, times, numbers="", objects=""):
    """Every row begins with the same three fields."""
    kinds = [
        ("id workspace_id " + texts, th.StringType),
        ("cursor_at " + times, th.DateTimeType),
        (numbers, th.IntegerType),
        (objects, th.ObjectType(additional_properties=True)),
    ]
    fields = [th.Property(name, kind) for names, kind in kinds for name in names.split()]
    return th.PropertiesList(*fields).to_dict()


class Rows(RESTStream):
    """The rows of a feed that changed, in the order in which they did."""

    primary_keys = ("id",)
    replication_key = "cursor_at"
    is_sorted = True
    records_jsonpath = "$.data[*]"
    next_page_token_jsonpath = "$.next_cursor"

    @property
    def url_base(self):
        return self.config["url"].rstrip("/")

    @property
    def authenticator(self):
        return BearerTokenAuthenticator(token=self.config["workspace_key"])

    def get_url_params(self, context, next_page_token):
        # The bookmark goes back as it came: the bound is inclusive and to the microsecond.
        since = self.get_starting_replication_key_value(context)
        return {"limit": 1000, "updated_since": since, "cursor": next_page_token}

    def backoff_wait_generator(self):
        return self.backoff_runtime(value=wait)


def wait(error):
    """The seconds until the next try: a 429 says it, else two."""
    response = getattr(error, "response", None)
    return int(response.headers.get("Retry-After", 2)) if response is not None else 2


class Conversations(Rows):
    name = "conversations"
    path = "/v1/export/conversations"
    schema = schema(
        "contact_id deal_id agent_type source channel status",
        "created_at updated_at first_message_at answered_at last_message_at no_response_at"
        " transferred_at appointment_at closed_at",
        numbers="agent_id",
        objects="props",
    )


class Messages(Rows):
    name = "messages"
    path = "/v1/export/messages"
    schema = schema(
        "conversation_id actor type content",
        "created_at delivered_at read_at",
        objects="metadata",
    )


class Contacts(Rows):
    name = "contacts"
    path = "/v1/export/contacts"
    schema = schema("name email phone_number", "banned_at", objects="props")


class Deals(Rows):
    name = "deals"
    path = "/v1/export/deals"
    schema = schema(
        "person_id owner_id status title stage_code product_id external_id",
        "created_at updated_at",
        numbers="agent_id",
        objects="props",
    )


class MessageErrors(Rows):
    name = "message_errors"
    path = "/v1/reports/message_errors"
    schema = schema(
        "recipient_id deal_id conversation_id message_id external_id error_code error_title"
        " error_description error_details template_name channel",
        "occurred_at",
        numbers="agent_id",
    )
    window = None

    def __init__(self, tap):
        super().__init__(tap)
        # Read here, before anything is pulled.
        self.errors_since = stamp(self.config["errors_since"] or ERRORS_SINCE)

    def request_records(self, context):
        start = self.get_starting_replication_key_value(context) or self.errors_since
        while start:
            # From an inclusive start to an exclusive end, so neighbours share a bound. The last
            # window has none: what is now is for the service to say.
            end = datetime.strptime(start, STAMP).replace(tzinfo=timezone.utc) + WINDOW
            end = end.strftime(STAMP) if end < datetime.now(timezone.utc) else None
            self.window = {"updated_since": start, "to": end}
            yield from super().request_records(context)
            start = end

    def get_url_params(self, context, next_page_token):
        return {"limit": 1000, "cursor": next_page_token, **self.window}


class TapLeadhost(Tap):
    name = "tap-leadhost"
    config_jsonschema = th.PropertiesList(
        th.Property("url", th.StringType, required=True, description="Of the data API"),
        th.Property("workspace_key", th.StringType, required=True, secret=True),
        th.Property("errors_since", th.StringType, default=ERRORS_SINCE),
    ).to_dict()

    def discover_streams(self):
        streams = (Conversations, Messages, Contacts, Deals, MessageErrors)
        return [stream(tap=self) for stream in streams]


if __name__ == "__main__":
    TapLeadhost.cli()
