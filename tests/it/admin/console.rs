//! The console without a browser: sign-in and sessions, what keeps other sites out, roles, and the forms
//! of an operator's day.

use leadhost_golden::append_custom;
use leadhost_tests::components::component;
use leadhost_tests::guests::rust_component;
use leadhost_tests::{Answer, Ask, Host, On, Options, until};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::roles::with_role;
use super::{Operator, TOKEN, workspace};

leadhost_tests::on_every_store! {
    a_page_leads_to_the_sign_in_and_from_there_to_the_page,
    only_an_admin_key_signs_in,
    guesses_at_the_sign_in_are_limited_and_a_known_key_gets_in,
    a_session_ends_with_its_sign_out_its_time_and_its_key,
    a_form_is_taken_from_a_page_of_its_own_session_alone,
    a_rebound_name_reaches_no_page,
    a_page_loads_nothing_from_elsewhere_and_is_not_compressed,
    what_a_sender_writes_is_shown_as_text,
    every_page_is_shown,
    the_calls_and_golden_cases_of_a_plugin_are_shown,
    a_list_is_filtered_by_its_address,
    a_delivery_is_found_by_its_id_and_by_its_person,
    activity_is_drawn_and_told_in_numbers,
    measures_are_drawn_as_the_address_says,
    without_a_workspace_there_are_no_measures,
    a_live_page_shows_a_new_delivery_until_its_session_ends,
    a_live_page_ends_with_its_key,
    a_live_page_ends_when_the_service_stops,
    more_live_pages_than_may_follow_are_refused_until_one_closes,
    a_connection_shows_its_last_delivery_its_fields_and_the_age_of_its_secrets,
    an_instance_has_a_page_with_its_templates,
    a_viewer_sees_no_form_and_sends_none,
    a_replay_shows_its_differences_and_then_applies_them,
    a_delivery_is_downloaded_as_a_golden_case,
    a_version_that_needs_consent_asks_for_it_and_is_activated_with_it,
    a_version_is_repaired_from_its_impact_and_the_repair_is_undone,
    a_repair_that_cannot_be_is_refused_with_the_reason,
    a_connection_is_paused_and_resumed,
    a_key_is_created_shown_once_and_revoked,
    an_erasure_is_counted_and_then_made,
    what_is_wrong_is_on_the_first_page,
    a_component_is_uploaded_and_serves_nothing,
    an_upload_is_refused_without_its_token_its_role_or_a_file_that_fits,
    a_new_connection_is_tried_and_then_saved,
    a_new_connection_needs_an_admin_and_a_name_that_is_free,
    a_test_delivery_takes_the_way_of_every_delivery,
    a_conversation_is_read_in_its_order_and_its_contact_is_played,
}

/// The longest times of a session, which the tests move past.
const IDLE: i64 = 3_600;

/// An operator in front of a browser.
struct Browser<'a> {
    operator: &'a Operator,
    cookie: String,
    token: String,
}

impl<'a> Browser<'a> {
    async fn signed_in(operator: &'a Operator) -> Self {
        Self::signed_in_with(operator, operator.key.reveal()).await
    }

    async fn signed_in_with(operator: &'a Operator, key: &str) -> Self {
        let answer = sign_in(operator, key, "").await.expect(303);
        let cookie = answer.header("set-cookie");
        let (cookie, attributes) = cookie.split_once("; ").expect("a cookie");
        for attribute in [
            "HttpOnly",
            "SameSite=Strict",
            "Path=/console",
            "Max-Age=43200",
        ] {
            assert!(attributes.contains(attribute), "{attributes}");
        }
        let mut browser = Self {
            operator,
            cookie: cookie.to_owned(),
            token: String::new(),
        };
        let page = browser.page("").await;
        let (_, rest) = page
            .split_once("name=\"form-token\" value=\"")
            .expect("a form");
        browser.token = rest.split_once('"').expect("a value").0.to_owned();
        browser
    }

    fn ask(&self, method: &str, path: &str) -> Ask {
        ask(self.operator, method, path).header("cookie", &self.cookie)
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path).send().await
    }

    async fn page(&self, path: &str) -> String {
        self.get(path).await.expect(200).text().to_owned()
    }

    /// Sends a form of its session, as a page of the console does.
    async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut all = vec![("form-token", self.token.as_str())];
        all.extend(fields);
        self.ask("POST", path)
            .header("origin", &origin(self.operator))
            .body(form(&all))
            .send()
            .await
    }

    /// Sends a form that leads to a page, and returns that page.
    async fn follow(&self, path: &str, fields: &[(&str, &str)]) -> String {
        let answer = self.submit(path, fields).await.expect(303);
        let to = answer.header("location").strip_prefix("/console");
        self.page(to.expect("a page of the console")).await
    }
}

fn ask(operator: &Operator, method: &str, path: &str) -> Ask {
    operator.host.console(method, &format!("/console{path}"))
}

fn origin(operator: &Operator) -> String {
    format!("http://{}", operator.host.admin_address())
}

fn form(fields: &[(&str, &str)]) -> String {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields).finish()
}

async fn sign_in(operator: &Operator, key: &str, next: &str) -> Answer {
    ask(operator, "POST", "/sign-in")
        .header("origin", &origin(operator))
        .body(form(&[("key", key), ("next", next)]))
        .send()
        .await
}

async fn a_page_leads_to_the_sign_in_and_from_there_to_the_page(on: On) {
    let operator = Operator::new(on).await;
    let path = "/deliveries?status=failed";
    let answer = ask(&operator, "GET", path).send().await.expect(303);
    let to = "/console/sign-in?next=%2Fdeliveries%3Fstatus%3Dfailed";
    assert_eq!(answer.header("location"), to);
    let page = ask(&operator, "GET", &to["/console".len()..])
        .send()
        .await
        .expect(200);
    assert!(
        page.text().contains("value=\"/deliveries?status=failed\""),
        "{}",
        page.text()
    );

    let key = operator.key.reveal();
    let answer = sign_in(&operator, key, path).await.expect(303);
    assert_eq!(answer.header("location"), format!("/console{path}"));
    for elsewhere in ["//evil.example", "https://evil.example"] {
        let answer = sign_in(&operator, key, elsewhere).await.expect(303);
        assert_eq!(answer.header("location"), "/console");
    }
    // A browser that follows a link of another site sends no cookie yet.
    let from = ask(&operator, "GET", path).header("sec-fetch-site", "cross-site");
    let again = from.send().await.expect(200);
    assert!(again.text().contains("http-equiv=\"refresh\""));
}

async fn only_an_admin_key_signs_in(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let export = report["keys"][0]["key"].as_str().expect("a key");
    for wrong in ["", "no key", export] {
        let answer = sign_in(&operator, wrong, "").await.expect(401);
        assert_eq!(answer.header("set-cookie"), "");
        assert!(
            answer.text().contains("no valid admin key"),
            "{}",
            answer.text()
        );
    }
}

async fn guesses_at_the_sign_in_are_limited_and_a_known_key_gets_in(on: On) {
    let host = Host::start(Options::patient(on).with("server.failed_keys", 2)).await;
    let key = host.admin_key().await;
    let operator = Operator { host, key };
    operator.get("/status").await;
    for expect in [401, 401, 429] {
        let answer = sign_in(&operator, "no key", "").await;
        assert_eq!(answer.status, expect, "{}", answer.text());
    }
    sign_in(&operator, operator.key.reveal(), "")
        .await
        .expect(303);
}

async fn a_session_ends_with_its_sign_out_its_time_and_its_key(on: On) {
    let operator = Operator::new(on).await;
    let browser = Browser::signed_in(&operator).await;
    let other = Browser::signed_in(&operator).await;
    let answer = browser.submit("/sign-out", &[]).await.expect(303);
    assert!(answer.header("set-cookie").contains("Max-Age=0"));
    browser.get("").await.expect(303);
    other.get("").await.expect(200);

    operator.host.advance(IDLE + 1).await;
    other.get("").await.expect(303);

    let second = with_role(&operator, "operator").await;
    let browser = Browser::signed_in_with(&operator, second.reveal()).await;
    revoke(&operator, "operator").await;
    browser.get("").await.expect(303);
}

/// Revokes the key with this label.
async fn revoke(operator: &Operator, label: &str) {
    let keys = operator.get("/keys").await;
    let keys = keys["keys"].as_array().expect("keys");
    let id = keys
        .iter()
        .find(|key| key["label"] == label)
        .expect("it is listed")["id"]
        .clone();
    let path = format!("/keys/{}", id.as_str().expect("an id"));
    operator.ask("DELETE", &path).send().await.expect(200);
}

async fn a_form_is_taken_from_a_page_of_its_own_session_alone(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let other = Browser::signed_in(&operator).await;
    let pause = "/connections/form/pause";
    let own = form(&[("form-token", &browser.token)]);
    let foreign = form(&[("form-token", &other.token)]);
    let here = origin(&operator);
    for (origin, body) in [
        (Some("http://evil.example"), &own),
        (Some("null"), &own),
        (None, &own),
        (Some(here.as_str()), &foreign),
        (Some(here.as_str()), &String::new()),
    ] {
        let mut ask = browser.ask("POST", pause);
        if let Some(origin) = origin {
            ask = ask.header("origin", origin);
        }
        let answer = ask.body(body.clone()).send().await;
        assert_eq!(answer.status, 403, "{origin:?} {body}");
    }
    let shown = operator.get("/connections").await;
    assert_eq!(shown["connections"][0]["paused"], json!(null));
    browser.submit(pause, &[]).await.expect(303);
    // Without a session, a form changes nothing.
    ask(&operator, "POST", "/connections/form/resume")
        .header("origin", &here)
        .body(own)
        .send()
        .await
        .expect(303);
    let shown = operator.get("/connections").await;
    assert_ne!(shown["connections"][0]["paused"], json!(null));
}

async fn a_rebound_name_reaches_no_page(on: On) {
    let operator = Operator::new(on).await;
    let browser = Browser::signed_in(&operator).await;
    for path in ["", "/sign-in", "/style.css"] {
        let ask = operator
            .host
            .console_as("evil.example", "GET", &format!("/console{path}"));
        ask.header("cookie", &browser.cookie)
            .send()
            .await
            .expect(403);
    }
}

async fn a_page_loads_nothing_from_elsewhere_and_is_not_compressed(on: On) {
    let operator = Operator::new(on).await;
    let browser = Browser::signed_in(&operator).await;
    let ask = browser
        .ask("GET", "")
        .header("accept-encoding", "gzip, zstd");
    let answer = ask.send().await.expect(200);
    assert_eq!(answer.header("content-encoding"), "");
    assert_eq!(answer.header("cache-control"), "no-store");
    let policy = answer.header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self';"),
        "{policy}"
    );
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    for word in ["http:", "https:", "style=", "onclick", "<script>"] {
        assert!(!answer.text().contains(word), "{word}");
    }
    // The gateway has no console.
    operator.host.get("/console").send().await.expect(404);
    for (path, kind) in [
        ("/style.css", "text/css"),
        ("/script.js", "text/javascript"),
    ] {
        let file = ask_open(&operator, path).await.expect(200);
        assert!(file.header("content-type").starts_with(kind));
    }
}

async fn ask_open(operator: &Operator, path: &str) -> Answer {
    ask(operator, "GET", path).send().await
}

async fn what_a_sender_writes_is_shown_as_text(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let connection = report["connections"]["form"].as_str().expect("an id");
    let name = "<script>alert(1)</script>\"'";
    let sent = operator.host.post(&format!("/ingest-lead/{connection}"));
    let lead = json!({"id": name, "name": name, "phone": "11 98765-4321"});
    let answer = sent
        .header("x-token", TOKEN)
        .json(&lead)
        .send()
        .await
        .expect(200);
    let delivery = answer.json()["deliveryId"]
        .as_str()
        .expect("an id")
        .to_owned();
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page(&format!("/deliveries/{delivery}")).await;
    assert!(page.contains("&#60;script&#62;alert(1)"), "{page}");
    assert!(!page.contains("<script>alert"), "{page}");
}

async fn every_page_is_shown(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    let browser = Browser::signed_in(&operator).await;
    for (path, heading) in [
        ("", "Today"),
        ("/deliveries", "Deliveries"),
        ("/analytics", "Analytics"),
        ("/plugins", "Plugins"),
        ("/plugins/mapping", "mapping"),
        ("/repairs", "Repairs"),
        ("/connections", "Connections"),
        ("/connections/new", "New connection"),
        ("/instances", "Instances"),
        ("/messages", "Messages"),
        ("/deals", "Deals"),
        ("/contacts", "Contacts"),
        ("/keys", "Keys"),
        ("/audit", "Audit"),
        ("/service", "Service"),
    ] {
        let page = browser.page(path).await;
        assert!(
            page.contains(&format!("<h1>{heading}</h1>")),
            "{path}: {page}"
        );
    }
    for (path, status) in [
        ("/nothing", 404),
        ("/plugins/nothing", 404),
        ("/instances/nothing", 404),
        ("/deliveries/x", 404),
        ("/deliveries?status=odd", 400),
        ("/analytics?workspace=nothing", 404),
        ("/analytics?measure=leads", 400),
        ("/analytics?by=day", 400),
        ("/analytics?interval=hour", 400),
        ("/analytics?tz=Nowhere", 400),
        ("/analytics?from=soon", 400),
        ("/analytics?from=2020-01-01", 400),
        ("/deals?id=x", 404),
        ("/conversations/x", 400),
        ("/repairs/x", 404),
        ("/repairs?before=x", 404),
    ] {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, status, "{path}");
    }
    let refusal = browser.get("/deliveries?status=odd").await;
    assert!(
        refusal.text().contains("is not a status"),
        "{}",
        refusal.text()
    );
}

async fn the_calls_and_golden_cases_of_a_plugin_are_shown(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    let browser = Browser::signed_in(&operator).await;
    for period in ["hour", "day", "week"] {
        let page = browser
            .page(&format!("/plugins/mapping?period={period}"))
            .await;
        for part in [
            "Numbers of Calls by outcome",
            "Numbers of Processor time of a call",
            "Numbers of Most memory of a call",
            "ms within a request",
            "of 128.0 MiB",
            "never more than the 16.0 MiB allowed",
            "alone, in memory, since it started",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
    assert_eq!(
        browser.get("/plugins/mapping?period=year").await.status,
        400
    );

    let page = browser.page("/plugins/mapping").await;
    let (_, link) = page
        .split_once("href=\"/console/plugins/mapping/golden/")
        .expect("a link to the golden cases");
    let path = format!(
        "/plugins/mapping/golden/{}",
        link.split_once('"').expect("its end").0
    );
    let page = browser.page(&path).await;
    assert!(page.contains("<h1>Golden cases of mapping"), "{page}");
    let (_, link) = page.split_once("?case=").expect("a case");
    let case = link.split_once('"').expect("its end").0;
    let page = browser.page(&format!("{path}?case={case}")).await;
    assert!(page.contains("<h3>Expected answer</h3>"), "{page}");
    assert_eq!(
        browser.get(&format!("{path}?case=nothing")).await.status,
        404
    );
    assert_eq!(browser.get("/plugins/mapping/golden/x").await.status, 400);
}

async fn a_list_is_filtered_by_its_address(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    operator.lead(&report, "wrong", "2").await.expect(401);
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page("/deliveries?status=quarantined").await;
    assert!(page.contains("<span class=\"tag quarantined\">"), "{page}");
    assert!(!page.contains("<span class=\"tag converted\">"), "{page}");
    assert!(
        page.contains("<option selected>quarantined</option>"),
        "{page}"
    );
    let page = browser.page("/deliveries?connection=acme%2Fform").await;
    assert!(page.contains("<span class=\"tag converted\">"), "{page}");
}

async fn a_delivery_is_found_by_its_id_and_by_its_person(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "lead-1").await.expect(200);
    let list = operator.get("/deliveries").await;
    let id = list["deliveries"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let shown = operator.get(&format!("/deliveries/{id}")).await;
    let deal = shown["items"][0]["dealId"]
        .as_str()
        .expect("a deal")
        .to_owned();
    let deal = operator.get(&format!("/deals/{deal}")).await;
    let mut words = vec![id.clone()];
    let person = &deal["contact"];
    for name in ["phoneNumber", "phone", "email"] {
        words.extend(person[name].as_str().map(str::to_owned));
    }
    words.extend(shown["items"][0]["externalId"].as_str().map(str::to_owned));
    assert!(words.len() > 1, "{deal} {shown}");
    let browser = Browser::signed_in(&operator).await;
    for word in words {
        let word = word.replace('+', "%2B").replace('@', "%40");
        let page = browser.page(&format!("/deliveries?q={word}")).await;
        assert!(
            page.contains(&format!("/console/deliveries/{id}")),
            "{word}: {page}"
        );
    }
    for word in [
        "nothing",
        "nobody%40example.com",
        "%2B5511900000000",
        "0192f0c1-2345-7abc-8def-0123456789ab",
    ] {
        let page = browser.page(&format!("/deliveries?q={word}")).await;
        assert!(page.contains("No delivery."), "{word}: {page}");
    }
}

async fn activity_is_drawn_and_told_in_numbers(on: On) {
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
        for part in ["role=\"img\"", "<rect class=\"bar s0\"", "Numbers of Leads"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("style="), "{page}");
    }
    assert_eq!(browser.get("?period=year").await.status, 400);
}

/// The stream of a page that follows.
struct LiveStream {
    stream: tokio::net::TcpStream,
    text: String,
}

impl LiveStream {
    /// Asks for a stream, and reads the answer up to its first event or its end.
    async fn open(browser: &Browser<'_>) -> Self {
        let address = browser.operator.host.admin_address();
        let mut stream = tokio::net::TcpStream::connect(address)
            .await
            .expect("it connects");
        let request = format!(
            "GET /console/live HTTP/1.1\r\nhost: {address}\r\ncookie: {}\r\nconnection: close\r\n\r\n",
            browser.cookie
        );
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it is sent");
        let text = String::new();
        let mut live = Self { stream, text };
        while !live.text.contains("retry: ") && live.read().await {}
        live
    }

    /// Reads on. Returns false at the end of the answer.
    async fn read(&mut self) -> bool {
        let mut piece = [0; 4_096];
        let length = self.stream.read(&mut piece).await.expect("it is read");
        self.text += &String::from_utf8_lossy(&piece[..length]);
        length > 0
    }

    fn is_open(&self) -> bool {
        self.text.starts_with("HTTP/1.1 200 ")
            && self.text.contains("content-type: text/event-stream")
            && self.text.contains("retry: ")
    }

    /// Reads to the end, for which a stream that does not end waits for ever.
    async fn ends(mut self) {
        while self.read().await {}
    }
}

async fn without_a_workspace_there_are_no_measures(on: On) {
    let operator = Operator::new(on).await;
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page("/analytics").await;
    assert!(page.contains("There is no workspace yet."), "{page}");
}

async fn measures_are_drawn_as_the_address_says(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let wasm = component("plugins/adapter-sandbox.wasm");
    let active = operator.ask("POST", "/plugins?activate=true").body(wasm);
    active.send().await.expect(201);
    let mut file = workspace();
    file["workspace"]["time_zone"] = json!("Europe/Lisbon");
    file["instances"] = json!([{"name": "bot", "adapter": "sandbox", "number": "+5511900000000"}]);
    operator.apply(&file).await.expect(200);
    let viewer = with_role(&operator, "viewer").await;
    let browser = Browser::signed_in_with(&operator, viewer.reveal()).await;
    let page = browser.page("/analytics").await;
    assert!(page.contains("Nothing is counted yet."), "{page}");

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
        assert!(page.contains(part), "{part}: {page}");
    }
    let page = browser
        .page("/analytics?workspace=acme&measure=conversations_started&by=agent_id&interval=month&tz=Asia%2FKathmandu&from=2029-12-01")
        .await;
    for part in [
        "<option value=\"conversations_started\" selected>",
        "<option value=\"agent_id\" selected>",
        "<option selected>month</option>",
        "value=\"Asia/Kathmandu\"",
        "value=\"2029-12-01\"",
        "<td>2029-12</td><td class=\"number\">0</td>",
        "<th scope=\"col\" class=\"number\">bot (",
        "/console/analytics?workspace=acme&#38;measure=conversations%5Fstarted",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(page.matches("<figure").count(), 1, "{page}");
    assert!(!page.contains("style="), "{page}");
    let page = browser.page("/analytics?measure=tickets").await;
    assert!(page.contains("id=\"tickets_opened-title\""), "{page}");
    let long = browser.get("/analytics?from=2020-01-01").await.expect(400);
    assert!(
        long.text().contains("a chart shows at most 400"),
        "{}",
        long.text()
    );
    browser
        .page("/analytics?from=2020-01-01&interval=month")
        .await;
}

async fn a_live_page_shows_a_new_delivery_until_its_session_ends(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    // A browser without a session must not ask again.
    assert_eq!(ask(&operator, "GET", "/live").send().await.status, 204);
    let browser = Browser::signed_in(&operator).await;
    let mut live = LiveStream::open(&browser).await;
    assert!(live.is_open(), "{}", live.text);
    operator.lead(&report, TOKEN, "1").await.expect(200);
    while !live.text.contains("event: changed") {
        assert!(live.read().await, "{}", live.text);
    }
    browser.follow("/sign-out", &[]).await;
    live.ends().await;
    assert_eq!(browser.get("/live").await.status, 204);
}

async fn a_live_page_ends_with_its_key(on: On) {
    let operator = Operator::new(on).await;
    let second = with_role(&operator, "viewer").await;
    let browser = Browser::signed_in_with(&operator, second.reveal()).await;
    let live = LiveStream::open(&browser).await;
    assert!(live.is_open(), "{}", live.text);
    revoke(&operator, "viewer").await;
    live.ends().await;
    assert_eq!(browser.get("/live").await.status, 204);
}

async fn a_live_page_ends_when_the_service_stops(on: On) {
    let operator = Operator::new(on).await;
    let browser = Browser::signed_in(&operator).await;
    let live = LiveStream::open(&browser).await;
    assert!(live.is_open(), "{}", live.text);
    // It does not hold up the end: nothing is left when the time is over.
    let left = operator.host.stop(std::time::Duration::from_secs(60)).await;
    assert_eq!(left, 0);
    live.ends().await;
}

async fn more_live_pages_than_may_follow_are_refused_until_one_closes(on: On) {
    let operator = Operator::new(on).await;
    let browser = Browser::signed_in(&operator).await;
    let mut streams = Vec::new();
    for _ in 0..leadhost::limits::CONSOLE_STREAMS {
        let live = LiveStream::open(&browser).await;
        assert!(live.is_open(), "{}", live.text);
        streams.push(live);
    }
    let refused = browser.get("/live").await;
    assert_eq!(refused.status, 503);
    let words = "24 open pages of this host follow already";
    assert!(refused.text().contains(words), "{}", refused.text());
    // Pages are answered all the same.
    browser.page("/deliveries").await;
    streams.pop();
    leadhost_tests::until("a place is free", async || {
        let live = LiveStream::open(&browser).await;
        live.is_open().then_some(())
    })
    .await;
}

async fn a_connection_shows_its_last_delivery_its_fields_and_the_age_of_its_secrets(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page("/connections").await;
    for part in ["<dt>Last delivery</dt><dd>none", "not known yet"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    operator.lead(&report, TOKEN, "1").await.expect(200);
    let page = browser.page("/connections").await;
    assert!(page.contains("<dt>Last delivery</dt><dd><time"), "{page}");
    let secret = "<span class=\"mono\">token</span> <span class=\"quiet\">set <time";
    assert!(page.contains(secret), "{page}");
    assert!(!page.contains(TOKEN), "{page}");
}

async fn an_instance_has_a_page_with_its_templates(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let wasm = leadhost_tests::components::component("plugins/adapter-sandbox.wasm");
    let stored = operator.ask("POST", "/plugins?activate=true").body(wasm);
    stored.send().await.expect(201);
    let mut file = super::workspace();
    file["instances"] = json!([
        {"name": "bot", "number": "+5511900000000", "adapter": "sandbox", "config": {"templates": [
            {"name": "welcome", "language": "pt_BR", "text": "Bem-vindo", "status": "paused"},
        ]}},
        {"name": "desk"},
    ]);
    operator.apply(&file).await.expect(200);
    let browser = Browser::signed_in(&operator).await;
    browser.follow("/instances/bot/sync-templates", &[]).await;
    let shown = operator.get("/instances/bot").await;
    let template = &shown["templates"]["list"][0];
    let page = browser.page("/instances/bot").await;
    for part in ["name", "language", "status", "text"] {
        let text = template[part].as_str().expect(part);
        assert!(page.contains(text), "{part}: {page}");
    }
    let page = browser.page("/instances/desk").await;
    assert!(page.contains("It has no adapter"), "{page}");
}

async fn a_viewer_sees_no_form_and_sends_none(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let viewer = with_role(&operator, "viewer").await;
    let browser = Browser::signed_in_with(&operator, viewer.reveal()).await;
    for path in [
        "/connections",
        "/connections/new",
        "/plugins",
        "/instances",
        "/messages",
        "/contacts",
        "/keys",
        "/repairs",
        "/plugins/mapping",
    ] {
        let page = browser.page(path).await;
        // The only form is the sign-out.
        assert_eq!(page.matches("method=\"post\"").count(), 1, "{path}: {page}");
    }
    let page = browser.follow("/connections/form/pause", &[]).await;
    assert!(page.contains("needs the role operator"), "{page}");
    let shown = operator.get("/connections").await;
    assert_eq!(shown["connections"][0]["paused"], json!(null));
    let audit = operator.get("/audit?actor=viewer").await;
    assert_eq!(audit["rows"][0]["act"], "pause-connection");
    assert_eq!(audit["rows"][0]["outcome"], "refused");
}

async fn a_replay_shows_its_differences_and_then_applies_them(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let answer = operator.lead(&report, TOKEN, "1").await.expect(200);
    let delivery = answer.json()["deliveryId"]
        .as_str()
        .expect("an id")
        .to_owned();
    let mut changed = super::workspace();
    changed["connections"][0]["config"] = json!({"fields": {"name": "id"}});
    operator.apply(&changed).await.expect(200);

    let browser = Browser::signed_in(&operator).await;
    let path = format!("/deliveries/{delivery}/replay");
    let shown = browser.submit(&path, &[]).await.expect(200);
    assert!(shown.text().contains("contact.name"), "{}", shown.text());
    assert!(
        shown.text().contains("Apply these changes"),
        "{}",
        shown.text()
    );
    let page = browser.follow(&path, &[("apply", "1")]).await;
    assert!(page.contains("The delivery was converted again"), "{page}");
    // The notice is shown once.
    let page = browser.page(&format!("/deliveries/{delivery}")).await;
    assert!(!page.contains("The delivery was converted again"), "{page}");
}

async fn a_delivery_is_downloaded_as_a_golden_case(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let answer = operator.lead(&report, TOKEN, "1").await.expect(200);
    let answer = answer.json();
    let id = answer["deliveryId"].as_str().expect("an id");
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page(&format!("/deliveries/{id}")).await;
    assert!(page.contains("Download as a golden case"), "{page}");
    let path = format!("/deliveries/{id}/golden");
    let archive = browser.submit(&path, &[]).await.expect(200);
    assert_eq!(archive.header("content-type"), "application/x-tar");
    let named = format!("attachment; filename=\"delivery-{id}.tar\"");
    assert_eq!(archive.header("content-disposition"), named);
    let text = archive.text();
    for part in ["/body.json\0", "/case.json\0", "ustar\0", "made-up persons"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("Ada") && !text.contains("98765"), "{text}");
    let refused = browser.submit("/deliveries/x/golden", &[]).await;
    refused.expect(303);
    let page = browser.get("/deliveries/x").await.expect(404);
    assert!(
        page.text().contains("There is no delivery"),
        "{}",
        page.text()
    );

    let viewer = with_role(&operator, "viewer").await;
    let viewer = Browser::signed_in_with(&operator, viewer.reveal()).await;
    let page = viewer.follow(&path, &[]).await;
    assert!(page.contains("needs the role operator"), "{page}");
    assert!(!page.contains("Download as a golden case"), "{page}");
}

async fn a_version_that_needs_consent_asks_for_it_and_is_activated_with_it(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    // The same converter without its golden cases is another version.
    let wasm = rust_component("converter-mapping");
    let stored = operator
        .ask("POST", "/plugins")
        .body(wasm)
        .send()
        .await
        .expect(201)
        .json();
    let digest = stored["digest"].as_str().expect("a digest");
    let browser = Browser::signed_in(&operator).await;
    let fields = [("digest", digest)];
    let asked = browser
        .submit("/plugins/mapping/activate", &fields)
        .await
        .expect(409);
    assert!(
        asked.text().contains("value=\"fewer-cases\""),
        "{}",
        asked.text()
    );

    let accepted: Vec<&str> = ["fewer-cases", "same-version"]
        .into_iter()
        .filter(|word| asked.text().contains(&format!("value=\"{word}\"")))
        .collect();
    let mut fields = vec![("digest", digest)];
    fields.extend(accepted.iter().map(|word| ("accept", *word)));
    let page = browser.follow("/plugins/mapping/activate", &fields).await;
    assert!(page.contains("is active."), "{page}");
    let page = browser.follow("/plugins/mapping/rollback", &[]).await;
    assert!(page.contains("is rolled back to"), "{page}");

    // Again would bring the other version back: the page asks whether that is meant.
    let asked = browser.submit("/plugins/mapping/rollback", &[]).await;
    let asked = asked.expect(409);
    assert!(
        asked.text().contains("value=\"rolled-back\""),
        "{}",
        asked.text()
    );
    let accepted = [("accept", "rolled-back")];
    let page = browser.follow("/plugins/mapping/rollback", &accepted).await;
    assert!(page.contains("is rolled back to"), "{page}");
}

/// A host that has converted a lead with a version that read another name, and now serves another
/// version. Returns the digest of the former.
async fn repairable(on: On) -> (Operator, String) {
    let host = Host::working_with(Options::patient(on)).await;
    let key = host.admin_key().await;
    let operator = Operator { host, key };
    let right = component("plugins/converter-mapping.wasm");
    let former = append_custom(&right, "variant", b"former").expect("a component");
    let former = operator.host.converter(former).await;
    let mut file = super::workspace();
    file["connections"][0]["config"] = json!({"fields": {"name": "id"}});
    let report = operator.apply(&file).await.expect(200).json();
    operator.lead(&report, TOKEN, "lead-1").await.expect(200);
    file["connections"][0]["config"] = json!({"fields": {"name": "name"}});
    operator.apply(&file).await.expect(200);
    operator.host.converter(right).await;
    (operator, former.0)
}

/// Waits until no host works on the repair to whose page a form led. Returns its address.
async fn ended(operator: &Operator, answer: Answer) -> String {
    let answer = answer.expect(303);
    let to = answer.header("location").to_owned();
    let path = to.strip_prefix("/console").expect("a page of the console");
    assert!(path.starts_with("/repairs/"), "{path}");
    until("the repair has ended", async || {
        let shown = operator.get(path).await;
        (!shown["endedAt"].is_null()).then_some(())
    })
    .await;
    path.to_owned()
}

async fn a_version_is_repaired_from_its_impact_and_the_repair_is_undone(on: On) {
    let (operator, former) = repairable(on).await;
    let browser = Browser::signed_in(&operator).await;
    let fields = [("digest", former.as_str()), ("since", "24h")];
    let page = browser.submit("/plugins/mapping/impact", &fields).await;
    let page = page.expect(200).text().to_owned();
    for part in [
        "<h2>Impact of",
        "name=\"since\" value=\"24h\"",
        "Count what it would change",
        "<option>phone</option>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }

    let of = [("converted-by", former.as_str()), ("plugin", "mapping")];
    let counted = ended(&operator, browser.submit("/repairs", &of).await).await;
    let page = browser.page(&counted).await;
    for part in ["What it would change", "Write these changes", "name 1"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<h2>Receipt</h2>"), "{page}");

    let order: Vec<_> = of.into_iter().chain([("apply", "1")]).collect();
    let repaired = ended(&operator, browser.submit("/repairs", &order).await).await;
    let page = browser.page(&repaired).await;
    for part in [
        "The repair has begun",
        "1 converted again of 1",
        "<h2>Receipt</h2>",
        "<td>contact.name</td>",
        "Ada Prado",
        ">Undo</button>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("Take the changes back"), "{page}");
    let listed = browser.page("/repairs").await;
    assert!(
        listed.contains(&format!("href=\"/console{repaired}\"")),
        "{listed}"
    );

    // It asks first, and takes them back when that is confirmed.
    let undo = format!("{repaired}/undo");
    let asked = browser.submit(&undo, &[]).await.expect(200);
    assert!(
        asked.text().contains("Take the changes back"),
        "{}",
        asked.text()
    );
    assert_eq!(operator.get(&repaired).await["undo"], json!(null));
    let confirmed = browser.submit(&undo, &[("confirmed", "1")]).await;
    ended(&operator, confirmed).await;
    let page = browser.page(&repaired).await;
    assert!(page.contains("<span class=\"tag undone\">"), "{page}");
    assert!(page.contains("<dt>Undone</dt>"), "{page}");
    assert!(!page.contains(">Undo</button>"), "{page}");
    let audit = operator.get("/audit?act=undo-repair").await;
    assert_eq!(audit["rows"].as_array().map(Vec::len), Some(2), "{audit:#}");
}

async fn a_repair_that_cannot_be_is_refused_with_the_reason(on: On) {
    let (operator, former) = repairable(on).await;
    let browser = Browser::signed_in(&operator).await;
    let plugins = operator.get("/plugins").await;
    let active = plugins["plugins"][0]["digest"].as_str().expect("a digest");
    let check = async |by: &Browser<'_>, path: &str, fields: &[(&str, &str)], part: &str| {
        let page = by.follow(path, fields).await;
        assert!(
            page.contains("notice bad") && page.contains(part),
            "{path}: {page}"
        );
    };
    check(&browser, "/repairs", &[("converted-by", active)], "active").await;
    check(
        &browser,
        "/repairs",
        &[("converted-by", "9.9.9")],
        "There is no version",
    )
    .await;
    let odd = [("converted-by", former.as_str()), ("field", "odd")];
    check(&browser, "/repairs", &odd, "Choose the field").await;
    let impact = [("digest", "abc")];
    check(&browser, "/plugins/mapping/impact", &impact, "too short").await;

    let order = [("converted-by", former.as_str()), ("apply", "1")];
    let path = ended(&operator, browser.submit("/repairs", &order).await).await;
    check(&browser, &format!("{path}/cancel"), &[], "not").await;

    // Who only looks sees all of it, and changes nothing.
    let viewer = with_role(&operator, "viewer").await;
    let viewer = Browser::signed_in_with(&operator, viewer.reveal()).await;
    let page = viewer.page(&path).await;
    assert_eq!(page.matches("method=\"post\"").count(), 1, "{page}");
    assert!(page.contains("<td>contact.name</td>"), "{page}");
    let undo = format!("{path}/undo");
    let confirmed = [("confirmed", "1")];
    check(&viewer, "/repairs", &order, "needs the role operator").await;
    check(&viewer, &undo, &confirmed, "needs the role operator").await;
    let asked = viewer.submit(&undo, &[]).await.expect(200);
    assert!(
        !asked.text().contains("Take the changes back"),
        "{}",
        asked.text()
    );
    assert_eq!(operator.get(&path).await["state"], "done");
}

async fn a_connection_is_paused_and_resumed(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let id = report["connections"]["form"].as_str().expect("an id");
    let browser = Browser::signed_in(&operator).await;
    let path = format!("/connections/{id}/pause");
    let page = browser
        .follow(&path, &[("reason", "the portal moves")])
        .await;
    assert!(page.contains("the portal moves"), "{page}");
    let page = browser
        .follow(&format!("/connections/{id}/resume"), &[])
        .await;
    assert!(!page.contains("the portal moves"), "{page}");
    let audit = operator.get("/audit?act=pause-connection").await;
    assert_eq!(audit["rows"][0]["outcome"], "done");
}

async fn a_key_is_created_shown_once_and_revoked(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let fields = [
        ("kind", "admin"),
        ("role", "viewer"),
        ("label", "night shift"),
    ];
    let created = browser.submit("/keys", &fields).await.expect(200);
    let text = created.text();
    let (_, rest) = text
        .split_once("<pre id=\"new-key\" tabindex=\"0\">")
        .expect("the key");
    let (key, _) = rest.split_once('<').expect("the key's end");
    sign_in(&operator, key, "").await.expect(303);
    let page = browser.page("/keys").await;
    assert!(
        page.contains("night shift") && !page.contains(key),
        "{page}"
    );
    let refused = browser
        .follow("/keys", &[("kind", "admin"), ("role", "owner")])
        .await;
    assert!(refused.contains("notice bad"), "{refused}");

    let keys = operator.get("/keys").await;
    let keys = keys["keys"].as_array().expect("keys");
    let id = keys
        .iter()
        .find(|key| key["label"] == "night shift")
        .expect("it is listed")["id"]
        .clone();
    let path = format!("/keys/{}/revoke", id.as_str().expect("an id"));
    let page = browser.follow(&path, &[]).await;
    assert!(page.contains("The key is revoked."), "{page}");
    sign_in(&operator, key, "").await.expect(401);
}

async fn an_erasure_is_counted_and_then_made(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    let browser = Browser::signed_in(&operator).await;
    let fields = [("workspace", "acme"), ("phone", "11 98765-4321")];
    let counted = browser.submit("/contacts/erase", &fields).await.expect(200);
    assert!(
        counted.text().contains("This would be erased"),
        "{}",
        counted.text()
    );
    assert_eq!(operator.get("/erasures").await["erasures"], json!([]));
    let (_, rest) = counted
        .text()
        .split_once("name=\"id\" value=\"")
        .expect("the contact");
    let (id, _) = rest.split_once('"').expect("an id");
    let fields = [("workspace", "acme"), ("id", id), ("confirmed", "1")];
    let erased = browser.submit("/contacts/erase", &fields).await.expect(200);
    assert!(
        erased.text().contains("The person is erased"),
        "{}",
        erased.text()
    );
    assert_eq!(
        operator.get("/erasures").await["erasures"][0]["contactId"],
        id
    );
}

async fn what_is_wrong_is_on_the_first_page(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    operator.host.count_analytics().await;
    let page = browser.page("").await;
    assert!(page.contains("Nothing is wrong."), "{page}");
    assert!(!page.contains("Rollouts"), "{page}");
    operator.lead(&report, "wrong", "1").await.expect(401);
    operator
        .post("/connections/form/pause", &json!({}))
        .await
        .expect(200);
    let page = browser.page("").await;
    assert!(page.contains("1 delivery in quarantine"), "{page}");
    assert!(
        page.contains("the fetches of acme/form are paused"),
        "{page}"
    );
    assert!(
        page.contains("href=\"/console/deliveries?status=quarantined\""),
        "{page}"
    );
}

/// Sends a form with a file, as a browser does.
async fn upload(browser: &Browser<'_>, token: &str, file: &[u8]) -> Answer {
    let part = |disposition: &str, content: &[u8]| {
        let head = format!("--xyz\r\nContent-Disposition: form-data; {disposition}\r\n\r\n");
        [head.as_bytes(), content, b"\r\n"].concat()
    };
    let body = [
        part("name=\"form-token\"", token.as_bytes()),
        part("name=\"component\"; filename=\"a.wasm\"", file),
        b"--xyz--\r\n".to_vec(),
    ];
    browser
        .ask("POST", "/plugins")
        .header("origin", &origin(browser.operator))
        .header("content-type", "multipart/form-data; boundary=xyz")
        .body(body.concat())
        .send()
        .await
}

async fn a_component_is_uploaded_and_serves_nothing(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let before = operator.get("/plugins").await;
    let wasm = rust_component("converter-mapping");
    let answer = upload(&browser, &browser.token, &wasm).await.expect(303);
    assert_eq!(answer.header("location"), "/console/plugins/mapping");
    let page = browser.page("/plugins/mapping").await;
    assert!(page.contains("serves nothing yet"), "{page}");
    assert!(page.contains("<td>upload-plugin</td>"), "{page}");
    let after = operator.get("/plugins").await;
    let plugin = |list: &serde_json::Value| list["plugins"][0].clone();
    assert_eq!(plugin(&after)["digest"], plugin(&before)["digest"]);
    let versions = plugin(&after)["versions"].as_array().map(Vec::len);
    assert_eq!(versions, Some(2));
}

async fn an_upload_is_refused_without_its_token_its_role_or_a_file_that_fits(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let wasm = rust_component("converter-mapping");
    upload(&browser, "wrong", &wasm).await.expect(403);
    upload(&browser, &browser.token, b"no component")
        .await
        .expect(303);
    let page = browser.page("/plugins").await;
    assert!(page.contains("notice bad"), "{page}");
    upload(&browser, &browser.token, b"").await.expect(303);
    let page = browser.page("/plugins").await;
    assert!(page.contains("Choose the file of a component."), "{page}");
    let large = vec![0; 5 << 20];
    let viewer = with_role(&operator, "viewer").await;
    let viewer = Browser::signed_in_with(&operator, viewer.reveal()).await;
    upload(&viewer, &viewer.token, &large).await.expect(413);
    upload(&viewer, &viewer.token, &wasm[..1_000])
        .await
        .expect(303);
    let page = viewer.page("/plugins").await;
    assert!(page.contains("needs the role operator"), "{page}");
    let list = operator.get("/plugins").await;
    assert_eq!(
        list["plugins"][0]["versions"].as_array().map(Vec::len),
        Some(1)
    );
}

const NEW: [(&str, &str); 6] = [
    ("workspace", "acme"),
    ("partner", "crm"),
    ("name", "landing"),
    ("plugin", "mapping"),
    ("field-name", "pessoa"),
    (
        "body",
        r#"{"id": "7", "pessoa": "Ada Prado", "phone": "11 98765-4321", "outro": "x@example.com"}"#,
    ),
];

async fn a_new_connection_is_tried_and_then_saved(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let tried = browser.submit("/connections/new/try", &NEW).await;
    let page = tried.expect(200).text().to_owned();
    assert!(page.contains("<td>configured</td>"), "{page}");
    assert!(page.contains("<td>guessed</td>"), "{page}");
    assert!(page.contains("Ada Prado"), "{page}");
    let list = operator.get("/connections").await;
    assert_eq!(list["connections"].as_array().map(Vec::len), Some(1));

    let wrong: Vec<_> = NEW.into_iter().chain([("config", "[1]")]).collect();
    let refused = browser.submit("/connections/new/try", &wrong).await;
    assert!(
        refused.expect(400).text().contains("no JSON object"),
        "no JSON"
    );

    let from_file: Vec<_> = NEW
        .into_iter()
        .chain([("secrets", "key=env:KEY")])
        .collect();
    let refused = browser.submit("/connections/new", &from_file).await;
    assert!(
        refused.expect(400).text().contains("only `leadhost apply`"),
        "a variable"
    );

    let more = r#"{"checks": [{"secret": "key", "scheme": "equals", "proof": {"place": "header", "name": "x-key"}}]}"#;
    let fields: Vec<_> = NEW
        .into_iter()
        .chain([("secrets", "key=generate:"), ("more", more)])
        .collect();
    let made = browser.submit("/connections/new", &fields).await;
    let page = made.expect(200).text().to_owned();
    assert!(page.contains("[[connections]]"), "{page}");
    assert!(page.contains("<dt>Secret key</dt>"), "{page}");
    assert!(!page.contains("is not in this file"), "{page}");
    let list = operator.get("/connections").await;
    let landing = &list["connections"][1];
    assert_eq!(landing["name"], "landing");
    assert_eq!(landing["config"], json!({"fields": {"name": "pessoa"}}));
    assert_eq!(landing["secrets"], json!(["key"]));
    let audit = operator.get("/audit?act=apply").await;
    assert_eq!(audit["rows"][0]["outcome"], "done");

    // The file of the workspace does not know it: it stays, and the apply says so.
    let report = operator.apply(&super::workspace()).await.expect(200).json();
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("connection `landing` is not in this file"));
    let list = operator.get("/connections").await;
    assert_eq!(list["connections"].as_array().map(Vec::len), Some(2));
}

async fn a_new_connection_needs_an_admin_and_a_name_that_is_free(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let key = with_role(&operator, "operator").await;
    let browser = Browser::signed_in_with(&operator, key.reveal()).await;
    browser
        .submit("/connections/new/try", &NEW)
        .await
        .expect(200);
    let page = browser.page("/connections/new").await;
    assert!(page.contains("Saving needs the role admin."), "{page}");
    let refused = browser.submit("/connections/new", &NEW).await.expect(403);
    assert!(refused.text().contains("needs the role admin"));
    let browser = Browser::signed_in(&operator).await;
    let mut taken = NEW;
    taken[2] = ("name", "form");
    let refused = browser.submit("/connections/new", &taken).await.expect(409);
    assert!(refused.text().contains("There is a connection"));
    let list = operator.get("/connections").await;
    assert_eq!(list["connections"].as_array().map(Vec::len), Some(1));
    assert_ne!(list["connections"][0]["config"]["fields"]["name"], "pessoa");
}

async fn a_test_delivery_takes_the_way_of_every_delivery(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let id = report["connections"]["form"].as_str().expect("an id");
    let browser = Browser::signed_in(&operator).await;
    let path = format!("/connections/{id}/test");
    let body = r#"{"id": "t1", "name": "Rita Moura", "phone": "11 91234-5678"}"#;
    // The connection checks its senders, and an operator has no proof to give.
    let page = browser.submit(&path, &[("body", body)]).await.expect(200);
    let page = page.text();
    assert!(page.contains("<span class=\"tag converted\">"), "{page}");
    let audit = operator.get("/audit?act=test-connection").await;
    let row = &audit["rows"][0];
    assert_eq!(row["outcome"], "done");
    assert_eq!(row["target"], id);
    let list = operator.get("/deliveries").await;
    let delivery = list["deliveries"][0]["id"].as_str().expect("an id");
    assert!(row["detail"].as_str().expect("text").contains(delivery));
    assert!(
        page.contains(&format!("/console/deliveries/{delivery}")),
        "{page}"
    );
    // A sender without the proof is refused as before.
    operator.lead(&report, "wrong", "t2").await.expect(401);

    let viewer = with_role(&operator, "viewer").await;
    let viewer = Browser::signed_in_with(&operator, viewer.reveal()).await;
    let page = viewer.follow(&path, &[("body", body)]).await;
    assert!(page.contains("needs the role operator"), "{page}");
    let refused = browser.submit(&path, &[("body", "[")]).await.expect(200);
    assert!(refused.text().contains("400: "), "{}", refused.text());
}

async fn a_conversation_is_read_in_its_order_and_its_contact_is_played(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let wasm = leadhost_tests::components::component("plugins/adapter-sandbox.wasm");
    let stored = operator.ask("POST", "/plugins?activate=true").body(wasm);
    stored.send().await.expect(201);
    let mut file = super::workspace();
    file["instances"] = json!([{"name": "bot", "number": "+5511900000000", "adapter": "sandbox"}]);
    operator.apply(&file).await.expect(200);
    let browser = Browser::signed_in(&operator).await;
    let fields = [
        ("to", "11 98765-4321"),
        ("text", "Bom dia"),
        ("instance", "bot"),
    ];
    browser.follow("/messages/reply", &fields).await;
    let messages = operator.get("/outbox").await;
    let message = &messages["messages"][0];
    let id = message["id"].as_str().expect("an id");
    let conversation = message["conversationId"].as_str().expect("an id");
    operator.host.advance(1).await;
    let page = browser
        .follow("/messages/reply", &[("to", id), ("text", "Pode ser?")])
        .await;
    let first = page.find("Bom dia").expect("the first message");
    let second = page.find("Pode ser?").expect("the second message");
    assert!(first < second, "{page}");
    assert!(page.contains("<h1>Conversation with"), "{page}");
    let listed = operator
        .get(&format!("/outbox?conversation={conversation}"))
        .await;
    assert_eq!(listed["messages"].as_array().map(Vec::len), Some(2));
    let other = "0199c0de-0000-7000-8000-000000000001";
    let none = operator.get(&format!("/outbox?conversation={other}")).await;
    assert_eq!(none["messages"], json!([]));
    let answer = browser.get(&format!("/conversations/{other}")).await;
    assert_eq!(answer.status, 404);
}
