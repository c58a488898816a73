//! The data API as a client meets it that keeps a copy of a workspace.

use leadhost::domain::cursor::Cursor;
use leadhost::domain::id::DealId;
use leadhost::domain::key::{KeyKind, PlainKey};
use leadhost_tests::{Answer, Ask, Host, On, Seeded};
use serde_json::Value;

leadhost_tests::on_every_store! {
    whoami_names_the_workspace_of_the_key,
    every_key_but_a_live_workspace_key_hears_the_same_refusal,
    a_revoked_key_opens_nothing_after_a_second,
    a_key_that_was_unknown_works_a_second_after_it_was_made,
    when_a_key_was_used_is_written_down_by_the_minute,
    rows_come_in_pages_until_the_cursor_is_null,
    a_full_last_page_is_the_last,
    an_empty_feed_is_one_empty_page,
    the_lower_bound_is_inclusive_in_every_spelling,
    a_pull_ends_where_the_feed_stood_at_its_first_page,
    a_limit_out_of_range_is_adjusted_and_no_number_is_refused,
    a_date_that_is_none_is_refused_and_never_a_full_export,
    an_unknown_entity_is_not_found,
    a_cursor_serves_its_own_export_only,
    a_cursor_of_another_state_of_the_store_says_rebuild,
    every_key_is_on_every_row,
    rows_come_as_lines_when_asked_for,
    large_answers_are_compressed_for_who_can_read_them,
    a_workspace_past_its_rate_hears_when_to_come_again,
}

fn export(host: &Host, seeded: &Seeded, rest: &str) -> Ask {
    host.get(&format!("/v1/export/{rest}"))
        .bearer(&seeded.workspace_key)
}

async fn page(host: &Host, seeded: &Seeded, rest: &str) -> Value {
    // A test asks more often than a client does.
    host.advance(1).await;
    export(host, seeded, rest).send().await.expect(200).json()
}

fn rows(page: &Value) -> &Vec<Value> {
    let rows = page["data"].as_array().expect("rows");
    assert_eq!(page["count"], rows.len());
    rows
}

fn texts(rows: &[Value], key: &str) -> Vec<String> {
    let text = |row: &Value| row[key].as_str().expect("a text").to_owned();
    rows.iter().map(text).collect()
}

fn ids(deals: &[DealId]) -> Vec<String> {
    deals.iter().map(DealId::to_string).collect()
}

/// `count` leads of one delivery; their deals.
async fn leads(host: &Host, seeded: &Seeded, prefix: &str, count: usize) -> Vec<DealId> {
    let names: Vec<_> = (0..count)
        .map(|number| format!("{prefix}{number}"))
        .collect();
    let people: Vec<_> = names.iter().map(|name| (name.as_str(), "", "")).collect();
    host.leads(seeded, &people).await
}

async fn whoami_names_the_workspace_of_the_key(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let ask = host.get("/v1/whoami").bearer(&seeded.workspace_key);
    let body = ask.send().await.expect(200).json();
    assert_eq!(body["workspace"], seeded.workspace.to_string());
    assert_eq!(body["workspace_name"], "Workspace demo");
}

async fn every_key_but_a_live_workspace_key_hears_the_same_refusal(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let admin = host.admin_key().await;
    for target in ["/v1/whoami", "/v1/export/deals", "/v1/export/nothing"] {
        let ask = || host.get(target);
        let nothing = ask().send().await.expect(401);
        assert!(nothing.json()["error"].is_string());
        for wrong in [
            ask().bearer(&seeded.partner_key),
            ask().bearer(&seeded.access_token),
            ask().bearer(&admin),
            ask().bearer(&PlainKey::generate(KeyKind::Workspace)),
            ask().partner(&seeded.workspace_key),
            ask().header("authorization", "Bearer mk_typo"),
            ask().header("authorization", "Bearer"),
            ask().header("authorization", seeded.workspace_key.reveal()),
            ask().header("authorization", "Basic bWs6"),
        ] {
            let answer = wrong.send().await.expect(401);
            assert_eq!(answer.header("www-authenticate"), "Bearer");
            assert_eq!(answer.body, nothing.body);
        }
    }
}

async fn a_revoked_key_opens_nothing_after_a_second(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let (key, id) = host
        .key(KeyKind::Workspace, Some(seeded.workspace), None)
        .await;
    let whoami = || host.get("/v1/whoami").bearer(&key).send();
    whoami().await.expect(200);
    let now = host.app.clock.now();
    assert!(host.store().revoke_key(id, now).await.expect("a store"));
    host.advance(1).await;
    whoami().await.expect(401);
    // The workspace's other key is not touched.
    host.get("/v1/whoami")
        .bearer(&seeded.workspace_key)
        .send()
        .await
        .expect(200);
}

async fn a_key_that_was_unknown_works_a_second_after_it_was_made(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let key = PlainKey::generate(KeyKind::Workspace);
    let whoami = || host.get("/v1/whoami").bearer(&key).send();
    whoami().await.expect(401);
    let mut record = host
        .store()
        .keys(Some(seeded.workspace))
        .await
        .expect("keys");
    let mut record = record
        .drain(..)
        .find(|record| record.kind == KeyKind::Workspace)
        .expect("the workspace's key");
    record.id = leadhost::domain::id::KeyId::new(host.app.clock.now());
    record.hint = key.hint();
    host.store()
        .create_key(&record, &key.digest())
        .await
        .expect("a key");
    host.advance(1).await;
    whoami().await.expect(200);
}

async fn when_a_key_was_used_is_written_down_by_the_minute(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    host.advance(61).await;
    host.get("/v1/whoami")
        .bearer(&seeded.workspace_key)
        .send()
        .await
        .expect(200);
    host.app
        .http
        .keys
        .write_uses(host.store())
        .await
        .expect("a store");
    let keys = host
        .store()
        .keys(Some(seeded.workspace))
        .await
        .expect("keys");
    let used = |kind| {
        let key = keys.iter().find(|key| key.kind == kind).expect("seeded");
        key.last_used_at.map(|at| at.text())
    };
    assert_eq!(
        used(KeyKind::Workspace).as_deref(),
        Some("2030-01-15T12:01:00.000000Z")
    );
    assert_eq!(used(KeyKind::Partner), None);
}

async fn rows_come_in_pages_until_the_cursor_is_null(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let deals = leads(&host, &seeded, "p", 25).await;
    let mut found = Vec::new();
    let mut stamps = Vec::new();
    let mut next = Value::Null;
    for expect in [10, 10, 5] {
        // Clients send all their parameters with every page.
        let cursor = match next.as_str() {
            Some(cursor) => format!("&cursor={cursor}"),
            None => String::new(),
        };
        let rest = format!("deals?limit=10&updated_since=2020-01-01&sort=asc{cursor}");
        let page = page(&host, &seeded, &rest).await;
        assert_eq!(rows(&page).len(), expect);
        found.extend(texts(rows(&page), "id"));
        stamps.extend(texts(rows(&page), "cursor_at"));
        next = page["next_cursor"].clone();
    }
    assert!(next.is_null());
    found.sort();
    let mut expect = ids(&deals);
    expect.sort();
    assert_eq!(found, expect);
    // Ascending and unique, as text too.
    assert!(
        stamps.windows(2).all(|pair| pair[0] < pair[1]),
        "{stamps:?}"
    );
    assert!(stamps.iter().all(|stamp| stamp.len() == 27));
}

async fn a_full_last_page_is_the_last(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    leads(&host, &seeded, "p", 10).await;
    let page = page(&host, &seeded, "deals?limit=10").await;
    assert_eq!(rows(&page).len(), 10);
    assert!(page["next_cursor"].is_null());
}

async fn an_empty_feed_is_one_empty_page(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    for entity in ["conversations", "messages", "contacts", "deals"] {
        let page = page(&host, &seeded, entity).await;
        assert_eq!(
            page.to_string(),
            r#"{"count":0,"data":[],"next_cursor":null}"#,
            "{entity}"
        );
    }
}

async fn the_lower_bound_is_inclusive_in_every_spelling(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    leads(&host, &seeded, "p", 5).await;
    let all = page(&host, &seeded, "deals").await;
    let third = texts(rows(&all), "cursor_at")[2].clone();
    let plain = third.trim_end_matches('Z');
    for spelling in [
        third.clone(),
        format!("{plain}%2B00:00"),
        format!("{plain}+00:00"),
        format!("{plain}123Z"),
    ] {
        let page = page(&host, &seeded, &format!("deals?updated_since={spelling}")).await;
        assert_eq!(rows(&page), &rows(&all)[2..], "{spelling}");
    }
    let later = page(&host, &seeded, "deals?updated_since=2999-01-01").await;
    assert_eq!(rows(&later).len(), 0);
}

async fn a_pull_ends_where_the_feed_stood_at_its_first_page(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    leads(&host, &seeded, "before", 4).await;
    let first = page(&host, &seeded, "deals?limit=2").await;
    let after = leads(&host, &seeded, "after", 3).await;
    let cursor = first["next_cursor"].as_str().expect("more");
    let second = page(&host, &seeded, &format!("deals?limit=2&cursor={cursor}")).await;
    assert!(second["next_cursor"].is_null(), "the pull goes on for ever");
    // What came meanwhile comes with the next pull.
    let greatest = texts(rows(&second), "cursor_at").pop().expect("rows");
    let next = page(&host, &seeded, &format!("deals?updated_since={greatest}")).await;
    let mut found = texts(rows(&next), "id");
    assert_eq!(found.remove(0), texts(rows(&second), "id")[1]);
    found.sort();
    let mut expect = ids(&after);
    expect.sort();
    assert_eq!(found, expect);
}

async fn a_limit_out_of_range_is_adjusted_and_no_number_is_refused(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    leads(&host, &seeded, "p", 101).await;
    let count = async |rest: &str| rows(&page(&host, &seeded, rest).await).len();
    assert_eq!(count("deals").await, 100);
    for few in ["0", "-7", "1"] {
        assert_eq!(count(&format!("deals?limit={few}")).await, 1);
    }
    for many in ["1000", "1001", "99999999999999999999"] {
        assert_eq!(count(&format!("deals?limit={many}")).await, 101);
    }
    for wrong in ["", "ten", "1.5"] {
        let ask = export(&host, &seeded, &format!("deals?limit={wrong}"));
        assert!(ask.send().await.expect(400).json()["error"].is_string());
    }
}

async fn a_date_that_is_none_is_refused_and_never_a_full_export(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    for wrong in [
        "",
        "yesterday",
        "2030-13-01",
        "2030-01-01T00:00:00",
        "1700000000",
    ] {
        let ask = export(&host, &seeded, &format!("deals?updated_since={wrong}"));
        let answer = ask.send().await.expect(400);
        assert!(answer.json()["error"].is_string(), "{wrong}");
    }
}

async fn an_unknown_entity_is_not_found(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    for wrong in ["leads", "Deals", "deal", ""] {
        let answer = export(&host, &seeded, wrong).send().await.expect(404);
        assert!(answer.json()["error"].is_string(), "{wrong}");
    }
}

async fn a_cursor_serves_its_own_export_only(on: On) {
    let host = Host::new(on).await;
    let (mine, theirs) = (host.workspace("mine").await, host.workspace("theirs").await);
    leads(&host, &mine, "p", 3).await;
    leads(&host, &theirs, "p", 3).await;
    let first = page(&host, &theirs, "deals?limit=1").await;
    let cursor = first["next_cursor"].as_str().expect("more").to_owned();
    let mut damaged = cursor.clone().into_bytes();
    damaged[20] ^= 1;
    let damaged = String::from_utf8(damaged).expect("ASCII");
    for (seeded, rest) in [
        (&mine, format!("deals?cursor={cursor}")),
        (&theirs, format!("contacts?cursor={cursor}")),
        (&theirs, format!("deals?cursor={damaged}")),
        (&theirs, "deals?cursor=".to_owned()),
        (&theirs, "deals?cursor=null".to_owned()),
    ] {
        let answer = export(&host, seeded, &rest).send().await.expect(400);
        assert!(answer.json()["error"].is_string(), "{rest}");
    }
    // Its own goes on, whatever else is sent along.
    let own = format!("deals?updated_since=nonsense&cursor={cursor}");
    assert_eq!(rows(&page(&host, &theirs, &own).await).len(), 2);
}

async fn a_cursor_of_another_state_of_the_store_says_rebuild(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let of = |store| Cursor {
        workspace: seeded.workspace,
        feed: 4,
        store,
        after: 0,
        upper: i64::MAX,
    };
    let own = of(host.store().id()).encode();
    let answer = export(&host, &seeded, &format!("deals?cursor={own}"))
        .send()
        .await;
    // One file has no replica that lags: what is behind was restored.
    assert!(answer.expect(400).text().contains("rebuild"));
    let other = of(Default::default()).encode();
    let answer = export(&host, &seeded, &format!("deals?cursor={other}"))
        .send()
        .await;
    let error = answer.expect(400).json()["error"].to_string();
    assert!(error.contains("rebuild"), "{error}");
}

async fn every_key_is_on_every_row(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    host.lead(&seeded, "Ana", "", "ana@example.com").await;
    let check = async |entity: &str, keys: &[&str]| {
        let page = page(&host, &seeded, entity).await;
        let row = rows(&page)[0].as_object().expect("an object").clone();
        for key in keys
            .iter()
            .chain(&["id", "workspace_id", "cursor_at", "props"])
        {
            assert!(row.contains_key(*key), "{entity}.{key}");
        }
        assert_eq!(row["workspace_id"], seeded.workspace.to_string());
        assert!(row["props"].is_object());
        row
    };
    let contact = check("contacts", &["name", "email", "phone_number", "banned_at"]).await;
    assert_eq!(contact["email"], "ana@example.com");
    assert!(contact["phone_number"].is_null());
    let keys = [
        "person_id",
        "agent_id",
        "owner_id",
        "status",
        "title",
        "stage_code",
        "external_id",
    ];
    let deal = check("deals", &keys).await;
    assert_eq!(deal["person_id"], contact["id"]);
    assert_eq!(deal["external_id"], "lead-Ana");
}

async fn rows_come_as_lines_when_asked_for(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    leads(&host, &seeded, "p", 3).await;
    let json = page(&host, &seeded, "deals?limit=2").await;
    let ask = export(&host, &seeded, "deals?limit=2").header("accept", "application/x-ndjson");
    let answer = ask.send().await.expect(200);
    assert_eq!(answer.header("content-type"), "application/x-ndjson");
    let lines: Vec<Value> = answer
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(&lines[..2], &rows(&json)[..]);
    assert_eq!(lines[2]["count"], 2);
    assert!(lines[2]["next_cursor"].is_string());
    assert_eq!(lines.len(), 3);
}

async fn large_answers_are_compressed_for_who_can_read_them(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    leads(&host, &seeded, "p", 200).await;
    let get = async |accept: &str| {
        let ask = export(&host, &seeded, "deals?limit=200").header("accept-encoding", accept);
        ask.send().await.expect(200)
    };
    let plain = get("identity").await;
    assert_eq!(plain.header("content-encoding"), "");
    for (accept, coding) in [
        ("gzip, deflate", "gzip"),
        ("gzip, zstd", "zstd"),
        ("zstd;q=0, gzip", "gzip"),
    ] {
        let answer = get(accept).await;
        assert_eq!(answer.header("content-encoding"), coding, "{accept}");
        assert!(answer.body.len() * 3 < plain.body.len(), "{accept}");
        let magic: &[u8] = if coding == "gzip" {
            &[0x1f, 0x8b]
        } else {
            &[0x28, 0xb5, 0x2f, 0xfd]
        };
        assert!(answer.body.starts_with(magic), "{accept}");
        assert!(varies_by(&answer, "accept-encoding"));
    }
    assert!(varies_by(&plain, "accept-encoding") && varies_by(&plain, "accept"));
    let small = host.get("/v1/whoami").bearer(&seeded.workspace_key);
    let small = small
        .header("accept-encoding", "gzip")
        .send()
        .await
        .expect(200);
    assert_eq!(small.header("content-encoding"), "");
}

fn varies_by(answer: &Answer, name: &str) -> bool {
    let values = answer.headers.get_all("vary").iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|value| value.trim().eq_ignore_ascii_case(name))
}

async fn a_workspace_past_its_rate_hears_when_to_come_again(on: On) {
    let host = Host::new(on).await;
    let seeded = host
        .workspace_with("demo", |plan| plan.rate_limit = 3)
        .await;
    let other = host.workspace("other").await;
    let whoami = |seeded: &Seeded| host.get("/v1/whoami").bearer(&seeded.workspace_key).send();
    for left in ["2", "1", "0"] {
        let answer = whoami(&seeded).await.expect(200);
        assert_eq!(answer.header("ratelimit-limit"), "3");
        assert_eq!(answer.header("ratelimit-remaining"), left);
        assert_eq!(answer.header("ratelimit-policy"), "\"workspace\";q=3;w=60");
    }
    for _ in 0..5 {
        let answer = whoami(&seeded).await.expect(429);
        assert!(answer.json()["error"].is_string());
        assert_eq!(answer.header("retry-after"), "20");
        assert_eq!(answer.header("ratelimit"), "\"workspace\";r=0;t=60");
        assert_eq!(answer.header("ratelimit-reset"), "60");
    }
    whoami(&other).await.expect(200);
    // The refused ones were free: after the time that was named one is served.
    host.advance(20).await;
    whoami(&seeded).await.expect(200);
    whoami(&seeded).await.expect(429);
    // Errors behind the key count and carry the headers too.
    host.advance(20).await;
    let answer = export(&host, &seeded, "nothing").send().await.expect(404);
    assert_eq!(answer.header("ratelimit-remaining"), "0");
}
