//! Tables of leads, and of partners' work on deals, with the records that a batch decides on.

use std::net::IpAddr;

use super::described::table;
use super::table::Ends;
use crate::decide::{ClaimKey, Others};
use crate::error::odd;
use crate::prelude::*;
use crate::sql::{Json, json};
use crate::{DealLog, FieldDiff, Greeted, KeptAnswer, NewDelivery};
use leadhost_domain::exchange::{HttpResponse, Pairs};
use leadhost_domain::repair::RepairChange;

table! {
    pub static QUEUE: "queue" { key: &["delivery_id", "item"], ends: &[Ends::With("delivery_id")] }

    {
        workspace_id: Uuid, delivery_id: Uuid, item: i64, connection_id: String, status: String,
        digest: Option<String>, body_bytes: i64 [fixed], due_at: Option<Micros>, lease: i64,
        lease_until_at: Option<Micros>, until_at: Option<Micros>,
    }
}

table! {
    pub static DELIVERIES: "deliveries" { key: &["id"], keyed_with_workspace: true }

    #[derive(Debug)]
    pub struct DeliveryRecord |self, row, new: &'a NewDelivery| {
        workspace_id => workspace: WorkspaceId,
        id: DeliveryId = new.id,
        connection_id => connection: ConnectionId,
        received_at: Micros,
        method: String = &new.method,
        path: String = &new.path,
        query: Pairs = json(&new.query)?,
        headers: Pairs = json(&new.headers)?,
        body_bytes => bytes: u64,
        status: DeliveryStatus,
        error: Option<String>,
        notes: Vec<String>,
        ran: Option<RanWith> [jsonb],
        attempts: u32,
        next_attempt_at: Option<Micros>,
        presented: Option<Vec<u8>>,
        /// The owner of the sender's network, while the sender is unproven.
        peer: Option<IpAddr>,
        body: Vec<u8> = &new.body[..],
        ;
        lease: i64 = 0,
        held: bool = false,
        /// The new end of the claim, if the batch extends it.
        held_until: Option<Micros> = None,
        /// The items that the batch looks at.
        items: BTreeMap<u32, ItemRecord> = BTreeMap::new(),
        others: Others = Others::default(),
        /// The greetings that the write stored for its leads, until its outcome names them.
        greeted: Vec<Greeted> = Vec::new(),
        /// The write of the batch that brings the delivery. Its bytes stay there.
        brought_by: Option<usize> = None,
        change: RowChange = RowChange::None,
    }
}

table! {
    pub static ITEMS: "items" {
        key: &["delivery_id", "item"],
        keyed_with_workspace: true,
        ends: &[Ends::With("delivery_id")],
    }

    #[derive(Clone, Debug)]
    pub struct ItemRecord |self, row, workspace: WorkspaceId, delivery: DeliveryId, index: u32| {
        workspace_id: WorkspaceId = workspace,
        delivery_id: DeliveryId = delivery,
        item: u32 = index,
        status: ItemStatus,
        external_id: Option<String>,
        deal_id => deal: Option<DealId>,
        contact_id => contact: Option<ContactId>,
        message: Option<String>,
        ;
        /// Returned to the requester, but not stored.
        diff: Vec<FieldDiff> = Vec::new(),
        change: RowChange = RowChange::None,
    }
}

table! {
    pub static DELIVERY_KEYS: "delivery_keys" {
        key: &["delivery_id", "key"],
        keyed_with_workspace: true,
        ends: &[Ends::With("delivery_id")],
    }

    { workspace_id: Uuid, delivery_id: Uuid, key: i64 }
}

table! {
    pub static FETCHES: "fetches" {
        key: &["delivery_id", "item"],
        keyed_with_workspace: true,
        ends: &[Ends::With("delivery_id")],
    }

    #[derive(Debug)]
    pub struct FetchRecord |self, row, key: &'a (DeliveryId, u32)| {
        workspace_id => workspace: WorkspaceId,
        delivery_id: DeliveryId = key.0,
        item: u32 = key.1,
        connection_id => connection: ConnectionId,
        dedupe_key: Option<String>,
        external_id: Option<String>,
        hop: u32,
        due_at: Micros,
        until_at => until: Micros,
        attempts: u32,
        ran: RanWith [jsonb],
        request: Json,
        state: Vec<u8>,
        response_head: Option<Json> [read] = self.response.as_ref().map(head).transpose()?,
        response_body: Option<Vec<u8>> [read] = self.response.as_ref().map(|response| &response.body),
        ;
        response: Option<HttpResponse> = response(row)?,
        lease: i64 = 0,
        held: bool = false,
        change: RowChange = RowChange::None,
    }
}

table! {
    pub static ANSWERS: "answers" { key: &["number"], ends: &[Ends::With("delivery_id")] }

    impl KeptAnswer |row| {
        number, workspace_id: Uuid, delivery_id: Uuid, item => index, hop, external_id, request,
        response_head: Json, response_body: Vec<u8>,
        ;
        response = response(row)?.ok_or_else(|| odd("answers", "response_head", "null"))?,
    }
}

/// Serializes an answer without its body.
pub fn head(response: &HttpResponse) -> Result<Json, StoreError> {
    json(&(response.status, &response.headers))
}

/// Reads an answer: its status and headers, and its body. `None` if there is none yet.
pub fn response(row: &SqlRow<'_>) -> Result<Option<HttpResponse>, StoreError> {
    let head: Option<(u16, Pairs)> = row.get("response_head")?;
    let body: Option<Vec<u8>> = row.get("response_body")?;
    Ok(head.map(|(status, headers)| HttpResponse {
        status,
        headers,
        body: body.unwrap_or_default(),
    }))
}

table! {
    pub static DEDUPE: "dedupe" { key: &["connection_id", "key"], ends: &[Ends::At("until_at")] }

    /// The owner of a dedupe key, and the result of its item.
    #[derive(Clone, Debug)]
    pub struct Claim |self, row, key: &'a ClaimKey| {
        workspace_id => workspace: WorkspaceId,
        connection_id: ConnectionId = &key.0,
        key: String = &key.1,
        delivery_id => delivery: DeliveryId,
        item: u32,
        /// The end of the owner's window. `None`: the key holds for ever.
        until_at => until: Option<Micros>,
        /// `None` while the owner's fetch is waiting.
        deal_id => deal: Option<DealId>,
        contact_id => contact: Option<ContactId>,
        ;
        change: RowChange = RowChange::None,
    }
}

table! {
    pub static CONTACT_KEYS: "contact_keys" {
        key: &["workspace_id", "key"],
        ends: &[Ends::With("contact_id")],
    }

    { workspace_id: Uuid, key: String, contact_id: Uuid }
}

table! {
    pub static SHARED_KEYS: "shared_keys" {
        key: &["workspace_id", "key", "contact_id"],
        ends: &[Ends::With("contact_id")],
    }

    { workspace_id: Uuid, key: String, contact_id: Uuid }
}

table! {
    pub static DEAL_HISTORY: "deal_history" { key: &["number"], ends: &[Ends::With("deal_id")] }

    { number: i64, workspace_id: Uuid, deal_id: Uuid, at: Micros, who: Json, changes: Json }
}

table! {
    pub static DEAL_LOGS: "deal_logs" { key: &["id"], ends: &[Ends::With("deal_id")] }

    impl DealLog |row| {
        workspace_id: Uuid, id, deal_id: Uuid, created_at, partner_id, key_id, kind, subject, description,
        metadata,
    }
}

table! {
    pub static REPAIR_CHANGES: "repair_changes" { key: &["number"] }

    impl RepairChange |row| {
        number, workspace_id => workspace, repair_id => repair, delivery_id => delivery, item, kind,
        row_id => row, contact_id => contact, field,
        value_before: Option<Value> [read], value_after: Option<Value> [read], undone,
        ;
        values = row.get::<Option<_>>("value_before")?.zip(row.get("value_after")?),
    }
}
