//! Query parameters: at their bounds, unreadable, of another workspace, and unknown.

use leadhost_domain::cursor::Cursor;
use leadhost_domain::row::Entity;
use leadhost_tests::{Host, Json, On};
use serde_json::Value;

use super::{export, leads, page, rows};

leadhost_tests::on_every_store! {
    a_limit_is_adjusted_and_what_cannot_be_read_is_refused,
    a_filter_of_another_workspace_finds_nothing,
    a_time_without_its_offset_is_refused_and_named,
    parameters_that_nothing_reads_are_named_in_a_header,
    an_unknown_entity_is_not_found,
}

async fn a_limit_is_adjusted_and_what_cannot_be_read_is_refused(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    leads(&host, &seeded, "p", 101).await;
    for (rest, count) in [
        ("deals", 100),
        ("deals?limit=0", 1),
        ("deals?limit=1001&limit=ten", 101),
    ] {
        assert_eq!(
            rows(&page(&host, &seeded, rest).await).len(),
            count,
            "{rest}"
        );
    }
    // Never a full export.
    let long = format!("updated_since=2030-01-01T00:00:00.{}Z", "0".repeat(4_000));
    for wrong in [
        "limit=ten",
        "updated_since",
        "updated_since=yesterday",
        "cursor=AAAA",
        &long,
    ] {
        let ask = export(&host, &seeded, &format!("deals?{wrong}"));
        let body = ask.send().await.expect(400).json();
        let keys: Vec<_> = body.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["code", "error"], "{wrong}");
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
        let is_so = rows(&page).len() == 2 && rows(&page).iter().all(own);
        assert!(is_so, "{rest}");
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
            answer.expect(400).json()["error"].text().to_owned()
        };
        for time in [
            "2030-01-01T12:00:00",
            "2030-01-01%2012:00",
            "20300101T120000",
        ] {
            let said = ask(time).await;
            let expect = format!("`{name}` has no offset from UTC: it must be ");
            let is_so = said.starts_with(&expect) && said.contains("RFC 3339");
            assert!(is_so, "{said}");
        }
        for time in ["", "null", "1700000000", "2030-01-01T12:00:00BRT"] {
            let said = ask(time).await;
            let expect = format!("`{name}` must be ");
            let is_so = said.starts_with(&expect) && said.contains("RFC 3339");
            assert!(is_so, "{said}");
        }
    }
}

async fn parameters_that_nothing_reads_are_named_in_a_header(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let cursor = Cursor {
        workspace: seeded.workspace,
        feed: Entity::MessageErrors.code(),
        store: host.store().id(),
        after: -1,
        upper: 0,
        filter: String::new(),
    };
    let cursor = cursor.encode();
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
        "%00",
        "..%2Fdeals",
    ] {
        let answer = export(&host, &seeded, wrong).send().await.expect(404);
        assert!(answer.json()["error"].is_string(), "{wrong}");
    }
}
