//! `GET /v1/reports/{report}`: rows for people who look after operations. The only report is
//! `message_errors`: the messages that channels failed to deliver.
//!
//! The window is over `cursor_at`: `updated_since` (inclusive) is required, `to` (exclusive) is
//! now unless it is given, and the two are at most 31 days apart. A cursor holds the window and
//! the filters by their names. Filters are combined with "and"; a filter with a value that no row
//! can have matches nothing.

use crate::endpoints::prelude::*;
use crate::feed::{self, FeedKind, Pull};
use crate::openapi::schemas;
use crate::query;
use crate::terms::{time, word};
use leadhost_domain::cursor::{BrokenCursor, LONGEST_FILTER};
use leadhost_domain::row::{Entity, IdRow, MessageErrorRow};
use leadhost_store::{ExportPage, MessageErrorFilter};

const WINDOW: Duration = Duration::from_hours(31 * 24);

/// Added to the window if `to` is left out: now has moved on when the request arrives.
const SLACK: Duration = Duration::from_hours(1);

/// The parameters of the query by which rows are chosen.
const FILTERS: &[&str] = &[
    "deal_id",
    "conversation_id",
    "agent_id",
    "external_id",
    "error_code",
];

/// What each of [`FILTERS`] is.
const CHOSEN_BY: [&str; FILTERS.len()] = [
    "The deal of the conversation.",
    "The conversation.",
    "The responsible agent.",
    "The channel's id of the message.",
    "The channel's error code.",
];

describe!(page, |mut operation| {
    let row = operation.schema::<MessageErrorRow>();
    let page = operation.written("MessageErrorsPage", schemas::page(&row));
    let operation = operation
    .id("reportRows")
    .summary("Reports messages that the channels failed to deliver")
    .describe(
        "The window from `updated_since` to `to` is at most 31 days. A row has to match all filters; unknown filters \
         are ignored. A cursor contains the window and the filters of its pull.",
    )
    .query("updated_since", time(""), "The start of the window, inclusive. Required unless a `cursor` is given.")
    .required()
    // Later than now, so that they are less than 31 days apart with or without `to`.
    .example("2031-03-01")
    .query("to", time(""), "The end of the window, exclusive. Default: now.")
    .example("2031-03-31T12:15:30Z");
    FILTERS
        .iter()
        .zip(CHOSEN_BY)
        .fold(feed::paged(operation), |operation, (name, about)| {
            operation.query(name, word(), about)
        })
        .answers_lines(200, feed::ANSWERED, &page)
        .shows(
            "one",
            "A message that failed",
            json!({
                "data": [{
                    "id": "6d4f3e2a-1b88-4c3e-9d1f-0a7719cae2b3",
                    "workspace_id": "019cae2b-3f60-7c11-b0de-000000000001",
                    "cursor_at": "2026-03-02T12:15:30.250000Z",
                    "recipient_id": "+5521977770102",
                    "deal_id": "019cae2b-3f61-7a52-8a10-5c3e2d1f0a77",
                    "conversation_id": "019cae2b-3f62-7d43-9b21-7e5f4a3b2c99",
                    "agent_id": 1,
                    "message_id": "019cae2b-3f63-7d43-9b21-7e5f4a3b2c01",
                    "external_id": "wamid.example-1044",
                    "error_code": "131026",
                    "error_title": "Message undeliverable",
                    "error_description": "The message could not be delivered.",
                    "error_details": null,
                    "template_name": "welcome",
                    "channel": "whatsapp",
                    "occurred_at": "2026-03-02T12:15:31.000000Z",
                }],
                "next_cursor": null,
                "count": 1,
            }),
        )
        .refuses(&[400, 404])
});
pub async fn page(call: &Call<'_>, caller: &WorkspaceCaller, report: &str) -> ApiResult {
    check(report)?;
    let query = call.query();
    let limit = query.limit(limits::EXPORT_PAGE_DEFAULT, limits::EXPORT_PAGE_MAX)?;
    let store = &call.http.core.store;
    let feed = FeedKind::Rows(Entity::MessageErrors);
    let given = ReportFilters::from_query(&query, FILTERS);
    let (pull, filters) = match Pull::from_cursor(&query, caller, store, feed)? {
        Some(pull) => {
            let own = ReportFilters::from_cursor(&pull.filter, FILTERS)?.unless_others(&given)?;
            // No page that matches nothing has a cursor: its values were valid once.
            if own.meaning().is_none() {
                return Err(query::broken_cursor(BrokenCursor));
            }
            (pull, own)
        }
        None => {
            let (after, upper) = window(&query, call.http.core.clock.now())?;
            (Pull::new(feed, after, upper, given.to_cursor()), given)
        }
    };
    let page = match filters.meaning() {
        Some(filter) => {
            store
                .message_errors(caller.scope(), &filter, pull.after, pull.upper, limit)
                .await?
        }
        None => nothing(&pull),
    };
    pull.answer(call, caller, page)
}

describe!(ids, |mut operation| {
    let row = operation.schema::<IdRow>();
    let page = operation.written("IdsPage", schemas::page(&row));
    feed::pull(operation)
        .id("reportIds")
        .summary("Lists the ids of the rows of a report that exist")
        .describe(
            "As `/v1/export/{entity}/ids`: for clients that keep a copy, so that it loses the rows of a person who was \
             erased. There is no limit to the time that it covers.",
        )
        .answers_schema(200, feed::ANSWERED, &page)
        .refuses(&[400, 404])
});
pub async fn ids(call: &Call<'_>, caller: &WorkspaceCaller, report: &str) -> ApiResult {
    check(report)?;
    feed::answer(call, caller, FeedKind::Ids(Entity::MessageErrors)).await
}

fn check(report: &str) -> ApiResult<()> {
    if report == Entity::MessageErrors.as_str() {
        return Ok(());
    }
    Err(ApiError::NotFound(
        "There is no such report; use message_errors.".to_owned(),
    ))
}

/// The stamps after which and up to which rows come.
fn window(query: &Query<'_>, now: Micros) -> ApiResult<(i64, Option<i64>)> {
    let hint = "failures from this time on are returned";
    let since = feed::time(query, "updated_since", hint)?.ok_or_else(|| {
        ApiError::parameter(
            "`updated_since` is missing: an RFC 3339 time such as 2030-01-31T12:00:00Z, at most 31 days before `to`.",
        )
    })?;
    let to = feed::time(query, "to", "leave it out for now")?;
    if to.is_some_and(|to| to < since) {
        return Err(ApiError::parameter("`to` is before `updated_since`."));
    }
    let longest = if to.is_some() { WINDOW } else { WINDOW + SLACK };
    if to.unwrap_or(now).since(since) > longest {
        return Err(ApiError::parameter(
            "`updated_since` and `to` are more than 31 days apart: request shorter periods, one after the other.",
        ));
    }
    Ok((feed::from(since), to.map(feed::from)))
}

/// The expected value of each filter, by the filter's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ReportFilters(BTreeMap<String, String>);

impl ReportFilters {
    fn from_query(query: &Query<'_>, names: &[&str]) -> Self {
        let given = names.iter().filter_map(|name| {
            let value = query.filled(&[name])?;
            Some(((*name).to_owned(), value.to_owned()))
        });
        Self(given.collect())
    }

    /// Reads the filters that a cursor holds. A filter that came after the cursor is not in it, and
    /// does not narrow its rows.
    fn from_cursor(text: &str, names: &[&str]) -> ApiResult<Self> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let read: Option<Self> = serde_json::from_str(text).ok();
        read.filter(|read| read.0.keys().all(|name| names.contains(&name.as_str())))
            .ok_or_else(|| query::broken_cursor(BrokenCursor))
    }

    /// As a cursor holds them: empty for none.
    fn to_cursor(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        serde_json::to_string(self).expect("texts are always JSON")
    }

    /// A cursor's own filters hold; a request that names filters again has to name the same.
    fn unless_others(self, given: &Self) -> ApiResult<Self> {
        if given.0.is_empty() || *given == self {
            return Ok(self);
        }
        Err(ApiError::coded(
            ErrorCode::InvalidCursor,
            "The cursor belongs to other filters; start without it.",
        ))
    }

    /// Returns the filter for the store, or `None` if no row can match.
    fn meaning(&self) -> Option<MessageErrorFilter> {
        // A filter that no cursor can hold must not have a second page.
        if self.to_cursor().len() > LONGEST_FILTER {
            return None;
        }
        let text = |name: &str| self.0.get(name).map(String::as_str);
        let short = |name: &str| match text(name) {
            Some(text) if text.len() > LONGEST || text.contains('\0') => None,
            found => Some(found.map(str::to_owned)),
        };
        Some(MessageErrorFilter {
            deal: text("deal_id").map(str::parse).transpose().ok()?,
            conversation: text("conversation_id").map(str::parse).transpose().ok()?,
            agent: text("agent_id")
                .map(|text| text.parse().map(AgentId))
                .transpose()
                .ok()?,
            external_id: short("external_id")?,
            error_code: short("error_code")?,
        })
    }
}

/// Most bytes of an id or a code of a channel: the store has no longer one.
const LONGEST: usize = 1_024;

fn nothing(pull: &Pull) -> ExportPage {
    let upper = pull.upper.unwrap_or(pull.after);
    ExportPage {
        upper,
        clock: upper,
        ..ExportPage::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::time;

    #[test]
    fn the_window_is_at_most_31_days() {
        let now = time::parse("2030-03-01T12:00:00Z").expect("a time");
        let check = |text: &str, expect: bool| {
            let query = Query::parse(text);
            assert_eq!(window(&query, now).is_ok(), expect, "{text}");
        };
        check("updated_since=2030-02-20", true);
        check("updated_since=2030-01-29T12:00:00Z", true);
        check("updated_since=2030-01-29T11:00:00Z", true);
        check("updated_since=2030-01-29T10:59:59Z", false);
        check("updated_since=2029-01-01&to=2029-02-01", true);
        check("updated_since=2029-01-01&to=2029-02-01T00:00:01Z", false);
        check("updated_since=2029-01-02&to=2029-01-01", false);
        check("updated_since=2029-01-02&to=2029-01-02", true);
        check("updated_since=2031-01-01", true);
        check("to=2029-01-02", false);
        check("updated_since=", false);
        check("updated_since=soon", false);
        check("updated_since=2030-02-20&to=", false);
    }

    fn given(text: &str) -> ReportFilters {
        ReportFilters::from_query(&Query::parse(text), FILTERS)
    }

    #[test]
    fn filters_are_the_same_after_a_cursor() {
        let check = |text: &str, expect: Option<MessageErrorFilter>| {
            let given = given(text);
            assert_eq!(given.meaning(), expect, "{text}");
            let read = ReportFilters::from_cursor(&given.to_cursor(), FILTERS);
            assert_eq!(read.ok(), Some(given), "{text}");
        };
        let none = MessageErrorFilter::default;
        check("colour=red", Some(none()));
        check("deal_id=&error_code=%20", Some(none()));
        check(
            "agent_id=7&error_code=131026",
            Some(MessageErrorFilter {
                agent: Some(AgentId(7)),
                error_code: Some("131026".to_owned()),
                ..none()
            }),
        );
        for no_row in [
            "deal_id=7",
            "agent_id=bot",
            "conversation_id=x",
            "external_id=%00",
        ] {
            check(no_row, None);
        }
        // A valid number, but no cursor has room for it.
        check(&format!("agent_id={}7", "0".repeat(5_000)), None);
    }

    #[test]
    fn an_old_cursor_is_read_after_a_filter_was_added() {
        let old = given("error_code=1&agent_id=7");
        let more: Vec<&str> = FILTERS.iter().copied().chain(["channel"]).collect();
        let read = ReportFilters::from_cursor(&old.to_cursor(), &more).expect("it is read");
        assert_eq!(read, old);
        assert_eq!(read.meaning(), old.meaning());
    }

    #[test]
    fn an_unreadable_cursor_is_refused_and_never_an_empty_page() {
        for text in [
            r#"{"channel":"sms"}"#,
            r#"[null,null,"7",null,null]"#,
            r#"{"agent_id":7}"#,
            "agent_id",
        ] {
            let read = ReportFilters::from_cursor(text, FILTERS);
            assert!(matches!(read, Err(ApiError::Coded { .. })), "{text}");
        }
    }

    #[test]
    fn a_cursor_keeps_its_own_filters() {
        let check = |own: &str, text: &str, expect: bool| {
            let kept = given(own).unless_others(&given(text));
            assert_eq!(kept.is_ok(), expect, "{own} and {text}");
        };
        check("error_code=1", "", true);
        check("error_code=1", "error_code=1", true);
        check("error_code=1", "error_code=2", false);
        check("error_code=1", "error_code=1&agent_id=1", false);
        check("", "agent_id=1", false);
    }
}
