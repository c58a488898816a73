//! `/admin/v1/deals`.

use serde_json::{Value, json};

use super::parts::{before, operation, page_limit, workspace};
use crate::openapi::operation::{Operation, Parameter};
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::deals::{DealDetail, DealRemoved, Deals};
use leadhost_domain::limits;

/// Returns the operations of `/admin/v1/deals`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let all = schemas.answer::<Deals>();
    let one = schemas.answer::<DealDetail>();
    let removed = schemas.answer::<DealRemoved>();
    let gone = json!({"id": ID, "workspace": "acme", "removed": true});
    let newest = format!(
        "Shows the newest changes and notes, at most {} of each, and the newest deliveries, conversations and tickets, at most {} of each. Names are shown for ids that still exist.",
        limits::DEAL_PAST,
        limits::SHOWN_OF_PERSON
    );
    vec![
        operation("get", "/admin/v1/deals")
            .named("listDeals", "deals", "Lists deals, newest first")
            .parameter(Parameter::query(
                "q",
                json!({"type": "string"}),
                "Only deals that this leads to: the id or external id of a deal, or the phone, e-mail address or id of a contact.",
            ))
            .parameter(workspace())
            .parameter(before("deals"))
            .parameter(page_limit())
            .answers(
                200,
                "A page of deals.",
                &all,
                &[(
                    "one",
                    "The last page",
                    json!({"deals": [summary()], "next": null, "searchedUntil": null}),
                )],
            )
            .refuses(&[400, 404]),
        operation("get", "/admin/v1/deals/{deal}")
            .named("showDeal", "deals", "Shows a deal with its history")
            .describe(&newest)
            .parameter(deal())
            .parameter(workspace())
            .answers(
                200,
                "The deal.",
                &one,
                &[("changed", "A partner changed the deal", example())],
            )
            .refuses(&[404]),
        operation("delete", "/admin/v1/deals/{deal}")
            .named("removeDeal", "deals", "Removes a deal permanently")
            .describe("The history and the notes are removed too. The contact stays, and so does the dedupe key of the lead: a repeat of the lead does not restore the deal.")
            .parameter(deal())
            .parameter(workspace())
            .answers(200, "It is removed.", &removed, &[("removed", "Removed", gone)])
            .refuses(&[404, 507]),
    ]
}

const ID: &str = "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88";
const DELIVERY: &str = "019cae2b-3f5e-7c31-9d20-0b7a6c5d4e3f";

fn deal() -> Parameter {
    let id = json!({"type": "string", "format": "uuid"});
    Parameter::path("deal", id, "The deal's id.")
}

/// A deal as the examples of several resources have it.
pub fn summary() -> Value {
    json!({
        "id": ID,
        "workspace": "acme",
        "title": "Ana",
        "status": "won",
        "stage": "closed_won",
        "externalId": "L-1",
        "createdAt": "2026-03-02T12:15:30.250000Z",
        "updatedAt": "2026-03-03T09:00:00.000000Z",
        "contact": super::people::contact(),
        "owner": super::people::owner(),
        "product": {
            "id": "019cae2a-2000-7b42-8c11-2d3e4f5a6b7c",
            "name": "Garden flat",
            "externalId": "CA-0007",
        },
        "instance": {"id": 1, "name": "voice"},
        "source": "form",
    })
}

fn example() -> Value {
    let mut deal = summary();
    let more = json!({
        "props": {"source": "form", "connection": "form", "message": "I would like to visit it."},
        "connectionId": "Zx3cVbN5mKj8HgF2dSa1Qw",
        "connection": "form",
        "partner": null,
        "deliveryId": DELIVERY,
        "deliveries": [{
            "id": DELIVERY,
            "receivedAt": "2026-03-02T12:15:30.250000Z",
            "status": "converted",
        }],
        "conversations": [super::people::conversation()],
        "tickets": [super::people::ticket()],
        "history": [{
            "at": "2026-03-03T09:00:00.000000Z",
            "by": "partner",
            "partnerId": "019cae2a-1000-7b42-8c11-2d3e4f5a6b7c",
            "partner": "crm",
            "keyId": "019cae2a-1001-7b42-8c11-2d3e4f5a6b7c",
            "key": "crm pk_…Mx5T",
            "deliveryId": null,
            "replayed": false,
            "repairId": null,
            "changes": [{
                "field": "status",
                "before": "open",
                "after": "won",
                "beforeName": null,
                "afterName": null,
            }],
        }],
        "logs": [],
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        deal[key] = value.clone();
    }
    deal
}
