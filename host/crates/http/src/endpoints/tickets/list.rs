//! `GET /tickets`: newest first, in pages. A cursor names the last ticket of its page, so
//! tickets that open meanwhile shift nothing: they belong before the first page. A cursor is
//! valid for its workspace and its status.

use hyper::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::PartnerCaller;
use crate::call::Call;
use crate::error::ApiError;
use crate::query::Query;
use crate::reply::{self, ApiResponse};
use leadhost_domain::cursor::ListCursor;
use leadhost_domain::id::{TicketId, WorkspaceId};
use leadhost_domain::limits;
use leadhost_domain::ticket::{TicketStatus, TicketView};
use leadhost_store::TicketFilter;

/// The number of this list in its cursors.
const LIST: u8 = 1;

/// The parameters of the query.
pub const PARAMETERS: [&str; 3] = ["status", "cursor", "limit"];

/// A page of tickets.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TicketsPage {
    tickets: Vec<TicketView>,
    /// Null if there are no older tickets.
    next_cursor: Option<String>,
    count: usize,
}

/// Returns a page of the tickets.
pub async fn run(call: &Call<'_>, caller: &PartnerCaller) -> Result<ApiResponse, ApiError> {
    let workspace = caller.scope().workspace();
    let filter = filter(&call.query(), workspace)?;
    let limit = filter.limit as usize;
    // One more row shows whether there is another page.
    let asked = TicketFilter {
        partner: Some(caller.partner().id),
        limit: filter.limit + 1,
        ..filter
    };
    let mut tickets = call.http.core.store.tickets(caller.scope(), &asked).await?;
    let has_more = tickets.len() > limit;
    tickets.truncate(limit);
    let last = tickets.last().filter(|_| has_more);
    let next_cursor = last.map(|last| {
        let cursor = ListCursor {
            workspace,
            list: LIST,
            before: last.id.into(),
            filter: word(asked.status).to_owned(),
        };
        cursor.encode()
    });
    let count = tickets.len();
    reply::json(
        StatusCode::OK,
        &TicketsPage {
            tickets,
            next_cursor,
            count,
        },
    )
}

/// Returns the status as cursors contain it.
fn word(status: Option<TicketStatus>) -> &'static str {
    status.map_or("", TicketStatus::as_str)
}

fn filter(query: &Query<'_>, workspace: WorkspaceId) -> Result<TicketFilter, ApiError> {
    let mut filter = TicketFilter {
        limit: query.limit(limits::TICKETS_PAGE_DEFAULT, limits::TICKETS_PAGE_MAX)?,
        ..TicketFilter::default()
    };
    if let Some(text) = query.get("status") {
        let status = TicketStatus::from_text(text).ok_or_else(|| {
            let words = TicketStatus::ALL.map(TicketStatus::as_str);
            ApiError::parameter(format!("`status` is one of {}.", words.join(", ")))
        })?;
        filter.status = Some(status);
    }
    // The cursor contains the status, so it need not be repeated.
    let is_filter = |text: &str| {
        let status = TicketStatus::from_text(text);
        text == word(status) && (filter.status.is_none() || filter.status == status)
    };
    let Some(cursor) = query.list_cursor(workspace, LIST, is_filter)? else {
        return Ok(filter);
    };
    Ok(TicketFilter {
        status: TicketStatus::from_text(&cursor.filter),
        before: Some(TicketId(cursor.before)),
        ..filter
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::time::Micros;

    #[test]
    fn words_and_bounds_are_read_or_refused() {
        let check = |query: &str, expect: Option<(Option<TicketStatus>, u32)>| {
            let found = filter(&Query::parse(query), WorkspaceId::new(Micros(1)));
            let found = found.ok().map(|filter| (filter.status, filter.limit));
            assert_eq!(found, expect, "{query}");
        };
        check("", Some((None, 20)));
        check("cursor=&limit=", Some((None, 20)));
        check("status=open&limit=0", Some((Some(TicketStatus::Open), 1)));
        check(
            "status=resolved&limit=101",
            Some((Some(TicketStatus::Resolved), 100)),
        );
        for wrong in [
            "status=",
            "status=Open",
            "status=closed",
            "limit=ten",
            "limit=null",
            "cursor=null",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn a_cursor_holds_its_status_and_belongs_to_its_list() {
        let workspace = WorkspaceId::new(Micros(1));
        let cursor = |list: u8, status: &str, workspace: WorkspaceId| {
            let cursor = ListCursor {
                workspace,
                list,
                before: uuid::Uuid::from_u128(7),
                filter: status.to_owned(),
            };
            cursor.encode()
        };
        let check = |query: String, expect: Option<Option<TicketStatus>>| {
            let found = filter(&Query::parse(&query), workspace);
            assert_eq!(found.ok().map(|filter| filter.status), expect, "{query}");
        };
        let open = cursor(LIST, "open", workspace);
        check(format!("cursor={open}"), Some(Some(TicketStatus::Open)));
        check(
            format!("cursor={open}&status=open"),
            Some(Some(TicketStatus::Open)),
        );
        check(format!("cursor={open}&status=resolved"), None);
        let all = cursor(LIST, "", workspace);
        check(format!("cursor={all}"), Some(None));
        check(format!("cursor={all}&status=open"), None);
        check(format!("cursor={}", cursor(LIST + 1, "", workspace)), None);
        check(format!("cursor={}", cursor(LIST, "lost", workspace)), None);
        let foreign = cursor(LIST, "", WorkspaceId::new(Micros(2)));
        check(format!("cursor={foreign}"), None);
    }
}
