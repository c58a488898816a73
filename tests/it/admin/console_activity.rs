//! The charts of the console: activity of the last hour, day and week, and the measures of analytics.

use leadhost_tests::{On, has, lacks};
use serde_json::json;

use super::console::Browser;
use super::{Operator, TOKEN, workspace};

leadhost_tests::on_every_store! {
    activity_is_drawn_and_shown_in_numbers,
    measures_are_drawn_as_the_address_says,
    a_wrong_zone_keeps_the_form_and_is_named_as_the_form_names_it,
}

async fn activity_is_drawn_and_shown_in_numbers(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    operator.lead(&report, "wrong", "2").await.expect(401);
    let mut activity = operator.get("/activity?period=hour").await;
    while activity["countedAt"].is_null() {
        activity = operator.get("/activity?period=hour").await;
    }
    let row = &activity["series"][0];
    let sum = |name: &str| {
        let counts = row[name].as_array().expect(name);
        counts
            .iter()
            .filter_map(serde_json::Value::as_u64)
            .sum::<u64>()
    };
    assert_eq!(row["name"], "form", "{activity}");
    assert_eq!(
        ["deliveries", "leads", "failures", "messages"].map(sum),
        [2, 1, 1, 0],
        "{activity}"
    );
    let browser = Browser::signed_in(&operator).await;
    for period in ["hour", "day", "week"] {
        let page = browser.page(&format!("?period={period}")).await;
        has!(page, "role=\"img\"", "<rect class=\"bar s0\"");
        has!(page, "Numbers of Leads");
        lacks!(page, "style=");
    }
    assert_eq!(browser.get("?period=year").await.status, 400);
}

async fn a_wrong_zone_keeps_the_form_and_is_named_as_the_form_names_it(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let answer = browser.get("/analytics?tz=Nowhere&interval=week").await;
    let page = answer.expect(400).text().to_owned();
    has!(page, "Time zone: `Nowhere` is unknown.");
    has!(page, "value=\"Nowhere\"", "<option selected>week</option>");
}

async fn measures_are_drawn_as_the_address_says(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    operator.activate("adapter-sandbox").await;
    let mut file = workspace();
    file["workspace"]["time_zone"] = json!("Europe/Lisbon");
    file["instances"] = json!([{"name": "bot", "adapter": "sandbox", "number": "+5511900000000"}]);
    operator.apply(&file).await.expect(200);
    let browser = Browser::with_role(&operator, "viewer").await;
    has!(browser.page("/analytics").await, "Nothing is counted yet.");

    let said = json!({"to": "+5511988887777", "text": "Oi"});
    let played = operator.post("/outbox/reply", &said).await;
    assert!(played.status < 300, "{}", played.text());
    operator.host.advance(1).await;
    operator.host.count_analytics().await;
    let page = browser.page("/analytics").await;
    for part in [
        "Counted until",
        "value=\"Europe/Lisbon\"",
        "<option selected>acme</option>",
        "Numbers of Conversations started",
        "<rect class=\"bar s0\"",
        "<option value=\"conversations\" selected>",
        // Other measures have their chart too.
        "id=\"appointments-title\"",
    ] {
        has!(page, part; "{part}");
    }
    let page = browser
        .page("/analytics?workspace=acme&measure=conversations_started&by=agent_id&interval=month&tz=Asia%2FKathmandu&from=2029-12-01")
        .await;
    has!(
        page,
        "<option value=\"conversations_started\" selected>",
        "<option value=\"agent_id\" selected>",
        "<option selected>month</option>",
        "value=\"Asia/Kathmandu\"",
        "value=\"2029-12-01\"",
        "<td>2029-12</td><td class=\"number\">0</td>",
        "<th scope=\"col\" class=\"number\">bot (",
        "/console/analytics?workspace=acme&#38;measure=conversations%5Fstarted"
    );
    assert_eq!(page.matches("<figure").count(), 1, "{page}");
    lacks!(page, "style=");
    let page = browser.page("/analytics?measure=tickets").await;
    has!(page, "id=\"tickets_opened-title\"");
    let long = browser.get("/analytics?from=2020-01-01").await.expect(400);
    has!(long, "a chart shows at most 400");
    browser
        .page("/analytics?from=2020-01-01&interval=month")
        .await;
}
