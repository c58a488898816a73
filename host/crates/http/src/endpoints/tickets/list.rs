//! `GET /tickets`: newest first, in pages. A cursor names the last ticket of its page, so
//! tickets that open meanwhile shift nothing: they belong before the first page. A cursor is
//! valid for its workspace and its status.

use crate::endpoints::prelude::*;
use crate::terms::{one_of, page_limit, pattern};
use leadhost_domain::cursor::ListCursor;
use leadhost_domain::id::TicketId;
use leadhost_domain::ticket::{TicketStatus, TicketView};
use leadhost_store::TicketFilter;

/// The number of this list in its cursors.
const LIST: u8 = 1;

/// A page of tickets.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TicketsPage {
    tickets: Vec<TicketView>,
    /// Null if there are no older tickets.
    next_cursor: Option<String>,
    count: usize,
}

describe!(list, |operation| {
    operation
        .summary("Lists tickets, newest first")
        .describe("Follow `nextCursor` until it is null. Tickets that open meanwhile belong before the first page.")
        .query("status", one_of(&TicketStatus::ALL.map(TicketStatus::as_str), ""), "Only tickets with this status.")
        .query(
            "cursor",
            pattern("^([0-9A-Za-z_-]{50,})?$", ""),
            "The `nextCursor` of the previous page. It contains the status too.",
        )
        .query(
            "limit",
            page_limit(limits::TICKETS_PAGE_MAX, limits::TICKETS_PAGE_DEFAULT),
            "Tickets per page. A value out of range is adjusted, not refused.",
        )
        .answers::<TicketsPage>(200, "A page of tickets.")
        .shows("one", "The only page", json!({
            "tickets": [{
                "id": "019cae2b-3f65-7d43-9b21-7e5f4a3b2c03",
                "status": "open",
                "conversationId": "019cae2b-3f62-7d43-9b21-7e5f4a3b2c99",
                "dealId": "019cae2b-3f61-7a52-8a10-5c3e2d1f0a77",
                "person": {
                    "id": "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88",
                    "name": "Otávio Prates",
                    "email": "otavio.prates@example.com",
                    "phoneNumber": "+5521977770102",
                },
                "agentId": 1,
                "owner": null,
                "specialInstructions": null,
                "openedAt": "2026-03-02T12:15:30.250000Z",
                "answeredAt": null,
                "resolvedAt": null,
                "updatedAt": "2026-03-02T12:15:30.250000Z",
            }],
            "nextCursor": null,
            "count": 1,
        }))
        .refuses(&[400])
});
pub async fn list(call: &Call<'_>, caller: &PartnerCaller) -> ApiResult {
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
    reply::ok(&TicketsPage {
        tickets,
        next_cursor,
        count,
    })
}

fn word(status: Option<TicketStatus>) -> &'static str {
    status.map_or("", TicketStatus::as_str)
}

fn filter(query: &Query<'_>, workspace: WorkspaceId) -> ApiResult<TicketFilter> {
    let mut filter = TicketFilter {
        limit: query.limit(limits::TICKETS_PAGE_DEFAULT, limits::TICKETS_PAGE_MAX)?,
        ..TicketFilter::default()
    };
    if let Some(text) = query.filled(&["status"]) {
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

    #[test]
    fn words_and_bounds_are_read_or_refused() {
        let check = |query: &str, expect: Option<(Option<TicketStatus>, u32)>| {
            let found = filter(&Query::parse(query), WorkspaceId::new(Micros(1)));
            let found = found.ok().map(|filter| (filter.status, filter.limit));
            assert_eq!(found, expect, "{query}");
        };
        check("", Some((None, 20)));
        check("cursor=&limit=&status=", Some((None, 20)));
        check("status=open&limit=0", Some((Some(TicketStatus::Open), 1)));
        check(
            "status=resolved&limit=101",
            Some((Some(TicketStatus::Resolved), 100)),
        );
        for wrong in [
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
