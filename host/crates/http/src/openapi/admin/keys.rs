//! `/admin/v1/keys`.

use serde_json::{Value, json};

use super::parts::operation;
use crate::openapi::operation::{Operation, Parameter};
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::keys::{CreateKeyRequest, CreatedKey, KeyRevoked, Keys};

/// Returns the operations of `/admin/v1/keys`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let all = schemas.answer::<Keys>();
    let created = schemas.answer::<CreatedKey>();
    let revoked = schemas.answer::<KeyRevoked>();
    let request = schemas.request::<CreateKeyRequest>();
    let wanted = json!({"kind": "workspace", "workspace": "acme", "label": "warehouse"});
    let mut made = example();
    made["key"] = json!("mk_4kJ0sPz7Qm2XwYtB9nLdRaVfC3hGuE8i1oMx5T");
    vec![
        operation("get", "/admin/v1/keys")
            .named("listKeys", "keys", "Lists keys without their text")
            .describe("Revoked and expired keys are listed too.")
            .parameter(Parameter::query(
                "workspace",
                json!({"type": "string"}),
                "The workspace's slug: only the keys of this workspace.",
            ))
            .answers(
                200,
                "The keys.",
                &all,
                &[("one", "One key", json!({"keys": [example()]}))],
            )
            .refuses(&[404]),
        operation("post", "/admin/v1/keys")
            .named("createKey", "keys", "Creates a key")
            .takes(&request, &[("workspace", "A key of the data API", wanted)])
            .answers(
                201,
                "The key. Only this answer shows its text.",
                &created,
                &[("created", "Created", made)],
            )
            .refuses(&[404]),
        operation("delete", "/admin/v1/keys/{key}")
            .named("revokeKey", "keys", "Revokes a key")
            .describe("Every host refuses the key within one second.")
            .parameter(Parameter::path(
                "key",
                json!({"type": "string", "format": "uuid"}),
                "The key's id.",
            ))
            .answers(
                200,
                "It is revoked.",
                &revoked,
                &[("revoked", "Revoked", json!({"id": ID, "revoked": true}))],
            )
            .refuses(&[404, 507])
            .refuses_with(
                409,
                "The request was made with the key itself: otherwise no key might be left to create another.",
                &[(
                    "itself",
                    "The caller's own key",
                    json!({"code": "conflict", "error": "This request was made with the key itself: revoke it with another admin key."}),
                )],
            ),
    ]
}

const ID: &str = "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88";

fn example() -> Value {
    json!({
        "id": ID,
        "kind": "workspace",
        "workspace": "acme",
        "partner": null,
        "role": null,
        "label": "warehouse",
        "hint": "mk_…Mx5T",
        "state": "live",
        "createdAt": "2026-03-02T12:15:30.250000Z",
        "expiresAt": null,
        "revokedAt": null,
        "lastUsedAt": null,
    })
}
