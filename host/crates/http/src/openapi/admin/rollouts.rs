//! `/admin/v1/rollouts` and `/admin/v1/plugins/{plugin}/rollout`.

use serde_json::{Value, json};

use super::parts::operation;
use super::plugins::{BEFORE, DIGEST, concern, name, refuses_component};
use crate::openapi::operation::Operation;
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::rollouts::{
    RolloutChangeRequest, RolloutList, RolloutRequest, RolloutView,
};

/// Returns the operations on rollouts, and adds their types to
/// `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let rollout = schemas.answer::<RolloutView>();
    let all = schemas.answer::<RolloutList>();
    vec![
        operation("get", PATH)
            .named(
                "showRollout",
                "plugins",
                "Shows the last rollout of a plugin",
            )
            .describe(
                "The numbers are sums over all hosts, at most a few seconds old. Values of examples are masked.",
            )
            .parameter(name())
            .answers(
                200,
                "How it stands.",
                &rollout,
                &[
                    ("canary", "A canary in its second step", canary()),
                    ("rolledBack", "A guard ended it", rolled_back()),
                ],
            )
            .refuses(&[404]),
        operation("get", "/admin/v1/rollouts")
            .named("listRollouts", "plugins", "Lists the last rollout of each plugin")
            .describe("A plugin that never had a rollout is left out.")
            .answers(
                200,
                "The rollouts, by the names of their plugins.",
                &all,
                &[("canary", "A canary", json!({"rollouts": [canary()]}))],
            ),
        start(schemas, &rollout),
        change(schemas, &rollout),
    ]
}

const PATH: &str = "/admin/v1/plugins/{plugin}/rollout";

fn start(schemas: &mut Schemas, rollout: &Value) -> Operation {
    let request = schemas.request::<RolloutRequest>();
    let start = operation("post", PATH)
        .named(
            "startRollout",
            "plugins",
            "Starts a rollout of a stored version",
        )
        .describe(
            "In a `shadow`, candidate and active version convert deliveries after they were answered, and only the \
             differences are kept. In a `canary`, the candidate gets a growing part of the deliveries and is activated at the \
             end; the version is tried and compared first, as for an activation. The answer waits a bounded time for all \
             hosts: those in `behind` follow later.",
        )
        .parameter(name())
        .takes(
            &request,
            &[
                (
                    "canary",
                    "A canary in three steps of ten minutes",
                    json!({
                        "digest": &DIGEST[..12],
                        "mode": "canary",
                        "steps": [5, 25, 100],
                        "everySeconds": 600,
                        "probationSeconds": 3_600,
                        "guards": true,
                        "stepComparisons": 10,
                        "accept": [],
                    }),
                ),
                (
                    "shadow",
                    "A shadow, with the defaults",
                    json!({"digest": &DIGEST[..12], "mode": "shadow"}),
                ),
            ],
        )
        .answers(
            201,
            "It has begun.",
            rollout,
            &[("shadow", "A shadow", shadow())],
        )
        .refuses(&[404])
        .refuses_with(
            409,
            "The version raises concerns that must be accepted: `concerns` lists the reasons, and `accept` the words that accept them. Without these fields, no other version of the plugin is active, a rollout is open, or another version was activated meanwhile.",
            &[
                (
                    "older",
                    "The version is older than the active one",
                    json!({
                        "code": "acceptance_needed", "error": "the rollout of portal 1.3.0 is not started: version 1.3.0 is older than 1.4.0, the active one (accept with --accept older)",
                        "accept": ["older"],
                        "concerns": [concern()],
                    }),
                ),
                (
                    "open",
                    "A rollout is open",
                    json!({
                        "code": "conflict", "error": "a rollout of `portal` is open (9b0f7a3c5d2e, canary), which `ana` started at 2026-03-02T12:15:30Z: see `leadhost plugin rollout portal`, or end it with `leadhost plugin rollout abort portal`",
                    }),
                ),
            ],
        );
    refuses_component(start)
}

fn change(schemas: &mut Schemas, rollout: &Value) -> Operation {
    let request = schemas.request::<RolloutChangeRequest>();
    let change = operation("patch", PATH)
        .named("changeRollout", "plugins", "Changes the open rollout")
        .describe(
            "`pause` and `resume` are for a canary: a paused one stays in its step, and the guards stay on. `promote` \
             activates the candidate of a canary now. `abort` ends any open rollout; in the probation it activates the stable \
             version again.",
        )
        .parameter(name())
        .takes(
            &request,
            &[("abort", "End it", json!({"change": "abort"}))],
        )
        .answers(
            200,
            "How it stands now.",
            rollout,
            &[("aborted", "It was ended", aborted())],
        )
        .refuses(&[404])
        .refuses_with(
            409,
            "No rollout is open, its stage does not allow the change, or it was changed meanwhile.",
            &[
                (
                    "none",
                    "No rollout is open",
                    json!({"code": "conflict", "error": "`portal` has no open rollout: the last one, of 5f3a9c01, is aborted (`ops` ended it); see `leadhost plugin rollout portal`"}),
                ),
                (
                    "stage",
                    "A shadow has no steps to stay in",
                    json!({"code": "conflict", "error": "the rollout of `portal` cannot be paused in the stage shadow: see `leadhost plugin rollout portal`, or end it with `leadhost plugin rollout abort portal`"}),
                ),
            ],
        );
    refuses_component(change)
}

fn canary() -> Value {
    let none = json!({"count": 0, "examples": []});
    let fields = json!([{
        "field": "message",
        "change": "changed",
        "count": 2,
        "examples": [{
            "deliveryId": "019cae2b-3f65-7d43-9b21-7e5f4a3b2c03",
            "messageId": null,
            "connectionId": CONNECTION,
            "before": "V****",
            "after": "V**** o*****",
        }],
    }]);
    let mut rollout = json!({
        "name": "portal",
        "candidate": {"version": "1.4.0", "digest": DIGEST},
        "stable": {"version": "1.3.0", "digest": BEFORE},
        "stage": "canary",
        "paused": false,
        "percent": 10,
        "plan": {
            "mode": "canary",
            "steps": [1, 10, 50, 100],
            "everySeconds": 300,
            "probationSeconds": 3_600,
            "guards": true,
            "stepComparisons": 10,
        },
        "spentSeconds": 110,

        "generation": 2,
        "startedBy": "ana",
        "startedAt": "2026-03-02T12:15:30.250000Z",
        "stageAt": "2026-03-02T12:20:31.400000Z",
        "why": null,
        "compared": 412,
        "same": 410,
        "served": 412,
        "saved": 0,
        "dropped": 0,
        "leads": 415,
        "candidateLeads": 415,
        "stableUs": 310,
        "candidateUs": 342,
        "stableBytes": 2_228_224,
        "candidateBytes": 2_293_760,
        "newlyFailing": none,
        "noLongerFailing": none,
        "appeared": none,
        "vanished": none,
        "items": none,
        "fields": fields,
        "sends": null,
        "checks": null,
        "connections": [{
            "connectionId": CONNECTION,
            "name": "aurora/portal",
            "compared": 412,
            "failing": 0,
            "lost": 0,
            "vanished": 0,
            "appeared": 0,
        }],
        "drift": [],
        "hosts": ["one", "two"],
        "behind": [],
        "verification": null,
    });
    // One literal has no room for more fields.
    rollout["connections"][0]["altered"] = json!(0);
    rollout["connections"][0]["changed"] = json!(0);
    rollout["stepCompared"] = json!(371);
    rollout["waitsFor"] = Value::Null;
    rollout["warning"] = Value::Null;
    rollout["waiting"] = json!(0);
    rollout["rolledBack"] = Value::Null;
    rollout
}

fn rolled_back() -> Value {
    with(json!({
        "stage": "rolled-back",
        "spentSeconds": 0,
        "generation": 3,
        "stageAt": "2026-03-02T12:21:10.800000Z",
        "why": WHY,
        "same": 409,
        "served": 409,
        "saved": 3,
        "fields": [{
            "field": "phone",
            "change": "lost",
            "count": 3,
            "examples": [{
                "deliveryId": "019cae2b-3f65-7d43-9b21-7e5f4a3b2c03",
                "messageId": null,
                "connectionId": CONNECTION,
                "before": "+***********02",
                "after": null,
            }],
        }],
        "connections": [{
            "connectionId": CONNECTION,
            "name": "aurora/portal",
            "compared": 412,
            "failing": 0,
            "lost": 3,
            "altered": 0,
            "vanished": 0,
            "appeared": 0,
            "changed": 0,
        }],
        "drift": [WHY],
    }))
}

fn shadow() -> Value {
    with(json!({
        "stage": "shadow",
        "percent": 100,
        "plan": {
            "mode": "shadow",
            "steps": [100],
            "everySeconds": 3_600,
            "probationSeconds": 3_600,
            "guards": true,
            "stepComparisons": 0,
        },
        "spentSeconds": 0,
        "stepCompared": 0,
        "generation": 1,
        "stageAt": "2026-03-02T12:15:30.250000Z",
        "compared": 0,
        "same": 0,
        "served": 0,
        "leads": 0,
        "candidateLeads": 0,
        "stableUs": null,
        "candidateUs": null,
        "stableBytes": null,
        "candidateBytes": null,
        "fields": [],
        "connections": [],
    }))
}

fn aborted() -> Value {
    with(json!({
        "stage": "aborted",
        "spentSeconds": 0,
        "generation": 3,
        "stageAt": "2026-03-02T12:22:21.500000Z",
        "why": "`anna` ended it",
    }))
}

/// Returns the rollout of [`canary`] with other values.
fn with(changes: Value) -> Value {
    let mut rollout = canary();
    for (key, value) in changes.as_object().into_iter().flatten() {
        rollout[key] = value.clone();
    }
    rollout
}

const CONNECTION: &str = "4kJ0sPz7Qm2XwYtB9nLdRa";

const WHY: &str =
    "3 of 415 leads lose a phone, for example in delivery 019cae2b-3f65-7d43-9b21-7e5f4a3b2c03";
