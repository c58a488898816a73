//! `GET /v1/reports/{report}`: rows for people who look after operations. The
//! only one is `message_errors`, what the channels failed to deliver.
//!
//! The window is over `cursor_at`: `updated_since` (inclusive) is asked for,
//! `to` (exclusive) is now unless it is given, and the two are at most 31 days
//! apart. A cursor has all that in it, filters too. All filters hold together;
//! one whose value can be nobody's matches nothing.

use crate::domain::cursor::LONGEST_FILTER;
use crate::domain::id::AgentId;
use crate::domain::row::Entity;
use crate::domain::time::Micros;
use crate::http::auth::WorkspaceCaller;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::feed::{self, Feed, Pull};
use crate::http::query::Query;
use crate::http::reply::Reply;
use crate::limits;
use crate::store::{ExportPage, MessageErrorFilter};

/// The longest window.
const WINDOW: i64 = 31 * Micros::DAY;

/// Without `to` a client that asks for 31 days need not ask within a moment.
const SLACK: i64 = Micros::HOUR;

const FILTERS: [&str; 5] = [
    "deal_id",
    "conversation_id",
    "agent_id",
    "external_id",
    "error_code",
];

pub async fn page(
    call: &Call<'_>,
    caller: &WorkspaceCaller,
    report: &str,
) -> Result<Reply, ApiError> {
    if report != Entity::MessageErrors.as_str() {
        return Err(ApiError::NotFound(
            "There is no such report; there is message_errors.".to_owned(),
        ));
    }
    let query = call.query();
    let limit = query.limit(limits::EXPORT_PAGE_DEFAULT, limits::EXPORT_PAGE_MAX)?;
    let store = &*call.http.core.store;
    let feed = Feed::Rows(Entity::MessageErrors);
    let pull = match Pull::of_cursor(&query, caller, store, feed)? {
        Some(pull) => {
            same_filters(&query, &pull.filter)?;
            pull
        }
        None => {
            let (after, upper) = window(&query, call.http.core.clock.now())?;
            Pull::new(feed, after, upper, words(given(&query)))
        }
    };
    let page = match read(&pull.filter) {
        Some(filter) => {
            store
                .message_errors(caller.scope(), &filter, pull.after, pull.upper, limit)
                .await?
        }
        None => nothing(&pull),
    };
    pull.answer(call, caller, page)
}

/// The stamps after which and up to which rows come.
fn window(query: &Query<'_>, now: Micros) -> Result<(i64, Option<i64>), ApiError> {
    let hint = "it says from when on failures are wanted";
    let since = feed::time(query, "updated_since", hint)?.ok_or_else(|| {
        ApiError::BadRequest(
            "`updated_since` is missing: an ISO 8601 time such as 2030-01-31T12:00:00Z, at most 31 days before `to`."
                .to_owned(),
        )
    })?;
    let to = feed::time(query, "to", "leave it out for now")?;
    if to.is_some_and(|to| to < since) {
        return Err(ApiError::BadRequest(
            "`to` lies before `updated_since`.".to_owned(),
        ));
    }
    let longest = if to.is_some() { WINDOW } else { WINDOW + SLACK };
    if to.unwrap_or(now).0.saturating_sub(since.0) > longest {
        return Err(ApiError::BadRequest(
            "`updated_since` and `to` are more than 31 days apart: ask for one period after the other."
                .to_owned(),
        ));
    }
    Ok((feed::from(since), to.map(feed::from)))
}

/// What each filter is asked to be, in the order of [`FILTERS`].
type Given<'q> = [Option<&'q str>; FILTERS.len()];

fn given<'q>(query: &'q Query<'_>) -> Given<'q> {
    FILTERS.map(|name| query.get(name))
}

/// As cursors hold them: empty for none.
fn words(given: Given<'_>) -> String {
    if given.iter().all(Option::is_none) {
        return String::new();
    }
    serde_json::to_string(&given).expect("texts are always JSON")
}

/// A cursor's own filters hold; who names them again names the same.
fn same_filters(query: &Query<'_>, own: &str) -> Result<(), ApiError> {
    let given = given(query);
    if given.iter().all(Option::is_none) || words(given) == own {
        return Ok(());
    }
    Err(ApiError::BadRequest(
        "The cursor belongs to other filters; start without it.".to_owned(),
    ))
}

/// None: nothing can match.
fn read(words: &str) -> Option<MessageErrorFilter> {
    if words.is_empty() {
        return Some(MessageErrorFilter::default());
    }
    // What no cursor could hold must not have a second page.
    if words.len() > LONGEST_FILTER {
        return None;
    }
    let given: [Option<String>; FILTERS.len()] = serde_json::from_str(words).ok()?;
    let [deal, conversation, agent, external_id, error_code] = given;
    let within = |text: &Option<String>| {
        text.as_deref()
            .is_none_or(|text| text.len() <= LONGEST && !text.contains('\0'))
    };
    if !within(&external_id) || !within(&error_code) {
        return None;
    }
    Some(MessageErrorFilter {
        deal: deal.map(|text| text.parse()).transpose().ok()?,
        conversation: conversation.map(|text| text.parse()).transpose().ok()?,
        agent: agent
            .map(|text| text.parse().map(AgentId))
            .transpose()
            .ok()?,
        external_id,
        error_code,
    })
}

/// Bytes of an id or a code of a channel: no longer one is stored.
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
    use crate::domain::time;

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

    #[test]
    fn filters_go_into_a_cursor_and_out_of_it() {
        let check = |text: &str, expect: Option<MessageErrorFilter>| {
            let query = Query::parse(text);
            assert_eq!(read(&words(given(&query))), expect, "{text}");
        };
        let none = MessageErrorFilter::default;
        check("colour=red", Some(none()));
        check(
            "agent_id=7&error_code=131026",
            Some(MessageErrorFilter {
                agent: Some(AgentId(7)),
                error_code: Some("131026".to_owned()),
                ..none()
            }),
        );
        for nobody in [
            "deal_id=",
            "deal_id=7",
            "agent_id=bot",
            "conversation_id=x",
            "external_id=%00",
        ] {
            check(nobody, None);
        }
        // A number all the same, but no cursor has room for it.
        check(&format!("agent_id={}7", "0".repeat(5_000)), None);
    }

    #[test]
    fn a_cursor_keeps_its_own_filters() {
        let own = words(given(&Query::parse("error_code=1")));
        let check = |text: &str, expect: bool| {
            assert_eq!(
                same_filters(&Query::parse(text), &own).is_ok(),
                expect,
                "{text}"
            );
        };
        check("", true);
        check("error_code=1", true);
        check("error_code=2", false);
        check("error_code=1&agent_id=1", false);
        assert!(same_filters(&Query::parse("agent_id=1"), "").is_err());
    }
}
