//! Many deliveries at once, in the console and the admin API: converted again after a correction, and
//! released from quarantine.

use leadhost_tests::guests::Variant;
use leadhost_tests::{Json, On, fields, has, lacks};
use serde_json::{Value, json};

use super::console::Browser;
use super::{Operator, TOKEN, workspace};

leadhost_tests::on_every_store! {
    the_deliveries_of_a_list_are_converted_again_after_they_showed_what_changes,
    the_deliveries_in_quarantine_are_released_together,
    what_came_first_is_released_first,
    the_heading_and_the_colour_of_a_release_and_a_replay_follow_their_counts,
    a_conversion_that_fails_again_is_no_success,
    deliveries_that_made_nothing_are_only_counted_until_it_is_applied,
    nothing_is_made_or_sent_before_it_is_applied,
    many_deliveries_are_replayed_only_if_a_filter_names_them,
    a_viewer_replays_no_deliveries,
    a_delivery_in_quarantine_is_released_and_not_converted_again,
    a_page_that_is_out_of_date_converts_and_releases_nothing,
    a_count_of_what_would_be_released_says_so_in_the_audit,
}

/// Sends leads with this token. Returns their ids.
async fn leads(operator: &Operator, report: &Value, token: &str, ids: &[&str]) {
    for id in ids {
        operator.lead(report, token, id).await;
    }
}

async fn the_deliveries_of_a_list_are_converted_again_after_they_showed_what_changes(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    leads(&operator, &report, TOKEN, &["1", "2", "3"]).await;
    let mut changed = workspace();
    changed["connections"][0]["config"] = json!({"fields": {"message": "id"}});
    operator.apply(&changed).await.expect(200);

    let browser = Browser::signed_in(&operator).await;
    lacks!(browser.page("/deliveries").await, "Convert these again");
    let page = browser.page("/deliveries?connection=acme%2Fform").await;
    has!(page, "Convert these again");
    let form = [("connection", "acme/form")];
    let shown = browser.submit("/deliveries/replay", &form).await;
    let shown = shown.expect(200);
    let shown = shown.text();
    has!(shown, "What would change: 3 deliveries of acme/form");
    has!(shown, "Apply these changes", ">props.message<");
    let path = "/deliveries/replay?connection=acme/form";
    let counted = operator.posted(path, &json!({}), 200).await;
    fields!(counted, {"handled": 3, "statuses": {"converted": 3}, "changes.deals.rows": 3});
    assert_eq!(
        counted["changes"]["deals"]["fields"]["props.message"], 3,
        "{counted}"
    );
    fields!(counted, {"left": 0, "after": null});

    let form = [("connection", "acme/form"), ("apply", "1")];
    let done = browser.submit("/deliveries/replay", &form).await;
    let done = done.expect(200);
    let done = done.text();
    has!(done, &heading("good", "All 3 converted again"));
    has!(done, "3 deliveries of acme/form");
    has!(done, "3 deals and 0 contacts were changed");
    let again = operator.posted(path, &json!({}), 200).await;
    assert_eq!(again["changes"]["deals"]["rows"], 0, "{again}");
    // What was done is in the audit, with its filters.
    let audit = operator.get("/audit").await;
    let rows = audit["audit"].as_array().or(audit["rows"].as_array());
    let text = rows.map_or_else(|| audit.to_string(), |rows| json!(rows).to_string());
    has!(text, "replay-deliveries", "acme/form");
}

async fn the_deliveries_in_quarantine_are_released_together(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    leads(&operator, &report, "new-token-1", &["1", "2"]).await;
    leads(&operator, &report, "another", &["3"]).await;
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page("/deliveries?status=quarantined").await;
    has!(page, "Release these");
    lacks!(page, "Convert these again");
    let mut changed = workspace();
    changed["connections"][0]["secrets"]["token"] = json!("new-token-1");
    operator.apply(&changed).await.expect(200);

    let form = [("status", "quarantined"), ("release", "1")];
    let asked = browser.submit("/deliveries/replay", &form).await;
    let asked = asked.expect(200);
    let asked = asked.text();
    has!(asked, "In quarantine: 3 deliveries of acme/form");
    has!(asked, "Release these 3");
    let list = operator.get("/deliveries?status=quarantined").await;
    assert_eq!(list["deliveries"].list().len(), 3);

    let form = [("status", "quarantined"), ("release", "1"), ("apply", "1")];
    let done = browser.submit("/deliveries/replay", &form).await;
    let done = done.expect(200);
    let done = done.text();
    let text = "2 of 3 released: 2 converted, 1 stays as it is";
    has!(done, &heading("warn", text), "<strong>2</strong> converted");
    has!(done, "<strong>2</strong> deals of their leads");
    has!(done, "<strong>1</strong> stays as it is");
    has!(done, "stays in quarantine");
    let list = operator.get("/deliveries?status=quarantined").await;
    assert_eq!(list["deliveries"].list().len(), 1);
}

async fn what_came_first_is_released_first(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let ids = ["1", "2", "3"];
    for id in ids {
        operator.lead(&report, "new-token-1", id).await;
        operator.host.advance(1).await;
    }
    let mut changed = workspace();
    changed["connections"][0]["secrets"]["token"] = json!("new-token-1");
    operator.apply(&changed).await.expect(200);
    let release = json!({"release": true, "apply": true});
    let path = "/deliveries/replay?status=quarantined";
    operator.posted(path, &release, 200).await;
    let key = format!("Bearer {}", report["keys"][0]["key"].text());
    let export = operator.host.get("/v1/export/deals");
    let page = export.header("authorization", &key).send().await;
    let deals = page.expect(200).json()["data"].list().clone();
    let made: Vec<_> = deals
        .iter()
        .map(|deal| deal["external_id"].text())
        .collect();
    assert_eq!(made, ids);
}

/// The heading of a page that says what came of many deliveries.
fn heading(tone: &str, text: &str) -> String {
    format!("<h2 class=\"notice {tone}\" role=\"status\">{text}</h2>")
}

async fn the_heading_and_the_colour_of_a_release_and_a_replay_follow_their_counts(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    leads(&operator, &report, "wrong", &["1", "2", "3"]).await;
    let browser = Browser::signed_in(&operator).await;
    let form = [("status", "quarantined"), ("release", "1"), ("apply", "1")];
    let done = browser.submit("/deliveries/replay", &form).await;
    let done = done.expect(200).text().to_owned();
    let text = "None of 3 was released: 3 stay as they are";
    has!(done, &heading("bad", text));
    // One reason is one row, with how many have it.
    let row = "<tr><td class=\"number\">3</td><td>it stays in quarantine: ";
    has!(done, row);
    assert_eq!(done.matches("stays in quarantine").count(), 1, "{done}");
    lacks!(done, "notice good");

    let connection = report["connections"]["form"].text();
    for _ in 0..2 {
        let bad = operator.host.post(&format!("/ingest-lead/{connection}"));
        let bad = bad.header("x-token", TOKEN).body("no lead");
        bad.send().await.expect(400);
    }
    let form = [("status", "rejected"), ("apply", "1")];
    let done = browser.submit("/deliveries/replay", &form).await;
    let done = done.expect(200).text().to_owned();
    let text = "None of 2 was converted: 2 rejected";
    has!(done, &heading("warn", text));
    let list = operator.get("/deliveries?status=rejected").await;
    let id = list["deliveries"][0]["id"].text();
    let path = format!("/deliveries/{id}/replay");
    let page = browser.follow(&path, &[("apply", "1")]).await;
    let text =
        "<p class=\"notice warn\" role=\"status\">The delivery was not converted: rejected.</p>";
    has!(page, text);
}

async fn a_conversion_that_fails_again_is_no_success(on: On) {
    let operator = Operator::working(on).await;
    let mended = Variant::version("1.0.0").mended("trap");
    let former = operator.host.converter(mended.component()).await;
    let mut file = workspace();
    file["connections"] = json!([{
        "name": "portal", "partner": "crm", "instance": "bot", "plugin": "misbehave",
        "config": {"do": "trap", "size": 0},
    }]);
    let report = operator.apply(&file).await.expect(200).json();
    let id = report["connections"]["portal"].text();
    let send = async || {
        operator
            .host
            .post(&format!("/ingest-lead/{id}"))
            .send()
            .await
    };
    send().await.expect(200);
    let trapping = Variant::version("1.1.0");
    operator.host.converter(trapping.component()).await;
    send().await.expect(200);

    let browser = Browser::signed_in(&operator).await;
    let list = operator.get("/deliveries?status=failed").await;
    let failed = list["deliveries"][0]["id"].text();
    let path = format!("/deliveries/{failed}/replay");
    let page = browser.follow(&path, &[("apply", "1")]).await;
    let not = "<p class=\"notice bad\" role=\"status\">The delivery was not converted: failed.</p>";
    has!(page, not);
    lacks!(page, "notice good");
    // One that has made a lead keeps it and its status.
    let list = operator.get("/deliveries?status=converted").await;
    let made = list["deliveries"][0]["id"].text();
    let path = format!("/deliveries/{made}/replay");
    let page = browser.follow(&path, &[("apply", "1")]).await;
    let kept = "<p class=\"notice bad\" role=\"status\">The delivery was not converted again, and stays as it was: ";
    has!(page, kept);
    for apply in [false, true] {
        let replayed = operator.posted(&path, &json!({"apply": apply}), 200).await;
        assert_eq!(replayed["status"], "converted", "{replayed:#}");
        assert!(replayed["error"].is_string(), "{replayed:#}");
    }
    let form = [("status", "converted"), ("apply", "1")];
    let done = browser.submit("/deliveries/replay", &form).await;
    let done = done.expect(200).text().to_owned();
    let text = "The delivery was not converted: stays as it is";
    has!(done, &heading("bad", text), "it stays as it was: ");
    let form = [("status", "failed"), ("apply", "1")];
    let done = browser.submit("/deliveries/replay", &form).await;
    let done = done.expect(200).text().to_owned();
    let text = "The delivery was not converted: parked";
    has!(done, &heading("bad", text));
    let path = format!("/connections/{id}/test");
    let tested = browser.submit(&path, &[("body", "{}")]).await.expect(200);
    has!(tested, not);

    let order = json!({"convertedBy": former.0, "plugin": "misbehave", "apply": true});
    let begun = operator.posted("/repairs", &order, 201).await;
    let path = format!("/repairs/{}", begun["id"].text());
    operator.repair_ends(&path).await;
    has!(browser.page(&path).await, not);
}

async fn deliveries_that_made_nothing_are_only_counted_until_it_is_applied(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let connection = report["connections"]["form"].text();
    let address = format!("/ingest-lead/{connection}");
    let bad = operator.host.post(&address).header("x-token", TOKEN);
    bad.body("no lead").send().await.expect(400);
    let path = "/deliveries/replay?status=rejected";
    let counted = operator.posted(path, &json!({}), 200).await;
    fields!(counted, {"handled": 1, "unconverted": 1, "statuses": {}});
    let applied = operator.posted(path, &json!({"apply": true}), 200).await;
    assert_eq!(applied["statuses"], json!({"rejected": 1}), "{applied}");
}

async fn nothing_is_made_or_sent_before_it_is_applied(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.activate("adapter-sandbox").await;
    let mut file = workspace();
    file["instances"] = json!([{
        "name": "bot", "number": "+5511900000000", "adapter": "sandbox",
        "config": {"templates": [{"name": "welcome", "language": "pt_BR", "text": "Bem-vindo"}]},
    }]);
    file["connections"][0]["greeting"] =
        json!({"instance": "bot", "template": "welcome", "parameters": []});
    let config = file["connections"][0].as_object_mut().expect("a table");
    let only = json!({"only": [{"path": "kind", "equals": ["lead"]}]});
    config.insert("config".to_owned(), only);
    operator.apply(&file).await.expect(200);
    // All are ignored by mistake.
    leads(&operator, &report, TOKEN, &["1", "2"]).await;
    let list = operator.get("/deliveries?status=ignored").await;
    assert_eq!(list["deliveries"].list().len(), 2);
    let id = list["deliveries"][0]["id"].text();
    let config = file["connections"][0].as_object_mut().expect("a table");
    config.remove("config");
    operator.apply(&file).await.expect(200);

    let browser = Browser::signed_in(&operator).await;
    let page = browser.page(&format!("/deliveries/{id}")).await;
    has!(page, "show what would change");
    let path = format!("/deliveries/{id}/replay");
    let shown = browser.submit(&path, &[]).await.expect(200);
    has!(shown, "It would make a new deal.", "Apply these changes");
    let one = operator.posted(&path, &json!({}), 200).await;
    fields!(one, {"status": "converted", "items.0.diff.0.field": "deal.created"});
    let many = "/deliveries/replay?status=ignored";
    fields!(operator.posted(many, &json!({}), 200).await, {"unconverted": 2, "statuses": {}});
    let list = operator.get("/deliveries?status=ignored").await;
    assert_eq!(list["deliveries"].list().len(), 2);
    let outbox = operator.get("/outbox").await;
    assert_eq!(outbox["messages"], json!([]), "{outbox}");

    let applied = operator.posted(many, &json!({"apply": true}), 200).await;
    fields!(applied, {"statuses": {"converted": 2}, "madeDeals": 2});
    let outbox = operator.get("/outbox").await;
    assert_ne!(outbox["messages"], json!([]), "{outbox}");
}

async fn many_deliveries_are_replayed_only_if_a_filter_names_them(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    for (query, body, why) in [
        ("", json!({}), "Name a connection"),
        ("?q=1", json!({}), "replay each by its id"),
        ("?status=quarantined", json!({}), "set `release`"),
        (
            "?status=failed",
            json!({"release": true}),
            "takes only deliveries in quarantine",
        ),
    ] {
        let path = format!("/deliveries/replay{query}");
        has!(operator.post(&path, &body).await.expect(400), why; "{query}");
    }
}

async fn a_viewer_replays_no_deliveries(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    leads(&operator, &report, "wrong", &["1"]).await;
    let browser = Browser::with_role(&operator, "viewer").await;
    let page = browser.page("/deliveries?status=quarantined").await;
    lacks!(page, "Release these");
    let form = [("status", "quarantined"), ("release", "1"), ("apply", "1")];
    let page = browser.follow("/deliveries/replay", &form).await;
    has!(page, "needs the role operator");
}

async fn a_delivery_in_quarantine_is_released_and_not_converted_again(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    leads(&operator, &report, "wrong", &["1"]).await;
    let list = operator.get("/deliveries?status=quarantined").await;
    let id = list["deliveries"][0]["id"].text();
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page(&format!("/deliveries/{id}")).await;
    lacks!(page, "Convert again");
    has!(page, "class=\"strong\">Release it");
}

async fn a_page_that_is_out_of_date_converts_and_releases_nothing(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    leads(&operator, &report, "new-token-1", &["1"]).await;
    let list = operator.get("/deliveries?status=quarantined").await;
    let id = list["deliveries"][0]["id"].text();
    let mut changed = workspace();
    changed["connections"][0]["secrets"]["token"] = json!("new-token-1");
    operator.apply(&changed).await.expect(200);
    let path = format!("/deliveries/{id}/replay");
    let release = json!({"release": true});
    operator.posted(&path, &release, 200).await;
    changed["connections"][0]["config"] = json!({"fields": {"name": "id"}});
    operator.apply(&changed).await.expect(200);

    for (order, why) in [
        (release, "is not in quarantine: it is converted"),
        (
            json!({"apply": true, "expected": "rejected"}),
            "is now converted, not rejected",
        ),
    ] {
        has!(operator.post(&path, &order).await.expect(409), why; "{why}");
    }
    let browser = Browser::signed_in(&operator).await;
    let form = [("apply", "1"), ("status", "failed")];
    let page = browser
        .follow(&format!("/deliveries/{id}/replay"), &form)
        .await;
    has!(page, ", not failed");
    // It still has what the first conversion made.
    let shown = operator.posted(&path, &json!({}), 200).await;
    let differs = shown["items"][0]["diff"].as_array().map(Vec::len);
    assert_ne!(differs, Some(0), "{shown}");
}

async fn a_count_of_what_would_be_released_says_so_in_the_audit(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    leads(&operator, &report, "new-token-1", &["1"]).await;
    let path = "/deliveries/replay?status=quarantined";
    let count = json!({"release": true});
    operator.posted(path, &count, 200).await;
    let audit = operator.get("/audit?act=replay-deliveries").await;
    let detail = audit["rows"][0]["detail"].text();
    let detail: Value = serde_json::from_str(detail).expect("JSON");
    fields!(detail, {"apply": false, "release": true, "handled": 0, "left": 1});
}
