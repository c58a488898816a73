//! How a row of each feed leaves: letter by letter the same from either store.
//! Columns are read by place, since a page has many rows: their order is that of
//! the stores' queries. Properties leave as they are stored: no number loses a
//! digit, no key its place.

use serde::Serialize;

use super::Columns;
use crate::domain::row::{
    ContactRow, ConversationRow, DealRow, Entity, ExportRow, IdRow, MessageErrorRow, MessageRow,
};
use crate::domain::time::Micros;
use crate::memory;
use crate::store::{ExportPage, StoreError};

/// A feed that is followed within and never leaves.
pub fn not_exported(entity: Entity) -> StoreError {
    StoreError::Inconsistent {
        what: format!("{} are not exported", entity.as_str()),
    }
}

/// The page that rows make of which the store may have been asked for one more than
/// `limit`: that one tells whether rows remain.
pub fn page<R: Columns>(
    entity: Entity,
    found: &[R],
    limit: u32,
    upper: i64,
    clock: i64,
) -> Result<ExportPage, StoreError> {
    page_of(found, limit, upper, clock, |row| self::row(entity, row))
}

/// A row of the feed as it leaves.
pub fn row(entity: Entity, row: &impl Columns) -> Result<ExportRow, StoreError> {
    match entity {
        Entity::Contacts => contact(row),
        Entity::Deals => deal(row),
        Entity::Messages => message(row),
        Entity::Conversations => conversation(row),
        Entity::MessageErrors => message_error(row),
        Entity::Tickets | Entity::Products => Err(not_exported(entity)),
    }
}

/// The same of a feed's ids: each row is an id and a stamp.
pub fn ids<R: Columns>(
    found: &[R],
    limit: u32,
    upper: i64,
    clock: i64,
) -> Result<ExportPage, StoreError> {
    page_of(found, limit, upper, clock, |row| {
        let id = row.id_text(0)?;
        exported(row.number(1)?, id.clone(), &IdRow { id })
    })
}

fn page_of<R>(
    found: &[R],
    limit: u32,
    upper: i64,
    clock: i64,
    row_of: impl Fn(&R) -> Result<ExportRow, StoreError>,
) -> Result<ExportPage, StoreError> {
    let mut page = Filling::new(limit);
    for row in found {
        if !page.add(|| row_of(row))? {
            break;
        }
    }
    Ok(page.done(upper, clock))
}

/// A page as it fills: so many rows, and so many bytes of them. A row that is longer
/// than a page may be has a page of its own.
pub struct Filling {
    rows: Vec<ExportRow>,
    limit: usize,
    bytes: usize,
    more: bool,
}

impl Filling {
    pub fn new(limit: u32) -> Self {
        Self {
            rows: Vec::new(),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            bytes: 0,
            more: false,
        }
    }

    /// False: the page is full, and this row is on the next.
    pub fn add(
        &mut self,
        row: impl FnOnce() -> Result<ExportRow, StoreError>,
    ) -> Result<bool, StoreError> {
        if self.rows.len() < self.limit {
            let row = row()?;
            let bytes = self.bytes + row.json.len();
            if self.rows.is_empty() || bytes <= memory::page_bytes() {
                self.bytes = bytes;
                self.rows.push(row);
                return Ok(true);
            }
        }
        self.more = true;
        Ok(false)
    }

    pub fn done(self, upper: i64, clock: i64) -> ExportPage {
        ExportPage {
            rows: self.rows,
            more: self.more,
            upper,
            clock,
        }
    }
}

fn contact(row: &impl Columns) -> Result<ExportRow, StoreError> {
    let id = row.id_text(0)?;
    let stamp = row.number(2)?;
    exported(
        stamp,
        id.clone(),
        &ContactRow {
            id,
            workspace_id: row.id_text(1)?,
            cursor_at: Micros(stamp),
            name: row.text_if(3)?,
            email: row.text_if(4)?,
            phone_number: row.text_if(5)?,
            banned_at: row.time_if(6)?,
            props: row.json(7)?,
        },
    )
}

fn deal(row: &impl Columns) -> Result<ExportRow, StoreError> {
    let id = row.id_text(0)?;
    let stamp = row.number(2)?;
    exported(
        stamp,
        id.clone(),
        &DealRow {
            id,
            workspace_id: row.id_text(1)?,
            cursor_at: Micros(stamp),
            person_id: row.id_text(3)?,
            agent_id: row.number_if(4)?,
            owner_id: row.id_text_if(5)?,
            status: row.text(6)?,
            title: row.text_if(7)?,
            props: row.json(13)?,
            created_at: row.time(8)?,
            updated_at: row.time(9)?,
            stage_code: row.text(10)?,
            product_id: row.id_text_if(11)?,
            external_id: row.text_if(12)?,
        },
    )
}

fn message(row: &impl Columns) -> Result<ExportRow, StoreError> {
    let id = row.id_text(0)?;
    let stamp = row.number(2)?;
    exported(
        stamp,
        id.clone(),
        &MessageRow {
            id,
            workspace_id: row.id_text(1)?,
            cursor_at: Micros(stamp),
            conversation_id: row.id_text(3)?,
            created_at: row.time(4)?,
            actor: row.text(5)?,
            kind: row.text(6)?,
            content: row.text_if(7)?,
            metadata: row.json(10)?,
            delivered_at: row.time_if(8)?,
            read_at: row.time_if(9)?,
        },
    )
}

fn conversation(row: &impl Columns) -> Result<ExportRow, StoreError> {
    let id = row.id_text(0)?;
    let stamp = row.number(2)?;
    exported(
        stamp,
        id.clone(),
        &ConversationRow {
            id,
            workspace_id: row.id_text(1)?,
            cursor_at: Micros(stamp),
            contact_id: row.id_text(3)?,
            deal_id: row.id_text_if(4)?,
            agent_id: row.number_if(5)?,
            agent_type: row.text_if(6)?,
            source: row.text_if(7)?,
            channel: row.text_if(8)?,
            status: row.text(9)?,
            created_at: row.time(10)?,
            updated_at: row.time(11)?,
            first_message_at: row.time_if(12)?,
            answered_at: row.time_if(13)?,
            last_message_at: row.time_if(14)?,
            no_response_at: row.time_if(15)?,
            transferred_at: row.time_if(16)?,
            appointment_at: row.time_if(17)?,
            closed_at: row.time_if(18)?,
            props: row.json(19)?,
        },
    )
}

fn message_error(row: &impl Columns) -> Result<ExportRow, StoreError> {
    let id = row.id_text(0)?;
    let stamp = row.number(2)?;
    exported(
        stamp,
        id.clone(),
        &MessageErrorRow {
            id,
            workspace_id: row.id_text(1)?,
            cursor_at: Micros(stamp),
            recipient_id: row.text_if(3)?,
            deal_id: row.id_text_if(4)?,
            conversation_id: row.id_text_if(5)?,
            agent_id: row.number_if(6)?,
            message_id: row.id_text_if(7)?,
            external_id: row.text_if(8)?,
            error_code: row.text(9)?,
            error_title: row.text_if(10)?,
            error_description: row.text_if(11)?,
            error_details: row.text_if(12)?,
            template_name: row.text_if(13)?,
            channel: row.text_if(14)?,
            occurred_at: row.time(15)?,
        },
    )
}

fn exported<T: Serialize>(stamp: i64, id: String, row: &T) -> Result<ExportRow, StoreError> {
    let json = super::json(row)?;
    Ok(ExportRow { stamp, id, json })
}
