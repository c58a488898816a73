//! Valid and invalid query parameters: each of them missing, empty, repeated,
//! malformed, of another workspace, and at its bounds. If a parameter is
//! repeated, only the first value counts and is read.

use leadhost_domain::cursor::{Cursor, ListCursor};
use leadhost_domain::id::WorkspaceId;
use leadhost_domain::row::Entity;
use leadhost_domain::time::{self, Micros};
use leadhost_tests::{Answer, Host, On, Seeded};
use serde_json::Value;
use uuid::Uuid;

use super::{export, leads, page, rows, texts};

leadhost_tests::on_every_store! {
    a_limit_out_of_range_is_adjusted_and_one_that_is_no_number_is_refused,
    an_invalid_date_is_refused_and_never_a_full_export,
    the_lower_bound_may_lie_anywhere,
    the_first_value_of_a_repeated_parameter_counts,
    an_invalid_cursor_is_refused,
    a_cursor_with_any_byte_changed_is_refused,
    parameters_of_a_report_follow_the_same_rules,
    a_filter_of_another_workspace_finds_nothing,
    a_time_without_its_offset_is_refused_and_named,
    parameters_that_nothing_reads_are_named_in_a_header,
    whoami_ignores_all_parameters,
    an_unknown_entity_is_not_found,
}

/// Checks for a refusal in the format of the data API, without other fields.
#[track_caller]
fn is_refused(answer: Answer, what: &str) {
    assert_eq!(answer.status, 400, "{what}: {:?}", answer.body);
    let body = answer.json();
    let keys: Vec<_> = body.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["code", "error"], "{what}");
    assert!(
        body["error"]
            .as_str()
            .is_some_and(|error| !error.is_empty())
    );
}

async fn refuses(host: &Host, seeded: &Seeded, rest: &str) {
    is_refused(export(host, seeded, rest).send().await, rest);
}

async fn a_limit_out_of_range_is_adjusted_and_one_that_is_no_number_is_refused(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    leads(&host, &seeded, "p", 101).await;
    let count = async |rest: &str| rows(&page(&host, &seeded, rest).await).len();
    assert_eq!(count("deals").await, 100);
    for few in ["0", "-7", "1", "-9223372036854775809", "-0", "%201%20"] {
        assert_eq!(count(&format!("deals?limit={few}")).await, 1, "{few}");
    }
    for many in ["1000", "1001", "99999999999999999999", "%2B101"] {
        assert_eq!(count(&format!("deals?limit={many}")).await, 101, "{many}");
    }
    for blank in ["limit", "limit=", "limit=%20"] {
        assert_eq!(count(&format!("deals?{blank}")).await, 100, "{blank}");
    }
    for wrong in [
        "ten", "1.5", "1e2", "0x10", "1_0", "--1", "%D9%A1", "%00", "1%00", "null", "1;2", "%ff",
    ] {
        refuses(&host, &seeded, &format!("deals?limit={wrong}")).await;
    }
}

async fn an_invalid_date_is_refused_and_never_a_full_export(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    refuses(&host, &seeded, "deals?updated_since").await;
    for wrong in [
        "",
        "%20",
        "null",
        "yesterday",
        "2030-13-01",
        "2030-02-30",
        "2030-01-01T00:00:00",
        "2030-01-01T00:00",
        "2030-01-01T00:00%2B0",
        "2030-01-01T25:00:00Z",
        "2030-01-01T00:00:00.Z",
        "2030-01-01T00:00:00Zx",
        "2030-01-01T00:00:00Z%00",
        "1700000000",
        "20300101",
        "2030-001",
        "2030-1-001",
        "2030-%201-%201",
        "%2B203-01-01",
        "-203-01-01",
        "+2030-01-01T00:00:00+99:00",
        "%D9%A2030-01-01",
        "%ff",
    ] {
        refuses(&host, &seeded, &format!("deals?updated_since={wrong}")).await;
    }
    let long = "0".repeat(4_000);
    refuses(&host, &seeded, &format!("deals?updated_since={long}")).await;
    let long = format!("2030-01-01T00:00:00.{long}Z");
    refuses(&host, &seeded, &format!("deals?updated_since={long}")).await;
}

async fn the_lower_bound_may_lie_anywhere(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    leads(&host, &seeded, "p", 3).await;
    let all = page(&host, &seeded, "deals").await;
    let last = texts(rows(&all), "cursor_at").pop().expect("rows");
    let micro = |by: i64| {
        let at = time::parse(&last).expect("a time");
        Micros(at.0 + by).text()
    };
    for (since, expect) in [
        ("0001-01-01".to_owned(), 3),
        ("0001-01-01T00:00:00Z".to_owned(), 3),
        (micro(-1), 2),
        (last.clone(), 1),
        (micro(1), 0),
        ("9999-12-31".to_owned(), 0),
        ("9999-12-31T23:59:59.999999999Z".to_owned(), 0),
        ("9999-12-31T23:59:59-23:59".to_owned(), 0),
    ] {
        let page = page(&host, &seeded, &format!("deals?updated_since={since}")).await;
        assert_eq!(rows(&page).len(), expect, "{since}");
        assert!(page["next_cursor"].is_null(), "{since}");
    }
}

async fn the_first_value_of_a_repeated_parameter_counts(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    leads(&host, &seeded, "p", 3).await;
    let first = page(&host, &seeded, "deals?limit=1").await;
    let cursor = first["next_cursor"].as_str().expect("more");
    let second = page(&host, &seeded, &format!("deals?limit=1&cursor={cursor}")).await;
    let later = second["next_cursor"].as_str().expect("more");
    for (rest, expect) in [
        ("limit=2&limit=1".to_owned(), 2),
        ("limit=2&limit=ten".to_owned(), 2),
        ("limit=&limit=2".to_owned(), 2),
        (format!("cursor=&cursor={cursor}"), 2),
        (
            "updated_since=2020-01-01&updated_since=2999-01-01".to_owned(),
            3,
        ),
        (
            "updated_since=2999-01-01&updated_since=2020-01-01".to_owned(),
            0,
        ),
        ("updated_since=2999-01-01&updated_since=".to_owned(), 0),
        (format!("cursor={cursor}&cursor={later}"), 2),
        (format!("cursor={later}&cursor={cursor}"), 1),
        (format!("cursor={later}&cursor=nonsense"), 1),
    ] {
        let page = page(&host, &seeded, &format!("deals?{rest}")).await;
        assert_eq!(rows(&page).len(), expect, "{rest}");
    }
    for rest in [
        "limit=ten&limit=2".to_owned(),
        "updated_since=&updated_since=2020-01-01".to_owned(),
        format!("cursor=nonsense&cursor={cursor}"),
    ] {
        refuses(&host, &seeded, &format!("deals?{rest}")).await;
    }
}

async fn an_invalid_cursor_is_refused(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    leads(&host, &seeded, "p", 3).await;
    let first = page(&host, &seeded, "deals?limit=1").await;
    let cursor = first["next_cursor"].as_str().expect("more");
    let list = ListCursor {
        workspace: seeded.workspace,
        list: 1,
        before: Uuid::nil(),
        filter: String::new(),
    };
    for blank in ["cursor", "cursor=", "cursor=%20", "cursor=&limit="] {
        let all = page(&host, &seeded, &format!("deals?{blank}")).await;
        assert_eq!(rows(&all).len(), 3, "{blank}");
    }
    for word in ["null", "None", "undefined"] {
        let ask = export(&host, &seeded, &format!("deals?cursor={word}"));
        let refused = ask.send().await.expect(400).json();
        let said = format!("`cursor` is the text `{word}`, not a cursor");
        assert!(
            refused["error"].as_str().unwrap().starts_with(&said),
            "{refused}"
        );
    }
    for wrong in [
        "%00".to_owned(),
        "%ff".to_owned(),
        format!("{cursor}%3D"),
        format!("{cursor}%20"),
        format!("%20{cursor}"),
        format!("{cursor}{cursor}"),
        cursor[..cursor.len() / 2].to_owned(),
        cursor.to_ascii_lowercase(),
        cursor.chars().rev().collect(),
        "A".repeat(7_000),
        list.encode(),
        report_cursor(&host, seeded.workspace, "").encode(),
    ] {
        refuses(&host, &seeded, &format!("deals?cursor={wrong}")).await;
    }
    assert_eq!(
        rows(&page(&host, &seeded, &format!("deals?cursor={cursor}")).await).len(),
        2
    );
}

async fn a_cursor_with_any_byte_changed_is_refused(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    leads(&host, &seeded, "p", 3).await;
    let first = page(&host, &seeded, "deals?limit=1").await;
    let plain = first["next_cursor"].as_str().expect("more").to_owned();
    let filtered = report_cursor(&host, seeded.workspace, r#"{"agent_id":"7"}"#);
    for (target, cursor) in [
        ("/v1/export/deals", plain),
        ("/v1/reports/message_errors", filtered.encode()),
    ] {
        let ask = async |cursor: &str| {
            let ask = host.get(&format!("{target}?cursor={cursor}"));
            ask.bearer(&seeded.workspace_key).send().await
        };
        ask(&cursor).await.expect(200);
        for at in 0..cursor.len() {
            let (left, right) = (&cursor[..at], &cursor[at + 1..]);
            let own = &cursor[at..=at];
            for other in ["A", "B", "_", "~", ""] {
                // If two neighbours are equal, it makes no difference which one
                // is missing.
                if other != own {
                    let changed = format!("{left}{other}{right}");
                    is_refused(ask(&changed).await, &changed);
                }
            }
        }
    }
}

/// The cursor that a report without failures would return.
fn report_cursor(host: &Host, workspace: WorkspaceId, filter: &str) -> Cursor {
    Cursor {
        workspace,
        feed: Entity::MessageErrors.code(),
        store: host.store().id(),
        after: -1,
        upper: 0,
        filter: filter.to_owned(),
    }
}

async fn parameters_of_a_report_follow_the_same_rules(on: On) {
    let host = Host::new(on).await;
    let (mine, theirs) = (host.workspace("mine").await, host.workspace("theirs").await);
    let ask = async |query: &str| {
        let ask = host.get(&format!("/v1/reports/message_errors?{query}"));
        ask.bearer(&mine.workspace_key).send().await
    };
    let own = report_cursor(&host, mine.workspace, "").encode();
    let narrowed = report_cursor(&host, mine.workspace, r#"{"agent_id":"7"}"#).encode();
    let foreign = report_cursor(&host, theirs.workspace, "").encode();
    let since = "updated_since=2030-01-15";
    for query in [
        since.to_owned(),
        format!("{since}&{since}"),
        format!("{since}&updated_since=never"),
        format!("{since}&to=2030-01-15"),
        format!("{since}&to=2030-02-15"),
        format!("{since}&to=2030-02-15&to=2031-01-01"),
        format!("{since}&limit=0"),
        format!("{since}&limit=&cursor="),
        "updated_since=2030-01-15T00:00:00%2B0000&to=2030-01-16T00:00:00 0000".replace(' ', "+"),
        "updated_since=2030-01-15 00:00:00%2B00:00&to=20300116T000000-0300".replace(' ', "%20"),
        format!("{since}&limit=99999&limit=ten"),
        format!("{since}&deal_id=&conversation_id=&agent_id=&external_id=&error_code="),
        format!("{since}&agent_id=9223372036854775808&error_code=%00"),
        format!("{since}&error_code={}", "7".repeat(5_000)),
        format!("{since}&agent_id=7&agent_id=8&colour=red&colour=blue"),
        "updated_since=9999-12-31".to_owned(),
        "updated_since=9999-12-31&to=9999-12-31T23:59:59.999999Z".to_owned(),
        "updated_since=0001-01-01&to=0001-01-31".to_owned(),
        format!("cursor={own}"),
        format!("cursor={own}&to=&updated_since="),
        format!("cursor={own}&cursor={foreign}"),
        format!("cursor={narrowed}&agent_id=7&agent_id=8"),
    ] {
        let page = ask(&query).await.expect(200).json();
        assert_eq!(rows(&page).len(), 0, "{query}");
        assert!(page["next_cursor"].is_null(), "{query}");
    }
    for query in [
        String::new(),
        "updated_since".to_owned(),
        "updated_since=".to_owned(),
        format!("updated_since=&{since}"),
        "to=2030-01-15".to_owned(),
        format!("{since}&to"),
        format!("{since}&to=&to=2030-01-16"),
        format!("{since}&to=2030-01-14"),
        format!("{since}&to=2030-02-15T00:00:00.000001Z"),
        "updated_since=0001-01-01".to_owned(),
        "updated_since=0001-01-01&to=9999-12-31".to_owned(),
        format!("{since}&to=2030-01-16T00:00:00"),
        format!("{since}&limit=null"),
        format!("{since}&cursor=None"),
        format!("{since}&limit=ten&limit=1"),
        format!("{since}&cursor={foreign}"),
        format!("{since}&cursor={foreign}&cursor={own}"),
        format!("cursor={own}&agent_id=7"),
        format!("cursor={narrowed}&agent_id=8&agent_id=7"),
    ] {
        is_refused(ask(&query).await, &query);
    }
    for wrong in [
        "",
        "message_error",
        "Message_errors",
        "deals",
        "message_errors/",
    ] {
        let ask = host.get(&format!("/v1/reports/{wrong}?{since}"));
        let answer = ask.bearer(&mine.workspace_key).send().await.expect(404);
        assert!(answer.json()["error"].is_string(), "{wrong}");
    }
}

async fn a_filter_of_another_workspace_finds_nothing(on: On) {
    let host = Host::new(on).await;
    let (mine, theirs) = (host.workspace("mine").await, host.workspace("theirs").await);
    let deal = leads(&host, &theirs, "p", 1).await[0];
    let query = format!("updated_since=2030-01-15&deal_id={deal}");
    let ask = host.get(&format!("/v1/reports/message_errors?{query}"));
    let answer = ask.bearer(&mine.workspace_key).send().await.expect(200);
    assert_eq!(rows(&answer.json()).len(), 0);
    // No parameter narrows an export, whatever its name.
    leads(&host, &mine, "p", 2).await;
    for rest in [
        format!("deals?workspace_id={}", theirs.workspace),
        format!(
            "deals?workspace={}&deal_id={deal}&id={deal}",
            theirs.workspace
        ),
    ] {
        let page = page(&host, &mine, &rest).await;
        let own = |row: &Value| row["workspace_id"] == mine.workspace.to_string();
        assert!(
            rows(&page).len() == 2 && rows(&page).iter().all(own),
            "{rest}"
        );
    }
}

async fn a_time_without_its_offset_is_refused_and_named(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    for target in [
        "/v1/export/deals?updated_since=",
        "/v1/export/deals/ids?updated_since=",
        "/v1/reports/message_errors?updated_since=",
        "/v1/reports/message_errors?updated_since=2030-01-01&to=",
        "/v1/analytics/conversations/day?from=",
        "/v1/analytics/tickets/day?from=2030-01-01&to=",
    ] {
        let name = target.rsplit(['?', '&']).next().unwrap_or_default();
        let name = name.trim_end_matches('=');
        let ask = async |time: &str| {
            host.advance(1).await;
            let ask = host.get(&format!("{target}{time}"));
            let answer = ask.bearer(&seeded.workspace_key).send().await;
            answer.expect(400).json()["error"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        for time in [
            "2030-01-01T12:00:00",
            "2030-01-01%2012:00",
            "20300101T120000",
        ] {
            let said = ask(time).await;
            let expect = format!("`{name}` has no offset from UTC: it must be ");
            assert!(
                said.starts_with(&expect) && said.contains("RFC 3339"),
                "{said}"
            );
        }
        for time in ["", "null", "1700000000", "2030-01-01T12:00:00BRT"] {
            let said = ask(time).await;
            let expect = format!("`{name}` must be ");
            assert!(
                said.starts_with(&expect) && said.contains("RFC 3339"),
                "{said}"
            );
        }
    }
}

async fn parameters_that_nothing_reads_are_named_in_a_header(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let cursor = report_cursor(&host, seeded.workspace, "").encode();
    for (target, expect) in [
        ("/v1/whoami?a=1", "a"),
        (
            "/v1/export/messages?conversation_id=x&limit=1",
            "conversation_id",
        ),
        ("/v1/export/messages?limit=ten&Limit=1", "Limit"),
        (
            "/v1/export/deals/ids?limit=1&status=won&updated_since=2030-01-01",
            "status",
        ),
        (
            "/v1/reports/message_errors?updated_since=2030-01-01&message_id=1&error_code=1",
            "message_id",
        ),
        (
            "/v1/analytics/conversations/day?timezone=UTC&groupBy=source&from=2030-01-01&agent_ids=1",
            "timezone, groupBy",
        ),
        (
            "/v1/analytics/freshness?a%0d%0ax:%20y=1&b%2C=1",
            "a%0D%0Ax%3A%20y, b%2C",
        ),
        // Each parameter that is read, under each of its names.
        (
            "/v1/export/deals?updated_since=2030-01-01&cursor=&limit=1",
            "",
        ),
        (
            &format!(
                "/v1/reports/message_errors?updated_since=2030-01-01&to=2030-01-02&cursor={cursor}&limit=1&deal_id=1\
                 &conversation_id=1&agent_id=1&external_id=1&error_code=1"
            ),
            "",
        ),
        (
            "/v1/analytics/tickets/day?from=2030-01-01&to=2030-01-02&tz=UTC&group_by=source&agent_type=ai&agent_types=ai\
             &agent_id=1&agent_ids=1&source=x&sources=x",
            "",
        ),
    ] {
        host.advance(1).await;
        let answer = host.get(target).bearer(&seeded.workspace_key).send().await;
        assert_eq!(answer.header("x-ignored-parameters"), expect, "{target}");
    }
    for (target, expect) in [
        ("/products-by-name?q=casa", "q"),
        ("/products-by-name?name=casa&term=x&page=1&size=1", ""),
        ("/deal?phone=1&stage=won", "stage"),
        (
            "/deal?phoneNumber=1&phone=1&email=a@b.co&dealId=1&id=1&externalId=1&externalIntegrationId=1&limit=1&cursor=",
            "",
        ),
    ] {
        let answer = host.get(target).partner(&seeded.partner_key).send().await;
        assert_eq!(answer.header("x-ignored-parameters"), expect, "{target}");
    }
    for (target, expect) in [
        ("/tickets?owner=x&status=open", "owner"),
        ("/tickets?status=open&cursor=&limit=1", ""),
    ] {
        let answer = host.get(target).bearer(&seeded.access_token).send().await;
        assert_eq!(answer.header("x-ignored-parameters"), expect, "{target}");
    }
}

async fn whoami_ignores_all_parameters(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    for query in [
        "",
        "?",
        "?&&==&",
        "?limit=ten&cursor=&updated_since=never",
        "?workspace=other&workspace=another",
        "?%ff=%00",
    ] {
        let ask = host.get(&format!("/v1/whoami{query}"));
        let body = ask.bearer(&seeded.workspace_key).send().await.expect(200);
        assert_eq!(body.json()["workspace"], seeded.workspace.to_string());
    }
}

async fn an_unknown_entity_is_not_found(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    for wrong in [
        "leads",
        "Deals",
        "deal",
        "",
        "message_errors",
        "tickets",
        "products",
        "deals/",
        "deals%20",
        "%00",
        "..%2Fdeals",
    ] {
        let answer = export(&host, &seeded, wrong).send().await.expect(404);
        assert!(answer.json()["error"].is_string(), "{wrong}");
    }
}
