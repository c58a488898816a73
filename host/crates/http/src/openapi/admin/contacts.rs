//! `/admin/v1/contacts` and `/admin/v1/erasures`.

use serde_json::{Value, json};

use super::{
    deals,
    parts::{before, operation, page_limit, workspace},
    people,
};
use crate::openapi::operation::{Operation, Parameter};
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::contacts::{
    ContactDetail, Contacts, EraseReceipt, EraseRequest, ErasureRecord, Erasures,
};
use leadhost_domain::limits;

/// Returns the operations of `/admin/v1/contacts` and `/admin/v1/erasures`, and adds their
/// types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let receipt = schemas.answer::<EraseReceipt>();
    let all = schemas.answer::<Erasures>();
    let record_of_one = schemas.answer::<ErasureRecord>();
    let contacts = schemas.answer::<Contacts>();
    let contact = schemas.answer::<ContactDetail>();
    let uuid = json!({"type": "string", "format": "uuid"});
    let request = schemas.request::<EraseRequest>();
    let by_phone = json!({"workspace": "acme", "phone": "+5511987654321", "dryRun": true});
    vec![
        operation("get", "/admin/v1/contacts")
            .named("findContacts", "contacts", "Finds contacts")
            .describe("Several contacts may share a phone or an e-mail address.")
            .parameter(
                Parameter::query(
                    "q",
                    json!({"type": "string"}),
                    "The phone, e-mail address or id of a contact.",
                )
                .required(),
            )
            .parameter(workspace())
            .answers(
                200,
                "The contacts.",
                &contacts,
                &[("one", "One contact", json!({"contacts": [summary()]}))],
            )
            .refuses(&[400, 404]),
        operation("get", "/admin/v1/contacts/{contact}")
            .named("showContact", "contacts", "Shows a contact")
            .describe(&format!(
                "With its newest deals, conversations and tickets, at most {} of each.",
                limits::SHOWN_OF_PERSON
            ))
            .parameter(Parameter::path("contact", uuid.clone(), "The contact's id."))
            .parameter(workspace())
            .answers(
                200,
                "The contact.",
                &contact,
                &[("one", "A contact with a deal", detail())],
            )
            .refuses(&[404]),
        operation("post", "/admin/v1/contacts/erase")
            .named("eraseContact", "contacts", "Erases a person")
            .describe("Removes the person and everything that is known about the person. The request takes as long as it needs, even if the caller disconnects. After an interruption, the same request continues the erasure.")
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
        operation("get", "/admin/v1/erasures/{erasure}")
            .named("showErasure", "contacts", "Shows the receipt of an erasure")
            .describe("It contains no personal data.")
            .parameter(Parameter::path("erasure", uuid, "The erasure's id."))
            .answers(
                200,
                "The receipt.",
                &record_of_one,
                &[("done", "It is done", record_alone())],
            )
            .refuses(&[404]),
    ]
}

const CONTACT: &str = "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88";

fn record() -> Value {
    json!({
        "id": "019cb1d4-5c00-7e10-8f21-3a4b5c6d7e8f",
        "workspaceId": "019cae2a-0f00-7b42-8c11-2d3e4f5a6b7c",
        "workspace": "acme",
        "contactId": CONTACT,
        "foundBy": "phone",
        "keyId": "019cae2a-1001-7b42-8c11-2d3e4f5a6b7c",
        "key": "Olga",
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

fn record_alone() -> Value {
    let mut receipt = record();
    receipt["notReached"] =
        json!(["the person's data that sources, partners and channels keep themselves"]);
    receipt
}

fn summary() -> Value {
    let mut contact = people::contact();
    contact["workspace"] = json!("acme");
    contact["bannedAt"] = Value::Null;
    contact["createdAt"] = json!("2026-03-02T12:15:30.250000Z");
    contact["updatedAt"] = json!("2026-03-02T12:15:30.250000Z");
    contact["foundBy"] = json!("phone");
    contact
}

fn detail() -> Value {
    let mut contact = summary();
    contact["foundBy"] = json!("id");
    contact["keys"] = json!(["phone:+551187654321"]);
    contact["deals"] = json!([deals::summary()]);
    contact["conversations"] = json!([people::conversation()]);
    contact["tickets"] = json!([people::ticket()]);
    contact
}

fn erased() -> Value {
    let mut receipt = record();
    receipt["dryRun"] = json!(false);
    if let Some(receipt) = receipt.as_object_mut() {
        receipt.remove("key");
    }
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
