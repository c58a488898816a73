//! A ticket as the desk shows it.

use super::RowColumns;
use super::deals::person;
use crate::StoreError;
use leadhost_domain::id::{AgentId, OwnerId};
use leadhost_domain::ticket::{OwnerPart, TicketStatus, TicketView};

/// Reads a ticket with its contact, and with its owner if it has one.
pub fn view(row: &impl RowColumns) -> Result<TicketView, StoreError> {
    let owner: Option<OwnerId> = row.id_if("owner_id")?;
    let owner = owner
        .map(|id| {
            Ok::<_, StoreError>(OwnerPart {
                id,
                name: row.text("owner_name")?,
                email: row.text("owner_email")?,
            })
        })
        .transpose()?;
    Ok(TicketView {
        id: row.id("id")?,
        status: row.word("tickets", "status", TicketStatus::from_text)?,
        conversation_id: row.id_if("conversation_id")?,
        deal_id: row.id_if("deal_id")?,
        person: person(row)?,
        agent_id: row.number_if("agent_id")?.map(AgentId),
        owner,
        special_instructions: row.text_if("special_instructions")?,
        opened_at: row.time("opened_at")?,
        answered_at: row.time_if("answered_at")?,
        resolved_at: row.time_if("resolved_at")?,
        updated_at: row.time("updated_at")?,
    })
}
