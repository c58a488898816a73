"""A dlt source of a workspace, and one pull with it into DuckDB.

    LEADHOST_URL=... LEADHOST_WORKSPACE_KEY=mk_... python leadhost.py

Four entities and the report of failed messages, each merged by `id` and incremental by
`cursor_at`. The columns are declared: dlt leaves a column out that is null in every row.
"""

import os
import re
import sys
from datetime import datetime, timedelta, timezone

import dlt
from dlt.sources.helpers.rest_client import RESTClient
from dlt.sources.helpers.rest_client.auth import BearerTokenAuth
from dlt.sources.helpers.rest_client.paginators import JSONResponseCursorPaginator
from dlt.sources.rest_api import rest_api_resources

ERRORS_SINCE = os.environ.get("LEADHOST_ERRORS_SINCE") or "2026-01-01T00:00:00.000000Z"
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
    raise ValueError(f"LEADHOST_ERRORS_SINCE is no time such as 2026-11-01T00:00:00Z: {said!r}")


def columns(texts, times, numbers=(), objects=()):
    """The columns, as dlt takes them. Every row begins with the same three."""
    types = {"id": "text", "workspace_id": "text", "cursor_at": "timestamp"}
    types |= dict.fromkeys(texts.split(), "text")
    types |= dict.fromkeys(times.split(), "timestamp")
    types |= dict.fromkeys(numbers, "bigint")
    types |= dict.fromkeys(objects, "json")
    return {name: {"data_type": kind, "nullable": name != "id"} for name, kind in types.items()}


COLUMNS = {
    "conversations": columns(
        "contact_id deal_id agent_type source channel status",
        "created_at updated_at first_message_at answered_at last_message_at no_response_at"
        " transferred_at appointment_at closed_at",
        numbers=["agent_id"],
        objects=["props"],
    ),
    "messages": columns(
        "conversation_id actor type content",
        "created_at delivered_at read_at",
        objects=["metadata"],
    ),
    "contacts": columns("name email phone_number", "banned_at", objects=["props"]),
    "deals": columns(
        "person_id owner_id status title stage_code product_id external_id",
        "created_at updated_at",
        numbers=["agent_id"],
        objects=["props"],
    ),
    "message_errors": columns(
        "recipient_id deal_id conversation_id message_id external_id error_code error_title"
        " error_description error_details template_name channel",
        "occurred_at",
        numbers=["agent_id"],
    ),
}


@dlt.source(name="leadhost", max_table_nesting=0)
def leadhost(url, workspace_key, errors_since=ERRORS_SINCE):
    # Read here, before anything is pulled.
    errors_since = stamp(errors_since)
    client = {
        "base_url": f"{url}/v1/",
        "auth": BearerTokenAuth(workspace_key),
        "paginator": JSONResponseCursorPaginator(cursor_path="next_cursor", cursor_param="cursor"),
    }
    yield from rest_api_resources(
        {
            "client": client,
            "resource_defaults": {
                "primary_key": "id",
                "write_disposition": "merge",
                "endpoint": {
                    "data_selector": "data",
                    "params": {"limit": 1000, "updated_since": "{incremental.start_value}"},
                    "incremental": {
                        "cursor_path": "cursor_at",
                        "row_order": "asc",
                        "initial_value": "1970-01-01T00:00:00.000000Z",
                    },
                },
            },
            "resources": [
                {"name": name, "endpoint": {"path": f"export/{name}"}, "columns": COLUMNS[name]}
                for name in ("conversations", "messages", "contacts", "deals")
            ],
        }
    )

    @dlt.resource(primary_key="id", write_disposition="merge", columns=COLUMNS["message_errors"])
    def message_errors(
        since=dlt.sources.incremental("cursor_at", initial_value=errors_since, row_order="asc"),
    ):
        start = since.last_value
        while start:
            # From an inclusive start to an exclusive end, so neighbours share a bound. The last
            # window has none: what is now is for the service to say.
            end = datetime.strptime(start, STAMP).replace(tzinfo=timezone.utc) + WINDOW
            end = end.strftime(STAMP) if end < datetime.now(timezone.utc) else None
            params = {"limit": 1000, "updated_since": start, **({"to": end} if end else {})}
            yield from RESTClient(**client).paginate(
                "reports/message_errors", params=params, data_selector="data"
            )
            start = end

    yield message_errors


def main():
    pipeline = dlt.pipeline("leadhost", destination="duckdb", dataset_name="workspace")
    url, workspace_key = os.environ["LEADHOST_URL"], os.environ["LEADHOST_WORKSPACE_KEY"]
    try:
        source = leadhost(url, workspace_key)
    except ValueError as wrong:
        sys.exit(str(wrong))
    print(pipeline.run(source))
    print(pipeline.last_trace.last_normalize_info.row_counts)


if __name__ == "__main__":
    main()
