"""A client that a public generator makes from the document works on a deal:
it makes the deal, looks it up, changes it, notes a sale, and reads the result.

`round.py WORLD` generates the client into the build folder, fails if the generator
prints any remark or one of its modules cannot be imported, and runs the client against the running service.
"""

import importlib
import pathlib
import pkgutil
import subprocess
import sys

import world as worlds


def generate(world):
    """The package, fresh; the generator's remarks are failures."""
    package = world.folder / "client" / "leadhost_client"
    settings = world.folder / "client.yml"
    # Only a program reads the package, so it need not be formatted.
    settings.write_text("post_hooks: []\n")
    package.parent.mkdir(parents=True, exist_ok=True)
    made = subprocess.run(
        [
            pathlib.Path(sys.executable).parent / "openapi-python-client",
            "generate",
            "--path",
            world.document,
            "--meta",
            "none",
            "--config",
            settings,
            "--output-path",
            package,
            "--overwrite",
            "--fail-on-warning",
        ],
        capture_output=True,
        text=True,
    )
    if made.returncode != 0:
        sys.exit(f"openapi-python-client cannot read the document:\n{made.stdout}{made.stderr}")
    sys.path.insert(0, str(package.parent))
    import leadhost_client

    for module in pkgutil.walk_packages(leadhost_client.__path__, "leadhost_client."):
        importlib.import_module(module.name)


def check(found, wanted, what):
    if found != wanted:
        sys.exit(f"{what}: {found!r} instead of {wanted!r}")


def go(world):
    from leadhost_client import AuthenticatedClient, Client
    from leadhost_client.api.data import (
        count_conversations,
        export_contacts,
        export_deals,
        export_messages,
        export_rows,
        freshness,
        whoami,
    )
    from leadhost_client.api.deals import create_deal, find_deals, log_deal, update_deal
    from leadhost_client.api.messages import send_notification
    from leadhost_client.api.products import search_products
    from leadhost_client.api.service import is_ready
    from leadhost_client.models import (
        ContactsPage,
        CountConversationsGranularity,
        CountConversationsGroupByItem,
        DealLog,
        DealLogMetadata,
        DealPatch,
        DealPatchStageCode,
        DealRowStageCode,
        ExportRowsEntity,
        LegacyNotification,
        MessageRowActor,
        NewDeal,
    )

    base = {"base_url": world.gateway, "raise_on_unexpected_status": True}
    partner = AuthenticatedClient(
        token=world.own["partnerKey"], prefix="", auth_header_name="x-service-api-key", **base
    )
    desk = AuthenticatedClient(token=world.own["accessToken"], **base)
    data = AuthenticatedClient(token=world.own["workspaceKey"], **base)

    check(is_ready.sync(client=Client(**base)).status, "ready", "readiness")

    order = NewDeal(
        name="Ivo Brandão",
        phone_number="+5511966660103",
        source="round",
        external_id="F-round",
    )
    made = create_deal.sync(client=partner, body=order)
    check(made.success, True, "the new deal")
    deal = made.deal_id
    found = find_deals.sync(client=partner, phone_number="(11) 96666-0103")
    check([view.deal.id for view in found], [deal], "the lookup by phone")
    check(found[0].person.name, "Ivo Brandão", "the person")

    body = DealPatch(
        stage_code=DealPatchStageCode.VISIT_SCHEDULED,
        property_external_id="AP-204",
        owner_email="rita.salgado@example.com",
    )
    changed = update_deal.sync_detailed(deal, client=partner, body=body)
    check(int(changed.status_code), 202, "the change")

    metadata = DealLogMetadata.from_dict({"salesPrice": "415000.00"})
    note = DealLog(type_="success", subject="Sold", metadata=metadata)
    noted = log_deal.sync(deal, client=desk, body=note, idempotency_key="round-1")
    check(noted.deal_id, deal, "the note")
    again = log_deal.sync_detailed(deal, client=desk, body=note, idempotency_key="round-1")
    check(again.headers.get("idempotency-replayed"), "true", "the repeat")
    check(again.parsed.id, noted.id, "the repeat's note")

    found = find_deals.sync(client=partner, external_id="F-round")
    check(found[0].property_.external_id, "AP-204", "the property")
    check(found[0].deal.owner_name, "Rita Salgado", "the owner")
    check(found[0].deal.props["logs"][0]["subject"], "Sold", "the deal's note")

    # New products are found within a second or so; these existed at the start.
    hits = search_products.sync(client=partner, name="miramte da serra")
    check(hits.products[0].name, "Apartamento Mirante da Serra", "the search")
    check(hits.pagination.total_items >= 1, True, "the search's count")

    notice = LegacyNotification(
        name="Ivo Brandão",
        phone_number="+5511966660103",
        instance_id=world.instance,
        source="round",
        message_template="visit_confirmation",
        replacements=["Ivo", "Saturday"],
    )
    sent = send_notification.sync(client=partner, body=notice)
    check(sent.success, True, "the message")

    check(whoami.sync(client=data).workspace_name, "Aurora Homes", "the workspace")
    page = export_rows.sync(ExportRowsEntity.DEALS, client=data)
    check(deal in [row.id for row in page.data], True, "the export")
    # Each export has rows of one type, also on an empty page.
    row = next(row for row in export_deals.sync(client=data).data if row.id == deal)
    check(row.stage_code, DealRowStageCode.VISIT_SCHEDULED, "the exported stage")
    actors = [row.actor for row in export_messages.sync(client=data).data]
    check(MessageRowActor.AGENT in actors, True, "the authors of messages")
    empty = export_contacts.sync(client=data, updated_since="2999-01-01")
    check((type(empty), empty.data), (ContactsPage, []), "an empty page")
    refused = find_deals.sync(client=partner)
    check(refused.code, "invalid_parameter", "the code of an error")
    sets = [row.metricset for row in freshness.sync(client=data).data]
    check(sets, ["conversations", "tickets"], "the metric sets")
    counts = count_conversations.sync(
        CountConversationsGranularity.WEEK,
        client=data,
        tz="Europe/Lisbon",
        group_by=[CountConversationsGroupByItem.SOURCE],
    )
    check((counts.tz, counts.group_by), ("Europe/Lisbon", ["source"]), "the counts")
    check(counts.count, len(counts.data), "the number of rows")
    print("The generated client works.")


def main():
    world = worlds.of_arguments()
    generate(world)
    go(world)


if __name__ == "__main__":
    main()
