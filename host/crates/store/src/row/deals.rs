//! A deal as the gateway shows it, with its related rows, its history and its notes.

use super::from_row;
use crate::prelude::*;
use crate::{DealChange, DealPage, FoundDeal};
use leadhost_config::memory;
use leadhost_domain::contact::phone_key;
use leadhost_domain::deal::{AgentPart, DealPart, DealView, PersonPart, PropertyPart};
use leadhost_domain::json;

/// Deals of one lookup, newest first, as they are read. When they reach the size limit of an
/// answer, the older ones are left out.
pub struct Looked {
    pub page: DealPage,
    limit: usize,
    bytes: usize,
}

impl Looked {
    /// Holds at most `limit` deals, and at least one if any is found.
    pub fn new(limit: u32) -> Self {
        Self {
            page: DealPage::default(),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            bytes: 0,
        }
    }

    /// Adds a deal. Returns false if it and the following ones are left out.
    pub fn add(&mut self, deal: DealView) -> bool {
        let deals = &mut self.page.deals;
        let bytes = self.bytes + json::length(&deal);
        let fits = deals.len() < self.limit && bytes <= memory::page_bytes();
        if deals.is_empty() || fits {
            self.bytes = bytes;
            deals.push(deal);
        } else {
            self.page.more = true;
        }
        !self.page.more
    }
}

from_row! {
    // The external id is added to the properties.
    DealView |row| {
        deal = DealPart::from_row(row)?, person = PersonPart::from_row(row)?,
        property = PropertyPart::from_row(row)?, agent = AgentPart::from_row(row)?,
    }

    DealPart |row| {
        id = row.get::<Uuid>("id")?.to_string(), status, stage_code, created_at, updated_at,
        owner_id = id_text(row, "owner_id")?, owner_name, owner_email,
        props = {
            let mut props: Map<String, Value> = row.get("props")?;
            let external_id: Option<String> = row.get("external_id")?;
            props.insert("externalIntegrationId".to_owned(), external_id.into());
            let mut props = Value::Object(props);
            json::exact(&mut props);
            props
        },
    }

    PersonPart |row| {
        id = row.get::<Uuid>("person_id")?.to_string(), name: "person_name", email: "person_email",
        phone_number,
    }

    PropertyPart |row| {
        id = id_text(row, "product_id")?, name: "product_name", external_id: "product_external_id",
    }

    AgentPart |row| { id: "agent_id", name: "agent_name", number: "agent_number" }

    FoundDeal |row| {
        id, workspace: "workspace_id", view = DealView::from_row(row)?, title,
        connection: "connection_id", partner: "partner_id", delivery: "delivery_id",
    }

    DealChange |row| { at: "changed_at", by: "who", changes }
}

fn id_text(row: &SqlRow<'_>, column: &'static str) -> Result<Option<String>, StoreError> {
    let id: Option<Uuid> = row.get(column)?;
    Ok(id.map(|id| id.to_string()))
}

/// Returns the key by which a contact is found. Accepts a key made by `domain::contact::phone_key`
/// or a bare match key.
pub fn phone_key_of(key: &str) -> String {
    if key.starts_with("phone:") {
        key.to_owned()
    } else {
        phone_key(key)
    }
}
