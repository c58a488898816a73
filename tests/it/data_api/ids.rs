//! The ids of existing rows, without the rows.

use leadhost_tests::{Host, Json, On};
use serde_json::Value;

use super::{export, leads, page, rows, texts};

leadhost_tests::on_every_store! {
    the_ids_of_an_export_are_listed_without_its_rows,
    ids_have_the_bounds_and_the_errors_of_the_export,
    ids_and_the_changes_after_them_name_all_that_is_there,
}

async fn the_ids_of_an_export_are_listed_without_its_rows(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let deals = leads(&host, &seeded, "p", 7).await;
    let mut found = Vec::new();
    let mut rest = "deals/ids?limit=3".to_owned();
    loop {
        let page = page(&host, &seeded, &rest).await;
        for row in rows(&page) {
            assert_eq!(row.as_object().expect("a row").len(), 1, "{row}");
        }
        found.extend(texts(rows(&page), "id"));
        match page["next_cursor"].as_str() {
            Some(cursor) => rest = format!("deals/ids?limit=3&cursor={cursor}"),
            None => break,
        }
    }
    // In the order of the export, which is the order of the stamps.
    let rows_of = page(&host, &seeded, "deals").await;
    assert_eq!(found, texts(rows(&rows_of), "id"));
    assert_eq!(found.len(), deals.len());
    let lines = export(&host, &seeded, "deals/ids?limit=2")
        .header("accept", "application/x-ndjson")
        .send()
        .await
        .expect(200);
    assert_eq!(lines.header("content-type"), "application/x-ndjson");
    let text = lines.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0], format!("{{\"id\":\"{}\"}}", found[0]));
}

async fn ids_have_the_bounds_and_the_errors_of_the_export(on: On) {
    let host = Host::new(on).await;
    let (seeded, other) = (host.workspace("demo").await, host.workspace("other").await);
    leads(&host, &seeded, "p", 4).await;
    let cursor = |page: &Value| page["next_cursor"].text().to_owned();
    let of_rows = cursor(&page(&host, &seeded, "deals?limit=1").await);
    let of_ids = cursor(&page(&host, &seeded, "deals/ids?limit=1").await);
    for (seeded, rest, status) in [
        (&seeded, format!("deals/ids?cursor={of_rows}"), 400),
        (&seeded, format!("deals?cursor={of_ids}"), 400),
        (&seeded, format!("contacts/ids?cursor={of_ids}"), 400),
        (&other, format!("deals/ids?cursor={of_ids}"), 400),
        (&seeded, "deals/ids?cursor=null".to_owned(), 400),
        (&seeded, "deals/ids?limit=ten".to_owned(), 400),
        (&seeded, "deals/ids?updated_since=yesterday".to_owned(), 400),
        (&seeded, "tickets/ids".to_owned(), 404),
    ] {
        host.advance(1).await;
        let answer = export(&host, seeded, &rest).send().await.expect(status);
        assert!(answer.json()["error"].is_string(), "{rest}");
    }
    let since = texts(rows(&page(&host, &seeded, "deals").await), "cursor_at")[2].clone();
    let rest = format!("deals/ids?updated_since={since}");
    assert_eq!(rows(&page(&host, &seeded, &rest).await).len(), 2);
    for (limit, expect) in [("0", 1), ("-7", 1), ("1001", 4)] {
        let page = page(&host, &seeded, &format!("deals/ids?limit={limit}")).await;
        assert_eq!(rows(&page).len(), expect, "{limit}");
    }
    let anonymous = host.get("/v1/export/deals/ids").send().await;
    anonymous.expect(401);
}

async fn ids_and_the_changes_after_them_name_all_that_is_there(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let phones: Vec<_> = (0..6).map(|n| format!("+551198765000{n}")).collect();
    let people = phones
        .iter()
        .map(|phone| (phone.as_str(), phone.as_str(), ""));
    let people: Vec<_> = people.collect();
    host.leads(&seeded, &people).await;
    let before = page(&host, &seeded, "contacts").await;
    let (all, stamps) = (
        texts(rows(&before), "id"),
        texts(rows(&before), "cursor_at"),
    );
    let first = page(&host, &seeded, "contacts/ids?limit=2").await;
    // The last contact gets an update: it moves past the end of the pull.
    host.leads(&seeded, &[("Rita", &phones[5], "rita@example.com")])
        .await;
    let cursor = first["next_cursor"].text();
    let given = format!("contacts/ids?limit=9&cursor={cursor}");
    let second = page(&host, &seeded, &given).await;
    assert!(second["next_cursor"].is_null(), "the pull ends");
    let mut named = texts(rows(&first), "id");
    named.extend(texts(rows(&second), "id"));
    let greatest = stamps.last().expect("rows");
    let given = format!("contacts?updated_since={greatest}");
    let changes = page(&host, &seeded, &given).await;
    named.extend(texts(rows(&changes), "id"));
    for id in &all {
        assert!(named.contains(id), "{id}: {named:?}");
    }
}
