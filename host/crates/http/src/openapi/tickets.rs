//! `/tickets`.

use serde_json::{Value, json};

use super::operation::{Operation, Parameter};
use super::schemas::Schemas;
use crate::endpoints::tickets::{TicketsPage, schema};
use crate::error::{ApiError, Family};
use crate::route::Access;
use crate::terms::{one_of, page_limit, pattern};
use leadhost_domain::limits;
use leadhost_domain::ticket::{TicketStatus, TicketView};

/// Returns the operations on tickets, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let ticket = schemas.answer::<TicketView>();
    vec![
        list(schemas),
        operation("get", "/tickets/{id}")
            .named("showTicket", "desk", "Shows a ticket")
            .parameter(id())
            .answers(
                200,
                "The ticket.",
                &ticket,
                &[("open", "An open ticket", example())],
            )
            .refuses(&[404]),
        patch(schemas, &ticket),
    ]
}

fn list(schemas: &mut Schemas) -> Operation {
    let page = schemas.answer::<TicketsPage>();
    let limit = page_limit(limits::TICKETS_PAGE_MAX, limits::TICKETS_PAGE_DEFAULT);
    operation("get", "/tickets")
        .named("listTickets", "desk", "Lists tickets, newest first")
        .describe("Follow `nextCursor` until it is null. Tickets that open meanwhile belong before the first page.")
        .parameter(Parameter::query(
            "status",
            one_of(&TicketStatus::ALL.map(TicketStatus::as_str), ""),
            "Only tickets with this status.",
        ))
        .parameter(Parameter::query(
            "cursor",
            pattern("^([0-9A-Za-z_-]{50,})?$", ""),
            "The `nextCursor` of the previous page. It contains the status too.",
        ))
        .parameter(Parameter::query(
            "limit",
            limit,
            "Tickets per page. A value out of range is adjusted, not refused.",
        ))
        .answers(
            200,
            "A page of tickets.",
            &page,
            &[(
                "one",
                "The only page",
                json!({"tickets": [example()], "nextCursor": null, "count": 1}),
            )],
        )
        .refuses(&[400])
}

fn patch(schemas: &mut Schemas, ticket: &Value) -> Operation {
    let body = schemas.written("TicketPatch", schema::patch());
    let mut after = example();
    after["status"] = json!("answered");
    after["answeredAt"] = json!("2026-03-02T12:20:00.000000Z");
    operation("patch", "/tickets/{id}")
        .named("updateTicket", "desk", "Updates a ticket")
        .describe("A change that is already in effect is a no-op.")
        .parameter(id())
        .takes(&body, &schema::patch_examples())
        .answers(
            200,
            "The ticket after the change.",
            ticket,
            &[("answered", "An answered ticket", after)],
        )
        .refuses(&[404])
        .refuses_with(
            409,
            "The ticket was resolved, and another one has taken its place since.",
            &[(
                "superseded",
                "Another ticket took its place",
                ApiError::conflict(
                    "Another ticket has been opened since this one was resolved: work on that one.",
                )
                .body(Family::Gateway),
            )],
        )
}

fn operation(method: &'static str, path: &'static str) -> Operation {
    Operation::new(method, path, Family::Gateway, Access::AccessToken)
}

fn id() -> Parameter {
    Parameter::path(
        "id",
        json!({"type": "string", "format": "uuid"}),
        "The ticket's id.",
    )
}

fn example() -> Value {
    json!({
        "id": "019cae2b-3f65-7d43-9b21-7e5f4a3b2c03",
        "status": "open",
        "conversationId": "019cae2b-3f62-7d43-9b21-7e5f4a3b2c99",
        "dealId": "019cae2b-3f61-7a52-8a10-5c3e2d1f0a77",
        "person": {
            "id": "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88",
            "name": "Otávio Prates",
            "email": "otavio.prates@example.com",
            "phoneNumber": "+5521977770102",
        },
        "agentId": 1,
        "owner": null,
        "specialInstructions": null,
        "openedAt": "2026-03-02T12:15:30.250000Z",
        "answeredAt": null,
        "resolvedAt": null,
        "updatedAt": "2026-03-02T12:15:30.250000Z",
    })
}
