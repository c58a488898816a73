//! `/admin/v1/contacts` and `/admin/v1/erasures`.

use serde_json::{Value, json};

use super::{before, operation, page_limit};
use crate::admin_api::contacts::{EraseReceipt, EraseRequest, Erasures};
use crate::http::openapi::operation::{Operation, Parameter};
use crate::http::openapi::schemas::Schemas;

/// Returns the operations of `/admin/v1/contacts` and `/admin/v1/erasures`, and adds their
/// types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let receipt = schemas.answer::<EraseReceipt>();
    let all = schemas.answer::<Erasures>();
    let request = schemas.request::<EraseRequest>();
    let by_phone = json!({"workspace": "acme", "phone": "+5511987654321", "dryRun": true});
    vec![
        operation("post", "/admin/v1/contacts/erase")
            .named("eraseContact", "contacts", "Erases a person")
            .describe("Removes the person and everything that is known of the person. The request takes as long as it needs, even if the caller hangs up. After an interruption, the same request continues the erasure.")
            .takes(
                &request,
                &[
                    ("phone", "The data that would be removed, by phone number", by_phone),
                    ("id", "Erase by id", json!({"id": CONTACT})),
                ],
            )
            .answers(
                200,
                "The receipt.",
                &receipt,
                &[
                    ("erased", "Erased", erased()),
                    ("dry", "A dry run", dry_run()),
                ],
            )
            .refuses(&[404]),
        operation("get", "/admin/v1/erasures")
            .named("listErasures", "contacts", "Lists erasures, newest first")
            .describe("They contain no personal data. An erasure without `doneAt` was interrupted or is still running.")
            .parameter(Parameter::query(
                "workspace",
                json!({"type": "string"}),
                "The workspace's slug or id: only its erasures.",
            ))
            .parameter(before("erasures"))
            .parameter(page_limit())
            .answers(
                200,
                "A page of erasures.",
                &all,
                &[("one", "One erasure", json!({"erasures": [record()], "next": null}))],
            )
            .refuses(&[400, 404]),
    ]
}

const CONTACT: &str = "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88";

fn record() -> Value {
    json!({
        "id": "019cb1d4-5c00-7e10-8f21-3a4b5c6d7e8f",
        "workspaceId": "019cae2a-0f00-7b42-8c11-2d3e4f5a6b7c",
        "contactId": CONTACT,
        "foundBy": "phone",
        "keyId": "019cae2a-1001-7b42-8c11-2d3e4f5a6b7c",
        "beganAt": "2026-03-03T09:00:00.000000Z",
        "doneAt": "2026-03-03T09:00:00.125000Z",
        "erased": {
            "contacts": 1,
            "contactKeys": 2,
            "deals": 1,
            "dealChanges": 0,
            "dealLogs": 0,
            "conversations": 1,
            "messages": 3,
            "messageErrors": 0,
            "tickets": 0,
            "sends": 1,
            "holds": 0,
            "channelRefs": 1,
            "idempotencyAnswers": 0,
            "deliveries": 1,
            "sharedDeliveries": 0,
            "fetchAnswers": 0,
            "repairChanges": 0,
        },
        "remaining": {
            "deliveries": [
                {"id": "019cae2b-3f5e-7c31-9d20-0b7a6c5d4e3f", "status": "quarantined"},
            ],
            "moreDeliveries": 0,
        },
    })
}

fn erased() -> Value {
    let mut receipt = record();
    receipt["dryRun"] = json!(false);
    receipt["workspace"] = json!("acme");
    receipt["others"] = json!([]);
    receipt["notReached"] =
        json!(["the person's data that sources, partners and channels keep themselves",]);
    receipt
}

fn dry_run() -> Value {
    let mut receipt = erased();
    receipt["dryRun"] = json!(true);
    for key in ["id", "keyId", "beganAt", "doneAt"] {
        receipt[key] = Value::Null;
    }
    receipt["notReached"] = json!([]);
    receipt
}
