//! `/admin/v1/status`.

use serde_json::{Value, json};

use super::parts::operation;
use crate::openapi::operation::Operation;
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::config::EffectiveConfig;
use leadhost_admin_api::status::ServiceStatus;

/// Returns the operations of `/admin/v1/status`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let status = schemas.answer::<ServiceStatus>();
    let config = schemas.answer::<EffectiveConfig>();
    vec![
        operation("get", "/admin/v1/status")
            .named("showStatus", "status", "Shows the state of the service and its backlog")
            .describe("The backlog is that of the whole store. Calls of plugins and connections are those of this host.")
            .answers(
                200,
                "The state of the service.",
                &status,
                &[("quiet", "Nothing waits", example())],
            ),
        operation("get", "/admin/v1/config")
            .named("showConfig", "status", "Shows the configuration in force")
            .describe("That of the host that answers. Possible secrets are left out: the user, the password and the parameters of an address, and the values of headers.")
            .answers(
                200,
                "Every key with its value and where it is set.",
                &config,
                &[(
                    "part",
                    "Two keys of many",
                    json!({"host": "one", "settings": [
                        {"key": "server.listen", "value": "\"0.0.0.0:8080\"", "source": "flag"},
                        {"key": "server.partner_rate", "value": "50", "source": "default"},
                    ]}),
                )],
            ),
    ]
}

fn example() -> Value {
    let host = "019cae2b-3f60-7c11-b0de-1f2a5b7c9d01";
    json!({
        "version": "1.0.0",
        "engine": "c0b1d2e3f4a5",
        "now": "2026-03-02T12:15:31.000000Z",
        "storeId": "5b0c3f52-6d0e-4d55-9a53-7d1f2c3b4a59",
        "draining": false,
        "sealingKey": "5f0c1d2e",
        "backlog": {
            "queued": 0,
            "fetches": 0,
            "failed": 0,
            "parked": 0,
            "quarantined": 0,
            "sends": 0,
            "unknown": 0,
            "oldestWaiting": null,
        },
        "analytics": [{
            "metricSet": "conversations",
            "asOf": "2026-03-02T12:15:30.250000Z",
            "stale": false,
        }],
        "tzdata": "2026a",
        "plugins": [{
            "name": "portal",
            "version": "1.4.0",
            "digest": "9b0f7a3c5d2e4f61820a7c9e1b3d5f7082a4c6e8091b2d3f4a5c6e7f8091a2b3",
            "generation": 1,
            "activatedAt": "2026-03-02T12:15:30.250000Z",
            "hosts": 1,
            "behind": [],
            "rollout": {
                "candidate": {
                    "version": "1.5.0",
                    "digest": "1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f",
                },
                "stage": "canary",
                "paused": false,
                "percent": 10,
                "secondsLeft": 190,
                "waitsFor": null,
            },
            "trusted": true,
        }],
        "host": {"id": host, "name": "one"},
        "hosts": [{
            "id": host,
            "name": "one",
            "version": "1.0.0",
            "startedAt": "2026-03-02T12:00:00.000000Z",
            "seenAt": "2026-03-02T12:15:30.000000Z",
            "alive": true,
            "clockAheadMinutes": 0,
        }],
        "connections": {"open": 4, "idle": 3, "most": 20, "asked": 1},
        "pluginCalls": {"waiting": 0, "running": 0},
        "disk": {"folder": "/var/lib/leadhost", "freeBytes": 68_719_476_736_u64, "reserveBytes": 8_388_608},
        "refusedWrites": {
            "requests": 38,
            "firstAt": "2026-03-02T11:40:02.000000Z",
            "lastAt": "2026-03-02T11:40:07.000000Z",
            "deliveries": [{
                "connectionId": "7hQ2mXk9RbTz4LwVn8Yc3D",
                "workspace": "acme",
                "name": "portal",
                "deliveries": 36,
            }],
            "moreDeliveries": 0,
        },
    })
}
