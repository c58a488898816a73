use std::collections::BTreeSet;

use super::{among, parse_id, unknown};
use crate::endpoints::admin::people::{WorkspaceNames, conversations, tickets};
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::deals::{
    ChangedField, Changer, DealChangeView, DealDelivery, DealDetail, DealLogView,
};
use leadhost_domain::id::{KeyId, OwnerId, PartnerId, ProductId, time_of};
use leadhost_store::{
    ChangedBy, ConversationsOf, DealChange, DealFilter, DealLog, DealPast, FoundDeal, TicketFilter,
};

describe!(show, |operation| {
    operation
        .summary("Shows a deal with its history")
        .describe(format!(
            "Shows the newest changes and notes, at most {} of each, and the newest deliveries, conversations and tickets, at most {} of each. Names are shown for ids that still exist.",
            limits::DEAL_PAST,
            limits::SHOWN_OF_PERSON
        ))
        .workspace()
        .answers::<DealDetail>(200, "The deal.")
        .refuses(&[404])
});
pub async fn show(call: &Call<'_>, id: &str) -> ApiResult {
    let deal = parse_id(id)?;
    let store = &call.http.core.store;
    let among = among(call).await?;
    let found = find(store, among, deal).await?;
    let (workspace, found) = found.ok_or_else(|| unknown(id))?;
    let past = store
        .deal_past(workspace.id, deal, limits::DEAL_PAST)
        .await?
        .ok_or_else(|| unknown(id))?;
    let names = WorkspaceNames::load(store, &workspace).await?;
    let in_history = HistoryNames::load(store, &workspace, &past).await?;
    let props = found.view.deal.props.as_object().cloned();
    let mut props = props.unwrap_or_default();
    // It has a field of its own.
    props.remove("externalIntegrationId");
    let connection = match &found.connection {
        Some(connection) => store.connection(connection).await?.map(|one| one.name),
        None => None,
    };
    let (connection_id, partner) = (found.connection.clone(), found.partner);
    let partner = partner.and_then(|id| in_history.partners.get(&id)).cloned();
    let facts = names.deal(found);
    let items = store.deal_items(
        workspace.id,
        facts.contact.id,
        deal,
        limits::SHOWN_OF_PERSON,
    );
    let deliveries = items.await?.into_iter().map(|item| DealDelivery {
        id: item.delivery,
        received_at: time_of(item.delivery.0),
        status: item.status,
    });
    let of_deal = TicketFilter {
        deal: Some(deal),
        ..TicketFilter::default()
    };
    reply::ok(&DealDetail {
        facts,
        props,
        connection_id,
        connection,
        partner,
        delivery_id: past.delivery_id,
        deliveries: deliveries.collect(),
        conversations: conversations(store, &names, ConversationsOf::Deal(deal)).await?,
        tickets: tickets(store, &names, of_deal).await?,
        history: past
            .history
            .into_iter()
            .map(|change| in_history.change(change))
            .collect(),
        logs: past
            .logs
            .into_iter()
            .map(|log| in_history.log(log))
            .collect(),
    })
}

async fn find(
    store: &Store,
    among: Vec<Workspace>,
    deal: DealId,
) -> Result<Option<(Workspace, FoundDeal)>, StoreError> {
    let filter = DealFilter {
        deal: Some(deal),
        ..DealFilter::default()
    };
    for workspace in among {
        let found = store.search_deals(workspace.id, &filter, 1).await?.pop();
        if let Some(found) = found {
            return Ok(Some((workspace, found)));
        }
    }
    Ok(None)
}

/// The names that people use for the ids of a history.
struct HistoryNames {
    partners: BTreeMap<PartnerId, String>,
    /// The label and its hint.
    keys: BTreeMap<KeyId, String>,
    /// The names of owners, products and contacts, by their ids as text.
    values: BTreeMap<String, String>,
}

impl HistoryNames {
    async fn load(
        store: &Store,
        workspace: &Workspace,
        past: &DealPast,
    ) -> Result<Self, StoreError> {
        let partners = store.partners(workspace.id).await?;
        let keys = store.keys(Some(workspace.id)).await?;
        let named = |key: leadhost_domain::key::KeyRecord| {
            let name = format!("{} {}", key.label, key.hint);
            (key.id, name.trim().to_owned())
        };
        Ok(Self {
            partners: partners.into_iter().map(|one| (one.id, one.name)).collect(),
            keys: keys.into_iter().map(named).collect(),
            values: names_of(store, workspace, past).await?,
        })
    }

    fn change(&self, change: DealChange) -> DealChangeView {
        let replayed = matches!(change.by, ChangedBy::Source { replayed: true, .. });
        let (by, partner, delivery_id, repair_id) = match change.by {
            ChangedBy::Partner { partner_id, key_id } => {
                (Changer::Partner, Some((partner_id, key_id)), None, None)
            }
            ChangedBy::Source {
                delivery_id,
                repair_id,
                ..
            } => (Changer::Source, None, Some(delivery_id), repair_id),
            ChangedBy::Repair { repair_id } => (Changer::Repair, None, None, Some(repair_id)),
        };
        let (partner_id, key_id) = partner.unzip();
        let changes = change.changes.into_iter().map(|field| ChangedField {
            before_name: self.name(&field.before),
            after_name: self.name(&field.after),
            field: field.field,
            before: field.before,
            after: field.after,
        });
        DealChangeView {
            at: change.at,
            by,
            partner_id,
            partner: partner_id.and_then(|id| self.partners.get(&id)).cloned(),
            key_id,
            key: key_id.and_then(|id| self.keys.get(&id)).cloned(),
            delivery_id,
            replayed,
            repair_id,
            changes: changes.collect(),
        }
    }

    fn name(&self, value: &Value) -> Option<String> {
        self.values.get(value.as_str()?).cloned()
    }

    fn log(&self, log: DealLog) -> DealLogView {
        view! { DealLogView from log: id, created_at, partner_id, key_id, kind, subject,
            description, metadata;
            partner: self.partners.get(&log.partner_id).cloned(),
            key: self.keys.get(&log.key_id).cloned()
        }
    }
}

/// Returns the names of the owners, products and contacts that the history names by their ids.
async fn names_of(
    store: &Store,
    workspace: &Workspace,
    past: &DealPast,
) -> Result<BTreeMap<String, String>, StoreError> {
    let mut wanted = WantedNames::default();
    for change in past.history.iter().flat_map(|change| &change.changes) {
        wanted.add(&change.field, &change.before);
        wanted.add(&change.field, &change.after);
    }
    let mut names = BTreeMap::new();
    if !wanted.owners.is_empty() {
        let owners = store.owners(workspace.id).await?;
        let owners = owners
            .into_iter()
            .filter(|one| wanted.owners.contains(&one.id));
        names.extend(owners.map(|one| (one.id.to_string(), one.name)));
    }
    if !wanted.products.is_empty() {
        let ids: Vec<ProductId> = wanted.products.into_iter().collect();
        let products = store.products_of(workspace.id, &ids).await?;
        names.extend(
            products
                .into_iter()
                .map(|one| (one.id.to_string(), one.name)),
        );
    }
    for id in wanted.contacts.into_iter().take(limits::CONTACTS_NAMED) {
        let contact = store.contact(workspace.id, id).await?;
        let name = contact.and_then(|one| one.name.or(one.phone_number).or(one.email));
        names.extend(name.map(|name| (id.to_string(), name)));
    }
    Ok(names)
}

/// Ids whose names are wanted.
#[derive(Default)]
struct WantedNames {
    owners: BTreeSet<OwnerId>,
    products: BTreeSet<ProductId>,
    contacts: BTreeSet<ContactId>,
}

impl WantedNames {
    fn add(&mut self, field: &str, value: &Value) {
        let Some(text) = value.as_str() else { return };
        match field {
            "owner_id" => self.owners.extend(text.parse::<OwnerId>()),
            "product_id" => self.products.extend(text.parse::<ProductId>()),
            "person_id" => self.contacts.extend(text.parse::<ContactId>()),
            _ => {}
        }
    }
}
