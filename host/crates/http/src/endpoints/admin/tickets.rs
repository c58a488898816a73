use std::cmp::Reverse;

use super::people::WorkspaceNames;
use super::{contacts, workspaces};
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::people::{TicketSummary, Tickets};
use leadhost_domain::id::TicketId;
use leadhost_domain::ticket::TicketStatus;
use leadhost_store::TicketFilter;

describe!(list, |operation| operation
    .summary("Lists tickets, newest first")
    .query(
        "status",
        one_of(&TicketStatus::ALL.map(TicketStatus::as_str), ""),
        "Only tickets with this status."
    )
    .query(
        "contact",
        word(),
        "Only tickets of this person: a phone, an e-mail address, or the id of a contact."
    )
    .query(
        "deal",
        json!({"type": "string", "format": "uuid"}),
        "Only tickets of this deal."
    )
    .workspace()
    .paged("tickets")
    .answers::<Tickets>(200, "A page of tickets.")
    .refuses(&[400, 404]));
pub async fn list(call: &Call<'_>) -> ApiResult {
    let query = call.query();
    let filter = filter(call)?;
    let among = workspaces::among(call, query.filled(&["workspace"])).await?;
    workspaces::few_enough(&among)?;
    let contact = query.filled(&["contact"]).map(str::trim);
    let store = &call.http.core.store;
    let mut tickets = Vec::new();
    for workspace in &among {
        let names = WorkspaceNames::load(store, workspace).await?;
        for contact in contacts_of(store, workspace, contact).await? {
            let filter = TicketFilter {
                contact,
                ..filter.clone()
            };
            let found = store.search_tickets(workspace.id, &filter).await?;
            tickets.extend(found.into_iter().map(|one| names.ticket(one)));
        }
    }
    tickets.sort_by_key(|ticket| Reverse(ticket.id));
    tickets.dedup_by_key(|ticket| ticket.id);
    tickets.truncate(usize::try_from(filter.limit).unwrap_or(usize::MAX));
    let next = last_of_full(&tickets, filter.limit).map(|ticket| ticket.id);
    reply::ok(&Tickets { tickets, next })
}

describe!(show, |operation| operation
    .summary("Shows a ticket")
    .workspace()
    .answers::<TicketSummary>(200, "The ticket.")
    .refuses(&[404]));
pub async fn show(call: &Call<'_>, id: &str) -> ApiResult {
    let unknown = || ApiError::NotFound(format!("There is no ticket `{id}`."));
    let ticket: TicketId = id.parse().map_err(|_| unknown())?;
    let filter = TicketFilter {
        ticket: Some(ticket),
        limit: 1,
        ..TicketFilter::default()
    };
    let store = &call.http.core.store;
    let named = call.query();
    for workspace in workspaces::among(call, named.filled(&["workspace"])).await? {
        let found = store.search_tickets(workspace.id, &filter).await?.pop();
        if let Some(found) = found {
            let names = WorkspaceNames::load(store, &workspace).await?;
            return reply::ok(&names.ticket(found));
        }
    }
    Err(unknown())
}

/// Returns the contacts that a text names. Without a text, none in particular.
async fn contacts_of(
    store: &Store,
    workspace: &Workspace,
    text: Option<&str>,
) -> Result<Vec<Option<ContactId>>, StoreError> {
    let Some(text) = text else {
        return Ok(vec![None]);
    };
    if let Ok(id) = text.parse() {
        return Ok(vec![Some(id)]);
    }
    let named = contacts::named(store, workspace, text).await?;
    Ok(named.into_iter().map(Some).collect())
}

fn filter(call: &Call<'_>) -> ApiResult<TicketFilter> {
    let query = call.query();
    let mut filter = TicketFilter {
        limit: page_limit(&query)?,
        ..TicketFilter::default()
    };
    filter.status = query.word(
        "status",
        "a status",
        &TicketStatus::ALL,
        TicketStatus::as_str,
    )?;
    if let Some(text) = query.filled(&["deal"]) {
        let id = text
            .trim()
            .parse()
            .map_err(|_| ApiError::BadRequest(format!("`deal={text}` is not the id of a deal.")))?;
        filter.deal = Some(id);
    }
    if let Some(text) = query.filled(&["before"]) {
        let id = text.parse().map_err(|_| {
            ApiError::BadRequest(format!("`before={text}` is not the id of a ticket."))
        })?;
        filter.before = Some(id);
    }
    Ok(filter)
}
