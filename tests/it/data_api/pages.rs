//! A pull, page by page, and its cursors.

use leadhost_domain::cursor::Cursor;
use leadhost_tests::{Host, Json, On, has};
use serde_json::Value;

use super::{export, ids, leads, page, rows, texts};

leadhost_tests::on_every_store! {
    rows_come_in_pages_until_the_cursor_is_null,
    a_pull_ends_at_the_position_of_the_feed_at_its_first_page,
    a_cursor_serves_its_own_export_only,
    a_cursor_of_another_state_of_the_store_says_rebuild,
    no_row_says_that_it_changed_after_its_stamp,
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
    // Ascending and unique, also as text.
    let is_so = stamps.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(is_so, "{stamps:?}");
    assert!(stamps.iter().all(|stamp| stamp.len() == 27));
}

async fn a_pull_ends_at_the_position_of_the_feed_at_its_first_page(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    leads(&host, &seeded, "before", 4).await;
    let first = page(&host, &seeded, "deals?limit=2").await;
    let after = leads(&host, &seeded, "after", 3).await;
    let cursor = first["next_cursor"].text();
    let second = page(&host, &seeded, &format!("deals?limit=2&cursor={cursor}")).await;
    assert!(second["next_cursor"].is_null(), "the pull never ends");
    // Rows that changed meanwhile come with the next pull.
    let greatest = texts(rows(&second), "cursor_at").pop().expect("rows");
    let next = page(&host, &seeded, &format!("deals?updated_since={greatest}")).await;
    let mut found = texts(rows(&next), "id");
    assert_eq!(found.remove(0), texts(rows(&second), "id")[1]);
    found.sort();
    let mut expect = ids(&after);
    expect.sort();
    assert_eq!(found, expect);
}

async fn a_cursor_serves_its_own_export_only(on: On) {
    let host = Host::new(on).await;
    let (mine, theirs) = (host.workspace("mine").await, host.workspace("theirs").await);
    leads(&host, &mine, "p", 3).await;
    leads(&host, &theirs, "p", 3).await;
    let first = page(&host, &theirs, "deals?limit=1").await;
    let cursor = first["next_cursor"].text().to_owned();
    let mut damaged = cursor.clone().into_bytes();
    damaged[20] ^= 1;
    let damaged = String::from_utf8(damaged).expect("ASCII");
    for (seeded, rest) in [
        (&mine, format!("deals?cursor={cursor}")),
        (&theirs, format!("contacts?cursor={cursor}")),
        (&theirs, format!("deals?cursor={damaged}")),
        (&theirs, "deals?cursor=null".to_owned()),
    ] {
        let answer = export(&host, seeded, &rest).send().await.expect(400);
        assert!(answer.json()["error"].is_string(), "{rest}");
    }
    // The workspace's own cursor works, whatever other parameters are sent.
    let own = format!("deals?updated_since=nonsense&cursor={cursor}");
    assert_eq!(rows(&page(&host, &theirs, &own).await).len(), 2);
}

async fn a_cursor_of_another_state_of_the_store_says_rebuild(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let of = |store| Cursor {
        filter: String::new(),
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
    // A single file has no lagging replica: a store that is behind was restored.
    has!(answer.expect(400), "rebuild");
    let other = of(Default::default()).encode();
    let answer = export(&host, &seeded, &format!("deals?cursor={other}"))
        .send()
        .await;
    has!(answer.expect(400).json()["error"].to_string(), "rebuild");
}

/// A host's clock may be ahead of its database's, and a batch is decided before it is
/// stamped.
async fn no_row_says_that_it_changed_after_its_stamp(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let made = leads(&host, &seeded, "p", 20).await;
    host.clock.advance_seconds(60);
    leads(&host, &seeded, "q", 20).await;
    let changed = serde_json::json!({"status": "won"});
    for deal in &made {
        let path = format!("/deal/{deal}");
        let ask = host.ask("PATCH", &path).partner(&seeded.partner_key);
        ask.json(&changed).send().await.expect(202);
    }
    let page = page(&host, &seeded, "deals?limit=100").await;
    assert_eq!(rows(&page).len(), 40);
    for row in rows(&page) {
        let time = |key: &str| {
            let text = row[key].text();
            leadhost_domain::time::parse(text).expect("a time")
        };
        assert!(time("updated_at") <= time("cursor_at"), "{row}");
    }
}
