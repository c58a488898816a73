//! `/admin/v1/workspaces`.

use serde_json::{Value, json};

use super::parts::operation;
use crate::openapi::analytics;
use crate::openapi::operation::{Operation, Parameter};
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::analytics::WorkspaceAnalytics;
use leadhost_admin_api::workspaces::{
    AgentRequest, Agents, ImportReport, OwnerRequest, Owners, PartApplied, ProductRemoved,
    Workspaces,
};
use leadhost_domain::analytics::MetricSet;

/// Returns the operations of `/admin/v1/workspaces`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let all = schemas.answer::<Workspaces>();
    vec![
        operation("get", "/admin/v1/workspaces")
            .named("listWorkspaces", "workspaces", "Lists the workspaces")
            .answers(
                200,
                "All workspaces, by slug.",
                &all,
                &[("one", "One workspace", workspaces())],
            ),
        count_analytics(schemas),
        list_owners(schemas),
        put_owners(schemas),
        list_agents(schemas),
        put_agents(schemas),
        import_products(schemas),
        remove_product(schemas),
    ]
}

const ID: &str = "019cae2a-0f00-7b42-8c11-2d3e4f5a6b7c";

fn which() -> Parameter {
    Parameter::path(
        "workspace",
        json!({"type": "string"}),
        "The workspace's slug or id.",
    )
}

fn dry_run() -> Parameter {
    Parameter::query(
        "dryRun",
        json!({"type": "boolean", "default": false}),
        "Only reports the changes.",
    )
}

fn count_analytics(schemas: &mut Schemas) -> Operation {
    let sets = MetricSet::ALL.map(MetricSet::as_str);
    let example = json!({
        "workspace": "acme",
        "metricSet": "tickets",
        "granularity": "week",
        "tz": "Europe/Lisbon",
        "from": "2026-03-02T00:00:00.000000Z",
        "to": "2026-03-16T00:00:00.000000Z",
        "asOf": "2026-03-16T12:15:30.250000Z",
        "stale": false,
        "groupBy": ["agent_type"],
        "periods": ["2026-03-02", "2026-03-09"],
        "series": [{
            "agentType": "ai",
            "agentId": null,
            "source": null,
            "counts": {"tickets_opened": [42, 0], "tickets_answered": [31, 0], "tickets_resolved": [11, 0]},
        }],
    });
    let operation = operation(
        "get",
        "/admin/v1/workspaces/{workspace}/analytics/{metricSet}/{granularity}",
    )
    .named(
        "countAnalytics",
        "workspaces",
        "Counts conversations or tickets of a workspace by day, week or month",
    )
    .describe(&format!(
        "The question, its default values and its counts are those of the workspace's own data clients. A series has a count for \
         each period. At most {} periods of all series together.",
        leadhost_domain::limits::ANALYTICS_ROWS
    ))
    .parameter(which())
    .parameter(Parameter::path(
        "metricSet",
        json!({"type": "string", "enum": sets}),
        "The measures, by workspace.",
    ));
    analytics::with_question(operation)
        .answers(
            200,
            "The counts, with the parameters that were applied.",
            &schemas.answer::<WorkspaceAnalytics>(),
            &[("weeks", "Two weeks of tickets", example)],
        )
        .refuses(&[400, 404])
}

fn list_owners(schemas: &mut Schemas) -> Operation {
    let owner = json!({"id": ID, "name": "Nilda Prado", "email": "nilda@example.com"});
    operation("get", "/admin/v1/workspaces/{workspace}/owners")
        .named(
            "listOwners",
            "workspaces",
            "Lists the people who own deals and answer tickets",
        )
        .parameter(which())
        .answers(
            200,
            "The owners.",
            &schemas.answer::<Owners>(),
            &[(
                "one",
                "One owner",
                json!({"workspace": "acme", "owners": [owner]}),
            )],
        )
        .refuses(&[404])
}

fn put_owners(schemas: &mut Schemas) -> Operation {
    let list = json!({"type": "array", "items": schemas.request::<OwnerRequest>()});
    let one = json!([{"email": "nilda@example.com", "name": "Nilda Prado"}]);
    let put = operation("put", "/admin/v1/workspaces/{workspace}/owners")
        .named("putOwners", "workspaces", "Creates or renames owners")
        .describe(
            "The e-mail address identifies an owner. Owners that the list does not name stay.",
        )
        .parameter(which())
        .parameter(dry_run())
        .takes(&list, &[("one", "One owner", one)]);
    applied(put, schemas, "owner", "nilda@example.com")
}

fn list_agents(schemas: &mut Schemas) -> Operation {
    let agent = json!({
        "id": 1,
        "name": "bot",
        "number": "+5511912345678",
        "kind": "ai",
        "channel": "whatsapp",
        "adapter": "whatsapp-cloud",
        "internal": false,
    });
    operation("get", "/admin/v1/workspaces/{workspace}/agents")
        .named(
            "listAgents",
            "workspaces",
            "Lists the agents of a workspace",
        )
        .parameter(which())
        .answers(
            200,
            "The agents.",
            &schemas.answer::<Agents>(),
            &[(
                "one",
                "One agent",
                json!({"workspace": "acme", "agents": [agent]}),
            )],
        )
        .refuses(&[404])
}

fn put_agents(schemas: &mut Schemas) -> Operation {
    let list = json!({"type": "array", "items": schemas.request::<AgentRequest>()});
    let one = json!([{"name": "Rui", "kind": "human", "internal": true}]);
    let put = operation("put", "/admin/v1/workspaces/{workspace}/agents")
        .named("putAgents", "workspaces", "Creates or changes agents")
        .describe("The name identifies an agent. Agents that the list does not name stay. An agent keeps the channel and the adapter that the workspace file gave it.")
        .parameter(which())
        .parameter(dry_run())
        .takes(&list, &[("one", "One agent", one)]);
    applied(put, schemas, "agent", "Rui")
}

/// Adds what both lists answer.
fn applied(put: Operation, schemas: &mut Schemas, kind: &str, name: &str) -> Operation {
    let changes = json!([{"kind": kind, "name": name, "what": "created"}]);
    let refused = json!({
        "code": "file_refused", "error": format!("nothing was applied, because of a problem: {kind}s[0].name: is missing: expected a text"),
        "problems": [{"path": format!("{kind}s[0].name"), "message": "is missing: expected a text"}],
    });
    put.answers(
        200,
        "The changes that were made, or would be made in a dry run.",
        &schemas.answer::<PartApplied>(),
        &[(
            "created",
            "One was created",
            json!({"workspace": "acme", "dryRun": false, "changes": changes}),
        )],
    )
    .refuses(&[404])
    .refuses_with(
        422,
        "The list has problems, and nothing was changed. `problems` has all of them, each with `path`, null for the whole list, and `message`.",
        &[("problem", "A name is missing", refused)],
    )
}

fn import_products(schemas: &mut Schemas) -> Operation {
    let schema = json!({"type": "string"});
    let content = json!({
        "text/csv": {
            "schema": schema,
            "example": "externalId,name,description\nH-1,Casa azul,Three rooms\n",
        },
        "application/x-ndjson": {
            "schema": schema,
            "example": "{\"externalId\":\"H-1\",\"name\":\"Casa azul\"}\n",
        },
    });
    operation("put", "/admin/v1/workspaces/{workspace}/products")
        .named("importProducts", "workspaces", "Imports a catalogue of products")
        .describe("Each line is a product with `externalId`, `name` and optionally `description`. Products are created or changed by their external ids. Refused lines do not stop the others. The body may have any length, and is read as fast as it is stored. `application/ndjson` and `application/jsonl` are accepted too.")
        .parameter(which())
        .parameter(Parameter::query(
            "replace",
            json!({"type": "string", "enum": ["false", "true", "force"], "default": "false"}),
            "Whether to remove the products that the catalogue does not name. `true`: only if every line was accepted, and there was at least one. `force`: always.",
        ))
        .takes_content(&content)
        .answers(
            200,
            "The import ended. Some lines may be refused.",
            &schemas.answer::<ImportReport>(),
            &[("imported", "One line was refused", imported())],
        )
        .refuses(&[404, 415])
        .refuses_with(
            409,
            "Another import of the workspace's products is under way.",
            &[(
                "under-way",
                "Another import",
                json!({"code": "conflict", "error": "Another import of this workspace's products is under way; wait for its end."}),
            )],
        )
}

fn remove_product(schemas: &mut Schemas) -> Operation {
    let gone = json!({"workspace": "acme", "externalId": "H-1", "removed": true});
    operation("delete", "/admin/v1/workspaces/{workspace}/products/{externalId}")
        .named("removeProduct", "workspaces", "Removes a product permanently")
        .describe("Searches no longer find it within two seconds, and deals that were linked to it show none.")
        .parameter(which())
        .parameter(Parameter::path(
            "externalId",
            json!({"type": "string"}),
            "The product's id in the workspace's own catalogue.",
        ))
        .answers(
            200,
            "It is removed.",
            &schemas.answer::<ProductRemoved>(),
            &[("removed", "Removed", gone)],
        )
        .refuses(&[404, 507])
}

fn workspaces() -> Value {
    json!({
        "workspaces": [{
            "id": ID,
            "slug": "acme",
            "name": "Acme",
            "region": "BR",
            "timeZone": "America/Sao_Paulo",
            "rateLimit": 600,
        }],
    })
}

fn imported() -> Value {
    json!({
        "created": 2,
        "changed": 0,
        "kept": 1,
        "removed": 0,
        "refused": 1,
        "problems": [{"line": 4, "message": "externalId `H-1` is already on line 2, which is used"}],
        "ignored": ["price"],
        "replaced": false,
        "note": null,
    })
}
