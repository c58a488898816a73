//! What a batch decides on, as it is before the batch.

use std::collections::BTreeMap;

use super::Columns;
use super::deliveries::{item_status, status};
use super::fetches::response;
use crate::domain::id::AgentId;
use crate::store::StoreError;
use crate::store::decide::{Change, Claim, Contact, Deal, Delivery, Fetch, Item, QuarantineUse};

/// With its lease and whether somebody holds it.
pub fn delivery(row: &impl Columns, (lease, held): (i64, bool)) -> Result<Delivery, StoreError> {
    Ok(Delivery {
        workspace: row.id("workspace_id")?,
        connection: row.text_id("connection_id")?,
        received_at: row.time("received_at")?,
        status: status(row)?,
        error: row.text_if("error")?,
        notes: row.json("notes")?,
        ran: row.json_if("ran")?,
        attempts: row.number("attempts")?,
        next_attempt_at: row.time_if("next_attempt_at")?,
        presented: row.bytes_if("presented")?,
        lease,
        held,
        items: BTreeMap::new(),
        brought_by: None,
        change: Change::None,
    })
}

pub fn item(row: &impl Columns) -> Result<Item, StoreError> {
    Ok(Item {
        status: item_status(row)?,
        external_id: row.text_if("external_id")?,
        deal: row.id_if("deal_id")?,
        contact: row.id_if("contact_id")?,
        message: row.text_if("message")?,
        diff: Vec::new(),
        change: Change::None,
    })
}

/// With its lease and whether somebody holds it.
pub fn fetch(row: &impl Columns, (lease, held): (i64, bool)) -> Result<Fetch, StoreError> {
    Ok(Fetch {
        workspace: row.id("workspace_id")?,
        connection: row.text_id("connection_id")?,
        dedupe_key: row.text_if("dedupe_key")?,
        external_id: row.text_if("external_id")?,
        request: row.text("request")?,
        state: row.bytes("state")?,
        hop: row.small("hop")?,
        due_at: row.time("due_at")?,
        until: row.time("until_at")?,
        attempts: row.number("attempts")?,
        ran: Some(row.json("ran")?),
        response: response(row)?,
        lease,
        held,
        change: Change::None,
    })
}

pub fn claim(row: &impl Columns) -> Result<Claim, StoreError> {
    Ok(Claim {
        workspace: row.id("workspace_id")?,
        delivery: row.id("delivery_id")?,
        item: row.small("item")?,
        until: row.time_if("until_at")?,
        deal: row.id_if("deal_id")?,
        contact: row.id_if("contact_id")?,
        change: Change::None,
    })
}

pub fn deal(row: &impl Columns) -> Result<Deal, StoreError> {
    Ok(Deal {
        workspace: row.id("workspace_id")?,
        person: row.id("person_id")?,
        agent: row.number_if("agent_id")?.map(AgentId),
        title: row.text_if("title")?,
        props: row.json("props")?,
        edited: row.json("edited")?,
        product: row.id_if("product_id")?,
        external_id: row.text_if("external_id")?,
        connection: row.text_id_if("connection_id")?,
        delivery: row.id_if("delivery_id")?,
        change: Change::None,
    })
}

/// Its properties and what a person edited of it are told by name: a row may hold
/// a deal's as well.
pub fn contact(
    row: &impl Columns,
    props: &'static str,
    edited: &'static str,
) -> Result<Contact, StoreError> {
    Ok(Contact {
        workspace: row.id("workspace_id")?,
        name: row.text_if("name")?,
        email: row.text_if("email")?,
        phone_number: row.text_if("phone_number")?,
        props: row.json(props)?,
        edited: row.json(edited)?,
        change: Change::None,
    })
}

pub fn quarantine(row: &impl Columns) -> Result<QuarantineUse, StoreError> {
    Ok(QuarantineUse {
        count: row.number("count")?,
        bytes: row.number("bytes")?,
    })
}
