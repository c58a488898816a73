//! `/admin/v1/tickets`, and the persons that the examples of several resources name.

use serde_json::{Value, json};

use super::parts::{before, operation, page_limit, workspace};
use crate::openapi::operation::{Operation, Parameter};
use crate::openapi::schemas::Schemas;
use leadhost_admin_api::people::{TicketSummary, Tickets};
use leadhost_domain::ticket::TicketStatus;

/// Returns the operations of `/admin/v1/tickets`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let all = schemas.answer::<Tickets>();
    let one = schemas.answer::<TicketSummary>();
    let uuid = json!({"type": "string", "format": "uuid"});
    vec![
        operation("get", "/admin/v1/tickets")
            .named("listTickets", "tickets", "Lists tickets, newest first")
            .parameter(Parameter::query(
                "status",
                json!({"type": "string", "enum": TicketStatus::ALL.map(TicketStatus::as_str)}),
                "Only tickets with this status.",
            ))
            .parameter(Parameter::query(
                "contact",
                json!({"type": "string"}),
                "Only tickets of this person: a phone, an e-mail address, or the id of a contact.",
            ))
            .parameter(Parameter::query(
                "deal",
                uuid.clone(),
                "Only tickets of this deal.",
            ))
            .parameter(workspace())
            .parameter(before("tickets"))
            .parameter(page_limit())
            .answers(
                200,
                "A page of tickets.",
                &all,
                &[(
                    "one",
                    "The last page",
                    json!({"tickets": [ticket()], "next": null}),
                )],
            )
            .refuses(&[400, 404]),
        operation("get", "/admin/v1/tickets/{ticket}")
            .named("showTicket", "tickets", "Shows a ticket")
            .parameter(Parameter::path("ticket", uuid, "The ticket's id."))
            .parameter(workspace())
            .answers(
                200,
                "The ticket.",
                &one,
                &[("open", "It waits for an owner", ticket())],
            )
            .refuses(&[404]),
    ]
}

const CONTACT: &str = "019cae2b-3f60-7a52-8a10-6d4f3e2a1b88";
const DEAL: &str = "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88";
const CONVERSATION: &str = "019cae2b-3f62-7a52-8a10-6d4f3e2a1b88";

/// A contact by its names.
pub fn contact() -> Value {
    json!({
        "id": CONTACT,
        "name": "Ana",
        "phoneNumber": "+5511987654321",
        "email": null,
    })
}

/// An owner by its names.
pub fn owner() -> Value {
    json!({
        "id": "019cae2a-3000-7b42-8c11-2d3e4f5a6b7c",
        "name": "Olga",
        "email": "olga@example.com",
    })
}

/// A conversation of the contact.
pub fn conversation() -> Value {
    json!({
        "id": CONVERSATION,
        "status": "transferred",
        "contactId": CONTACT,
        "dealId": DEAL,
        "instance": {"id": 1, "name": "voice"},
        "source": "form",
        "createdAt": "2026-03-02T12:15:30.250000Z",
        "lastMessageAt": "2026-03-02T12:17:00.000000Z",
    })
}

/// A ticket of the contact.
pub fn ticket() -> Value {
    json!({
        "id": "019cae2b-3f63-7a52-8a10-6d4f3e2a1b88",
        "workspace": "acme",
        "status": "open",
        "contact": contact(),
        "owner": null,
        "instance": {"id": 1, "name": "voice"},
        "dealId": DEAL,
        "conversationId": CONVERSATION,
        "specialInstructions": null,
        "openedAt": "2026-03-02T12:17:00.000000Z",
        "answeredAt": null,
        "resolvedAt": null,
        "updatedAt": "2026-03-02T12:17:00.000000Z",
    })
}
