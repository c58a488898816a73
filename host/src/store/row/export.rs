//! How a row of each feed leaves: letter by letter the same from either store.
//! Columns are read by place, since a page has many rows: their order is that of
//! the stores' queries. Properties leave as they are stored: no number loses a
//! digit, no key its place.

use serde::Serialize;

use super::Columns;
use crate::domain::row::{ContactRow, ConversationRow, DealRow, ExportRow, MessageRow};
use crate::domain::time::Micros;
use crate::store::StoreError;

pub fn contact(row: &impl Columns) -> Result<ExportRow, StoreError> {
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

pub fn deal(row: &impl Columns) -> Result<ExportRow, StoreError> {
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
            props: row.json(8)?,
            created_at: row.time(9)?,
            updated_at: row.time(10)?,
            stage_code: row.text(11)?,
            product_id: row.id_text_if(12)?,
            external_id: row.text_if(13)?,
        },
    )
}

pub fn message(row: &impl Columns) -> Result<ExportRow, StoreError> {
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
            metadata: row.json(8)?,
            delivered_at: row.time_if(9)?,
            read_at: row.time_if(10)?,
        },
    )
}

pub fn conversation(row: &impl Columns) -> Result<ExportRow, StoreError> {
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

fn exported<T: Serialize>(stamp: i64, id: String, row: &T) -> Result<ExportRow, StoreError> {
    let json = super::json(row)?;
    Ok(ExportRow { stamp, id, json })
}
