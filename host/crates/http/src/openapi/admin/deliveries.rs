//! `/admin/v1/deliveries`.

use serde_json::{Value, json};

use super::parts::{before, operation, page_limit};
use crate::openapi::operation::{Operation, Parameter};
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::captures::{CaptureRequest, CapturedDeliveries, GoldenExport};
use leadhost_admin_api::deliveries::{Deliveries, DeliveryDetailView, ReplayRequest, Replayed};
use leadhost_admin_api::replays::{ReplayManyRequest, ReplayedMany};
use leadhost_domain::delivery::DeliveryStatus;

/// Returns the operations of `/admin/v1/deliveries`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let all = schemas.answer::<Deliveries>();
    let one = schemas.answer::<DeliveryDetailView>();
    let replayed = schemas.answer::<Replayed>();
    let request = schemas.request::<ReplayRequest>();
    let many = schemas.request::<ReplayManyRequest>();
    let replayed_many = schemas.answer::<ReplayedMany>();
    let captured = schemas.answer::<CapturedDeliveries>();
    let wanted = schemas.request::<CaptureRequest>();
    let golden = schemas.answer::<GoldenExport>();
    let list = operation("get", "/admin/v1/deliveries")
        .named(
            "listDeliveries",
            "deliveries",
            "Lists deliveries, newest first",
        )
        .describe("All filters apply together, except that `instance` replaces `connection`.");
    vec![
        filters()
            .into_iter()
            .fold(list, Operation::parameter)
            .parameter(before("deliveries"))
            .parameter(page_limit())
            .answers(
                200,
                "A page of deliveries.",
                &all,
                &[(
                    "one",
                    "The last page",
                    json!({"deliveries": [summary()], "next": null, "searchedUntil": null, "onlyLeadsBefore": null}),
                )],
            )
            .refuses(&[400, 404, 409]),
        operation("get", "/admin/v1/deliveries/{delivery}")
            .named(
                "showDelivery",
                "deliveries",
                "Shows a delivery with its request and its items",
            )
            .describe("The request is as it is stored: its secrets are masked.")
            .parameter(id())
            .answers(
                200,
                "The delivery.",
                &one,
                &[("converted", "A delivery that gave a lead", detail())],
            )
            .refuses(&[404]),
        operation("post", "/admin/v1/deliveries/{delivery}/replay")
            .named(
                "replayDelivery",
                "deliveries",
                "Converts a delivery again with the active version of its plugin",
            )
            .describe(
                "Shows what the conversion would make and what would change in finished items, and writes \
                 nothing of it. With `apply` it is made and written, except where a person has edited since. \
                 A failed or parked delivery is converted without it, too.",
            )
            .parameter(id())
            .may_take(
                &request,
                &[("apply", "Write the changes", json!({"apply": true}))],
            )
            .answers(
                200,
                "The outcome of the replay.",
                &replayed,
                &[("differs", "A deal would get another title", differs())],
            )
            .refuses(&[404, 409, 422]),
        narrowing()
            .into_iter()
            .fold(
                operation("post", "/admin/v1/deliveries/replay"),
                Operation::parameter,
            )
            .named(
                "replayDeliveries",
                "deliveries",
                "Converts the deliveries of a list again, or releases those in quarantine",
            )
            .describe(
                "The oldest first. At least one of `connection`, `instance`, `status`, `since` and `version` is given. \
                 Without `apply`, finished items show what would change, deliveries that have made nothing yet are counted, and a release only counts. Deliveries that wait \
                 for their conversion are left out. A request handles at most 500 deliveries in 20 seconds, and says \
                 what is left: ask again with its `after` and `until`.",
            )
            .may_take(
                &many,
                &[
                    ("apply", "Write the changes", json!({"apply": true})),
                    ("release", "Release from quarantine", json!({"apply": true, "release": true})),
                ],
            )
            .answers(
                200,
                "The results, counted by status.",
                &replayed_many,
                &[("differs", "Two deals would change", many_differ())],
            )
            .refuses(&[400, 404, 409]),
        operation("post", "/admin/v1/deliveries/captures")
            .named(
                "captureDeliveries",
                "deliveries",
                "Gives deliveries with everything that their conversion depends on",
            )
            .describe(
                "For golden cases, and for conversions on an integrator's machine: requests, answers to \
                 fetches, configurations, and what the active version makes of each delivery now. Secrets \
                 are masked. The answer has personal data, so the audit has the request. Nothing is changed.",
            )
            .takes(
                &wanted,
                &[(
                    "one",
                    "One delivery, if it is of this plugin",
                    json!({"deliveries": [ID], "plugin": "portal"}),
                )],
            )
            .answers(
                200,
                "The deliveries, as many as there was room and time for.",
                &captured,
                &[("one", "A delivery that gives a lead", captures())],
            )
            .refuses(&[400]),
        operation("post", "/admin/v1/deliveries/{delivery}/golden")
            .named(
                "exportGolden",
                "deliveries",
                "Gives a delivery as golden cases, with masked persons",
            )
            .describe(
                "A case is a folder with these files, in which the letters of names, addresses and messages are `x`, and digits of phones \
                 other digits. The expected output is not in it: `leadhost plugin test --write` \
                 writes that. A person has to read the files before they are shared: a text may name persons in a way that \
                 the service cannot detect. The audit has the request. Nothing is changed.",
            )
            .parameter(id())
            .answers(
                200,
                "The cases.",
                &golden,
                &[(
                    "one",
                    "A delivery without fetches",
                    json!({
                        "plugin": "portal",
                        "cases": [{
                            "name": format!("delivery-{ID}"),
                            "files": [
                                {"name": "body.json", "text": "{\"name\": \"Xxx\"}"},
                                {"name": "case.json", "text": "{\"about\": \"A delivery of portal, with masked persons\", \"call\": \"convert\", \"body\": \"body.json\"}\n"},
                            ],
                        }],
                        "notes": [],
                    }),
                )],
            )
            .refuses(&[404, 409]),
    ]
}

fn captures() -> Value {
    let mut capture = facts();
    capture["plugin"] = json!("portal");
    capture["servedBy"] = json!({
        "version": "1.2.0",
        "digest": "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef",
    });
    capture["request"] = request();
    capture["answers"] = json!([]);
    capture["answersLeftOut"] = json!(false);
    capture["outcome"] = json!({
        "items": [{
            "kind": "lead",
            "key": "L-17",
            "fields": {"externalId": ["L-17"], "name": ["Ana"], "phone": ["+5511900000001"]},
        }],
        "refused": null,
        "failed": null,
    });
    json!({
        "deliveries": [capture],
        "connections": [{
            "id": "4kJ0sPz7Qm2XwYtB9nLdRa",
            "name": "portal",
            "workspaceId": "019c2f4e-0000-7c3b-9d20-5b7f10a4e6c2",
            "plugin": "portal",
            "instanceId": null,
            "channel": "",
            "config": {},
            "configVersion": 1,
            "routes": {},
            "region": "BR",
            "timeZone": "America/Sao_Paulo",
            "isChecked": true,
        }],
        "emptied": [],
        "unknown": [],
        "ofAnotherPlugin": [],
        "notReached": [],
    })
}

fn filters() -> Vec<Parameter> {
    let text = || json!({"type": "string"});
    let time = "a date, a time such as 2026-01-31T12:00:00Z, or how long ago it was, such as 24h.";
    let words = DeliveryStatus::ALL.map(DeliveryStatus::as_str);
    vec![
        Parameter::query(
            "status",
            json!({"type": "string", "enum": words}),
            "Only deliveries in this state.",
        ),
        Parameter::query(
            "connection",
            text(),
            "Only deliveries of this connection: its id, its name, or `workspace/name`.",
        ),
        Parameter::query(
            "instance",
            text(),
            "Only deliveries of this instance's provider: its number, its name, or `workspace/name`.",
        ),
        Parameter::query(
            "since",
            text(),
            &format!("Only deliveries received at this time or later: {time}"),
        ),
        Parameter::query(
            "until",
            text(),
            &format!("Only deliveries received before this time: {time}"),
        ),
        Parameter::query(
            "q",
            text(),
            "Only the delivery with this id, or those whose leads have this external id, phone or e-mail address, or whose requests have it if they did not become leads. A phone without a country code is read as its workspace reads those of leads. `instance` is not applied to a search by id.",
        ),
        Parameter::query(
            "version",
            text(),
            "Only deliveries last converted by this version of their plugin: 1.2.0, or at least 8 characters of the beginning of its digest.",
        ),
    ]
}

/// The filters by which many deliveries are replayed: those of the list without its search.
fn narrowing() -> Vec<Parameter> {
    let mut filters = filters();
    filters.remove(5);
    filters
}

fn many_differ() -> Value {
    json!({
        "connections": [{
            "connectionId": "4kJ0sPz7Qm2XwYtB9nLdRa",
            "connection": "acme/portal",
            "deliveries": 2,
        }],
        "handled": 2,
        "statuses": {"converted": 2},
        "unconverted": 0,
        "madeDeals": 0,
        "changes": {
            "deals": {"rows": 2, "fields": {"title": 2}},
            "contacts": {"rows": 0, "fields": {}},
            "messages": 0,
            "kept": 0,
        },
        "refused": 0,
        "refusals": [],
        "left": 0,
        "after": null,
        "until": "2026-03-02T13:00:00.000000Z",
    })
}

fn id() -> Parameter {
    Parameter::path(
        "delivery",
        json!({"type": "string", "format": "uuid"}),
        "The delivery's id.",
    )
}

const ID: &str = "019c2f4e-8a51-7c3b-9d20-5b7f10a4e6c2";

fn facts() -> Value {
    json!({
        "id": ID,
        "connectionId": "4kJ0sPz7Qm2XwYtB9nLdRa",
        "connection": "portal",
        "instanceId": null,
        "receivedAt": "2026-03-02T12:15:30.250000Z",
        "status": "converted",
        "bytes": 52,
        "attempts": 0,
        "ran": {
            "plugin": "portal",
            "version": "1.2.0",
            "digest": "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef",
            "contract": "leadhost:converter@1.0.0",
            "configVersion": 1,
        },
        "error": null,
    })
}

fn summary() -> Value {
    let mut summary = facts();
    summary["items"] = json!(1);
    summary
}

fn detail() -> Value {
    let mut detail = facts();
    detail["workspaceId"] = json!("019c2f4e-0000-7c3b-9d20-5b7f10a4e6c2");
    detail["items"] = json!([item(&json!([]))]);
    detail["notes"] = json!([]);
    detail["nextAttemptAt"] = json!(null);
    detail["fetches"] = json!([]);
    detail["answers"] = json!([{
        "item": 0,
        "externalId": "L-17",
        "request": "GET https://graph.portal.example/v1/leads/L-17?access_token=***",
        "status": 200,
        "body": "{\"id\": \"L-17\", \"name\": \"Ana\"}",
        "bodyBase64": null,
    }]);
    detail["answersLeftOut"] = json!(false);
    detail["request"] = request();
    detail
}

fn request() -> Value {
    json!({
        "method": "POST",
        "path": "/ingest-lead/4kJ0sPz7Qm2XwYtB9nLdRa",
        "query": [["token", "***"]],
        "headers": [["content-type", "application/json"]],
        "body": "{\"id\": \"L-17\", \"name\": \"Ana\", \"phone\": \"11 90000-0001\"}",
        "bodyBase64": null,
    })
}

fn differs() -> Value {
    let diff = json!([{
        "field": "deal.title",
        "before": "Ana",
        "after": "Ana, 2 bedrooms",
        "applied": false,
        "editedByPerson": false,
    }]);
    json!({"id": ID, "status": "converted", "error": null, "items": [item(&diff)]})
}

fn item(diff: &Value) -> Value {
    json!({
        "item": 0,
        "status": "converted",
        "externalId": "L-17",
        "dealId": "019c2f4e-8a52-7c3b-9d20-5b7f10a4e6c3",
        "contactId": "019c2f4e-8a52-7c3b-9d20-5b7f10a4e6c4",
        "message": null,
        "diff": diff,
    })
}
