pub mod erase;
pub mod erasures;
pub mod find;

use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::contacts::{ErasedCounts, Remaining, RemainingDelivery};
use leadhost_domain::contact::FoundBy;
use leadhost_domain::{contact, phone};
use leadhost_store::{self as store, PersonBy};

pub async fn named(
    store: &Store,
    workspace: &Workspace,
    text: &str,
) -> Result<Vec<ContactId>, StoreError> {
    let (_, found) = by_key(store, workspace, text).await?;
    Ok(found)
}

/// Returns the contacts of a workspace that an id, a phone or an e-mail address may name, and which of these
/// the text is.
async fn named_by(
    store: &Store,
    workspace: &Workspace,
    text: &str,
) -> Result<(FoundBy, Vec<ContactId>), StoreError> {
    match text.parse() {
        Ok(id) => Ok((FoundBy::Id, vec![id])),
        Err(_) => by_key(store, workspace, text).await,
    }
}

async fn by_key(
    store: &Store,
    workspace: &Workspace,
    text: &str,
) -> Result<(FoundBy, Vec<ContactId>), StoreError> {
    let (found_by, key) = if text.contains('@') {
        let email = contact::email(text);
        (
            FoundBy::Email,
            email.map(|email| contact::email_key(&email)),
        )
    } else {
        let phone = phone::normalise(text, &workspace.region);
        let key = phone.match_key.map(|key| contact::phone_key(&key));
        (FoundBy::Phone, key)
    };
    let Some(key) = key else {
        return Ok((found_by, Vec::new()));
    };
    let person = store.person(workspace.id, &PersonBy::Key(key)).await?;
    let ids = person.map_or_else(Vec::new, |person| {
        std::iter::once(person.id).chain(person.others).collect()
    });
    Ok((found_by, ids))
}

fn counts(erased: store::Erased) -> ErasedCounts {
    view! { ErasedCounts of store::Erased [] from erased: contacts, contact_keys, deals, deal_changes, deal_logs,
        conversations, messages, message_errors, tickets, sends, holds, channel_refs,
        idempotency_answers, deliveries, shared_deliveries, fetch_answers, repair_changes
    }
}

fn remaining(kept: store::RemainingData) -> Remaining {
    let deliveries = kept.deliveries.into_iter().map(|left| RemainingDelivery {
        id: left.id,
        status: left.status,
    });
    Remaining {
        deliveries: deliveries.collect(),
        more_deliveries: kept.more_deliveries,
    }
}
