//! `PATCH /tickets/{id}`: changes the status of a ticket, and who has taken it. Any other field
//! is refused, so that a misspelled one is not lost. A change that is already in effect is a
//! no-op. The answer is the ticket after the change.

use super::schema;
use super::view::{not_found, parse_id, view};
use crate::endpoints::prelude::*;
use crate::error::Family;
use crate::json;
use crate::zod::{self, Node};
use leadhost_domain::ticket::{TicketStatus, TicketView};
use leadhost_pipeline::desk;
use leadhost_store::{TicketPatch, TicketPatched};

const STATUS: &str = "status";
const OWNER: &str = "ownerEmail";

const FIELDS: [&str; 2] = [STATUS, OWNER];

describe!(patch, |operation| operation
    .id("updateTicket")
    .summary("Updates a ticket")
    .describe("A change that is already in effect is a no-op.")
    .takes_written("TicketPatch", schema::patch(), &schema::patch_examples())
    .answers::<TicketView>(200, "The ticket after the change.")
    .refuses(&[404])
    .refuses_with(
        409,
        "The ticket was resolved, and another one has taken its place since.",
        &[(
            "superseded",
            "Another ticket took its place",
            superseded().body(Family::Gateway),
        )]
    ));
pub async fn patch(
    call: &Call<'_>,
    caller: &PartnerCaller,
    ticket: &str,
    unread: UnreadBody,
) -> ApiResult {
    let ticket = parse_id(ticket)?;
    let (body, held) = json::read(call, unread).await?;
    let wanted = zod::whole(&body, read)?;
    drop(held);
    view(call, caller, ticket).await?;
    let patch = TicketPatch {
        workspace: caller.scope().workspace(),
        ticket,
        status: wanted.status,
        owner_email: wanted.owner.clone(),
    };
    match desk::patch(&call.http.pipeline, patch).await? {
        TicketPatched::Done { .. } => {
            let ticket = view(call, caller, ticket).await?;
            reply::ok(&ticket)
        }
        TicketPatched::NoTicket => Err(not_found()),
        TicketPatched::NoOwner => Err(ApiError::coded(
            ErrorCode::OwnerNotFound,
            format!(
                "Owner '{}' not found: the workspace has no owner with this e-mail address.",
                wanted.owner.flatten().unwrap_or_default()
            ),
        )),
        TicketPatched::Superseded => Err(superseded()),
    }
}

fn superseded() -> ApiError {
    ApiError::conflict(
        "Another ticket has been opened since this one was resolved: work on that one.",
    )
}

/// The requested changes.
pub(super) struct TicketPatchBody {
    status: Option<TicketStatus>,
    /// The inner `None` releases the ticket: it has no owner then.
    owner: Option<Option<String>>,
}

/// Reads a change. Returns `None`, with an issue, if the body is not an object. Check the
/// issues before using the change.
pub(super) fn read(body: Node<'_>) -> Option<TicketPatchBody> {
    let body = body.object()?;
    // Besides a misspelled field, no other one is missing.
    if body.no_other_than(&FIELDS) {
        body.one_of_fields(&FIELDS.map(|field| (field, "string")));
    }
    let status = body.field(STATUS).optional();
    let status = status
        .and_then(|status| status.one_of(&TicketStatus::ALL.map(TicketStatus::as_str)))
        .and_then(TicketStatus::from_text);
    let owner = body.field(OWNER).optional().map(|owner| {
        if owner.is_null() {
            return None;
        }
        owner.email()
    });
    Some(TicketPatchBody { status, owner })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn wanted(body: &Value) -> TicketPatchBody {
        let (wanted, issues) = zod::read(body, read);
        assert!(issues.is_empty(), "{body}");
        wanted.expect("it is right")
    }

    #[test]
    fn null_releases_a_ticket_and_omitted_fields_stay() {
        let body = json!({"status": "answered", "ownerEmail": "Nilda@Example.com"});
        let both = wanted(&body);
        assert_eq!(both.status, Some(TicketStatus::Answered));
        assert_eq!(both.owner, Some(Some("nilda@example.com".to_owned())));
        let free = wanted(&json!({"ownerEmail": null}));
        assert_eq!((free.status, free.owner), (None, Some(None)));
        assert_eq!(wanted(&json!({"status": "open"})).owner, None);
    }

    #[test]
    fn every_mistake_becomes_an_issue() {
        let check = |body: Value, expect: &[(&str, &str)]| zod::assert_issues(&body, read, expect);
        check(json!({}), &[("invalid_union", "")]);
        check(json!("open"), &[("invalid_type", "")]);
        check(json!({"owner": "x"}), &[("unrecognized_keys", "")]);
        check(
            json!({"status": null, "ownerEmail": "nobody", "note": 1}),
            &[
                ("unrecognized_keys", ""),
                ("invalid_type", "status"),
                ("invalid_string", "ownerEmail"),
            ],
        );
        check(
            json!({"status": "closed"}),
            &[("invalid_enum_value", "status")],
        );
    }
}
