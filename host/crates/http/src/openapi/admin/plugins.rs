//! `/admin/v1/plugins`.

use serde_json::{Value, json};

use super::parts::operation;
use crate::openapi::operation::{Operation, Parameter};
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::activity::ActivityPeriod;
use leadhost_admin_api::plugin_calls::{CarriedCases, PluginCallHistory};
use leadhost_admin_api::plugins::{
    ActivateRequest, CheckedPlugin, DeployedPlugin, ImpactRequest, PluginList, RemovedPlugin,
    RollbackRequest, RunningVerifications, VerifiedPlugin, VerifyRequest,
};
use leadhost_domain::accept::AcceptWord;
use leadhost_domain::limits;

/// Returns the operations of `/admin/v1/plugins`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let all = schemas.answer::<PluginList>();
    let checked = schemas.answer::<CheckedPlugin>();
    let deployed = schemas.answer::<DeployedPlugin>();
    let verified = schemas.answer::<VerifiedPlugin>();
    let request = schemas.request::<ActivateRequest>();
    vec![
        operation("get", "/admin/v1/plugins")
            .named(
                "listPlugins",
                "plugins",
                "Lists the stored versions of all plugins",
            )
            .describe("It also shows which hosts serve them, and which files were refused.")
            .answers(
                200,
                "All plugins, by name.",
                &all,
                &[(
                    "one",
                    "One plugin",
                    json!({"plugins": [plugin()], "refusals": [], "hosts": []}),
                )],
            ),
        upload(&deployed),
        refuses_component(
            operation("post", "/admin/v1/plugins/check")
                .named(
                    "checkPlugin",
                    "plugins",
                    "Tries a component as an activation would, and changes nothing",
                )
                .takes_content(&component())
                .answers(
                    200,
                    "The component is usable.",
                    &checked,
                    &[(
                        "older",
                        "Its activation would raise concerns",
                        json!({
                            "name": "portal",
                            "version": "1.3.0",
                            "digest": DIGEST,
                            "kind": "converter",
                            "contract": "leadhost:converter@1.0.0",
                            "golden": 12,
                            "publisher": "operator",
                            "concerns": [concern()],
                        }),
                    )],
                ),
        ),
        verifications(schemas),
        verify_upload(&verified),
        verify_stored(schemas, &verified),
        impact(schemas, &verified),
        calls(schemas),
        golden(schemas),
        activate(&request, &deployed),
        roll_back(schemas, &deployed),
        remove(schemas),
    ]
}

fn upload(deployed: &Value) -> Operation {
    let upload = operation("post", "/admin/v1/plugins")
        .named(
            "uploadPlugin",
            "plugins",
            "Stores a component, and activates it if that is requested",
        )
        .describe(
            "The component is compiled, and runs its trial and its golden cases before it is stored. \
             If its activation raises concerns that must be accepted, nothing is stored.",
        )
        .parameter(Parameter::query(
            "activate",
            json!({"type": "boolean", "default": false}),
            "Whether to activate the component too.",
        ))
        .parameter(Parameter::query(
            "accept",
            json!({"type": "array", "items": {"type": "string", "enum": AcceptWord::ALL}}),
            "Accepts the concerns of this word. May be repeated.",
        ))
        .parameter(Parameter::query(
            "source",
            json!({"type": "string", "maxLength": limits::SOURCE_BYTES, "pattern": "^oci://[!-~]+@sha256:[!-~]*$"}),
            "The address in a registry from which the component was pulled, with the digest of its manifest. It becomes the version's `origin`.",
        ))
        .takes_content(&component())
        .answers(
            201,
            "The component is stored.",
            deployed,
            &[
                ("active", "It is also active", active(DIGEST, Some(BEFORE))),
                (
                    "stored",
                    "It is only stored",
                    json!({
                        "name": "portal",
                        "version": "1.4.0",
                        "digest": DIGEST,
                        "previous": null,
                        "generation": null,
                        "activatedAt": null,
                        "golden": 12,
                        "active": false,
                        "behind": null,
                        "verification": null,
                    }),
                ),
            ],
        );
    refuses_activation(refuses_component(upload))
}

fn verifications(schemas: &mut Schemas) -> Operation {
    let running = schemas.answer::<RunningVerifications>();
    operation("get", "/admin/v1/plugins/verify")
        .named(
            "listVerifications",
            "plugins",
            "Shows how far the comparisons are that run on this host",
        )
        .answers(
            200,
            "The comparisons that run now.",
            &running,
            &[(
                "one",
                "One comparison",
                json!({"verifications": [{
                    "name": "portal",
                    "digest": DIGEST,
                    "chosen": 1000,
                    "done": 412,
                    "since": "2026-03-02T12:15:30.250000Z",
                    "secondsLeft": 17,
                }]}),
            )],
        )
}

fn verify_upload(verified: &Value) -> Operation {
    let verify = operation("post", "/admin/v1/plugins/verify").named(
        "verifyUpload",
        "plugins",
        "Compares a component with the active version, and changes nothing",
    );
    refuses_component(verification(verify, verified).takes_content(&component()))
}

fn verify_stored(schemas: &mut Schemas, verified: &Value) -> Operation {
    let request = schemas.request::<VerifyRequest>();
    let verify = operation("post", "/admin/v1/plugins/{plugin}/verify")
        .named(
            "verifyPlugin",
            "plugins",
            "Compares a stored version with the active one, and changes nothing",
        )
        .parameter(name())
        .takes(
            &request,
            &[(
                "short",
                "The beginning of a digest",
                json!({"digest": &DIGEST[..12]}),
            )],
        )
        .refuses(&[404]);
    refuses_component(verification(verify, verified))
}

fn impact(schemas: &mut Schemas, verified: &Value) -> Operation {
    let request = schemas.request::<ImpactRequest>();
    let impact = operation("post", "/admin/v1/plugins/{plugin}/impact")
        .named(
            "pluginImpact",
            "plugins",
            "Compares a version with another one on the deliveries that it converted, and changes nothing",
        )
        .parameter(name())
        .takes(
            &request,
            &[(
                "short",
                "The beginning of a digest",
                json!({"digest": &DIGEST[..12], "against": null}),
            )],
        )
        .refuses(&[404, 409]);
    refuses_component(verification(impact, verified))
}

fn verification(operation: Operation, verified: &Value) -> Operation {
    let whole = |most: u64, default: u64| json!({"type": "integer", "minimum": 1, "maximum": most, "default": default});
    let example = json!({
        "deliveryId": "019cae2b-3f65-7d43-9b21-7e5f4a3b2c03",
        "messageId": null,
        "connectionId": "4kJ0sPz7Qm2XwYtB9nLdRa",
        "before": "+***********02",
        "after": null,
    });
    let none = json!({"count": 0, "examples": []});
    operation
        .describe(
            "Both versions convert the same stored deliveries of the connections that use the plugin, and nothing that they \
             return has an effect. Fetched leads are completed from the stored answers. Values of examples are masked.",
        )
        .parameter(Parameter::query(
            "last",
            whole(limits::VERIFY_DELIVERIES_MOST.into(), limits::VERIFY_DELIVERIES.into()),
            "The greatest number of deliveries: the newest of each connection and outcome. Failed and parked ones take at most half of the places, unless there are too few others.",
        ))
        .parameter(Parameter::query(
            "since",
            json!({"type": "string"}),
            "Only deliveries received since this date or time.",
        ))
        .parameter(Parameter::query(
            "failed",
            json!({"type": "boolean", "default": false}),
            "Only failed and parked deliveries.",
        ))
        .parameter(Parameter::query(
            "seconds",
            whole(limits::VERIFY_LONGEST.as_secs(), limits::VERIFY_TIME.as_secs()),
            "The comparison ends after this time at the latest, with the comparisons made by then.",
        ))
        .answers(
            200,
            "The differences.",
            verified,
            &[(
                "phones",
                "The candidate loses phone numbers",
                json!({
                    "name": "portal",
                    "version": "1.4.0",
                    "digest": DIGEST,
                    "kind": "converter",
                    "golden": 12,
                    "against": {"version": "1.3.0", "digest": BEFORE, "active": true, "previous": false, "discarded": false},
                    "chosen": 1000,
                    "total": 48213,
                    "totalIsLeast": false,
                    "connections": 3,
                    "connectionsNotCovered": 0,
                    "emptied": 2,
                    "notTried": 0,
                    "notReached": 0,
                    "compared": 998,
                    "same": 586,
                    "leads": 998,
                    "candidateLeads": 998,
                    "newlyFailing": none,
                    "noLongerFailing": none,
                    "appeared": none,
                    "vanished": none,
                    "items": none,
                    "fields": [{"field": "phone", "change": "lost", "count": 412, "examples": [example]}],
                    "altered": 0,
                    "cost": {
                        "conversions": 998,
                        "other": {"meanUs": 1180, "p95Us": 2300, "memoryBytes": 1245184},
                        "candidate": {"meanUs": 1240, "p95Us": 2410, "memoryBytes": 1310720},
                    },
                    "drift": ["412 of 998 leads lose a phone, for example in delivery 019cae2b-3f65-7d43-9b21-7e5f4a3b2c03"],
                    "concerns": [],
                    "repairs": [],
                    "tookMs": 4120,
                }),
            )],
        )
        .refuses(&[400])
}

fn calls(schemas: &mut Schemas) -> Operation {
    let words = ActivityPeriod::ALL.map(ActivityPeriod::as_str);
    let history = schemas.answer::<PluginCallHistory>();
    operation("get", "/admin/v1/plugins/{plugin}/calls")
        .named(
            "pluginCalls",
            "plugins",
            "Shows the outcomes and the cost of each version's calls over time",
        )
        .describe("Each host counts its own calls, in memory, from its start. Trials and comparisons are not counted. How much output a call returned is not known, only whether it was too much.")
        .parameter(name())
        .parameter(Parameter::query(
            "period",
            json!({"type": "string", "enum": words, "default": "day"}),
            "How far back: an hour in slots of five minutes, a day in hours, or a week in slots of six hours.",
        ))
        .answers(
            200,
            "The calls on this host.",
            &history,
            &[(
                "hour",
                "A part of an hour",
                json!({
                    "host": "lead-1",
                    "countedSince": "2026-03-01T08:00:00.000000Z",
                    "period": "hour",
                    "slots": ["2026-03-02T12:10:00.000000Z", "2026-03-02T12:15:00.000000Z"],
                    "allowed": {
                        "processorMs": 2000,
                        "inlineProcessorMs": 50,
                        "memoryBytes": 134_217_728,
                        "outputBytes": 16_777_216,
                    },
                    "versions": [{
                        "version": "1.4.0",
                        "digest": DIGEST,
                        "outcomes": {"ok": [41, 12], "trapped": [0, 1]},
                        "meanProcessorMicros": [180, 210],
                        "mostMemoryBytes": [1_179_648, 1_310_720],
                        "calls": 54,
                        "longestProcessorMicros": 2410,
                        "largestMemoryBytes": 1_310_720,
                    }],
                }),
            )],
        )
        .refuses(&[400, 404])
}

fn golden(schemas: &mut Schemas) -> Operation {
    let cases = schemas.answer::<CarriedCases>();
    operation("get", "/admin/v1/plugins/{plugin}/versions/{digest}/golden")
        .named(
            "pluginGolden",
            "plugins",
            "Lists the golden cases that a version carries, or shows one of them",
        )
        .parameter(name())
        .parameter(version_digest())
        .parameter(Parameter::query(
            "case",
            json!({"type": "string"}),
            "The name of a case: only this one, with its body and its expected answer.",
        ))
        .answers(
            200,
            "The cases.",
            &cases,
            &[(
                "one",
                "One case",
                json!({
                    "version": "1.4.0",
                    "digest": DIGEST,
                    "cases": [{
                        "name": "two-phones",
                        "about": "A lead with two phones",
                        "call": "convert",
                        "bodyBytes": 48,
                        "body": "{\"name\": \"Ana\", \"phone\": \"21 99999-0000\"}",
                        "expect": {"items": []},
                    }],
                }),
            )],
        )
        .refuses(&[400, 404])
}

fn activate(request: &Value, deployed: &Value) -> Operation {
    let activate = operation("post", "/admin/v1/plugins/{plugin}/activate")
        .named("activatePlugin", "plugins", "Activates a stored version")
        .describe("Calls in progress end on the old version. Calls that begin after the answer run on the new one.")
        .parameter(name())
        .takes(
            request,
            &[(
                "short",
                "The beginning of a digest, and the acceptance of an older version",
                json!({"digest": &DIGEST[..12], "accept": ["older"]}),
            )],
        )
        .answers(
            200,
            "It is active.",
            deployed,
            &[("active", "It is active", active(DIGEST, Some(BEFORE)))],
        )
        .refuses(&[404]);
    refuses_activation(refuses_component(activate))
}

fn roll_back(schemas: &mut Schemas, deployed: &Value) -> Operation {
    let request = schemas.request::<RollbackRequest>();
    let roll_back = operation("post", "/admin/v1/plugins/{plugin}/rollback")
        .named(
            "rollBackPlugin",
            "plugins",
            "Activates the previous version again",
        )
        .parameter(name())
        .may_take(
            &request,
            &[(
                "restored",
                "The acceptance of a version that was itself rolled back",
                json!({"accept": ["rolled-back"]}),
            )],
        )
        .answers(
            200,
            "The previous version is active.",
            deployed,
            &[("active", "It is active", active(BEFORE, Some(DIGEST)))],
        )
        .refuses(&[404])
        .refuses_with(
            409,
            "No version was active before, another activation is in progress or happened meanwhile, or the previous version was itself rolled back (`accept`: `rolled-back`), or has another kind while the name is in use. In the last two cases `concerns` says so.",
            &[(
                "first",
                "There is no previous version",
                json!({"code": "conflict", "error": "no version of `portal` was active before the current one"}),
            )],
        );
    refuses_component(roll_back)
}

/// The digest of a version in a path.
fn version_digest() -> Parameter {
    Parameter::path(
        "digest",
        json!({"type": "string"}),
        "The digest of the version, or its first 8 or more characters.",
    )
}

fn remove(schemas: &mut Schemas) -> Operation {
    let removed = schemas.answer::<RemovedPlugin>();
    operation("delete", "/admin/v1/plugins/{plugin}/versions/{digest}")
        .named(
            "removePlugin",
            "plugins",
            "Removes a stored version that nothing names",
        )
        .describe("A version is kept while it is active, a rollback would activate it, the last rollout names it, fetches that it began are not finished, it converted deliveries that are kept, or an open repair replays those. A file of the inbox with its bytes is not stored again; an upload is.")
        .parameter(name())
        .parameter(version_digest())
        .answers(
            200,
            "It is removed.",
            &removed,
            &[(
                "removed",
                "Removed",
                json!({
                    "name": "portal",
                    "version": "1.2.0",
                    "digest": BEFORE,
                    "removed": true,
                }),
            )],
        )
        .refuses(&[400, 404])
        .refuses_with(
            409,
            "Something names the version: the message says what.",
            &[(
                "previous",
                "A rollback would activate it",
                json!({"code": "conflict", "error": "portal@1c2d3e4f5a6b is not removed: a rollback would activate it"}),
            )],
        )
}

/// Adds the refusal of a component that the host cannot use.
pub fn refuses_component(operation: Operation) -> Operation {
    operation.refuses_with(
        422,
        "The component cannot be used. `kind` is a stable code of the reason. If it is `host`, `hosts` lists the hosts of the fleet that cannot serve the component, each with its `reason`.",
        &[
            (
                "text",
                "The body is not a component",
                json!({
                    "code": "component_refused", "error": "the file is not WebAssembly: it does not begin with the magic bytes",
                    "kind": "not_wasm",
                }),
            ),
            (
                "unsigned",
                "Only signed components are taken (`plugins.trusted_keys`)",
                json!({
                    "code": "component_refused", "error": format!("the component {} is not signed, and this service takes only components that a key of plugins.trusted_keys has signed: sign it with `leadhost plugin sign FILE --key KEY_FILE`", &DIGEST[..12]),
                    "kind": "unsigned",
                }),
            ),
            (
                "host",
                "A host of the fleet cannot serve it",
                json!({
                    "code": "unprocessable", "error": "it is not activated, because not every host can serve it: two: no memory",
                    "kind": "host",
                    "hosts": [{"host": "two", "reason": "no memory"}],
                }),
            ),
        ],
    )
}

/// Adds the refusal of an activation that raises concerns that must be accepted.
fn refuses_activation(operation: Operation) -> Operation {
    operation.refuses_with(
        409,
        "The activation raises concerns that must be accepted: `concerns` lists the reasons, and `accept` the words that accept them. Without these fields, the digest belongs to another plugin, or another activation is in progress or happened meanwhile.",
        &[(
            "older",
            "The version is older than the active one",
            json!({
                "code": "acceptance_needed", "error": "portal 1.3.0 is not activated: version 1.3.0 is older than 1.4.0, the active one (accept with --accept older)",
                "accept": ["older"],
                "concerns": [concern()],
            }),
        )],
    )
}

pub const DIGEST: &str = "9b0f7a3c5d2e4f61820a7c9e1b3d5f7082a4c6e8091b2d3f4a5c6e7f8091a2b3";
pub const BEFORE: &str = "1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f";

/// The plugin's name in a path.
pub fn name() -> Parameter {
    Parameter::path("plugin", json!({"type": "string"}), "The plugin's name.")
}

fn component() -> Value {
    json!({"application/wasm": {"schema": {
        "type": "string",
        "format": "binary",
        "description": "A WebAssembly component. The content type is not checked.",
    }}})
}

/// A concern about a version.
pub fn concern() -> Value {
    json!({
        "accept": "older",
        "what": "version 1.3.0 is older than 1.4.0, the active one",
    })
}

fn active(digest: &str, previous: Option<&str>) -> Value {
    json!({
        "name": "portal",
        "version": "1.4.0",
        "digest": digest,
        "previous": previous,
        "generation": 3,
        "activatedAt": "2026-03-02T12:15:30.250000Z",
        "golden": 12,
        "active": true,
        "behind": [],
        "verification": null,
    })
}

fn plugin() -> Value {
    json!({
        "name": "portal",
        "digest": DIGEST,
        "previous": null,
        "wayBack": null,
        "generation": 1,
        "activatedAt": "2026-03-02T12:15:30.250000Z",
        "serves": DIGEST,
        "servedBy": null,
        "behind": null,
        "rollout": null,
        "versions": [{
            "version": "1.4.0",
            "digest": DIGEST,
            "state": "active",
            "summary": "Leads of a property portal",
            "kind": "converter",
            "contract": "leadhost:converter@1.0.0",
            "bytes": 482_113,
            "golden": 12,
            "origin": "upload",
            "publisher": "admin-key:019cae2b-3f60-7c11-b0de-1f2a5b7c9d01",
            "storedAt": "2026-03-02T12:15:29.100000Z",
            "secrets": [{
                "name": "token",
                "kind": "text",
                "summary": "The portal's token",
                "required": true,
            }],
            "hosts": [],
        }],
        "circuits": [],
    })
}
