//! `/admin/v1/deals`.

use serde_json::{Value, json};

use super::operation;
use crate::admin_api::deals::{DealHistory, DealRemoved};
use crate::http::openapi::operation::{Operation, Parameter};
use crate::http::openapi::schemas::Schemas;
use crate::limits;

/// Returns the operations of `/admin/v1/deals`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let history = schemas.answer::<DealHistory>();
    let removed = schemas.answer::<DealRemoved>();
    let gone = json!({"id": ID, "workspace": "acme", "removed": true});
    let newest = format!(
        "Shows the newest changes and notes, at most {} of each. Partners and keys are named as long as they exist.",
        limits::DEAL_PAST
    );
    vec![
        operation("get", "/admin/v1/deals/{deal}")
            .named("showDealHistory", "deals", "Shows the history of a deal")
            .describe(&newest)
            .parameter(deal())
            .parameter(workspace())
            .answers(
                200,
                "The history.",
                &history,
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

fn deal() -> Parameter {
    let id = json!({"type": "string", "format": "uuid"});
    Parameter::path("deal", id, "The deal's id.")
}

fn workspace() -> Parameter {
    Parameter::query(
        "workspace",
        json!({"type": "string"}),
        "The workspace's slug or id. Without it, all workspaces are searched.",
    )
}

fn example() -> Value {
    json!({
        "id": ID,
        "workspace": "acme",
        "createdAt": "2026-03-02T12:15:30.250000Z",
        "deliveryId": "019cae2b-3f5e-7c31-9d20-0b7a6c5d4e3f",
        "history": [{
            "at": "2026-03-03T09:00:00.000000Z",
            "by": "partner",
            "partnerId": "019cae2a-1000-7b42-8c11-2d3e4f5a6b7c",
            "partner": "crm",
            "keyId": "019cae2a-1001-7b42-8c11-2d3e4f5a6b7c",
            "key": "crm pk_…Mx5T",
            "deliveryId": null,
            "repairId": null,
            "changes": [{"field": "status", "before": "open", "after": "won"}],
        }],
        "logs": [],
    })
}
