use super::named_by;
use crate::endpoints::admin::people::{WorkspaceNames, conversations, tickets};
use crate::endpoints::admin::prelude::*;
use crate::endpoints::admin::workspaces;
use leadhost_admin_api::contacts::{ContactDetail, ContactSummary, Contacts};
use leadhost_domain::contact::FoundBy;
use leadhost_store::{ConversationsOf, DealFilter, FoundContact, TicketFilter};

describe!(list, |operation| operation
    .id("findContacts")
    .summary("Finds contacts")
    .describe("Several contacts may share a phone or an e-mail address.")
    .query("q", word(), "The phone, e-mail address or id of a contact.")
    .required()
    .workspace()
    .answers::<Contacts>(200, "The contacts.")
    .refuses(&[400, 404]));
pub async fn list(call: &Call<'_>) -> ApiResult {
    let query = call.query();
    let Some(text) = query.filled(&["q"]).map(str::trim) else {
        return Err(ApiError::BadRequest(
            "Name a contact in `q`: by its phone, its e-mail address or its id.".to_owned(),
        ));
    };
    let among = workspaces::among(call, query.filled(&["workspace"])).await?;
    workspaces::few_enough(&among)?;
    let store = &call.http.core.store;
    let mut contacts = Vec::new();
    for workspace in among {
        let (found_by, ids) = named_by(store, &workspace, text).await?;
        for id in ids {
            let found = store.contact(workspace.id, id).await?;
            contacts.extend(found.map(|one| summary(&workspace, &one, found_by)));
        }
    }
    reply::ok(&Contacts { contacts })
}

describe!(show, |operation| operation
    .summary("Shows a contact")
    .describe(format!(
        "With its newest deals, conversations and tickets, at most {} of each.",
        limits::SHOWN_OF_PERSON
    ))
    .workspace()
    .answers::<ContactDetail>(200, "The contact.")
    .refuses(&[404]));
pub async fn show(call: &Call<'_>, id: &str) -> ApiResult {
    let unknown = || {
        ApiError::NotFound(format!(
            "There is no contact `{id}`. If it was erased, `leadhost contact erasures` names it."
        ))
    };
    let contact: ContactId = id.parse().map_err(|_| unknown())?;
    let store = &call.http.core.store;
    let query = call.query();
    for workspace in workspaces::among(call, query.filled(&["workspace"])).await? {
        let Some(found) = store.contact(workspace.id, contact).await? else {
            continue;
        };
        let names = WorkspaceNames::load(store, &workspace).await?;
        let of_contact = DealFilter {
            person: Some(contact),
            ..DealFilter::default()
        };
        let deals = store.search_deals(workspace.id, &of_contact, limits::SHOWN_OF_PERSON);
        let deals = deals.await?.into_iter().map(|deal| names.deal(deal));
        let of_contact = TicketFilter {
            contact: Some(contact),
            ..TicketFilter::default()
        };
        let answer = ContactDetail {
            facts: summary(&workspace, &found, FoundBy::Id),
            deals: deals.collect(),
            conversations: conversations(store, &names, ConversationsOf::Contact(contact)).await?,
            tickets: tickets(store, &names, of_contact).await?,
            keys: found.keys,
        };
        return reply::ok(&answer);
    }
    Err(unknown())
}

fn summary(workspace: &Workspace, contact: &FoundContact, found_by: FoundBy) -> ContactSummary {
    ContactSummary {
        id: contact.id,
        workspace: workspace.slug.clone(),
        name: contact.name.clone(),
        phone_number: contact.phone_number.clone(),
        email: contact.email.clone(),
        banned_at: contact.banned_at,
        created_at: contact.created_at,
        updated_at: contact.updated_at,
        found_by,
    }
}
