//! A deal as the gateway shows it, with its related rows, its history and its notes.

use serde_json::{Map, Value};

use super::RowColumns;
use crate::{DealChange, DealLog, DealPage, FoundDeal, StoreError};
use leadhost_config::memory;
use leadhost_domain::contact::phone_key;
use leadhost_domain::deal::{AgentPart, DealPart, DealView, PersonPart, PropertyPart};
use leadhost_domain::id::AgentId;
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

/// Reads a deal with its owner, contact, product and agent. The external id is added to its
/// properties.
pub fn view(row: &impl RowColumns) -> Result<DealView, StoreError> {
    let mut props: Map<String, Value> = row.json("props")?;
    let external_id = row.text_if("external_id")?;
    props.insert("externalIntegrationId".to_owned(), external_id.into());
    Ok(DealView {
        deal: DealPart {
            id: row.id_text("id")?,
            status: row.text("status")?,
            stage_code: row.text("stage_code")?,
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
            owner_id: row.id_text_if("owner_id")?,
            owner_name: row.text_if("owner_name")?,
            owner_email: row.text_if("owner_email")?,
            props: Value::Object(props),
        },
        person: person(row)?,
        property: PropertyPart {
            id: row.id_text_if("product_id")?,
            name: row.text_if("product_name")?,
            external_id: row.text_if("product_external_id")?,
        },
        agent: AgentPart {
            id: row.number_if("agent_id")?.map(AgentId),
            name: row.text_if("agent_name")?,
            number: row.text_if("agent_number")?,
        },
    })
}

/// Reads a deal with what operators see beyond the gateway.
pub fn found(row: &impl RowColumns) -> Result<FoundDeal, StoreError> {
    Ok(FoundDeal {
        id: row.id("id")?,
        workspace: row.id("workspace_id")?,
        view: view(row)?,
        title: row.text_if("title")?,
        connection: row.text_id_if("connection_id")?,
        partner: row.id_if("partner_id")?,
        delivery: row.id_if("delivery_id")?,
    })
}

/// Reads the contact that a row names in addition to its own columns.
pub fn person(row: &impl RowColumns) -> Result<PersonPart, StoreError> {
    Ok(PersonPart {
        id: row.id_text("person_id")?,
        name: row.text_if("person_name")?,
        email: row.text_if("person_email")?,
        phone_number: row.text_if("phone_number")?,
    })
}

/// Reads a row of the history.
pub fn change(row: &impl RowColumns) -> Result<DealChange, StoreError> {
    Ok(DealChange {
        at: row.time("changed_at")?,
        by: row.json("who")?,
        changes: row.json("changes")?,
    })
}

/// Reads a note.
pub fn log(row: &impl RowColumns) -> Result<DealLog, StoreError> {
    Ok(DealLog {
        id: row.id("id")?,
        created_at: row.time("created_at")?,
        partner_id: row.id("partner_id")?,
        key_id: row.id("key_id")?,
        kind: row.text("kind")?,
        subject: row.text("subject")?,
        description: row.text_if("description")?,
        metadata: row.json("metadata")?,
    })
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
