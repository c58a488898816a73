//! `/admin/v1/repairs`.

use serde_json::{Value, json};

use super::parts::{before, operation, page_limit};
use super::plugins::DIGEST;
use crate::openapi::operation::{Operation, Parameter};
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::repairs::{RepairChanges, RepairList, RepairRequest, RepairView};

/// Returns the operations of `/admin/v1/repairs`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let all = schemas.answer::<RepairList>();
    let one = schemas.answer::<RepairView>();
    let changes = schemas.answer::<RepairChanges>();
    vec![
        operation("get", "/admin/v1/repairs")
            .named("listRepairs", "repairs", "Lists repairs, newest first")
            .parameter(before("repairs"))
            .parameter(page_limit())
            .answers(
                200,
                "A page of repairs.",
                &all,
                &[(
                    "one",
                    "The last page",
                    json!({"repairs": [facts()], "next": null}),
                )],
            )
            .refuses(&[400, 404]),
        start(schemas, &one),
        operation("get", "/admin/v1/repairs/{repair}")
            .named("showRepair", "repairs", "Shows how far a repair is, and the sum of its receipt")
            .parameter(id())
            .answers(
                200,
                "The repair.",
                &one,
                &[
                    ("done", "It is done", done()),
                    ("undone", "It was undone", undone()),
                ],
            )
            .refuses(&[404]),
        operation("get", "/admin/v1/repairs/{repair}/changes")
            .named(
                "listRepairChanges",
                "repairs",
                "Lists what a repair changed, in the order of the changes",
            )
            .describe("Values of erased persons and of removed deals are left out.")
            .parameter(id())
            .parameter(Parameter::query(
                "after",
                json!({"type": "integer", "minimum": 0}),
                "The `next` of the previous page: only changes after this one.",
            ))
            .parameter(page_limit())
            .answers(
                200,
                "A page of the receipt.",
                &changes,
                &[(
                    "phone",
                    "A contact got its phone",
                    json!({"changes": [change()], "next": null}),
                )],
            )
            .refuses(&[400, 404]),
        operation("post", "/admin/v1/repairs/{repair}/cancel")
            .named("cancelRepair", "repairs", "Ends a running repair or an undo")
            .describe(
                "No delivery is changed, and nothing is undone, after the answer. The changes of the repair are kept and can \
                 be undone, also after an undo that was cancelled.",
            )
            .parameter(id())
            .answers(
                200,
                "It has ended.",
                &one,
                &[("cancelled", "It was cancelled", cancelled())],
            )
            .refuses(&[404, 409]),
        operation("post", "/admin/v1/repairs/{repair}/undo")
            .named("undoRepair", "repairs", "Undoes an ended repair")
            .describe(
                "A field gets its former value if it still has the value of the repair. What a person or a newer delivery \
                 changed since stays; so do deals that the repair created, contacts that it merged, and match keys that other \
                 leads name. It runs in the background: `state` is `undoing`, then `undone`; or `cancelled`, with `why`, if \
                 the store failed with some changes, which are left.",
            )
            .parameter(id())
            .answers(
                200,
                "The undo has begun.",
                &one,
                &[("undoing", "It is being undone", undoing())],
            )
            .refuses(&[404, 409]),
    ]
}

fn start(schemas: &mut Schemas, one: &Value) -> Operation {
    let request = schemas.request::<RepairRequest>();
    operation("post", "/admin/v1/repairs")
        .named(
            "startRepair",
            "repairs",
            "Replays all deliveries that a version converted, in the background",
        )
        .describe(
            "The deliveries that the version converted last are converted with the active one, oldest first, behind live \
             traffic, on one host at a time; it continues after a stop. With `apply` the differences are written, except where \
             a person has edited since, and each is a row of the receipt; without, they are only counted. A version that \
             converted nothing is answered with a repair that has ended.",
        )
        .takes(
            &request,
            &[
                (
                    "phones",
                    "Give leads their phones back",
                    json!({"convertedBy": &DIGEST[..12], "field": "phone", "apply": true}),
                ),
                (
                    "look",
                    "Count what would change",
                    json!({"convertedBy": "1.4.0", "plugin": "portal", "since": "2026-03-02"}),
                ),
            ],
        )
        .answers(201, "It has begun.", one, &[("begun", "It has begun", begun())])
        .refuses(&[404])
        .refuses_with(
            409,
            "The version is active, no version is, another repair is open, or the name matches several connections.",
            &[
                (
                    "active",
                    "The version is active",
                    json!({
                        "code": "conflict", "error": "9b0f7a3c5d2e is the active version of `portal`: activate another version first, with `leadhost plugin activate portal@DIGEST`",
                    }),
                ),
                (
                    "open",
                    "Another repair is open",
                    json!({
                        "code": "conflict", "error": "repair 019cb1d4-5c00-7e10-8f21-3a4b5c6d7e8f is running, and there is one at a time: see `leadhost repair show 019cb1d4-5c00-7e10-8f21-3a4b5c6d7e8f`, and `leadhost repair cancel 019cb1d4-5c00-7e10-8f21-3a4b5c6d7e8f` ends a running one",
                    }),
                ),
            ],
        )
}

const ID: &str = "019cb1d4-5c00-7e10-8f21-3a4b5c6d7e8f";

fn id() -> Parameter {
    let id = json!({"type": "string", "format": "uuid"});
    Parameter::path("repair", id, "The repair's id.")
}

fn facts() -> Value {
    json!({
        "id": ID,
        "plugin": "portal",
        "convertedBy": DIGEST,
        "version": "1.4.0",
        "connectionId": null,
        "since": null,
        "until": null,
        "field": null,
        "apply": true,
        "state": "done",
        "why": null,
        "startedBy": "ana",
        "startedAt": "2026-03-02T13:05:00.250000Z",
        "endedAt": "2026-03-02T13:05:04.800000Z",
        "found": 40,
        "deliveries": {
            "replayed": 39,
            "failed": 0,
            "rejected": 0,
            "quarantined": 0,
            "leased": 0,
            "emptied": 1,
            "gone": 0,
        },
        "kept": 1,
        "unsplit": 0,
    })
}

fn done() -> Value {
    let mut repair = facts();
    repair["deals"] = json!({"rows": 31, "fields": {"props.contact": 31}});
    repair["contacts"] = json!({"rows": 31, "fields": {"keys": 31, "phone_number": 31}});
    repair["created"] = json!(0);
    repair["merged"] = json!(0);
    repair["undo"] = Value::Null;
    repair["staying"] = json!([]);
    repair
}

/// Returns the repair of [`done`] with other values.
fn with(changes: Value) -> Value {
    let mut repair = done();
    for (key, value) in changes.as_object().into_iter().flatten() {
        repair[key] = value.clone();
    }
    repair
}

fn begun() -> Value {
    let none = json!({
        "replayed": 0,
        "failed": 0,
        "rejected": 0,
        "quarantined": 0,
        "leased": 0,
        "emptied": 0,
        "gone": 0,
    });
    with(json!({
        "state": "running",
        "endedAt": null,
        "found": null,
        "deliveries": none,
        "kept": 0,
        "unsplit": 0,
        "deals": {"rows": 0, "fields": {}},
        "contacts": {"rows": 0, "fields": {}},
    }))
}

fn cancelled() -> Value {
    with(json!({
        "state": "cancelled",
        "why": "an operator cancelled it",
        "deals": {"rows": 12, "fields": {"props.contact": 12}},
        "contacts": {"rows": 12, "fields": {"keys": 12, "phone_number": 12}},
    }))
}

fn undoing() -> Value {
    with(json!({
        "state": "undoing",
        "endedAt": null,
        "undo": {"undone": 0, "changedSince": 0, "stays": 0, "inUse": 0, "left": 93},
    }))
}

fn undone() -> Value {
    with(json!({
        "state": "undone",
        "endedAt": "2026-03-02T13:20:01.100000Z",
        "undo": {"undone": 92, "changedSince": 1, "stays": 0, "inUse": 0, "left": 0},
    }))
}

fn change() -> Value {
    json!({
        "number": 1,
        "workspaceId": "019cae2a-0f00-7b42-8c11-2d3e4f5a6b7c",
        "deliveryId": "019cae2b-3f5e-7c31-9d20-0b7a6c5d4e3f",
        "item": 0,
        "kind": "contact",
        "rowId": "019cae2b-3f61-7a52-8a10-6d4f3e2a1b89",
        "field": "contact.phone_number",
        "before": null,
        "after": "+5511900000001",
        "erased": false,
        "undone": null,
    })
}
