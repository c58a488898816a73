//! `/admin/v1/apply`.

use serde_json::{Value, json};

use super::parts::operation;
use crate::openapi::operation::{Operation, Parameter};
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::apply::ApplyReport;
use leadhost_domain::zone;
use leadhost_pipeline::apply::{DEFAULT_RATE_LIMIT, DEFAULT_REGION, RATE_LIMIT_MOST};

/// Returns the operations of `/admin/v1/apply`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let report = schemas.answer::<ApplyReport>();
    let file = schemas.written("WorkspaceFile", file());
    vec![
        operation("post", "/admin/v1/apply")
            .named(
                "applyWorkspace",
                "workspaces",
                "Makes a workspace match its declaration",
            )
            .describe(
                "Entries of the declaration are created or changed, by name. Entries that it leaves out stay. \
                 Applying the same declaration again changes nothing.",
            )
            .parameter(Parameter::query(
                "dryRun",
                json!({"type": "boolean", "default": false}),
                "Whether to report what would change, and to change nothing.",
            ))
            .parameter(Parameter::query(
                "part",
                json!({"type": "boolean", "default": false}),
                "Whether the declaration only adds to the workspace: then no warning names the connections and \
                 instances that it leaves out.",
            ))
            .takes(&file, &[("small", "A workspace with one source", declared())])
            .answers(
                200,
                "The workspace is as declared, or would be.",
                &report,
                &[("created", "A new workspace", created())],
            )
            .refuses_with(
                409,
                "A generated secret of a connection must be kept, and its seal cannot be opened.",
                &[],
            )
            .refuses_with(
                422,
                "The declaration has problems. `problems` lists all of them, each with its `path` and `message`. Nothing was changed.",
                &[(
                    "plugin",
                    "A problem of one field",
                    json!({
                        "code": "file_refused", "error": "nothing was applied, because of a problem: workspace.slug: `A B`: expected lower-case letters, digits and hyphens, at most 64",
                        "problems": [{
                            "path": "workspace.slug",
                            "message": "`A B`: expected lower-case letters, digits and hyphens, at most 64",
                        }],
                    }),
                )],
            ),
    ]
}

/// The lists of a workspace file. Their entries are described for operators, with the file.
fn file() -> Value {
    let entries = |description: &str| {
        json!({
            "type": "array",
            "items": {"type": "object"},
            "description": description,
        })
    };
    json!({
        "type": "object",
        "description": "A workspace file as JSON. Its tables are objects, and its arrays of tables are arrays of objects. A secret is the value, or `{\"generate\": \"prefix\"}` for a value that the service generates once.",
        "required": ["workspace"],
        "additionalProperties": false,
        "properties": {
            "workspace": {
                "type": "object",
                "required": ["slug", "name"],
                "additionalProperties": false,
                "properties": {
                    "slug": {"type": "string", "description": "Its permanent name in commands: lower-case letters, digits and hyphens, at most 64."},
                    "name": {"type": "string"},
                    "region": {"type": "string", "default": DEFAULT_REGION, "description": "ISO 3166 alpha-2: the region of phone numbers without a country code."},
                    "time_zone": {"type": "string", "default": zone::DEFAULT, "description": "A name of the IANA database."},
                    "rate_limit": {"type": "integer", "minimum": 1, "maximum": RATE_LIMIT_MOST, "default": DEFAULT_RATE_LIMIT, "description": "Requests per minute on the data API."},
                    "language": {"type": "string", "description": "The language of a template that exists in several, if a request names none."},
                },
            },
            "partners": entries("The systems that call the gateway."),
            "instances": entries("Messaging bots, with the channels of those that have an adapter."),
            "owners": entries("The people who own deals and take tickets, by e-mail address."),
            "connections": entries("Sources of leads, each with its partner and its converter."),
            "products": entries("Products by external id."),
            "keys": entries("Keys that the workspace should have, by kind and label."),
        },
    })
}

fn declared() -> Value {
    json!({
        "workspace": {"slug": "acme", "name": "Acme Homes"},
        "partners": [{"name": "crm"}],
        "instances": [{"name": "assistant"}],
        "connections": [{
            "name": "portal",
            "partner": "crm",
            "instance": "assistant",
            "plugin": "portal",
            "secrets": {"token": {"generate": ""}},
        }],
        "keys": [{"kind": "workspace", "label": "export"}],
    })
}

fn created() -> Value {
    let created = |kind: &str, name: &str| json!({"kind": kind, "name": name, "what": "created"});
    json!({
        "dryRun": false,
        "workspace": "acme",
        "workspaceId": "019cae2b-3f60-7c11-b0de-1f2a5b7c9d01",
        "changes": [
            created("workspace", "acme"),
            created("partner", "crm"),
            created("agent", "assistant"),
            created("connection", "portal"),
        ],
        "changedConnections": [],
        "connections": {"portal": "4kJ0sPz7Qm2XwYtB9nLdRa"},
        "instances": {"assistant": 1},
        "channels": {},
        "partners": {"crm": "019cae2b-3f60-7c11-b0de-2a3b4c5d6e7f"},
        "keys": [{
            "kind": "workspace",
            "label": "export",
            "partner": null,
            "key": "mk_EXAMPLE",
        }],
        "generated": {"portal": {"token": "EXAMPLE"}},
        "generatedOfInstances": {},
        "warnings": [],
    })
}
