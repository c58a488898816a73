//! The console without a browser: sign-in and sessions, what keeps other sites out, roles, deliveries, keys
//! and erasures. The files beside it have the other pages.

use leadhost_tests::{Answer, Ask, Host, Json, On, Options, fields, has, lacks};
use serde_json::json;

use super::roles::with_role;
use super::{Operator, TOKEN};

leadhost_tests::on_every_store! {
    a_page_leads_to_the_sign_in_and_from_there_to_the_page,
    only_an_admin_key_signs_in,
    a_cookie_that_was_asked_for_over_https_is_sent_over_https_alone,
    guesses_at_the_sign_in_are_limited_and_a_known_key_gets_in,
    a_session_ends_with_its_sign_out_its_time_and_its_key,
    a_form_of_an_ended_session_leads_back_to_its_page,
    a_form_is_taken_from_a_page_of_its_own_session_alone,
    a_page_loads_nothing_from_elsewhere_and_is_not_compressed,
    the_text_of_a_sender_is_shown_as_text,
    every_page_is_shown,
    an_installation_without_a_workspace_says_how_to_make_one,
    a_list_is_filtered_by_its_address,
    a_delivery_names_its_workspace_if_there_are_several,
    a_delivery_is_found_by_its_id_and_by_its_person,
    a_viewer_sees_no_form_and_sends_none,
    a_replay_shows_its_differences_and_then_applies_them,
    a_delivery_is_downloaded_as_a_golden_case,
    a_long_body_is_shown_as_far_as_a_page_takes_it,
    a_key_is_created_shown_once_and_revoked,
    an_erasure_is_counted_and_then_made,
    problems_are_on_the_first_page,
}

/// The longest times of a session, which the tests move past.
const IDLE: i64 = 3_600;

pub(super) struct Browser<'a> {
    pub(super) operator: &'a Operator,
    pub(super) cookie: String,
    pub(super) token: String,
}

impl<'a> Browser<'a> {
    pub(super) async fn signed_in(operator: &'a Operator) -> Self {
        Self::signed_in_with(operator, operator.key.reveal()).await
    }

    pub(super) async fn with_role(operator: &'a Operator, role: &str) -> Self {
        let key = with_role(operator, role).await;
        Self::signed_in_with(operator, key.reveal()).await
    }

    pub(super) async fn signed_in_with(operator: &'a Operator, key: &str) -> Self {
        let answer = sign_in(operator, key, "").await.expect(303);
        let cookie = answer.header("set-cookie");
        let (cookie, attributes) = cookie.split_once("; ").expect("a cookie");
        has!(attributes, "HttpOnly", "SameSite=Strict", "Path=/console");
        has!(attributes, "Max-Age=43200");
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

    pub(super) fn ask(&self, method: &str, path: &str) -> Ask {
        ask(self.operator, method, path).header("cookie", &self.cookie)
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path).send().await
    }

    pub(super) async fn page(&self, path: &str) -> String {
        self.get(path).await.expect(200).text().to_owned()
    }

    /// Sends a form of its session, as a page of the console does.
    pub(super) async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut all = vec![("form-token", self.token.as_str())];
        all.extend(fields);
        self.ask("POST", path)
            .header("origin", &origin(self.operator))
            .body(form(&all))
            .send()
            .await
    }

    /// Sends a form that is answered with a page, and returns that page.
    pub(super) async fn answer(&self, path: &str, fields: &[(&str, &str)], status: u16) -> String {
        let answer = self.submit(path, fields).await.expect(status);
        answer.text().to_owned()
    }

    /// Sends a form that leads to a page, and returns that page.
    pub(super) async fn follow(&self, path: &str, fields: &[(&str, &str)]) -> String {
        let answer = self.submit(path, fields).await.expect(303);
        let to = answer.header("location").strip_prefix("/console");
        self.page(to.expect("a page of the console")).await
    }
}

pub(super) fn ask(operator: &Operator, method: &str, path: &str) -> Ask {
    operator.host.console(method, &format!("/console{path}"))
}

pub(super) fn origin(operator: &Operator) -> String {
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
    let page = ask(&operator, "GET", &to["/console".len()..]).send().await;
    let page = page.expect(200);
    has!(page, "value=\"/deliveries?status=failed\"");
    has!(page, "Sign in to continue.");

    let key = operator.key.reveal();
    let answer = sign_in(&operator, key, path).await.expect(303);
    assert_eq!(answer.header("location"), format!("/console{path}"));
    for elsewhere in ["//evil.example", "https://evil.example"] {
        let answer = sign_in(&operator, key, elsewhere).await.expect(303);
        assert_eq!(answer.header("location"), "/console");
    }
    // A browser that follows a link of another site sends no cookie yet.
    let from = ask(&operator, "GET", path).header("sec-fetch-site", "cross-site");
    has!(from.send().await.expect(200), "http-equiv=\"refresh\"");
}

async fn only_an_admin_key_signs_in(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let export = report["keys"][0]["key"].text();
    for wrong in ["", "no key", export] {
        let answer = sign_in(&operator, wrong, "").await.expect(401);
        assert_eq!(answer.header("set-cookie"), "");
        has!(answer, "not a valid admin key");
    }
}

async fn a_cookie_that_was_asked_for_over_https_is_sent_over_https_alone(on: On) {
    let operator = Operator::new(on).await;
    let secure = async |origin: String| {
        let key = form(&[("key", operator.key.reveal()), ("next", "")]);
        let ask = ask(&operator, "POST", "/sign-in").header("origin", &origin);
        let answer = ask.body(key).send().await.expect(303);
        answer.header("set-cookie").contains("; Secure")
    };
    assert!(!secure(origin(&operator)).await);
    assert!(secure(origin(&operator).replace("http://", "https://")).await);
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
    has!(answer.header("set-cookie"), "Max-Age=0");
    browser.get("").await.expect(303);
    other.get("").await.expect(200);

    operator.host.advance(IDLE + 1).await;
    let answer = other.get("").await.expect(303);
    let to = answer.header("location");
    assert_eq!(to, "/console/sign-in?next=&why=ended");
    let page = ask_open(&operator, &to["/console".len()..]).await;
    has!(page, "Your session has ended.");

    let browser = Browser::with_role(&operator, "operator").await;
    revoke(&operator, "operator").await;
    browser.get("").await.expect(303);
}

async fn a_form_of_an_ended_session_leads_back_to_its_page(on: On) {
    let operator = Operator::new(on).await;
    let browser = Browser::signed_in(&operator).await;
    operator.host.advance(IDLE + 1).await;
    let here = origin(&operator);
    for (referer, next) in [
        (
            format!("{here}/console/deliveries?status=failed"),
            "%2Fdeliveries%3Fstatus%3Dfailed",
        ),
        // The address of a form is no page, and another site leads nowhere.
        (
            format!("{here}/console/connections/form/test"),
            "%2Fconnections",
        ),
        (
            "http://evil.example/console/keys".to_owned(),
            "%2Fconnections",
        ),
    ] {
        let ask = browser.ask("POST", "/connections/form/pause");
        let ask = ask.header("origin", &here).header("referer", &referer);
        let fields = form(&[("form-token", &browser.token)]);
        let answer = ask.body(fields).send().await.expect(303);
        let to = answer.header("location");
        let expect = format!("/console/sign-in?next={next}&why=not-saved");
        assert_eq!(to, expect, "{referer}");
        let page = ask_open(&operator, &to["/console".len()..]).await;
        let words = "Your session has ended; nothing was saved.";
        has!(page, words);
    }
}

pub(super) async fn revoke(operator: &Operator, label: &str) {
    let keys = operator.get("/keys").await;
    let keys = keys["keys"].list();
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
    let ask_again = browser.ask("POST", pause).header("origin", &here);
    let refused = ask_again.body(foreign).send().await.expect(403);
    has!(refused, "shows what you typed");
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

async fn a_page_loads_nothing_from_elsewhere_and_is_not_compressed(on: On) {
    let operator = Operator::new(on).await;
    let browser = Browser::signed_in(&operator).await;
    let ask = browser.ask("GET", "");
    let ask = ask.header("accept-encoding", "gzip, zstd");
    let answer = ask.send().await.expect(200);
    assert_eq!(answer.header("content-encoding"), "");
    assert_eq!(answer.header("cache-control"), "no-store");
    let policy = answer.header("content-security-policy");
    let is_so = policy.starts_with("default-src 'none'; script-src 'self';");
    assert!(is_so, "{policy}");
    has!(policy, "frame-ancestors 'none'");
    lacks!(answer, "http:", "https:", "style=", "onclick", "<script>");
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

async fn the_text_of_a_sender_is_shown_as_text(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let connection = report["connections"]["form"].text();
    let name = "<script>alert(1)</script>\"'\u{202e}";
    let sent = operator.host.post(&format!("/ingest-lead/{connection}"));
    let lead = json!({"id": name, "name": name, "phone": "11 98765-4321"});
    let answer = sent.header("x-token", TOKEN).json(&lead).send().await;
    let answer = answer.expect(200);
    let delivery = answer.json()["deliveryId"].text().to_owned();
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page(&format!("/deliveries/{delivery}")).await;
    has!(page, "&#60;script&#62;alert(1)");
    lacks!(page, "<script>alert");
    // Nothing turns around the phone beside the name.
    for path in [
        &*format!("/deliveries/{delivery}"),
        "/deals",
        "/deals?q=11+98765-4321",
        // Its forms begin with the last body.
        &format!("/connections/{connection}"),
    ] {
        let page = browser.page(path).await;
        has!(page, "\\u202e"; "{path}");
        lacks!(page, '\u{202e}'; "{path}");
    }
    let list = operator.get("/deals?q=11+98765-4321").await;
    has!(list.to_string(), r#"\"'"#);
    // Neither in a question before an act, nor in what a screen reader says.
    let key = json!({"kind": "admin", "label": "x\u{202e}yz"});
    operator.posted("/keys", &key, 201).await;
    let page = browser.page("/keys").await;
    has!(page, "data-ask=\"Revoke x\\u202eyz?\"");
    has!(page, "aria-label=\"Revoke x\\u202eyz\"");
    lacks!(page, '\u{202e}');
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
        ("/tickets", "Tickets"),
        ("/contacts", "Contacts"),
        ("/keys", "Keys"),
        ("/audit", "Audit"),
        ("/service", "Service"),
    ] {
        let page = browser.page(path).await;
        has!(page, &format!("<h1>{heading}</h1>"); "{path}");
    }
    for (path, status) in [
        ("/nothing", 404),
        ("/plugins/nothing", 404),
        ("/connections/nothing", 404),
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
        ("/deals/x", 404),
        ("/deals?id=x", 404),
        ("/deals?before=x", 400),
        ("/tickets/x", 404),
        ("/tickets?status=odd", 400),
        ("/contacts/x", 404),
        ("/contacts/erasures/x", 404),
        ("/conversations/x", 400),
        ("/repairs/x", 404),
        ("/repairs?before=x", 404),
    ] {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, status, "{path}");
    }
    let missing = browser.get("/nothing").await;
    has!(missing, "<title>Not found · Leadhost</title>");
    has!(missing, "aria-label=\"Sections\"");
    let missing = ask_open(&operator, "/nothing").await.expect(404);
    has!(missing, "There is no such page.", "id=\"key\"");
    let refusal = browser.get("/deliveries?status=odd").await;
    has!(refusal, "is not a status");
}

async fn an_installation_without_a_workspace_says_how_to_make_one(on: On) {
    let operator = Operator::new(on).await;
    let browser = Browser::signed_in(&operator).await;
    for path in "/connections /connections/new /instances /keys /analytics".split(' ') {
        let page = browser.page(path).await;
        has!(page, "There is no workspace yet.", "leadhost apply"; "{path}");
        lacks!(page, "name=\"plugin\""; "{path}");
    }
    let fields = [
        ("kind", "workspace"),
        ("label", "data"),
        ("workspace", "acme"),
    ];
    let refused = browser.submit("/keys", &fields).await.expect(404);
    let words = "There is no workspace yet: `leadhost apply`";
    has!(refused, words);
}

async fn a_list_is_filtered_by_its_address(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    operator.lead(&report, "wrong", "2").await.expect(401);
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page("/deliveries?status=quarantined").await;
    has!(page, "<span class=\"tag quarantined\">");
    has!(page, "<option selected>quarantined</option>");
    lacks!(page, "<span class=\"tag converted\">");
    let page = browser.page("/deliveries?connection=acme%2Fform").await;
    has!(page, "<span class=\"tag converted\">");
    // What is wrong is above the form, which keeps all that was typed.
    for (path, kept) in [
        (
            "/deliveries?since=soon&status=failed",
            "<option selected>failed</option>",
        ),
        ("/audit?since=soon&actor=ada", "value=\"ada\""),
    ] {
        let refused = browser.get(path).await.expect(400);
        has!(refused, "is not a time", "value=\"soon\"", kept);
    }
    let unknown = browser.get("/deliveries?instance=nosuch").await.expect(404);
    has!(unknown, "value=\"nosuch\"");
    // A time as the date field of a browser sends it.
    browser.page("/deliveries?since=2026-01-31T21:00").await;
}

async fn a_delivery_names_its_workspace_if_there_are_several(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    let browser = Browser::signed_in(&operator).await;
    for path in ["", "/deliveries"] {
        has!(browser.page(path).await, "<td>form</td>"; "{path}");
    }
    let mut other = super::workspace();
    other["workspace"] = json!({"slug": "other", "name": "Other"});
    operator.apply(&other).await.expect(200);
    for path in ["", "/deliveries"] {
        has!(browser.page(path).await, "<td>acme/form</td>"; "{path}");
    }
}

async fn a_delivery_is_found_by_its_id_and_by_its_person(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "lead-1").await.expect(200);
    let list = operator.get("/deliveries").await;
    let id = list["deliveries"][0]["id"].text().to_owned();
    let shown = operator.get(&format!("/deliveries/{id}")).await;
    let deal = shown["items"][0]["dealId"].text().to_owned();
    let deal = operator.get(&format!("/deals/{deal}")).await;
    let mut words = vec![id.clone()];
    let person = &deal["contact"];
    for name in ["phoneNumber", "phone", "email"] {
        words.extend(person[name].as_str().map(str::to_owned));
    }
    words.extend(shown["items"][0]["externalId"].as_str().map(str::to_owned));
    assert!(words.len() > 1, "{deal} {shown}");
    let browser = Browser::signed_in(&operator).await;
    let found = browser.get(&format!("/deliveries?q={id}")).await;
    let found = found.expect(303);
    let expect = format!("/console/deliveries/{id}");
    assert_eq!(found.header("location"), expect);
    for word in words.into_iter().skip(1) {
        let word = word.replace('+', "%2B").replace('@', "%40");
        let page = browser.page(&format!("/deliveries?q={word}")).await;
        has!(page, &format!("/console/deliveries/{id}"); "{word}");
    }
    for word in [
        "nothing",
        "nobody%40example.com",
        "%2B5511900000000",
        "0192f0c1-2345-7abc-8def-0123456789ab",
    ] {
        has!(browser.page(&format!("/deliveries?q={word}")).await, "No delivery."; "{word}");
    }
}

async fn a_viewer_sees_no_form_and_sends_none(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let browser = Browser::with_role(&operator, "viewer").await;
    for path in [
        "/connections",
        "/connections/new",
        "/plugins",
        "/instances",
        "/messages",
        "/deals",
        "/tickets",
        "/contacts",
        "/keys",
        "/repairs",
        "/service",
    ] {
        let page = browser.page(path).await;
        // The only form is the sign-out.
        assert_eq!(page.matches("method=\"post\"").count(), 1, "{path}: {page}");
    }
    // A comparison changes nothing: a viewer may ask for it.
    let page = browser.page("/plugins/mapping").await;
    has!(page, "Impact on the leads");
    assert_eq!(page.matches("method=\"post\"").count(), 2, "{page}");
    let page = browser.follow("/connections/form/pause", &[]).await;
    has!(page, "needs the role operator");
    let shown = operator.get("/connections").await;
    assert_eq!(shown["connections"][0]["paused"], json!(null));
    let audit = operator.get("/audit?actor=viewer").await;
    fields!(audit, {"rows.0.act": "pause-connection", "rows.0.outcome": "refused"});
}

async fn a_replay_shows_its_differences_and_then_applies_them(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let answer = operator.lead(&report, TOKEN, "1").await.expect(200);
    let delivery = answer.json()["deliveryId"].text().to_owned();
    let mut changed = super::workspace();
    changed["connections"][0]["config"] = json!({"fields": {"name": "id"}});
    operator.apply(&changed).await.expect(200);

    let browser = Browser::signed_in(&operator).await;
    let path = format!("/deliveries/{delivery}/replay");
    let shown = browser.submit(&path, &[]).await.expect(200);
    has!(shown, "contact.name", "Apply these changes");
    let page = browser.follow(&path, &[("apply", "1")]).await;
    has!(page, "The delivery was converted again");
    // The notice is shown once.
    let page = browser.page(&format!("/deliveries/{delivery}")).await;
    lacks!(page, "The delivery was converted again");
}

async fn a_delivery_is_downloaded_as_a_golden_case(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let answer = operator.lead(&report, TOKEN, "1").await.expect(200);
    let answer = answer.json();
    let id = answer["deliveryId"].text();
    let browser = Browser::signed_in(&operator).await;
    let page = browser.page(&format!("/deliveries/{id}")).await;
    has!(page, "Download as a golden case");
    let path = format!("/deliveries/{id}/golden");
    let archive = browser.submit(&path, &[]).await.expect(200);
    assert_eq!(archive.header("content-type"), "application/x-tar");
    let named = format!("attachment; filename=\"delivery-{id}.tar\"");
    assert_eq!(archive.header("content-disposition"), named);
    let text = archive.text();
    has!(text, "/body.json\0", "/case.json\0", "ustar\0");
    has!(text, "masked persons");
    lacks!(text, "Ada Prado", "98765-4321");
    let refused = browser.submit("/deliveries/x/golden", &[]).await;
    refused.expect(303);
    let page = browser.get("/deliveries/x").await.expect(404);
    has!(page, "There is no delivery");

    let viewer = Browser::with_role(&operator, "viewer").await;
    let page = viewer.follow(&path, &[]).await;
    has!(page, "needs the role operator");
    lacks!(page, "Download as a golden case");
}

async fn a_long_body_is_shown_as_far_as_a_page_takes_it(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    let nested = "[".repeat(40_000) + &"]".repeat(40_000);
    // Nobody proves to have sent these.
    for (body, command) in [
        (nested, "--data-raw"),
        ("'<".repeat(1_000_000), "jq -j .request.body &gt; body"),
        ("\u{1}".repeat(1_000_000), "--data-binary @body"),
    ] {
        operator.host.advance(1).await;
        let form = report["connections"]["form"].text();
        let ask = operator.host.post(&format!("/ingest-lead/{form}"));
        let ask = ask.header("x-token", "wrong").body(body.clone());
        ask.send().await.expect(401);
        let listed = operator.get("/deliveries?status=quarantined").await;
        let id = listed["deliveries"][0]["id"].text();
        let page = browser.page(&format!("/deliveries/{id}")).await;
        has!(
            page,
            "This is the beginning of it",
            &format!("leadhost delivery show {id} --json")
        );
        has!(page.replace("&#62;", "&gt;"), command);
        assert!(page.len() < 4 << 20, "{}", page.len());
        let whole = operator.get(&format!("/deliveries/{id}")).await;
        assert_eq!(whole["request"]["body"], body);
    }
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
    has!(page, "night shift");
    lacks!(page, key);
    // A form that is refused keeps what was typed.
    let wrong = [
        ("kind", "partner"),
        ("label", "portal key"),
        ("workspace", "acme"),
        ("partner", "imobcrm"),
    ];
    let refused = browser.submit("/keys", &wrong).await;
    assert!(refused.status >= 400, "{}", refused.status);
    has!(refused, "notice bad", "has no partner");
    has!(refused, "value=\"portal key\"", "value=\"imobcrm\"");
    has!(refused, "<option value=\"partner\" selected>");
    let wrong = [("kind", "admin"), ("role", "owner")];
    let refused = browser.submit("/keys", &wrong).await.expect(400);
    has!(refused, "notice bad");

    let keys = operator.get("/keys").await;
    let keys = keys["keys"].list();
    let id = keys
        .iter()
        .find(|key| key["label"] == "night shift")
        .expect("it is listed")["id"]
        .clone();
    let path = format!("/keys/{}/revoke", id.as_str().expect("an id"));
    has!(browser.follow(&path, &[]).await, "The key is revoked.");
    sign_in(&operator, key, "").await.expect(401);
}

async fn an_erasure_is_counted_and_then_made(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    let browser = Browser::signed_in(&operator).await;
    let fields = [("workspace", "acme"), ("phone", "11 98765-4321")];
    let counted = browser.submit("/contacts/erase", &fields).await.expect(200);
    has!(counted, "This would be erased");
    has!(counted, ">Ada Prado</a>, +5511987654321");
    assert_eq!(operator.get("/erasures").await["erasures"], json!([]));
    let (_, rest) = counted
        .text()
        .split_once("name=\"id\" value=\"")
        .expect("the contact");
    let (id, _) = rest.split_once('"').expect("an id");
    let fields = [("workspace", "acme"), ("id", id), ("confirmed", "1")];
    let erased = browser.submit("/contacts/erase", &fields).await.expect(200);
    has!(erased, "The person is erased</h2>");
    assert_eq!(
        operator.get("/erasures").await["erasures"][0]["contactId"],
        id
    );
    // What the erasure leaves is said in its heading.
    operator.lead(&report, TOKEN, "2").await.expect(200);
    operator.lead(&report, "wrong", "3").await.expect(401);
    let fields = [
        ("workspace", "acme"),
        ("phone", "11 98765-4321"),
        ("confirmed", "1"),
    ];
    let erased = browser.submit("/contacts/erase", &fields).await.expect(200);
    has!(
        erased,
        "<section class=\"notice warn\" role=\"status\"",
        "The person is erased, but for 1 delivery that is not converted yet"
    );
}

async fn problems_are_on_the_first_page(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let browser = Browser::signed_in(&operator).await;
    operator.host.count_analytics().await;
    let page = browser.page("").await;
    has!(page, "Nothing is wrong.");
    lacks!(page, "Rollouts");
    operator.lead(&report, "wrong", "1").await.expect(401);
    operator
        .posted("/connections/form/pause", &json!({}), 200)
        .await;
    let page = browser.page("").await;
    has!(page, "1 delivery in quarantine");
    has!(page, "the fetches of acme/form are paused");
    let connection = report["connections"]["form"].text();
    has!(page, "href=\"/console/deliveries?status=quarantined\"");
    has!(page, &format!("href=\"/console/connections/{connection}\""));
}
