//! `GET /v1/reports/message_errors`: rows of failed statuses and refused sends,
//! with every filter, in pages.

use leadhost_tests::On;
use leadhost_tests::provider::{BEGINNING, Flush};
use serde_json::{Value, json};

use super::fixture::{OTHER_PHONE, OTHER_WA_ID, PHONE, SentMessage, WA_ID, WhatsAppFixture, taken};

leadhost_tests::on_every_store! {
    a_failed_status_is_a_row_with_every_key,
    filters_narrow_and_hold_together,
    the_window_is_checked,
    unknown_filters_are_ignored,
    pages_follow_each_other,
    the_next_pull_begins_at_the_last_stamp_of_the_pull_before,
    a_repeated_failure_is_no_new_row,
    other_workspaces_have_their_own,
    without_a_workspace_key_nothing_is_revealed,
    an_unknown_report_is_not_found,
}

const COLUMNS: [&str; 16] = [
    "id",
    "workspace_id",
    "cursor_at",
    "recipient_id",
    "deal_id",
    "conversation_id",
    "agent_id",
    "message_id",
    "external_id",
    "error_code",
    "error_title",
    "error_description",
    "error_details",
    "template_name",
    "channel",
    "occurred_at",
];

async fn failed(desk: &WhatsAppFixture, phone: &str, codes: &[u32]) -> SentMessage {
    let sent = desk.greets(phone).await;
    desk.whatsapp.fails(&sent.wamid, codes);
    desk.flush().await;
    sent
}

async fn a_failed_status_is_a_row_with_every_key(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    desk.whatsapp.set_time(BEGINNING + 45);
    let sent = failed(&desk, PHONE, &[131_049]).await;
    let rows = desk.errors("").await;
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    let mut keys: Vec<&str> = row
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    let mut expect = COLUMNS;
    keys.sort_unstable();
    expect.sort_unstable();
    assert_eq!(keys, expect);
    assert_eq!(row["recipient_id"], format!("+{WA_ID}"));
    assert_eq!(row["conversation_id"], sent.conversation);
    assert_eq!(row["message_id"], sent.message);
    assert_eq!(row["external_id"], sent.wamid);
    assert_eq!(row["agent_id"], desk.instance());
    assert_eq!(row["error_code"], "131049");
    assert_eq!(
        row["error_title"],
        "This message was not delivered to maintain healthy ecosystem engagement."
    );
    assert_eq!(
        row["error_details"],
        "The recipient gets too many messages of this kind"
    );
    assert_eq!(row["template_name"], "boas_vindas");
    assert_eq!(row["channel"], "whatsapp");
    assert_eq!(row["occurred_at"], "2030-01-15T12:00:45.000000Z");
    assert!(row["deal_id"].is_null());
}

async fn filters_narrow_and_hold_together(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let one = failed(&desk, PHONE, &[131_049, 131_000]).await;
    let other = failed(&desk, OTHER_PHONE, &[131_049]).await;
    let check = async |query: &str, expect: usize| {
        let rows = desk.errors(query).await;
        assert_eq!(rows.len(), expect, "{query}: {rows:?}");
    };
    check("", 3).await;
    check(&format!("&conversation_id={}", one.conversation), 2).await;
    check(&format!("&external_id={}", encoded(&other.wamid)), 1).await;
    check("&error_code=131049", 2).await;
    check("&error_code=131000", 1).await;
    check("&error_code=1", 0).await;
    check(&format!("&agent_id={}", desk.instance()), 3).await;
    check("&agent_id=999999", 0).await;
    check(
        &format!("&conversation_id={}&error_code=131000", one.conversation),
        1,
    )
    .await;
    check(
        &format!("&conversation_id={}&error_code=131000", other.conversation),
        0,
    )
    .await;
    check("&deal_id=00000000-0000-7000-8000-000000000000", 0).await;
    check("&conversation_id=nonsense", 0).await;
}

/// Encodes a text for a query.
fn encoded(text: &str) -> String {
    text.replace('=', "%3D")
        .replace('+', "%2B")
        .replace('/', "%2F")
}

async fn the_window_is_checked(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let check = async |query: &str, status: u16| {
        let target = format!("/v1/reports/message_errors{query}");
        let answer = desk.data(&target).send().await.expect(status);
        if status != 200 {
            let body = answer.json();
            assert!(body["error"].is_string(), "{query}: {body}");
        }
    };
    check("", 400).await;
    check("?updated_since=", 400).await;
    check("?updated_since=soon", 400).await;
    check("?updated_since=2030-01-15T00:00:00Z", 200).await;
    check(
        "?updated_since=2030-01-01T00:00:00Z&to=2030-02-01T00:00:00Z",
        200,
    )
    .await;
    check(
        "?updated_since=2030-01-01T00:00:00Z&to=2030-02-01T00:00:01Z",
        400,
    )
    .await;
    check("?updated_since=2029-12-01T00:00:00Z", 400).await;
    check(
        "?updated_since=2030-01-15T00:00:00Z&to=2030-01-14T00:00:00Z",
        400,
    )
    .await;
    check("?updated_since=2030-01-15T00:00:00Z&to=later", 400).await;
    check("?updated_since=2030-01-15T00:00:00Z&limit=many", 400).await;
    check("?updated_since=2030-01-15T00:00:00Z&limit=0", 200).await;
    check("?updated_since=2030-01-15T00:00:00Z&cursor=nonsense", 400).await;
}

async fn unknown_filters_are_ignored(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    failed(&desk, PHONE, &[131_049]).await;
    assert_eq!(desk.errors("&color=blue&recipient_id=7").await.len(), 1);
}

async fn pages_follow_each_other(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    for number in 0..7 {
        failed(&desk, &format!("(11) 98765-07{number:02}"), &[131_049]).await;
    }
    let mut rows: Vec<Value> = Vec::new();
    let mut cursor = String::new();
    loop {
        let target = format!(
            "/v1/reports/message_errors?updated_since=2030-01-15T00:00:00Z&limit=3{cursor}"
        );
        let page = desk.data(&target).send().await.expect(200).json();
        let data = page["data"].as_array().expect("rows");
        assert_eq!(page["count"], data.len());
        rows.extend(data.iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={}", encoded(next)),
            None => break,
        }
    }
    assert_eq!(rows.len(), 7);
    let stamps: Vec<&str> = rows
        .iter()
        .map(|row| row["cursor_at"].as_str().expect("a time"))
        .collect();
    assert!(stamps.is_sorted(), "{stamps:?}");
    // A cursor of an export is not valid for the report.
    let target = "/v1/export/messages?limit=1";
    let page = desk.data(target).send().await.expect(200).json();
    let foreign = page["next_cursor"].as_str().expect("more");
    let target = format!(
        "/v1/reports/message_errors?updated_since=2030-01-15T00:00:00Z&cursor={}",
        encoded(foreign)
    );
    desk.data(&target).send().await.expect(400);
}

async fn the_next_pull_begins_at_the_last_stamp_of_the_pull_before(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    failed(&desk, PHONE, &[131_049]).await;
    let first = desk.errors("").await;
    let stamp = first[0]["cursor_at"].as_str().expect("a time");
    desk.host.advance(60).await;
    failed(&desk, OTHER_PHONE, &[131_026]).await;
    let target = format!("/v1/reports/message_errors?updated_since={stamp}");
    let page = desk.data(&target).send().await.expect(200).json();
    let rows = page["data"].as_array().expect("rows");
    let codes: Vec<&Value> = rows.iter().map(|row| &row["error_code"]).collect();
    assert_eq!(codes, ["131049", "131026"], "the bound is inclusive");
    assert_eq!(rows[1]["recipient_id"], format!("+{OTHER_WA_ID}"));
    let target = format!("{target}&to={stamp}");
    let page = desk.data(&target).send().await.expect(200).json();
    assert_eq!(page["data"], json!([]), "the upper one is not");
}

async fn a_repeated_failure_is_no_new_row(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let sent = failed(&desk, PHONE, &[131_049]).await;
    let before = desk.errors("").await;
    desk.host.advance(60).await;
    desk.whatsapp.fails(&sent.wamid, &[131_049]);
    taken(&desk.whatsapp.flush_as(Flush::default().times(3)).await);
    assert_eq!(desk.errors("").await, before);
}

async fn other_workspaces_have_their_own(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    failed(&desk, PHONE, &[131_049]).await;
    let other = desk.host.workspace("other").await;
    let target = "/v1/reports/message_errors?updated_since=2030-01-15T00:00:00Z";
    let ask = desk.host.get(target).bearer(&other.workspace_key);
    assert_eq!(ask.send().await.expect(200).json()["data"], json!([]));
}

async fn without_a_workspace_key_nothing_is_revealed(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let target = "/v1/reports/message_errors?updated_since=2030-01-15T00:00:00Z";
    let answer = desk.host.get(target).send().await.expect(401);
    assert!(answer.json()["error"].is_string());
}

async fn an_unknown_report_is_not_found(on: On) {
    let desk = WhatsAppFixture::new(on).await;
    let target = "/v1/reports/nothing?updated_since=2030-01-15T00:00:00Z";
    desk.data(target).send().await.expect(404);
}
