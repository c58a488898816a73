//! `GET /api/v1/deals/{dealId}/log`: the notes of a deal, newest first, in pages. A cursor names
//! the last note of its page and is valid for its deal.

use super::id::{not_found, parse_id};
use crate::endpoints::prelude::*;
use crate::terms::{page_limit, pattern};
use leadhost_domain::cursor::ListCursor;
use leadhost_domain::id::DealLogId;
use leadhost_store::{DealFilter, DealLog};

/// The number of this list in its cursors.
const LIST: u8 = 2;

/// A page of a deal's notes.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DealLogsPage {
    logs: Vec<DealNote>,
    /// Null if there are no older notes.
    next_cursor: Option<String>,
    count: usize,
}

/// A note, as it was added.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DealNote {
    id: DealLogId,
    #[serde(rename = "type")]
    kind: String,
    subject: String,
    description: Option<String>,
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
    created_at: Micros,
}

describe!(list, |operation| {
    operation
        .summary("Lists the notes of a deal, newest first")
        .describe("Follow `nextCursor` until it is null. Notes that are added meanwhile belong before the first page.")
        .query("cursor", pattern("^[0-9A-Za-z_-]{50,}$", ""), "The `nextCursor` of the previous page.")
        .query(
            "limit",
            page_limit(limits::DEAL_LOGS_PAGE_MAX, limits::DEAL_LOGS_PAGE_DEFAULT),
            "Notes per page. A value out of range is adjusted, not refused.",
        )
        .answers::<DealLogsPage>(200, "A page of notes.")
        .refuses(&[400, 404])
});
pub async fn list(call: &Call<'_>, caller: &PartnerCaller, deal: &str) -> ApiResult {
    let deal = parse_id(deal)?;
    let query = call.query();
    let limit = query.limit(limits::DEAL_LOGS_PAGE_DEFAULT, limits::DEAL_LOGS_PAGE_MAX)?;
    let workspace = caller.scope().workspace();
    let own = deal.to_string();
    let cursor = query.list_cursor(workspace, LIST, |filter| filter == own)?;
    let filter = DealFilter {
        partner: Some(caller.partner().id),
        deal: Some(deal),
        ..DealFilter::default()
    };
    let before = cursor.map(|cursor| DealLogId(cursor.before));
    // One more row shows whether there is another page.
    let store = &call.http.core.store;
    let found = store.deal_logs(caller.scope(), &filter, before, limit + 1);
    let mut found = found.await?.ok_or_else(not_found)?;
    let has_more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let last = found.last().filter(|_| has_more);
    let next_cursor = last.map(|last| {
        let cursor = ListCursor {
            workspace,
            list: LIST,
            before: last.id.into(),
            filter: own,
        };
        cursor.encode()
    });
    reply::ok(&DealLogsPage {
        next_cursor,
        count: found.len(),
        logs: found.into_iter().map(note).collect(),
    })
}

fn note(log: DealLog) -> DealNote {
    view! { DealNote from log: id, kind, subject, description, metadata, created_at }
}
