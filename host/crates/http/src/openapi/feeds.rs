//! `/v1`: the feeds that a workspace key reads.

use serde_json::{Value, json};

use super::operation::{Operation, Parameter};
use super::schemas::{Schemas, page};
use crate::endpoints::whoami::Whoami;
use crate::error::Family;
use crate::route::Access;
use crate::terms::{named, one_of, page_limit, pattern, time, word};
use leadhost_domain::limits;
use leadhost_domain::row::{
    ContactRow, ConversationRow, DealRow, Entity, IdRow, MessageErrorRow, MessageRow,
};

/// Returns the operations of the feeds, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let mut all = vec![whoami(schemas)];
    all.extend(exports(schemas));
    all.extend([export_ids(schemas), report(schemas)]);
    all
}

fn whoami(schemas: &mut Schemas) -> Operation {
    let answer = schemas.answer::<Whoami<'_>>();
    let example = json!({
        "workspace": "019cae2b-3f60-7c11-b0de-000000000001",
        "workspace_name": "Aurora Homes",
    });
    operation("/v1/whoami")
        .named("whoami", "data", "Shows which workspace a key belongs to")
        .answers(
            200,
            "The workspace.",
            &answer,
            &[("workspace", "A workspace", example)],
        )
}

/// Returns the export of each entity with its own type, for generated clients, and of any of them.
fn exports(schemas: &mut Schemas) -> Vec<Operation> {
    let mut pages = Vec::new();
    let mut all = Vec::new();
    for (path, id, summary, name, row) in [
        (
            "/v1/export/conversations",
            "exportConversations",
            "Exports conversations in the order of their changes",
            "ConversationsPage",
            schemas.answer::<ConversationRow>(),
        ),
        (
            "/v1/export/messages",
            "exportMessages",
            "Exports messages in the order of their changes",
            "MessagesPage",
            schemas.answer::<MessageRow>(),
        ),
        (
            "/v1/export/contacts",
            "exportContacts",
            "Exports contacts in the order of their changes",
            "ContactsPage",
            schemas.answer::<ContactRow>(),
        ),
        (
            "/v1/export/deals",
            "exportDeals",
            "Exports deals in the order of their changes",
            "DealsPage",
            schemas.answer::<DealRow>(),
        ),
    ] {
        let page = schemas.written(name, page(&row));
        let own = operation(path)
            .named(id, "data", summary)
            .describe("As `/v1/export/{entity}`.");
        all.push(answered(pull(own), &page, &[]).refuses(&[400]));
        pages.push(page);
    }
    let entities = Entity::EXPORTED.map(Entity::as_str);
    let any = operation("/v1/export/{entity}")
        .named("exportRows", "data", "Exports rows in the order of their changes")
        .describe(
            "Follow `next_cursor` until it is null. Pass the greatest `cursor_at` that you processed as the next pull's \
             `updated_since`. It is inclusive: a row can be repeated, so upsert by `id`. Rows are ordered by `cursor_at`. \
             Deletions are not reported: `/v1/export/{entity}/ids` lists the rows that exist.",
        )
        .parameter(Parameter::path(
            "entity",
            one_of(&entities, ""),
            "The kind of rows.",
        ));
    let any = answered(
        pull(any),
        &json!({"anyOf": pages}),
        &[("contacts", "The only page of contacts", contacts())],
    );
    all.push(any.refuses(&[400, 404]));
    all
}

/// Adds the parameters of a pull.
fn pull(operation: Operation) -> Operation {
    operation
        .parameter(Parameter::query(
            "updated_since",
            time(""),
            "Only rows that changed at this time or later. Default: all rows.",
        ))
        .parameter(cursor())
        .parameter(limit())
}

fn export_ids(schemas: &mut Schemas) -> Operation {
    let row = schemas.answer::<IdRow>();
    let ids = schemas.written("IdsPage", page(&row));
    let entities = Entity::EXPORTED.map(Entity::as_str);
    let operation = operation("/v1/export/{entity}/ids")
        .named("exportIds", "data", "Lists the ids of the rows that exist")
        .describe(
            "For clients that keep a copy: removals are not reported, and removed rows are not listed here. Pages, bounds \
             and cursors work as in the export, but each refuses the other's cursors. A row that changes during the pull \
             moves past its end. Export the changes once more afterwards, and treat only rows that neither pull named as \
             removed.",
        )
        .parameter(Parameter::path(
            "entity",
            one_of(&entities, ""),
            "The kind of rows.",
        ));
    let example = json!({
        "data": [{"id": "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88"}],
        "next_cursor": null,
        "count": 1,
    });
    answered(pull(operation), &ids, &[("one", "The only page", example)]).refuses(&[400, 404])
}

fn report(schemas: &mut Schemas) -> Operation {
    let row = schemas.answer::<MessageErrorRow>();
    schemas.written("MessageErrorsPage", page(&row));
    let filter = |name: &str, description: &str| Parameter::query(name, word(), description);
    let operation = operation("/v1/reports/{report}")
        .named(
            "reportRows",
            "data",
            "Reports messages that the channels failed to deliver",
        )
        .describe(
            "The window from `updated_since` to `to` is at most 31 days. A row has to match all filters; unknown filters \
             are ignored. A cursor contains the window and the filters of its pull.",
        )
        .parameter(Parameter::path(
            "report",
            one_of(&[Entity::MessageErrors.as_str()], ""),
            "The name of the report.",
        ))
        .parameter(
            Parameter::query(
                "updated_since",
                time(""),
                "The start of the window, inclusive. Required unless a `cursor` is given.",
            )
            .required()
            .example("2026-03-01"),
        )
        .parameter(
            Parameter::query(
                "to",
                time(""),
                "The end of the window, exclusive. Default: now.",
            )
            .example("2026-03-31T12:15:30Z"),
        )
        .parameter(cursor())
        .parameter(limit())
        .parameter(filter("deal_id", "The deal of the conversation."))
        .parameter(filter("conversation_id", "The conversation."))
        .parameter(filter("agent_id", "The responsible agent."))
        .parameter(filter("external_id", "The channel's id of the message."))
        .parameter(filter("error_code", "The channel's error code."));
    answered(
        operation,
        &named("MessageErrorsPage"),
        &[("one", "A message that failed", errors())],
    )
    .refuses(&[400, 404])
}

/// Describes a page in both formats.
fn answered(operation: Operation, page: &Value, examples: &[(&str, &str, Value)]) -> Operation {
    let examples: Value = examples
        .iter()
        .map(|(name, summary, value)| {
            let example = json!({"summary": summary, "value": value});
            ((*name).to_owned(), example)
        })
        .collect();
    // Only JSON is listed: from two content types, generated clients make a union of an object
    // and a text.
    operation.answers_content(
        200,
        "A page of rows. With `application/x-ndjson` in `Accept`: one row per line, \
         then a line `{\"next_cursor\":..,\"count\":..}`.",
        json!({"application/json": {"schema": page, "examples": examples}}),
    )
}

fn operation(path: &'static str) -> Operation {
    Operation::new("get", path, Family::Data, Access::WorkspaceKey)
}

fn cursor() -> Parameter {
    Parameter::query(
        "cursor",
        pattern("^([0-9A-Za-z_-]{75,})?$", ""),
        "The `next_cursor` of the previous page; empty or absent for the first. It is valid for its workspace, feed and filters, and across restarts.",
    )
}

fn limit() -> Parameter {
    Parameter::query(
        "limit",
        page_limit(limits::EXPORT_PAGE_MAX, limits::EXPORT_PAGE_DEFAULT),
        "Rows per page. A value out of range is adjusted, not refused.",
    )
}

fn contacts() -> Value {
    json!({
        "data": [{
            "id": "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88",
            "workspace_id": "019cae2b-3f60-7c11-b0de-000000000001",
            "cursor_at": "2026-03-02T12:15:30.250000Z",
            "name": "Otávio Prates",
            "email": "otavio.prates@example.com",
            "phone_number": "+5521977770102",
            "banned_at": null,
            "props": {},
        }],
        "next_cursor": null,
        "count": 1,
    })
}

fn errors() -> Value {
    json!({
        "data": [{
            "id": "6d4f3e2a-1b88-4c3e-9d1f-0a7719cae2b3",
            "workspace_id": "019cae2b-3f60-7c11-b0de-000000000001",
            "cursor_at": "2026-03-02T12:15:30.250000Z",
            "recipient_id": "+5521977770102",
            "deal_id": "019cae2b-3f61-7a52-8a10-5c3e2d1f0a77",
            "conversation_id": "019cae2b-3f62-7d43-9b21-7e5f4a3b2c99",
            "agent_id": 1,
            "message_id": "019cae2b-3f63-7d43-9b21-7e5f4a3b2c01",
            "external_id": "wamid.example-1044",
            "error_code": "131026",
            "error_title": "Message undeliverable",
            "error_description": "The message could not be delivered.",
            "error_details": null,
            "template_name": "visit_confirmation",
            "channel": "whatsapp",
            "occurred_at": "2026-03-02T12:15:31.000000Z",
        }],
        "next_cursor": null,
        "count": 1,
    })
}
